//! Clients that open connections and hold them, send what is no request, or close their side too early.

use crate::server::{answer, listener, request};
use crate::service::{CONFIG, Service, ranking};
use axum::Router;
use axum::routing::get;
use rankwright_serve::metrics::ConnectionMetrics;
use rankwright_serve::server::{Connections, Timing, serve};
use rankwright_serve::{run, tls};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A service with `most` connections at most.
async fn with_connections(most: usize) -> (SocketAddr, JoinHandle<std::io::Result<()>>) {
    let config = format!("{CONFIG}\napi: {{limits: {{maxConnections: {most}}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    let (listener, address) = listener().await;
    (address, tokio::spawn(run(service.app.clone(), listener, None, std::future::pending())))
}

async fn connected(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// What comes back for one request on a connection of its own.
async fn asked(address: SocketAddr, request: &str) -> String {
    let mut stream = connected(address).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    answer(&mut stream).await
}

const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n";

/// Whether the other side has closed it; waits for that or for what it is sent.
async fn is_closed(stream: &mut TcpStream) -> bool {
    // one that was closed before what was sent to it arrived is reset
    stream.read(&mut [0; 1]).await.map_or(true, |read| read == 0)
}

fn closed(metrics: &str, reason: &str) -> u64 {
    let line = format!("service_closed_connections_total{{reason=\"{reason}\"}} ");
    metrics.lines().find_map(|text| text.strip_prefix(&line)).unwrap().parse().unwrap()
}

#[tokio::test]
async fn silent_connections_make_room_for_requests_and_the_oldest_go_first() {
    let (address, server) = with_connections(20).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(connected(address).await);
    }
    assert!(asked(address, HEALTH).await.starts_with("HTTP/1.1 200"));
    assert!(asked(address, &request("/rank/plain", &ranking(&["a"]))).await.starts_with("HTTP/1.1 200"));
    let metrics = asked(address, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(metrics.starts_with("HTTP/1.1 200"));
    let (gone, left) = silent.split_at_mut(80);
    for stream in gone {
        assert!(is_closed(stream).await);
    }
    assert!((80..=83).contains(&closed(&metrics, "limit")), "{metrics}");
    let open = metrics.lines().find_map(|line| line.strip_prefix("service_connections ")).unwrap();
    assert!(open.parse::<u32>().unwrap() <= 21, "{open}");
    let newest = left.last_mut().unwrap();
    newest.write_all(HEALTH.as_bytes()).await.unwrap();
    assert!(answer(newest).await.starts_with("HTTP/1.1 200"));
    server.abort();
}

#[tokio::test]
async fn idle_connections_outlive_those_that_have_sent_no_request() {
    let (address, server) = with_connections(10).await;
    let mut kept = connected(address).await;
    kept.write_all(HEALTH.as_bytes()).await.unwrap();
    answer(&mut kept).await;
    let mut waiting = Vec::new();
    for count in 0..40 {
        let mut stream = connected(address).await;
        if count % 2 == 0 {
            stream.write_all(b"GET /hea").await.unwrap();
        }
        waiting.push(stream);
    }
    assert!(asked(address, HEALTH).await.starts_with("HTTP/1.1 200"));
    kept.write_all(HEALTH.as_bytes()).await.unwrap();
    assert!(answer(&mut kept).await.starts_with("HTTP/1.1 200"));
    server.abort();
}

#[tokio::test]
async fn a_body_that_does_not_come_makes_room_too() {
    let (address, server) = with_connections(4).await;
    let mut slow = Vec::new();
    for _ in 0..12 {
        let mut stream = connected(address).await;
        stream.write_all(b"POST /feedback HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n[").await.unwrap();
        slow.push(stream);
    }
    assert!(asked(address, HEALTH).await.starts_with("HTTP/1.1 200"));
    server.abort();
}

#[tokio::test]
async fn a_request_that_is_worked_on_is_never_closed() {
    let (begun, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = {
        let (begun, end) = (begun.clone(), end.clone());
        move || async move {
            begun.notify_one();
            end.notified().await;
            "done"
        }
    };
    let router = Router::new().route("/slow", get(slow)).route("/health", get(|| async { "well" }));
    let (listener, address) = listener().await;
    let connections = Connections::new(2, ConnectionMetrics::new().unwrap());
    let server = tokio::spawn(serve(router, listener, None, std::future::pending(), Timing::default(), connections));
    let mut busy = connected(address).await;
    busy.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    begun.notified().await;
    for _ in 0..10 {
        assert!(asked(address, HEALTH).await.ends_with("well"));
    }
    let silent = [connected(address).await, connected(address).await];
    assert!(asked(address, HEALTH).await.ends_with("well"));
    end.notify_one();
    assert!(answer(&mut busy).await.ends_with("done"));
    drop(silent);
    server.abort();
}

#[tokio::test]
async fn unfinished_heads_take_a_bounded_amount_of_memory_together() {
    let (address, server) = with_connections(10_000).await;
    let part = format!("GET /health HTTP/1.1\r\nhost: x\r\nlong: {}", "x".repeat(60_000));
    let mut unfinished = Vec::new();
    for _ in 0..300 {
        let mut stream = connected(address).await;
        stream.write_all(part.as_bytes()).await.unwrap();
        unfinished.push(stream);
    }
    let metrics = loop {
        let metrics = asked(address, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await;
        if closed(&metrics, "heads") > 0 {
            break metrics; // the server has read as much
        }
    };
    // half of 16 MiB is free then
    assert!((120..=300).contains(&closed(&metrics, "heads")), "{metrics}");
    assert_eq!(closed(&metrics, "limit"), 0);
    server.abort();
}

#[tokio::test]
async fn what_is_no_request_has_an_answer_in_json() {
    let (address, server) = with_connections(10).await;
    let many: String = (0..101).map(|count| format!("h{count}: x\r\n")).collect();
    let large = format!("long: {}\r\n", "x".repeat(65 << 10));
    for (head, status, code) in [
        ("nonsense\r\n\r\n".to_owned(), "400", "invalid_request"),
        ("GET /health HTTP/1.1\r\nbroken header\r\n\r\n".to_owned(), "400", "invalid_request"),
        ("GET /health HTTP/7.1\r\n\r\n".to_owned(), "400", "invalid_request"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "400", "invalid_request"),
        (format!("GET /health HTTP/1.1\r\n{many}\r\n"), "431", "too_large"),
        (format!("GET /health HTTP/1.1\r\n{large}\r\n"), "431", "too_large"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)), "431", "too_large"),
        (format!("GET /health HTTP/1.1\r\nlong: {}", "x".repeat(4 << 20)), "431", "too_large"),
    ] {
        let text = asked(address, &head).await;
        let (answered, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(answered.starts_with(&format!("HTTP/1.1 {status}")), "{answered}");
        assert!(answered.contains("content-type: application/json"), "{answered}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["error"]["code"], &body["error"]["path"]), (&code.into(), &serde_json::Value::Null));
        assert!(body["error"]["message"].is_string());
    }
    server.abort();
}

#[tokio::test]
async fn a_client_that_closes_its_side_behind_its_request_gets_its_answer() {
    let (address, server) = with_connections(10).await;
    let large = ranking(&["a"; 3000]);
    let event = r#"{"event":"item","id":"1","timestamp":"1636907100000","item":"p1","fields":[]}"#;
    for request in [
        HEALTH.to_owned(),
        "GET /status HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        request("/rank/plain", &ranking(&["a"])),
        request("/rank/plain", &large),
        request("/feedback", event),
        request("/train/shop", ""),
    ] {
        let mut stream = connected(address).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{request:.60}: {text}");
    }
    server.abort();
}

/// A certificate for localhost and its key, by the system's openssl.
fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-out", "cert.pem", "-keyout", "key.pem"])
        .current_dir(folder)
        .output();
    assert!(made.unwrap().status.success(), "openssl makes a certificate");
    (folder.join("cert.pem"), folder.join("key.pem"))
}

/// What trusts a certificate.
fn trusting(cert: &Path) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(cert).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    TlsConnector::from(Arc::new(config.with_no_client_auth()))
}

/// Its side ends with a `close_notify`.
#[tokio::test]
async fn a_client_that_closes_its_side_of_an_encrypted_connection_gets_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = certificate(folder.path());
    let (service, (listener, address)) = (Service::start().await, listener().await);
    let acceptor = tls::acceptor(&cert, &key).unwrap();
    let server = tokio::spawn(run(service.app.clone(), listener, Some(acceptor), std::future::pending()));
    let connector = trusting(&cert);
    let event = r#"{"event":"item","id":"1","timestamp":"1636907100000","item":"p1","fields":[]}"#;
    for request in [
        HEALTH.to_owned(),
        request("/rank/plain", &ranking(&["a"; 3000])),
        request("/feedback", event),
        request("/train/shop", ""),
    ] {
        let mut stream = connector.connect("localhost".try_into().unwrap(), connected(address).await).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let text = answer(&mut stream).await;
        assert!(text.starts_with("HTTP/1.1 200"), "{request:.60}: {text}");
    }
    server.abort();
}
