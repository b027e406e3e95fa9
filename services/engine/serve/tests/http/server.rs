//! Real connections: draining, keeping alive, being slow.

use crate::service::{CONFIG, Service, ranking};
use rankwright_serve::metrics::ConnectionMetrics;
use rankwright_serve::server::{Connections, Timing, serve};
use rankwright_serve::{http, run};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// More than any test opens.
fn connections() -> Arc<Connections> {
    Connections::new(10_000, ConnectionMetrics::new().unwrap())
}

pub(crate) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(crate) fn request(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Reads one answer whose length is announced.
pub(crate) async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let len = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= len.parse().unwrap() {
                return text;
            }
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the connection ended after {text:?}");
    }
}

#[tokio::test]
async fn several_requests_share_a_connection() {
    let service = Service::start().await;
    let (listener, address) = listener().await;
    let server = tokio::spawn(run(service.app.clone(), listener, None, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    for _ in 0..3 {
        stream.write_all(request("/rank/plain", &ranking(&["a"])).as_bytes()).await.unwrap();
        assert!(answer(&mut stream).await.starts_with("HTTP/1.1 200"));
    }
    server.abort();
}

#[tokio::test]
async fn a_client_is_told_that_its_connection_ends_where_nobody_has_read_its_body() {
    let service = Service::start().await;
    let (listener, address) = listener().await;
    let server = tokio::spawn(run(service.app.clone(), listener, None, std::future::pending()));
    let large = "x".repeat(300_000);
    let broken = ranking(&["a"]) + "]";
    for (path, body, status, closes) in [
        ("/rank/plain", ranking(&["a"]), "200", false),
        ("/rank/plain", broken, "400", false),
        ("/rank/nobody", String::new(), "404", false),
        ("/nowhere", large.clone(), "404", true),
        ("/health", large, "405", true),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // the server may not take the rest
        drop(stream.write_all(request(path, &body).as_bytes()).await);
        let answer = answer(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert_eq!(answer.contains("\r\nconnection: close\r\n"), closes, "{answer}");
    }
    server.abort();
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_finishes_what_runs_and_takes_nothing_new() {
    let service = Service::start().await;
    let (listener, address) = listener().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(run(service.app.clone(), listener, None, async { drop(stopped.await) }));

    let (mut idle, mut busy) = (TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap());
    idle.write_all(request("/rank/plain", &ranking(&["a"])).as_bytes()).await.unwrap();
    answer(&mut idle).await;
    let whole = request("/rank/plain", &ranking(&["b"]));
    let (first, rest) = whole.split_at(whole.len() - 10);
    // the server asks for the body, so the request is running when this is answered
    let first = first.replace("host: x", "host: x\r\nexpect: 100-continue");
    busy.write_all(first.as_bytes()).await.unwrap();
    let mut head = [0; 25];
    busy.read_exact(&mut head).await.unwrap();
    assert!(head.starts_with(b"HTTP/1.1 100"), "{:?}", String::from_utf8_lossy(&head));

    stop.send(()).unwrap();
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0, "idle connections are closed");
    assert_eq!(service.get("/ready").await.json(), serde_json::json!({"status": "draining"}));
    assert!(TcpStream::connect(address).await.is_err(), "nothing listens any more");
    assert!(!server.is_finished());
    busy.write_all(rest.as_bytes()).await.unwrap();
    assert!(answer(&mut busy).await.starts_with("HTTP/1.1 200"));
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_that_are_kept_end_with_an_answer_when_a_server_is_told_to_stop() {
    let service = Service::start().await;
    let (listener, address) = listener().await;
    let (stop, stopped) = oneshot::channel::<()>();
    // it ends with the last connection, long before
    let timing = Timing { linger: Duration::from_secs(600), ..Timing::default() };
    let router = http::router(service.app.clone());
    let (told, is_told) = oneshot::channel::<()>();
    let told = async move {
        drop(stopped.await);
        told.send(()).unwrap();
    };
    let server = tokio::spawn(serve(router, listener, None, told, timing, connections()));
    let mut kept = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
    let request = request("/rank/plain", &ranking(&["a"]));
    for kept in &mut kept {
        kept.write_all(request.as_bytes()).await.unwrap();
        assert!(!answer(kept).await.contains("connection: close"));
    }
    stop.send(()).unwrap();
    is_told.await.unwrap();
    tokio::task::yield_now().await;
    for kept in &mut kept {
        kept.write_all(request.as_bytes()).await.unwrap();
        let answer = answer(kept).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
        assert_eq!(kept.read(&mut [0; 1]).await.unwrap(), 0, "it ends then");
    }
    server.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "nothing listens any more");
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed_in_time() {
    let service = Service::start().await;
    let (listener, address) = listener().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let timing = Timing { drain: Duration::from_millis(200), ..Timing::default() };
    let router = http::router(service.app.clone());
    let server = tokio::spawn(serve(router, listener, None, async { drop(stopped.await) }, timing, connections()));
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(request("/rank/plain", &ranking(&["a"])).as_bytes()).await.unwrap();
    answer(&mut idle).await;
    stop.send(()).unwrap();
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0, "it is closed in order");
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn requests_that_do_not_finish_are_cut_off_in_the_end() {
    let service = Service::start().await;
    let (listener, address) = listener().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let timing = Timing {
        head: Duration::from_secs(60),
        linger: Duration::ZERO,
        drain: Duration::from_millis(20),
        ..Timing::default()
    };
    let router = http::router(service.app.clone());
    let server = tokio::spawn(serve(router, listener, None, async { drop(stopped.await) }, timing, connections()));
    let mut stuck = TcpStream::connect(address).await.unwrap();
    stuck
        .write_all(b"POST /rank/plain HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n")
        .await
        .unwrap();
    stuck.read_exact(&mut [0; 25]).await.unwrap();
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_service_waits_for_requests_as_long_as_its_configuration_says() {
    let config = format!("{CONFIG}\napi: {{limits: {{drainTimeout: 20ms}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    let (listener, address) = listener().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(run(service.app.clone(), listener, None, async { drop(stopped.await) }));
    let mut stuck = TcpStream::connect(address).await.unwrap();
    stuck
        .write_all(b"POST /rank/plain HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n")
        .await
        .unwrap();
    stuck.read_exact(&mut [0; 25]).await.unwrap();
    stop.send(()).unwrap();
    // far less than without it
    tokio::time::timeout(Duration::from_secs(20), server).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let service = Service::start().await;
    let (listener, address) = listener().await;
    let timing =
        Timing { head: Duration::from_millis(20), linger: Duration::ZERO, drain: Duration::ZERO, ..Timing::default() };
    let server = tokio::spawn(serve(
        http::router(service.app.clone()),
        listener,
        None,
        std::future::pending(),
        timing,
        connections(),
    ));
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"POST /rank/plain HTTP/1.1\r\n").await.unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).await.unwrap();
    server.abort();
}

#[tokio::test]
async fn the_answer_to_a_body_that_is_too_large_arrives() {
    let config = format!("{CONFIG}\napi: {{limits: {{maxBodyBytes: 2000}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    let (listener, address) = listener().await;
    let server = tokio::spawn(run(service.app.clone(), listener, None, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    // far more than the socket's buffers hold: a client that writes all of it before it reads finds no broken pipe
    stream.write_all(request("/feedback", &" ".repeat(40 << 20)).as_bytes()).await.unwrap();
    let text = answer(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 413"), "{text}");
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0, "the connection ends in order");
    server.abort();
}

#[tokio::test]
async fn a_server_becomes_ready_by_itself() {
    let service = Service::cold(CONFIG, |builder| builder).await;
    let (listener, address) = listener().await;
    let server = tokio::spawn(run(service.app.clone(), listener, None, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    loop {
        stream.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let text = answer(&mut stream).await;
        if text.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(text.contains("starting"), "{text}");
    }
    server.abort();
}
