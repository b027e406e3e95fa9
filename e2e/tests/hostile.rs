//! Requests of every shape against a running service: none brings it down, none is answered as its own fault.

use rankwright_e2e::events::{DURABLE, cheap_wins, ranking};
use rankwright_e2e::random::Random;
use rankwright_e2e::{Answer, Service, http};
use serde_json::{Value, json};

const PATHS: [&str; 6] =
    ["/rank/m", "/rank/m?explain=true", "/feedback", "/recommend/m", "/inference/cross/x", "/train/x"];

fn bodies() -> Vec<String> {
    let shown = ranking("q", 1, "u", &["i1", "i2", "i3"]);
    let batch: Vec<Value> = cheap_wins(3);
    let typed = json!({"id": "q", "timestamp": 1.5e12, "user": "u", "fields": [{"name": "a", "value": [1, 2.5]},
        {"name": "b", "value": ["x", "y"]}, {"name": "c", "value": true}], "items": [{"id": "i1",
        "fields": [{"name": "price", "value": 3}], "label": 1, "score": 0.5}, {"id": "i2"}]});
    vec![shown.to_string(), json!(batch).to_string(), typed.to_string()]
}

/// What mutation puts in: the tokens of JSON, extremes, things that are no text.
const PIECES: [&[u8]; 22] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"null",
    b"NaN",
    b"-1e999",
    b"1e308",
    b"9223372036854775808",
    b"\\ud800",
    b"\\u0000",
    b"\xff\xfe",
    b"\0",
    b"\xf0\x9f\x92\xa9",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"true",
    b"\"items\":",
    b"-0",
    b" ",
];

fn mutated(body: &[u8], random: &mut Random) -> Vec<u8> {
    let mut body = body.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(body.len() + 1);
        let end = (at + random.below(12)).min(body.len());
        match random.below(4) {
            0 => drop(body.splice(at..end, random.one_of(&PIECES).iter().copied())),
            1 => drop(body.drain(at..end)),
            2 => drop(body.splice(at..at, random.one_of(&PIECES).iter().copied())),
            _ => body.truncate(at),
        }
    }
    body
}

fn assert_harmless(answer: &Answer, sent: &[u8]) {
    let sent = String::from_utf8_lossy(sent);
    assert!(answer.status < 500, "{sent:?}: {answer:?}");
    if answer.status >= 400 && !answer.text.is_empty() {
        assert!(!answer.refusal().0.is_empty(), "{sent:?}: {answer:?}");
    }
}

fn with_service(play: impl Fn(&Service, &mut Random)) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut service = Service::serve(DURABLE, folder.path());
    service.feedback(&cheap_wins(20));
    play(&service, &mut Random(11));
    assert!(service.lives(), "{}", service.log());
    assert!(!service.log().contains("panicked"), "{}", service.log());
    service.post("/rank/m", &ranking("q", 1, "u", &["i1"])).ok();
}

#[test]
fn mutated_bodies_are_answered_or_refused() {
    with_service(|service, random| {
        let bodies = bodies();
        for _ in 0..3000 {
            let body = mutated(random.one_of(&bodies).as_bytes(), random);
            let path = random.one_of(&PATHS);
            let answer = http::post(service.address(), path, &body).expect("every request has an answer");
            assert_harmless(&answer, &body);
        }
    });
}

#[test]
fn values_of_every_type_in_every_place_are_answered_or_refused() {
    let values =
        [json!(null), json!(true), json!(-1), json!(1e300), json!(""), json!("x"), json!([]), json!({}), json!([[1]])];
    with_service(|service, _| {
        for body in bodies().iter().map(|body| serde_json::from_str::<Value>(body).expect("the bodies are JSON")) {
            for place in places(&body) {
                for value in &values {
                    let mut body = body.clone();
                    *body.pointer_mut(&place).expect("the place is one of this body") = value.clone();
                    for path in ["/rank/m", "/feedback"] {
                        assert_harmless(&service.post(path, &body), body.to_string().as_bytes());
                    }
                }
            }
        }
    });
}

/// JSON pointers to every value of a body, few of long lists.
fn places(value: &Value) -> Vec<String> {
    let below = |key: String, value: &Value| places(value).into_iter().map(move |place| format!("/{key}{place}"));
    let mut all = vec![String::new()];
    match value {
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .rev()
                .take(3)
                .for_each(|(index, value)| all.extend(below(index.to_string(), value)));
        }
        Value::Object(fields) => fields.iter().for_each(|(key, value)| all.extend(below(key.clone(), value))),
        _ => {}
    }
    all
}

#[test]
fn bytes_that_are_no_http_are_refused_or_dropped() {
    with_service(|service, random| {
        for _ in 0..300 {
            let length = random.below(300);
            let bytes = random.bytes(length);
            // no answer is an answer to what is no request
            if let Ok(answer) = http::send_and_hang_up(service.address(), &bytes) {
                assert_harmless(&answer, &bytes);
            }
        }
    });
}

#[test]
fn mutated_heads_and_requests_cut_short_are_refused_or_dropped() {
    with_service(|service, random| {
        let request = http::request("POST", "/rank/m", bodies()[0].as_bytes());
        for _ in 0..300 {
            let bytes = mutated(&request, random);
            if let Ok(answer) = http::send_and_hang_up(service.address(), &bytes) {
                assert_harmless(&answer, &bytes);
            }
        }
    });
}
