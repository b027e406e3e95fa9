//! Spans as OTLP in JSON, what a collector takes at `/v1/traces`.

use crate::span::{Finished, Kind, Value};
use serde_json::{Value as Json, json};

/// The body of a request with these spans; `resource` describes the program.
pub fn body(spans: &[Finished], resource: &[(String, String)]) -> Vec<u8> {
    let text = |value: &str| json!({ "stringValue": value });
    let resource: Vec<Json> = resource.iter().map(|(key, value)| json!({ "key": key, "value": text(value) })).collect();
    let scope = json!({ "name": "rankwright", "version": env!("CARGO_PKG_VERSION") });
    let spans: Vec<Json> = spans.iter().map(span).collect();
    let body = json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }],
    });
    body.to_string().into_bytes()
}

/// How many spans the answer of a collector says that it did not take, and why.
pub fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let answer: Json = serde_json::from_slice(answer).ok()?;
    let partial = &answer["partialSuccess"];
    let count = &partial["rejectedSpans"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|&count| count > 0)?;
    Some((count, partial["errorMessage"].as_str().unwrap_or("it does not say why").to_owned()))
}

/// Ids are hexadecimal, and whole numbers of 64 bits are texts, as the standard wants.
fn span(span: &Finished) -> Json {
    let notes: Vec<Json> = span.notes.iter().map(|(key, value)| json!({ "key": key, "value": of(value) })).collect();
    let mut json = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": kind(span.kind),
        "startTimeUnixNano": span.began.to_string(),
        "endTimeUnixNano": span.ended.to_string(),
        "attributes": notes,
    });
    if let Some(parent) = span.parent {
        json["parentSpanId"] = format!("{parent:016x}").into();
    }
    if let Some(failure) = &span.failure {
        json["status"] = json!({ "code": 2, "message": failure });
    }
    json
}

fn of(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Whole(number) => json!({ "intValue": number.to_string() }),
    }
}

fn kind(kind: Kind) -> u8 {
    match kind {
        Kind::Internal => 1,
        Kind::Server => 2,
        Kind::Consumer => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_the_standard_shows() {
        let finished = Finished {
            trace: 0x4bf9_2f35,
            id: 0xf067,
            parent: Some(1),
            name: "read".into(),
            kind: Kind::Internal,
            began: 1_700_000_000_000_000_001,
            ended: 1_700_000_000_000_000_002,
            notes: vec![("keys", Value::Whole(3)), ("model", Value::from("m\"1"))],
            failure: Some("away".to_owned()),
        };
        let resource = [("service.name".to_owned(), "rank-server".to_owned())];
        let body: Json = serde_json::from_slice(&body(&[finished], &resource)).expect("is JSON");
        let expected = json!({"resourceSpans": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "rank-server"}}]},
            "scopeSpans": [{
                "scope": {"name": "rankwright", "version": env!("CARGO_PKG_VERSION")},
                "spans": [{
                    "traceId": "0000000000000000000000004bf92f35", "spanId": "000000000000f067",
                    "parentSpanId": "0000000000000001", "name": "read", "kind": 1,
                    "startTimeUnixNano": "1700000000000000001", "endTimeUnixNano": "1700000000000000002",
                    "attributes": [
                        {"key": "keys", "value": {"intValue": "3"}},
                        {"key": "model", "value": {"stringValue": "m\"1"}},
                    ],
                    "status": {"code": 2, "message": "away"},
                }],
            }],
        }]});
        assert_eq!(body, expected);
    }

    #[test]
    fn a_collector_says_what_it_did_not_take() {
        let some = br#"{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}"#;
        assert_eq!(rejected(some), Some((3, "too old".to_owned())));
        for all in [&b""[..], b"{}", br#"{"partialSuccess": {}}"#, br#"{"partialSuccess": {"rejectedSpans": 0}}"#] {
            assert_eq!(rejected(all), None);
        }
    }
}
