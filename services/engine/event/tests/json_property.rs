//! What holds for every event and for every sequence of bytes.
#![allow(clippy::expect_used, missing_docs)]

use proptest::collection::vec;
use proptest::prelude::*;
use rankwright_event::json::{decode, decode_batch, decode_ranking_request, decode_time, encode, write};
use rankwright_event::{
    Event, Field, Interaction, ItemUpdate, RankedItem, Ranking, Tenant, Timestamp, UserUpdate, Value,
};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9-]{1,40}",
        "\\PC{1,10}",
        any::<String>().prop_filter("names are not empty", |name| !name.is_empty())
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), any::<i32>().prop_map(f64::from), -1e6..1e6]
        .prop_filter("numbers are finite", |number| number.is_finite())
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        any::<String>().prop_map(|text| Value::Text(text.into())),
        vec(number(), 1..5).prop_map(Value::Numbers),
        vec(any::<String>(), 0..5).prop_map(|texts| Value::Texts(texts.into_iter().map(Into::into).collect())),
    ]
}

fn fields() -> impl Strategy<Value = Vec<Field>> {
    vec((any::<String>(), value()).prop_map(|(name, value)| Field::new(&name, value)), 0..4)
}

fn item() -> impl Strategy<Value = RankedItem> {
    (name(), fields(), proptest::option::of(number()), proptest::option::of(number()))
        .prop_map(|(id, fields, label, score)| RankedItem { id: id.into(), fields, label, score })
}

fn event() -> impl Strategy<Value = Event> {
    let time = (-253_402_300_799_999_i64..=253_402_300_799_999).prop_map(Timestamp::from_millis);
    let tenant = proptest::option::of(name()).prop_map(|name| name.map_or_else(Tenant::default, Tenant::from));
    let optional = || proptest::option::of(name());
    let whose = (optional(), optional(), optional());
    (0..4, name(), time, tenant, (name(), name()), whose, fields(), vec(item(), 1..5)).prop_map(
        |(kind, id, timestamp, tenant, (item, name), (ranking, user, session), fields, items)| match kind {
            0 => Event::Item(ItemUpdate { id: id.into(), timestamp, tenant, item: item.into(), fields }),
            1 => Event::User(UserUpdate { id: id.into(), timestamp, tenant, user: item.into(), fields }),
            2 => Event::Ranking(Ranking {
                id: id.into(),
                timestamp,
                tenant,
                user: user.map(Into::into),
                session: session.map(Into::into),
                fields,
                items,
            }),
            _ => Event::Interaction(Interaction {
                id: id.into(),
                timestamp,
                tenant,
                ranking: ranking.map(Into::into),
                user: user.map(Into::into),
                session: session.map(Into::into),
                kind: name.into(),
                item: item.into(),
                fields,
            }),
        },
    )
}

/// JSON of any shape, many of its keys those of events.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let key = || {
        prop_oneof![
            "event|id|timestamp|tenant|fields|item|items|user|session|ranking|type|name|value|label",
            "\\PC{0,3}"
        ]
    };
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "item|user|ranking|interaction|1636907100000|\\PC{0,5}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(serde_json::Value::Array),
            vec((key(), inner), 0..6).prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Whether the decoder takes `text` for JSON: as the value of a key that it ignores.
