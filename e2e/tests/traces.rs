//! Requests as an OpenTelemetry collector sees them, and a collector that does not answer.

use rankwright_e2e::events::{DURABLE, cheap_wins, click, lines, ranking};
use rankwright_e2e::folder::{folder, write};
use rankwright_e2e::{Answer, Launch, Service, http};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime};

const PATIENCE: Duration = Duration::from_secs(120);
const NOOP: &str = "state: {type: memory}\nmodels: {m: {type: noop}}";

/// What stands in for a collector: it takes spans, after it has hung up on the first connections.
struct Collector {
    endpoint: String,
    spans: Receiver<Value>,
    seen: Vec<Value>,
}

impl Collector {
    fn after(hangs_up: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("is bound"));
        let (sent, spans) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().skip(hangs_up) {
                take(stream.expect("a connection"), &sent);
            }
        });
        Self { endpoint, spans, seen: Vec::new() }
    }

    /// The spans of a trace, from the first that ended to the last, which has this name.
    fn trace(&mut self, id: Option<&str>, last: &str) -> Vec<Value> {
        let is_last = |span: &Value| span["name"] == last && id.is_none_or(|id| span["traceId"] == id);
        while !self.seen.iter().any(is_last) {
            self.seen.push(self.spans.recv_timeout(PATIENCE).expect("the span comes"));
        }
        let root = self.seen.iter().find(|span| is_last(span)).expect("is there").clone();
        self.seen.iter().filter(|span| span["traceId"] == root["traceId"]).cloned().collect()
    }
}

/// Reads one request, hands its spans on and answers.
fn take(stream: TcpStream, sent: &Sender<Value>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return; // it went away
        }
    }
    assert!(
        head.starts_with("POST /v1/traces HTTP/1.1\r\n") && head.contains("content-type: application/json"),
        "{head}"
    );
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).expect("the body comes");
    let body: Value = serde_json::from_slice(&body).expect("it is JSON");
    let resource = &body["resourceSpans"][0];
    assert_eq!(noted(&resource["resource"], "service.name"), "shop");
    let spans = resource["scopeSpans"][0]["spans"].as_array().expect("a list").clone();
    spans.into_iter().for_each(|span| drop(sent.send(span)));
    let answer =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    let _gone = reader.get_mut().write_all(answer);
}

/// What a span, or a resource, notes under a key.
fn noted(of: &Value, key: &str) -> String {
    let notes = of["attributes"].as_array().expect("a list");
    let value = notes.iter().find(|note| note["key"] == key).map(|note| &note["value"]);
    let value = value.unwrap_or_else(|| panic!("no {key} in {of}"));
    let text = value["stringValue"].as_str().or(value["intValue"].as_str());
    text.expect("a text or a number").to_owned()
}

fn nanos(span: &Value, key: &str) -> u128 {
    span[key].as_str().and_then(|text| text.parse().ok()).expect("a time")
}

fn now() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later").as_nanos()
}

/// Has a list ordered, as part of a trace of another program.
fn rank(service: &Service, traceparent: &str) -> Answer {
    let body = ranking("q", 4000, "u", &["i1", "i2", "i3"]).to_string();
    let request = String::from_utf8(http::request("POST", "/rank/m", body.as_bytes())).expect("text");
    let request = request.replacen("\r\n", &format!("\r\ntraceparent: {traceparent}\r\n"), 1);
    http::send(service.address(), request.as_bytes()).expect("is answered").ok()
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans.iter().map(|span| span["name"].as_str().expect("a name")).collect()
}

