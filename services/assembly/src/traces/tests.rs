use super::*;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A collector that answers one request after the other so; what it was sent, as head and body.
fn collector(answers: Vec<(&'static str, &'static str)>) -> (SocketAddr, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (sent, came) = channel();
    thread::spawn(move || {
        for (status, answer) in answers {
            let (stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).expect("a line"), 0, "the head ends");
            }
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.expect("a length")];
            reader.read_exact(&mut body).expect("the body");
            let length = answer.len();
            let whole = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{answer}");
            reader.get_mut().write_all(whole.as_bytes()).expect("the client waits");
            let _over = sent.send((head, serde_json::from_slice(&body).expect("JSON")));
        }
    });
    (address, came)
}

/// What sends to a collector, with the task that does.
fn traces(address: SocketAddr) -> (Traces, Metrics) {
    let variable = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(format!("http://{address}")),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("x-key=secret".to_owned()),
        _ => None,
    };
    let (settings, warnings) = Settings::of(&variable, "rank-server");
    assert!(warnings.is_empty(), "{warnings:?}");
    let (settings, metrics) = (settings.expect("a collector is named"), Metrics::new().expect("valid names"));
    let (tracer, queue) = Tracer::new(settings.sampler, &metrics);
    let (stop, exporter) = (Arc::new(Notify::new()), Exporter::new(settings, metrics.clone()));
    let task = tokio::spawn(exporter.run(queue, stop.clone()));
    (Traces { tracer, metrics: Some(metrics.clone()), sending: Mutex::new(Some(Sending { stop, task })) }, metrics)
}

fn span(traces: &Traces, name: &'static str) -> Span {
    traces.tracer().begin(Kind::Internal, None, || name.into())
}

async fn next(came: &Arc<std::sync::Mutex<Receiver<(String, Value)>>>) -> (String, Value) {
    let came = came.clone();
    let next = move || came.lock().expect("nothing panics").recv_timeout(Duration::from_secs(60));
    tokio::task::spawn_blocking(next).await.expect("nothing panics").expect("something comes")
}

fn names(body: &Value) -> Vec<&str> {
    let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
    spans.iter().map(|span| span["name"].as_str().expect("a name")).collect()
}

fn page(metrics: &Metrics) -> String {
    let registry = Registry::new();
    metrics.register(&registry).expect("valid names");
    prometheus::TextEncoder::new().encode_to_string(&registry.gather()).expect("text")
}

#[tokio::test]
async fn spans_wait_for_a_collector_that_is_busy_and_are_sent_again() {
    let (address, came) = collector(vec![("503 Busy", ""), ("200 OK", "{}"), ("200 OK", "{}")]);
    let came = Arc::new(std::sync::Mutex::new(came));
    let (traces, metrics) = traces(address);
    drop(span(&traces, "first"));
    let (head, refused) = next(&came).await;
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n") && head.contains("x-key: secret\r\n"), "{head}");
    assert!(
        head.contains("content-type: application/json\r\n") && head.contains(&format!("host: {address}\r\n")),
        "{head}"
    );
    let (_, taken) = next(&came).await;
    assert_eq!((names(&refused), &refused), (vec!["first"], &taken));
    let resource = taken["resourceSpans"][0]["resource"]["attributes"].to_string();
    for part in ["rank-server", "service.version", "service.instance.id", "rankwright.service"] {
        assert!(resource.contains(part), "{resource}");
    }
    drop(span(&traces, "last"));
    traces.finish().await;
    assert_eq!(names(&next(&came).await.1), ["last"], "what waits at the end is sent");
    let page = page(&metrics);
    assert!(page.contains("service_trace_exported_spans_total 2\n"), "{page}");
    assert!(page.contains("service_trace_waiting_spans 0\n"), "{page}");
}

#[tokio::test]
async fn what_a_collector_refuses_is_dropped_and_counted() {
    let partly = r#"{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "too old"}}"#;
    let (address, came) = collector(vec![("400 Bad Request", "no"), ("200 OK", partly)]);
    let came = Arc::new(std::sync::Mutex::new(came));
    let (traces, metrics) = traces(address);
    drop(span(&traces, "a"));
    assert_eq!(names(&next(&came).await.1), ["a"]);
    drop((span(&traces, "b"), span(&traces, "c")));
    assert_eq!(names(&next(&came).await.1), ["b", "c"], "it is not sent again");
    traces.finish().await;
    let page = page(&metrics);
    assert!(page.contains("service_trace_dropped_spans_total{reason=\"refused\"} 2\n"), "{page}");
    assert!(page.contains("service_trace_exported_spans_total 1\n"), "{page}");
}