fn is_skipped(text: &str) -> bool {
    decode(format!(r#"{{"event":"user","id":"e","timestamp":1,"user":"u","x":{text}}}"#).as_bytes()).is_ok()
}

/// Changes, drops or repeats some bytes.
fn mutated(mut text: Vec<u8>, changes: &[(usize, u8, u8)]) -> Vec<u8> {
    for &(at, how, byte) in changes {
        let at = at % text.len().max(1);
        match how % 4 {
            _ if text.is_empty() => text.push(byte),
            0 => text[at] = byte,
            1 => text.truncate(at),
            2 => text.insert(at, *b"{}[]\",:0".get(usize::from(byte) % 8).unwrap_or(&byte)),
            _ => drop(text.remove(at)),
        }
    }
    text
}

proptest! {
    #[test]
    fn an_encoded_event_decodes_to_itself(event in event()) {
        let line = encode(&event);
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(decode(line.as_bytes()).expect("our own line"), event);
    }

    #[test]
    fn the_time_alone_is_that_of_the_event(event in event(), changes in vec(any::<(usize, u8, u8)>(), 0..3)) {
        let line = mutated(encode(&event).into_bytes(), &changes);
        if let Ok(event) = decode(&line) {
            prop_assert_eq!(decode_time(&line), Ok(event.timestamp()));
        }
    }

    #[test]
    fn a_batch_written_as_lines_or_as_an_array_is_the_events_in_order(events in vec(event(), 1..6)) {
        let mut lines = Vec::new();
        for event in &events {
            write(event, &mut lines).expect("a vector takes all");
        }
        let array = format!("[{}]", events.iter().map(encode).collect::<Vec<_>>().join(","));
        prop_assert_eq!(&decode_batch(&lines).expect("our own lines"), &events);
        prop_assert_eq!(&decode_batch(array.as_bytes()).expect("our own array"), &events);
    }

    #[test]
    fn a_broken_event_is_an_error_and_never_a_panic(event in event(), changes in vec(any::<(usize, u8, u8)>(), 1..6)) {
        let text = mutated(encode(&event).into_bytes(), &changes);
        let place = |error: &rankwright_event::DecodeError| (error.line(), error.column());
        for place in [
            decode(&text).as_ref().err().map(place),
            decode_batch(&text).as_ref().err().map(place),
            decode_ranking_request(&text).as_ref().err().map(place),
        ].into_iter().flatten() {
            prop_assert!(place.0 >= 1 && place.1 >= 1 && place.1 <= text.len() + 1, "{:?}", place);
        }
    }

    #[test]
    fn any_bytes_are_an_event_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let _ = (decode(&bytes), decode_batch(&bytes), decode_ranking_request(&bytes));
    }

    #[test]
    fn any_json_is_an_event_or_an_error_and_can_be_skipped(json in json()) {
        let text = json.to_string();
        let _ = (decode(text.as_bytes()), decode_batch(text.as_bytes()), decode_ranking_request(text.as_bytes()));
        prop_assert!(is_skipped(&text), "{}", text);
    }

    #[test]
    fn what_serde_json_takes_for_json_so_do_we(json in json(), changes in vec(any::<(usize, u8, u8)>(), 1..4)) {
        let text = mutated(json.to_string().into_bytes(), &changes);
        if let Ok(text) = std::str::from_utf8(&text) {
            // a value of its own, lest a broken one closes the object around it
            let other = serde_json::from_str::<serde_json::Value>(text);
            let whole = serde_json::from_str::<serde_json::Value>(&format!(r#"{{"x":{text}}}"#));
            if other.is_ok() == whole.is_ok() && !other.as_ref().is_err_and(|error| error.to_string().contains("out of range")) {
                prop_assert_eq!(is_skipped(text), other.is_ok(), "{}", text);
            }
        }
    }

    #[test]
    fn numbers_are_those_of_the_standard_library(text in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?") {
        let line = format!(r#"{{"event":"item","id":"e","timestamp":1,"item":"i","fields":[{{"name":"f","value":{text}}}]}}"#);
        let expected: f64 = text.parse().expect("the same grammar");
        match decode(line.as_bytes()) {
            Ok(Event::Item(item)) => match item.fields[0].value {
                Value::Number(number) => prop_assert_eq!(number.to_bits(), expected.to_bits()),
                ref other => prop_assert!(false, "{:?}", other),
            },
            Ok(other) => prop_assert!(false, "{:?}", other),
            Err(_) => prop_assert!(expected.is_infinite(), "{}", text),
        }
    }
}
