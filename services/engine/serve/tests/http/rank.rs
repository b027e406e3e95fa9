//! `POST /rank/{model}`

use crate::service::{CONFIG, Service, ranking};
use rankwright_event::Event;
use rankwright_serve::{Fed, FeedError, Feedback};
use rankwright_state::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

#[tokio::test]
async fn items_are_answered_by_falling_score_with_every_input_item() {
    let service = Service::start().await;
    service.price(&[("a", 10.0), ("b", 30.0), ("c", 20.0)]).await;
    let answer = service.post("/rank/shop", ranking(&["a", "b", "unknown", "c"])).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "application/json");
    let json = answer.json();
    assert_eq!(json["items"][0], json!({"item": "b", "score": 30.0}));
    assert_eq!(answer.items(), ["b", "c", "a", "unknown"]);
    assert!(json["took"].is_u64(), "{json}");
    assert!(json.get("fallback").is_none(), "{json}");
}

#[tokio::test]
async fn excluded_items_are_left_out_be_it_all_of_them() {
    let service = Service::start().await;
    service.price(&[("a", 10.0), ("b", 30.0), ("c", 20.0)]).await;
    let without = |ids: &str| ranking(&["a", "b", "c"]).replacen('{', &format!("{{\"exclude\":{ids},"), 1);
    assert_eq!(service.post("/rank/shop", without(r#"["b","x"]"#)).await.items(), ["c", "a"]);
    for model in ["shop", "plain", "dice", "new"] {
        let answer = service.post(&format!("/rank/{model}?explain=true"), without(r#"["a","b","c"]"#)).await;
        assert_eq!((answer.status.as_u16(), answer.items().len()), (200, 0), "{model}");
    }
    assert_eq!(service.post("/rank/shop", without("null")).await.items(), ["b", "c", "a"]);
    service.post("/rank/shop", without("7")).await.error(400, "invalid_request", Some("exclude"));
}

#[tokio::test]
async fn explain_adds_an_entry_per_feature_a_list_for_several_columns_and_null_for_missing() {
    let service = Service::start().await;
    service.price(&[("a", 10.0)]).await;
    let answer = service.post("/rank/shop?x=1&explain=true", ranking(&["a", "b"])).await;
    let json = answer.json();
    let both = json!({"name": "both", "value": [0.1, null]});
    assert_eq!(json["items"][0]["features"], json!([{"name": "price", "value": 10.0}, both]));
    assert_eq!(json["items"][1]["features"], json!([{"name": "price", "value": null}, both]));
    let silent = service.post("/rank/shop?explain=false", ranking(&["a"])).await;
    assert!(silent.json()["items"][0].get("features").is_none());
    for query in ["explain=yes", "explain=", "explain=TRUE", "explain"] {
        let refused = service.post(&format!("/rank/shop?{query}"), ranking(&["a"])).await;
        assert!(refused.error(400, "invalid_request", Some("explain")).contains("true, false or contributions"));
    }
}

#[tokio::test]
async fn explain_does_not_tell_a_value_too_large_as_missing() {
    let service = Service::start().await;
    service.price(&[("a", 1e39), ("b", -1e39)]).await;
    let json = service.post("/rank/shop?explain=true", ranking(&["a", "b"])).await.json();
    let values = [0, 1].map(|place| json["items"][place]["features"][0]["value"].as_f64());
    assert_eq!(values.map(|value| value.map(|value| value as f32)), [Some(f32::MAX), Some(f32::MIN)]);
}

#[tokio::test]
async fn an_item_that_comes_twice_is_answered_twice() {
    let service = Service::start().await;
    assert_eq!(service.post("/rank/shop", ranking(&["a", "a"])).await.items(), ["a", "a"]);
}

#[tokio::test]
async fn ids_of_any_characters_come_back_as_they_were() {
    let service = Service::start().await;
    let ids = ["quote\"", "back\\slash", "new\nline", "naïve", "日本", "\u{1}"];
    assert_eq!(service.post("/rank/plain", ranking(&ids)).await.items(), ids);
}

#[tokio::test]
async fn a_model_that_is_not_trained_answers_in_the_incoming_order_and_says_so() {
    let service = Service::start().await;
    service.price(&[("a", 7.0)]).await;
    let answer = service.post("/rank/new?explain=true", ranking(&["c", "a", "b"])).await;
    assert_eq!(answer.status, 200);
    let json = answer.json();
    assert_eq!(json["fallback"], "model new is not trained yet");
    let values =
        |price: Option<f64>| json!([{"name": "price", "value": price}, {"name": "both", "value": [0.1, null]}]);
    let expected = json!([
        {"item": "c", "score": 3.0, "features": values(None)},
        {"item": "a", "score": 2.0, "features": values(Some(7.0))},
        {"item": "b", "score": 1.0, "features": values(None)},
    ]);
    assert_eq!(json["items"], expected);
    let metrics = service.get("/metrics").await;
    assert!(metrics.text().contains("service_rank_fallbacks_total{model=\"new\",reason=\"untrained\"} 1"));
}

#[tokio::test]
async fn noop_keeps_the_order_and_shuffle_changes_it_within_its_bounds() {
    let service = Service::start().await;
    let items = ["a", "b", "c", "d", "e", "f"];
    assert_eq!(service.post("/rank/plain", ranking(&items)).await.items(), items);
    let shuffled = service.post("/rank/dice", ranking(&items)).await;
    for (place, item) in shuffled.items().iter().enumerate() {
        let before = items.iter().position(|other| other == item).unwrap();
        assert!(place.abs_diff(before) <= 2, "{:?}", shuffled.items());
    }
}

#[tokio::test]
async fn a_store_that_fails_gives_the_incoming_order_and_a_breaker_stops_asking_it() {
    let service = Service::start().await;
    service.price(&[("b", 1.0)]).await;
    service.break_state(true);
    for _ in 0..5 {
        let answer = service.post("/rank/shop", ranking(&["a", "b"])).await;
        assert_eq!((answer.status.as_u16(), answer.items()), (200, vec!["a".into(), "b".into()]));
        assert_eq!(answer.json()["fallback"], "the state store failed to read: connection refused");
    }
    let open = service.post("/rank/shop", ranking(&["a", "b"])).await;
    assert_eq!(open.json()["fallback"], "the state store does not answer");
    let explained = service.post("/rank/shop?explain=true", ranking(&["a"])).await.json();
    let unknown = json!([{"name": "price", "value": null}, {"name": "both", "value": [null, null]}]);
    assert_eq!(explained["items"][0]["features"], unknown);
    assert_eq!(service.post("/rank/plain", ranking(&["a"])).await.json().get("fallback"), None, "noop needs no state");
    assert_eq!(service.get("/ready").await.status, 200, "an outage of the store takes no replica out of service");
    assert_eq!(service.get("/status").await.json()["store"]["answers"], false);
    let metrics = service.get("/metrics").await;
    assert!(metrics.text().contains("service_rank_fallbacks_total{model=\"shop\",reason=\"store\"} 7"));
}

#[tokio::test]
async fn bad_requests_are_refused_with_the_place_of_the_fault() {
    let service = Service::start().await;
    let timestamp = json!("1636907100000");
    let cases = [
        (json!({"id": "r", "timestamp": timestamp, "items": []}), "items"),
        (json!({"id": "r", "timestamp": timestamp, "items": [{"id": "a"}, {"id": 7}]}), "items[1].id"),
        (json!({"id": "r", "timestamp": "never", "items": [{"id": "a"}]}), "timestamp"),
        (
            json!({"id": "r", "timestamp": timestamp, "items": [{"id": "a", "fields": [{"name": "x", "value": null}]}]}),
            "items[0].fields[0].value",
        ),
    ];
    for (body, path) in cases {
        service.post("/rank/shop", body.to_string()).await.error(400, "invalid_request", Some(path));
    }
    for body in ["", "{", "[]", "null", "\u{0}", "{\"id\": \"r\"}"] {
        service.post("/rank/new", body).await.error(400, "invalid_request", None);
    }
}

#[tokio::test]
async fn a_request_of_ten_thousand_items_works_and_one_more_is_refused() {
    let service = Service::start().await;
    let ids: Vec<String> = (0..10_001).map(|item| format!("item-{item}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let answer = service.post("/rank/shop", ranking(&ids[..10_000])).await;
    assert_eq!((answer.status.as_u16(), answer.items().len()), (200, 10_000));
    let message = service.post("/rank/shop", ranking(&ids)).await.error(400, "invalid_request", Some("items"));
    assert!(message.contains("10001 items") && message.contains("10000"), "{message}");
}

#[tokio::test]
async fn names_that_rank_nothing_are_not_found_and_the_answer_helps() {
    let service = Service::start().await;
    let unknown = service.post("/rank/shp", ranking(&["a"])).await.error(404, "unknown_model", None);
    assert!(unknown.contains("dice, new, plain, shop, similar"), "{unknown}");
    let recommender = service.post("/rank/similar", ranking(&["a"])).await.error(404, "wrong_model_type", None);
    assert!(recommender.contains("als") && recommender.contains("/recommend/similar"), "{recommender}");
    let metrics = service.get("/metrics").await;
    assert!(!metrics.text().contains("shp"), "unknown names become no labels");
}

#[tokio::test]
async fn a_fault_of_the_model_is_one_internal_error_and_the_service_goes_on() {
    let service = Service::start().await;
    let body = ranking(&["a"]).replace("r1", "panic");
    service.post("/rank/shop", body).await.error(500, "internal", None);
    assert_eq!(service.post("/rank/shop", ranking(&["a"])).await.status, 200);
    let metrics = service.get("/metrics").await;
    assert!(metrics.text().contains("service_refused_requests_total{reason=\"fault\"} 1"), "{}", metrics.text());
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_however_it_is_announced() {
    let config = format!("{CONFIG}\napi: {{limits: {{maxBodyBytes: 2000}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    let large = format!("{}{}", ranking(&["a"]), " ".repeat(2000));
    let message = service.post("/rank/shop", large.clone()).await.error(413, "too_large", None);
    assert!(message.contains("2000 bytes"), "{message}");
    let pieces: Vec<Result<_, std::io::Error>> =
        large.into_bytes().chunks(100).map(|piece| Ok(piece.to_vec())).collect();
    let stream = axum::body::Body::from_stream(futures_util::stream::iter(pieces));
    service.post("/rank/shop", stream).await.error(413, "too_large", None);
    let metrics = service.get("/metrics").await;
    assert!(metrics.text().contains("service_refused_requests_total{reason=\"size\"} 2"));
}

#[tokio::test]
async fn a_body_in_pieces_is_one_body() {
    let service = Service::start().await;
    let pieces: Vec<Result<_, std::io::Error>> = ranking(&["b", "a"]).bytes().map(|byte| Ok(vec![byte])).collect();
    let stream = axum::body::Body::from_stream(futures_util::stream::iter(pieces));
    assert_eq!(service.post("/rank/plain", stream).await.items(), ["b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_given_up() {
    let service = Service::start().await;
    let never = axum::body::Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    service.post("/rank/shop", never).await.error(408, "request_timeout", None);
}

#[tokio::test]
async fn requests_beyond_the_limit_are_turned_away_at_once() {
    struct Waiting(Arc<Notify>);
    impl Feedback for Waiting {
        fn feed(&self, _: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>> {
            Box::pin(async {
                self.0.notified().await;
                Ok(Fed { accepted: 1, updated: 0 })
            })
        }
    }
    let config = format!("{CONFIG}\napi: {{limits: {{maxConcurrentRequests: 1}}}}");
    let go_on = Arc::new(Notify::new());
    let waiting = Arc::new(Waiting(go_on.clone()));
    let service = Service::start_with(&config, |builder| builder.feedback(waiting)).await;
    let event = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
    let slow = service.post("/feedback", event.to_owned());
    let (mut slow, body) = (std::pin::pin!(slow), ranking(&["a"]));
    assert!(futures_util::poll!(slow.as_mut()).is_pending(), "it is worked on");
    let turned_away = service.post("/rank/plain", body.clone()).await;
    assert_eq!(turned_away.headers["retry-after"], "1");
    turned_away.error(503, "overloaded", None);
    go_on.notify_one();
    assert_eq!(slow.await.status, 200);
    assert_eq!(service.post("/rank/plain", body).await.status, 200, "the place is free again");
}

#[tokio::test]
async fn bodies_that_are_on_their_way_keep_nobody_from_being_worked_on() {
    let config = format!("{CONFIG}\napi: {{limits: {{maxConcurrentRequests: 1}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    let body = ranking(&["a"]);
    let (sender, receiver) = tokio::sync::oneshot::channel::<Vec<u8>>();
    let late = futures_util::stream::once(receiver);
    let slow = service.post("/rank/plain", axum::body::Body::from_stream(late));
    let mut slow = std::pin::pin!(slow);
    assert!(futures_util::poll!(slow.as_mut()).is_pending(), "it waits for its body");
    assert_eq!(service.post("/rank/plain", body.clone()).await.status, 200);
    let never = axum::body::Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    service.post("/rank/plain", never).await.error(503, "overloaded", None); // they are bounded as well
    sender.send(body.into_bytes()).unwrap();
    assert_eq!(slow.await.status, 200);
}
