//! `POST /feedback`

use crate::service::{CONFIG, Service};
use axum::body::Body;
use axum::http::Request;
use rankwright_event::Event;
use rankwright_serve::{Fed, FeedError, Feedback};
use rankwright_state::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn click(id: &str) -> Value {
    json!({"event": "interaction", "id": id, "timestamp": "1636907100000", "type": "click", "item": "p1", "user": "u"})
}

fn millis_from_now(ahead: Duration) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    (now + ahead).as_millis().to_string()
}

#[tokio::test]
async fn one_event_an_array_and_lines_are_taken_in() {
    let service = Service::start().await;
    let lines = format!("{}\n{}\n", click("4"), click("5"));
    for (body, count) in [(click("1").to_string(), 1), (json!([click("2"), click("3")]).to_string(), 2), (lines, 2)] {
        let answer = service.post("/feedback", body).await;
        assert_eq!(answer.status, 200);
        let json = answer.json();
        assert_eq!(
            (&json["accepted"], &json["status"], &json["updated"]),
            (&json!(count), &json!("ok"), &json!(2 * count))
        );
        assert!(json["tookMillis"].is_u64(), "{json}");
    }
    assert_eq!(service.events.events.lock().len(), 5);
    let metrics = service.get("/metrics").await;
    assert!(metrics.text().contains("service_feedback_events_total 5"), "{}", metrics.text());
}

#[tokio::test]
async fn json_that_is_sent_as_a_form_is_json() {
    let service = Service::start().await;
    let request = Request::post("/feedback").header("content-type", "application/x-www-form-urlencoded");
    let answer = service.ask(request.body(Body::from(click("1").to_string())).unwrap()).await;
    assert_eq!(answer.json()["accepted"], 1);
}

#[tokio::test]
async fn a_bad_event_refuses_the_whole_batch_with_its_index() {
    let service = Service::start().await;
    let mut bad = click("2");
    bad["item"] = json!(["p1"]);
    let body = json!([click("1"), bad, click("3")]).to_string();
    service.post("/feedback", body).await.error(400, "invalid_request", Some("[1].item"));
    *service.events.refusal.lock() =
        Some(FeedError::Invalid { index: 3, path: "items[2].id".into(), message: "no such item".into() });
    let refused = service.post("/feedback", click("1").to_string()).await;
    assert_eq!(refused.error(400, "invalid_request", Some("[3].items[2].id")), "no such item");
    assert!(service.events.events.lock().is_empty());
}

#[tokio::test]
async fn what_holds_no_event_is_refused() {
    let service = Service::start().await;
    for body in ["", "  \n", "{\"event\":", "7", "{}"] {
        let answer = service.post("/feedback", body).await;
        assert_eq!(answer.status, 400, "{body:?}: {:?}", answer.bytes);
        assert_eq!(answer.json()["error"]["code"], "invalid_request");
    }
}

#[tokio::test]
async fn events_of_the_far_future_are_refused_and_those_of_a_fast_clock_are_not() {
    let service = Service::start().await;
    let mut late = click("1");
    late["timestamp"] = json!(millis_from_now(Duration::from_secs(3700)));
    let message = service.post("/feedback", json!([click("0"), late]).to_string()).await.error(
        400,
        "invalid_request",
        Some("[1].timestamp"),
    );
    assert!(message.contains("core.ingest.maxAhead"), "{message}");
    late["timestamp"] = json!(millis_from_now(Duration::from_secs(3500)));
    assert_eq!(service.post("/feedback", late.to_string()).await.status, 200);
}

#[tokio::test]
async fn batches_and_rankings_over_the_limit_are_refused() {
    let config = format!("{CONFIG}\napi: {{limits: {{maxEventsPerBatch: 2, maxItemsPerRequest: 2}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    let body = json!([click("1"), click("2"), click("3")]).to_string();
    assert!(service.post("/feedback", body).await.error(413, "too_large", None).contains("3 events"));
    let items = json!([{"id": "a"}, {"id": "b"}, {"id": "c"}]);
    let ranking = json!({"event": "ranking", "id": "r", "timestamp": "1636907100000", "items": items});
    service.post("/feedback", json!([ranking]).to_string()).await.error(400, "invalid_request", Some("[0].items"));
    service.post("/feedback", ranking.to_string()).await.error(400, "invalid_request", Some("items"));
}

#[tokio::test]
async fn an_event_that_comes_alone_has_no_place_in_a_list() {
    let service = Service::start().await;
    for (path, alone) in [("user", Some("user")), ("", None)] {
        let refusal = || Some(FeedError::Invalid { index: 0, path: path.into(), message: "no such visitor".into() });
        *service.events.refusal.lock() = refusal();
        service.post("/feedback", format!("\n{}", click("1"))).await.error(400, "invalid_request", alone);
        *service.events.refusal.lock() = refusal();
        let within = if path.is_empty() { "[0]".to_owned() } else { format!("[0].{path}") };
        service.post("/feedback", json!([click("1")]).to_string()).await.error(400, "invalid_request", Some(&within));
    }
}

#[tokio::test]
async fn trouble_behind_is_answered_with_try_again() {
    let service = Service::start().await;
    for trouble in [FeedError::Busy, FeedError::Failed("disk full".into())] {
        *service.events.refusal.lock() = Some(trouble);
        let answer = service.post("/feedback", click("1").to_string()).await;
        assert_eq!(answer.headers["retry-after"], "1");
        answer.error(503, "overloaded", None);
    }
}

#[tokio::test(start_paused = true)]
async fn events_that_take_too_long_are_worked_on_and_not_waited_for() {
    struct Endless;
    impl Feedback for Endless {
        fn feed(&self, _: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>> {
            Box::pin(std::future::pending())
        }
    }
    let service = Service::start_with(CONFIG, |builder| builder.feedback(Arc::new(Endless))).await;
    let message = service.post("/feedback", click("1").to_string()).await.error(503, "overloaded", None);
    assert!(message.contains("requestTimeout"), "{message}");
}
