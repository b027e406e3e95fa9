//! Events and requests.

use rankwright_config::{Offset, duration};
use rankwright_event::{Event, Timestamp, json};

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
