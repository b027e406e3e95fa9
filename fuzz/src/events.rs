//! Events and requests.

use rankwright_config::{Offset, duration};
use rankwright_event::{Event, Timestamp, json, snowplow};

/// One event of each kind.
const EVENTS: [&str; 4] = [
    r#"{"event":"item","id":"1","timestamp":"1636907100000","item":"p1","fields":[{"name":"price","value":7.5},{"name":"sizes","value":[1,2.5]},{"name":"new","value":true}]}"#,
    r#"{"event":"user","id":"2","timestamp":1636907100000,"user":"u\u00e9","tenant":"t","fields":[{"name":"tags","value":["a","b\n"]}]}"#,
    r#"{"event":"ranking","id":"3","timestamp":"2021-11-14T16:25:00Z","user":"u","session":"s","fields":[{"name":"query","value":"a b"}],"items":[{"id":"p1","label":1,"fields":[]},{"id":"p2","relevancy":0.5}]}"#,
    r#"{"event":"interaction","id":"4","ranking":"3","timestamp":"1636907100","type":"click","item":"p1","user":"u","session":"s","fields":[]}"#,
];

/// An event, and the same once it was written.
pub(crate) fn event(bytes: &[u8]) -> bool {
    let Ok(event) = json::decode(bytes) else { return false };
    let written = json::encode(&event);
    let again = json::decode(written.as_bytes()).expect("what was read can be written and read again");
    assert_eq!(again, event, "{written}");
    true
}

pub(crate) fn one_each() -> Vec<Vec<u8>> {
    EVENTS.iter().map(|event| event.as_bytes().to_vec()).collect()
}

/// Events as a request of `/feedback` has them.
pub(crate) fn batch(bytes: &[u8]) -> bool {
    json::decode_batch(bytes).is_ok()
}

pub(crate) fn batches() -> Vec<Vec<u8>> {
    vec![format!("[{}]", EVENTS.join(",\n")).into_bytes(), EVENTS.join("\n").into_bytes(), EVENTS[0].into()]
}

/// A request of `/rank`.
pub(crate) fn request(bytes: &[u8]) -> bool {
    let Ok(ranking) = json::decode_ranking_request(bytes) else { return false };
    let written = json::encode(&Event::Ranking(ranking.clone()));
    assert_eq!(json::decode(written.as_bytes()).ok(), Some(Event::Ranking(ranking)), "{written}");
    true
}

pub(crate) fn requests() -> Vec<Vec<u8>> {
    vec![
        br#"{"id":"r","timestamp":1636907100000,"user":"u","items":[{"id":"a"},{"id":"b","fields":[{"name":"x","value":1}]}]}"#.to_vec(),
        EVENTS[2].into(),
    ]
}

/// An enriched event of Snowplow, in columns.
pub(crate) fn columns(bytes: &[u8]) -> bool {
    snowplow::decode_tsv(bytes).is_ok_and(|event| event.is_some())
}

pub(crate) fn lines_of_columns() -> Vec<Vec<u8>> {
    let line = |event: &str| {
        let tracked = tracked(event);
        let mut columns = vec![""; 131];
        (columns[1], columns[5], columns[58]) = ("web", "unstruct", &tracked);
        columns.join("\t").into_bytes()
    };
    EVENTS.iter().map(|event| line(event)).collect()
}

/// The same as JSON.
pub(crate) fn enriched(bytes: &[u8]) -> bool {
    snowplow::decode_json(bytes).is_ok_and(|event| event.is_some())
}

pub(crate) fn enriched_objects() -> Vec<Vec<u8>> {
    let item = format!(r#"{{"event_id":"e","unstruct_event_com_rankwright_item_1":{}}}"#, EVENTS[0]);
    let all = EVENTS.iter().map(|event| format!(r#"{{"event":"unstruct","unstruct_event":{}}}"#, tracked(event)));
    all.chain([item]).map(String::into_bytes).collect()
}

/// An event as a tracker sends it.
fn tracked(event: &str) -> String {
    let kind =
        ["item", "user", "ranking"].into_iter().find(|kind| event.starts_with(&format!(r#"{{"event":"{kind}""#)));
    let schema = format!("iglu:com.rankwright/{}/jsonschema/1-0-0", kind.unwrap_or("interaction"));
    let outer = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0";
    format!(r#"{{"schema":"{outer}","data":{{"schema":"{schema}","data":{event}}}}}"#)
}

/// Times, durations and offsets as configurations and command lines have them.
pub(crate) fn times(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let (time, length, offset) = (Timestamp::parse(text), duration::parse(text), text.parse::<Offset>());
    time.is_ok() || length.is_ok() || offset.is_ok()
}

pub(crate) fn written_times() -> Vec<Vec<u8>> {
    let times = ["1636907100000", "2021-11-14T16:25:00.5+01:00", "1d", "90m", "last=7d", "ts=1636907100", "earliest"];
    times.iter().map(|time| time.as_bytes().to_vec()).collect()
}
