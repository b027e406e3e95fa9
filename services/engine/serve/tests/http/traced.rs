//! What spans say of requests. `e2e/tests/traces.rs` has the steps of a real program.

use crate::service::{CONFIG, Service, ranking};
use rankwright_serve::{Builder, FeedError, Front};
use rankwright_state::Slot;
use rankwright_trace::{Metrics, Queue, Sampler, Tracer, otlp};
use serde_json::{Value, json};

/// A service that records all requests, and where their spans come out.
async fn service() -> (Service, Queue) {
    let (tracer, queue) = Tracer::new(Sampler::default(), &Metrics::new().unwrap());
    let front = Front::new(axum::Router::new());
    let config = CONFIG.replace("interactions: [click]", "interactions: [click], excludeSeen: true");
    let build = |builder: Builder| builder.tracer(tracer).page(front).seen("similar", Slot(0));
    (Service::start_with(&config, build).await, queue)
}

/// Spans that ended, in order of their ends.
fn spans(queue: &mut Queue) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&otlp::body(&queue.take(), &[])).unwrap();
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn noted<'s>(span: &'s Value, key: &str) -> Option<&'s str> {
    let notes = span["attributes"].as_array().unwrap();
    notes.iter().find(|note| note["key"] == key)?["value"]["stringValue"].as_str()
}

#[tokio::test]
async fn no_id_of_a_path_is_recorded() {
    let (service, mut queue) = service().await;
    for (path, route, recorded) in [
        ("/recommend/similar", Some("/recommend/{model}"), Some("/recommend/similar")),
        ("/users/visitor-7", Some("/users/{id}"), None),
        ("/items/item-7?tenant=t", Some("/items/{id}"), None),
        ("/user/visitor-7", None, None),
    ] {
        service.post(path, "{}").await;
        let spans = spans(&mut queue);
        let span = spans.last().unwrap();
        assert_eq!((noted(span, "http.route"), noted(span, "url.path")), (route, recorded), "{path}");
        assert!(recorded.is_some() || !span.to_string().contains("-7"), "{span}");
    }
}

#[tokio::test]
async fn events_that_are_not_taken_in_are_recorded_as_failed() {
    let (service, mut queue) = service().await;
    let event = json!({"event": "item", "id": "i", "timestamp": "1700000000000", "item": "a", "fields": []});
    let mut ingest = async |refusal: FeedError| {
        *service.events.refusal.lock() = Some(refusal);
        service.post("/feedback", event.to_string()).await;
        let spans = spans(&mut queue);
        spans.iter().find(|span| span["name"] == "ingest").unwrap()["status"].clone()
    };
    let failed = ingest(FeedError::Failed("connection refused".to_owned())).await;
    assert_eq!(failed["message"], "failed to take in the events: connection refused");
    assert_eq!(ingest(FeedError::Busy).await["message"], "too many events are waiting");
    let invalid = FeedError::Invalid { index: 0, path: String::new(), message: "u is no visitor".to_owned() };
    assert_eq!(ingest(invalid).await, Value::Null, "it is the sender's fault");
}

#[tokio::test]
async fn a_state_that_is_away_is_recorded_where_it_was_asked() {
    let (service, mut queue) = service().await;
    service.break_state(true);
    let visitor = json!({"user": "u", "count": 1}).to_string();
    for (path, body) in [("/recommend/similar", visitor), ("/rank/shop", ranking(&["a"]))] {
        assert_eq!(service.post(path, body).await.status, 200);
        let spans = spans(&mut queue);
        let read = spans.iter().find(|span| span["name"] == "read").unwrap();
        assert!(read["status"]["message"].as_str().is_some_and(|told| told.contains("connection refused")), "{path}");
        assert_eq!(spans.last().unwrap()["status"], Value::Null, "the request is answered all the same");
    }
}
