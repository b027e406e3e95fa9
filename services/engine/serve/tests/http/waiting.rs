//! A program that does not answer requests yet.

use crate::service::{Answer, Service};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use rankwright_config::Config;
use rankwright_serve::{STATE, Status, Waiting};
use serde_json::{Value, json};
use std::sync::Arc;

async fn ask(waiting: &Waiting, path: &str, accept: &str) -> Answer {
    let request = Request::builder().uri(path).header("accept", accept).body(Body::empty()).unwrap();
    Answer::of(waiting.router(&[]), request).await
}

/// What a page of an origin gets to see.
async fn from_page(waiting: &Waiting, path: &str, origin: &str) -> Answer {
    let request = Request::builder().uri(path).header("host", "localhost:8080").header("origin", origin);
    let allowed = ["https://shop.example".to_owned()];
    Answer::of(waiting.router(&allowed), request.body(Body::empty()).unwrap()).await
}

fn with_page(waiting: Waiting) -> Waiting {
    let files = Router::new().route("/", get(|| async { "the page" })).route("/assets/a.js", get(|| async { "code" }));
    let (config, _) = Config::parse("models: {m: {type: noop}}\napi: {token: secret}", "test").unwrap();
    waiting.with_page(files, &config.api)
}

#[tokio::test]
async fn a_program_that_waits_for_its_store_has_its_page_and_says_there_what_is_wrong() {
    let waiting = with_page(Waiting::new(STATE, "connection refused".to_owned()));
    assert_eq!(ask(&waiting, "/", "text/html").await.text(), "the page");
    assert_eq!(ask(&waiting, "/assets/a.js", "*/*").await.text(), "code");
    assert_eq!(ask(&waiting, "/page", "*/*").await.json()["tokenNeeded"], true);
    let status = ask(&waiting, "/status", "*/*").await.json();
    let store = json!({"type": "redis", "answers": false, "problem": "connection refused"});
    assert_eq!((&status["phase"], &status["store"]), (&json!("waiting"), &store));
    for path in ["/", "/models", "/items/a"] {
        let told = ask(&waiting, path, "application/json").await.error(503, "unavailable", None);
        assert_eq!(told, "still waiting for the state store, see /status");
    }
    let plain = Waiting::new(STATE, String::new());
    for path in ["/", "/page", "/assets/a.js"] {
        ask(&plain, path, "text/html").await.error(503, "unavailable", None);
    }
}

#[tokio::test]
async fn a_program_that_waits_describes_what_it_answers_and_nothing_else() {
    let waiting = with_page(Waiting::new(STATE, String::new()));
    let document = ask(&waiting, "/openapi.json", "*/*").await.json();
    let whole = Service::start().await.get("/openapi.json").await.json();
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(whole["paths"][path]["get"].is_object(), "{path}");
        let answer = ask(&waiting, path, "text/html").await;
        assert!(answer.status == 200 || path == "/ready", "{path}: {}", answer.status);
    }
}

#[tokio::test]
async fn a_program_that_waits_answers_pages_of_its_own_and_of_allowed_origins_alone() {
    let waiting = with_page(Waiting::new(STATE, String::new()));
    for path in ["/status", "/page", "/health", "/rank/shop"] {
        from_page(&waiting, path, "https://evil.example").await.error(403, "foreign_origin", None);
    }
    assert_eq!(from_page(&waiting, "/status", "http://localhost:8080").await.status, 200);
    let allowed = from_page(&waiting, "/status", "https://shop.example").await;
    assert_eq!(allowed.headers["access-control-allow-origin"], "https://shop.example");
    assert_eq!(allowed.json()["phase"], "waiting");
}

#[tokio::test]
async fn a_program_that_imports_before_it_answers_says_how_far_it_is() {
    struct Import;
    impl Status for Import {
        fn status(&self) -> Value {
            json!([{"kind": "import", "events": 7}])
        }
    }
    let waiting = Waiting::at_work(Arc::new(Import));
    let status = ask(&waiting, "/status", "*/*").await.json();
    assert_eq!((&status["phase"], &status["work"]), (&json!("waiting"), &Import.status()));
    let ready = ask(&waiting, "/ready", "*/*").await;
    assert_eq!(
        (ready.status.as_u16(), ready.json()),
        (503, json!({"status": "waiting for its imports and trainings"}))
    );
}