/// A metric of a page.
fn metric(page: &str, name: &str) -> Option<u64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn a_request_is_recorded_step_by_step_where_its_sender_records_it() {
    let place = folder();
    let data = write(place.path(), "events.jsonl", lines(&cheap_wins(60)));
    let mut collector = Collector::after(0);
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str()), ("OTEL_SERVICE_NAME", "shop")];
    let (folder, data) = (place.path(), Some(&*data));
    let service = Launch { subcommand: "standalone", config: DURABLE, data, folder, environment: &environment }.start();
    let (silent, told) = ("0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736");
    let before = now();
    rank(&service, &format!("00-{silent}-b7ad6b7169203331-00"));
    rank(&service, &format!("00-{told}-00f067aa0ba902b7-01"));
    let after = now();

    let spans = collector.trace(Some(told), "POST /rank/{model}");
    assert_eq!(names(&spans), ["receive", "decode", "read", "rows", "score", "POST /rank/{model}"]);
    let (root, steps) = spans.split_last().expect("there are some");
    assert_eq!((&root["parentSpanId"], &root["kind"]), (&json!("00f067aa0ba902b7"), &json!(2)));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/rank/{model}"),
        ("url.path", "/rank/m"),
        ("http.response.status_code", "200"),
        ("rankwright.model", "m"),
        ("rankwright.items", "3"),
    ] {
        assert_eq!(noted(root, key), value, "{key}");
    }
    assert_eq!(root["status"], Value::Null, "it did not fail");
    assert_eq!(noted(&spans[2], "rankwright.keys"), "5", "three items, their visitor and the visit");
    let mut reached = nanos(root, "startTimeUnixNano");
    assert!(before <= reached && nanos(root, "endTimeUnixNano") <= after);
    for step in steps {
        assert_eq!((&step["parentSpanId"], &step["kind"]), (&root["spanId"], &json!(1)));
        assert!(reached <= nanos(step, "startTimeUnixNano"), "one after the other: {spans:?}");
        reached = nanos(step, "endTimeUnixNano");
    }
    assert!(reached <= nanos(root, "endTimeUnixNano"));
    assert!(collector.seen.iter().all(|span| span["traceId"] != silent), "its sender does not record it");

    let training = collector.trace(None, "train");
    assert_eq!((names(&training), noted(&training[0], "rankwright.model")), (vec!["train"], "m".to_owned()));
    service.feedback(&[click("late", 4000, "q", "u", "i1")]);
    let feedback = collector.trace(None, "POST /feedback");
    assert_eq!(names(&feedback), ["receive", "decode", "ingest", "POST /feedback"]);
    assert_eq!(
        (&feedback[3]["parentSpanId"], noted(&feedback[3], "rankwright.events")),
        (&Value::Null, "1".to_owned())
    );
    let names = names(&collector.seen);
    assert!(!names.iter().any(|name| name.starts_with("GET")), "probes are left out: {names:?}");
}

#[test]
fn a_ratio_of_nothing_and_no_collector_record_nothing() {
    let place = folder();
    let mut collector = Collector::after(0);
    let endpoint = format!("{}/v1/traces", collector.endpoint);
    let environment = [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint.as_str()),
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0"),
    ];
    let (config, folder) = (NOOP, place.path());
    let service = Launch { subcommand: "serve", config, data: None, folder, environment: &environment }.start();
    service.post("/rank/m", &ranking("q", 1, "u", &["a"])).ok();
    let told = "4bf92f3577b34da6a3ce929d0e0e4736";
    rank(&service, &format!("00-{told}-00f067aa0ba902b7-01"));
    assert_eq!(names(&collector.trace(Some(told), "POST /rank/{model}")).len(), 5, "the sender's word counts");
    assert!(collector.seen.iter().all(|span| span["traceId"] == told), "{:?}", collector.seen);
    drop(service);
    let service = Launch { subcommand: "serve", config, data: None, folder, environment: &[] }.start();
    rank(&service, &format!("00-{told}-00f067aa0ba902b7-01"));
    assert!(!service.metrics().contains("service_trace_") && !service.log().contains("traces"), "{}", service.log());
}

#[test]
fn a_collector_that_hangs_delays_nothing_and_spans_without_room_are_dropped_and_counted() {
    let place = folder();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port"); // the system takes connections, nothing answers
    let endpoint = format!("http://{}", listener.local_addr().expect("is bound"));
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")];
    let folder = place.path();
    let service = Launch { subcommand: "serve", config: NOOP, data: None, folder, environment: &environment }.start();
    // five spans of each: more than are sent together and have room in the queue
    for _ in 0..2500 {
        service.post("/rank/m", &ranking("q", 1, "u", &["a"])).ok();
    }
    let page = service.metrics();
    let dropped = metric(&page, "service_trace_dropped_spans_total{reason=\"full\"}").expect("is shown");
    let waiting = metric(&page, "service_trace_waiting_spans").expect("is shown");
    assert!(dropped > 0 && waiting == 8192, "{dropped} dropped, {waiting} waiting");
    assert_eq!(metric(&page, "service_trace_exported_spans_total"), Some(0));
    service.terminate();
    assert_eq!(service.wait(), Some(0), "the end does not wait for it either");
}

#[test]
fn a_collector_that_is_away_is_told_of_once_and_gets_what_waited() {
    let place = folder();
    let mut collector = Collector::after(2);
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str()), ("OTEL_SERVICE_NAME", "shop")];
    let folder = place.path();
    let service = Launch { subcommand: "serve", config: NOOP, data: None, folder, environment: &environment }.start();
    service.post("/rank/m", &ranking("q", 1, "u", &["a"])).ok();
    let spans = collector.trace(None, "POST /rank/{model}");
    assert_eq!(names(&spans), ["receive", "decode", "rows", "score", "POST /rank/{model}"]);
    service.until("over", || service.log().contains("the collector takes traces again"));
    assert_eq!(service.log().matches("traces are not sent: ").count(), 1, "{}", service.log());
    let sent = || metric(&service.metrics(), "service_trace_exported_spans_total") == Some(5);
    service.until("counted", sent);
}
