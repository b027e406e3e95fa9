//! Bodies that come compressed.

use crate::service::{Answer, CONFIG, Service, ranking};
use axum::body::Body;
use axum::http::Request;
use rankwright_event::Event;
use rankwright_serve::{Fed, FeedError, Feedback};
use rankwright_state::BoxFuture;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

async fn sent(service: &Service, path: &str, encoding: &str, body: Vec<u8>) -> Answer {
    service.ask(Request::post(path).header("content-encoding", encoding).body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn gzip_and_zstd_are_decoded() {
    let service = Service::start().await;
    let asked = ranking(&["b", "a"]);
    let zstd = zstd::encode_all(asked.as_bytes(), 3).unwrap();
    for (encoding, body) in [("gzip", gzip(&asked)), ("zstd", zstd), ("identity", asked.clone().into_bytes())] {
        assert_eq!(sent(&service, "/rank/plain", encoding, body).await.items(), ["b", "a"], "{encoding}");
    }
    let event = r#"{"event":"item","id":"1","timestamp":"1636907100000","item":"p1","fields":[]}"#;
    assert_eq!(sent(&service, "/feedback", "gzip", gzip(event)).await.json()["accepted"], 1);
    assert_eq!(service.events.events.lock().len(), 1);
}

#[tokio::test]
async fn the_limit_of_a_body_holds_after_it_is_decoded() {
    let config = format!("{CONFIG}\napi: {{limits: {{maxBodyBytes: 2000}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    let small = gzip(&format!("{}{}", ranking(&["a"]), " ".repeat(1800)));
    assert!(small.len() < 300);
    assert_eq!(sent(&service, "/rank/plain", "gzip", small).await.items(), ["a"]);
    let large = " ".repeat(2001);
    let zstd = zstd::encode_all(large.as_bytes(), 3).unwrap();
    for (encoding, body) in [("gzip", gzip(&large)), ("zstd", zstd)] {
        for path in ["/rank/plain", "/feedback", "/recommend/similar"] {
            let message = sent(&service, path, encoding, body.clone()).await.error(413, "too_large", None);
            assert!(message.contains("2000 bytes"), "{message}");
        }
    }
}

/// Counts calls, and never answers.
struct Stuck(Arc<Semaphore>);

impl Feedback for Stuck {
    fn feed(&self, _: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>> {
        self.0.add_permits(1);
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_body_without_room_to_be_decoded_is_refused_before_its_client_gives_up() {
    let config = format!("{CONFIG}\napi: {{limits: {{maxBodyBytes: 2048, requestTimeout: 10s}}}}");
    let begun = Arc::new(Semaphore::new(0));
    let stuck = Arc::new(Stuck(begun.clone()));
    let service = Service::start_with(&config, |builder| builder.feedback(stuck)).await;
    let id = "x".repeat(1500);
    let event = format!(r#"{{"event":"item","id":"{id}","timestamp":"1636907100000","item":"p1","fields":[]}}"#);
    let four = futures_util::future::join_all((0..4).map(|_| sent(&service, "/feedback", "gzip", gzip(&event))));
    let fifth = async {
        let _four = begun.acquire_many(4).await.unwrap();
        let asked = Instant::now();
        let refused = sent(&service, "/rank/plain", "gzip", gzip(&ranking(&["a"]))).await;
        (refused, asked.elapsed())
    };
    tokio::select! {
        _ = four => panic!("four bodies, which have all the room, are worked on"),
        (refused, took) = fifth => {
            refused.error(503, "overloaded", None);
            assert!(took < Duration::from_secs(9), "{took:?}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_decoded_is_refused() {
    let service = Service::start().await;
    for other in ["br", "deflate", "gzip, zstd"] {
        let answer = sent(&service, "/rank/plain", other, Vec::new()).await;
        assert_eq!(answer.headers["accept-encoding"], "gzip, zstd");
        answer.error(415, "unsupported_encoding", None);
    }
    let message = sent(&service, "/feedback", "gzip", b"[]".to_vec()).await.error(400, "invalid_request", None);
    assert!(message.contains("Content-Encoding"), "{message}");
}
