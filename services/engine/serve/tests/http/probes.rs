//! Health, readiness, status, paths that are not there, and what later versions will have.

use crate::service::{CONFIG, Service, ranking};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

#[tokio::test]
async fn a_service_is_alive_before_it_is_ready() {
    let service = Service::cold(CONFIG, |builder| builder).await;
    assert_eq!(service.get("/health").await.status, 200);
    let starting = service.get("/ready").await;
    assert_eq!((starting.status.as_u16(), starting.json()), (503, json!({"status": "starting"})));
    assert_eq!(service.post("/rank/shop", ranking(&["a"])).await.json()["fallback"], "model shop is not loaded yet");
    service.app.prepare().await;
    let ready = service.get("/ready").await;
    assert_eq!((ready.status.as_u16(), ready.json()), (200, json!({"status": "ready"})));
}

#[tokio::test]
async fn status_tells_models_versions_and_the_store() {
    let service = Service::start().await;
    service.price(&[("a", 1.0)]).await;
    let status = service.get("/status").await.json();
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["phase"], "ready");
    assert!(status["uptimeSeconds"].is_u64());
    let shop = json!({"type": "lambdamart", "purpose": "learnedOrder", "state": "loaded", "version": "1", "trainedAt": "2021-11-14T16:25:00Z", "metrics": {"NDCG@10": 0.6}});
    assert_eq!(status["models"]["shop"], shop);
    assert_eq!(status["models"]["new"]["reason"], "model new is not trained yet");
    assert_eq!(status["models"]["similar"]["state"], "missing");
    let purposes = ["plain", "dice", "similar"].map(|name| status["models"][name]["purpose"].clone());
    assert_eq!(purposes, ["order", "order", "similar"]);
    assert_eq!(
        status["store"],
        json!({"type": "memory", "durable": false, "answers": true, "problem": null, "entities": 1, "bytes": null, "cache": null})
    );
}

#[tokio::test]
async fn metrics_have_the_named_series_from_the_start() {
    let service = Service::start().await;
    let metrics = service.get("/metrics").await;
    assert!(metrics.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    for line in [
        "service_feedback_events_total 0",
        "service_rank_requests_total{model=\"shop\"} 0",
        "service_rank_latency_seconds{model=\"shop\",quantile=\"0.98\"} NaN",
        "service_rank_latency_seconds_count{model=\"shop\"} 0",
    ] {
        assert!(metrics.text().contains(line), "{line} in {}", metrics.text());
    }
    service.post("/rank/shop", ranking(&["a"])).await;
    let metrics = service.get("/metrics").await;
    assert!(metrics.text().contains("service_rank_requests_total{model=\"shop\"} 1"));
    assert!(metrics.text().contains("service_rank_latency_seconds_count{model=\"shop\"} 1"));
}

#[tokio::test]
async fn the_bare_address_tells_what_this_is_and_which_paths_there_are() {
    let service = Service::start().await;
    let about = service.get("/").await.json();
    assert_eq!((&about["name"], &about["version"]), (&json!("rankwright"), &json!(env!("CARGO_PKG_VERSION"))));
    let paths = about["paths"].as_array().unwrap();
    assert!(paths.contains(&json!({"method": "POST", "path": "/rank/{model}"})), "{about}");
    for entry in paths {
        let path = entry["path"].as_str().unwrap().replace("{model}", "shop").replace("{name}", "sbert");
        let method = entry["method"].as_str().unwrap();
        let answer = service.ask(Request::builder().method(method).uri(&path).body(Body::empty()).unwrap()).await;
        assert!(answer.status != 405 && !answer.text().contains("there is nothing at"), "{method} {path}: {answer:?}");
    }
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_have_a_body_too() {
    let service = Service::start().await;
    assert!(service.get("/nowhere").await.error(404, "not_found", None).contains("/nowhere"));
    service.post("/rank/", "").await.error(404, "not_found", None);
    service.post("/rank/shop/more", "").await.error(404, "not_found", None);
    let wrong = service.get("/rank/shop").await;
    assert_eq!(wrong.headers["allow"], "POST");
    wrong.error(405, "method_not_allowed", None);
    service.post("/health", "").await.error(405, "method_not_allowed", None);
    service.post("/rank/%ff", "").await.error(400, "invalid_request", None);
}

#[tokio::test]
async fn recommending_without_a_trained_model_is_an_empty_list_with_its_reason() {
    let service = Service::start().await;
    let answer = service.post("/recommend/similar", r#"{"count": 5, "user": "u", "items": ["a"]}"#).await;
    let json = answer.json();
    assert_eq!((answer.status.as_u16(), &json["items"]), (200, &json!([])));
    assert!(json["fallback"].as_str().unwrap().contains("not trained"), "{json}");
    for (body, path) in [("{\"count\": 0}", Some("count")), ("{}", None), ("{\"count\": -1}", None), ("", None)] {
        service.post("/recommend/similar", body).await.error(400, "invalid_request", path);
    }
    let ranker = service.post("/recommend/shop", "{}").await.error(404, "wrong_model_type", None);
    assert!(ranker.contains("lambdamart") && ranker.contains("/rank/shop"), "{ranker}");
    service.post("/recommend/nope", "{}").await.error(404, "unknown_model", None);
}

#[tokio::test]
async fn head_requests_are_answered_like_get() {
    let service = Service::start().await;
    let answer = service.ask(Request::head("/health").body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status.as_u16(), answer.bytes.len()), (200, 0));
}
