//! What the decoder makes of events that are right, in all the forms the specification allows.
#![allow(clippy::expect_used, missing_docs)]

use rankwright_event::json::{decode, decode_ranking_request};
use rankwright_event::{
    Event, Field, Interaction, ItemUpdate, RankedItem, Ranking, Tenant, Timestamp, UserUpdate, Value,
};

fn event(text: &str) -> Event {
    decode(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> Value {
    let line =
        format!(r#"{{"event":"item","id":"e","timestamp":1,"item":"i","fields":[{{"name":"f","value":{text}}}]}}"#);
    match event(&line) {
        Event::Item(ItemUpdate { fields, .. }) => fields.into_iter().next().expect("one field was written").value,
        other => panic!("{other:?}"),
    }
}

fn item(id: &str) -> RankedItem {
    RankedItem { id: id.into(), fields: Vec::new(), label: None, score: None }
}

#[test]
fn an_item_event_carries_fields() {
    let read = event(
        r#"{"event":"item","id":"e1","timestamp":"1636907100000","item":"p1","tenant":"shop",
            "fields":[{"name":"price","value":9.5},{"name":"tags","value":["a","b"]}]}"#,
    );
    let tags = Value::Texts(vec!["a".into(), "b".into()]);
    let expected = ItemUpdate {
        id: "e1".into(),
        timestamp: Timestamp::from_millis(1_636_907_100_000),
        tenant: "shop".into(),
        item: "p1".into(),
        fields: vec![Field::new("price", Value::Number(9.5)), Field::new("tags", tags)],
    };
    assert_eq!(read, Event::Item(expected));
}

#[test]
fn metadata_is_another_name_of_item() {
    let of = |kind: &str| {
        format!(
            r#"{{"event":"{kind}","id":"e1","timestamp":"5","item":"i","ranking":[],"fields":[{{"name":"a","value":1}}]}}"#
        )
    };
    assert_eq!(event(&of("metadata")), event(&of("item")));
    assert_eq!(event(&of("metadata")).kind(), "item");
}

#[test]
fn a_user_event_needs_no_fields_and_no_tenant() {
    let expected = UserUpdate {
        id: "e2".into(),
        timestamp: Timestamp::from_millis(7),
        tenant: Tenant::default(),
        user: "u1".into(),
        fields: Vec::new(),
    };
    assert_eq!(event(r#"{"event":"user","id":"e2","timestamp":7,"user":"u1"}"#), Event::User(expected));
}

#[test]
fn a_ranking_keeps_order_labels_scores_and_fields_of_its_items() {
    let read = event(
        r#"{"event":"ranking","id":"r1","timestamp":7,"user":"u1","session":"s1","fields":[{"name":"q","value":"tea"}],
            "items":[{"id":"b","label":3},{"id":"a","score":0.5,"label":null},{"fields":[{"name":"x","value":true}],"id":"b","label":true}]}"#,
    );
    let items = vec![
        RankedItem { label: Some(3.0), ..item("b") },
        RankedItem { score: Some(0.5), ..item("a") },
        RankedItem { label: Some(1.0), fields: vec![Field::new("x", Value::Bool(true))], ..item("b") },
    ];
    let expected = Ranking {
        id: "r1".into(),
        timestamp: Timestamp::from_millis(7),
        tenant: Tenant::default(),
        user: Some("u1".into()),
        session: Some("s1".into()),
        fields: vec![Field::new("q", Value::Text("tea".into()))],
        items,
    };
    assert_eq!(read, Event::Ranking(expected));
}

#[test]
fn an_interaction_may_belong_to_nothing_and_nobody() {
    let expected = Interaction {
        id: "e".into(),
        timestamp: Timestamp::from_millis(7),
        tenant: Tenant::default(),
        ranking: None,
        user: None,
        session: None,
        kind: "like".into(),
        item: "p1".into(),
        fields: Vec::new(),
    };
    for rest in [
        "",
        r#","ranking":null,"user":null,"session":null,"fields":null,"tenant":null"#,
        r#","ranking":"","user":"","session":"","fields":[],"tenant":"""#,
    ] {
        let line = format!(r#"{{"event":"interaction","id":"e","timestamp":7,"type":"like","item":"p1"{rest}}}"#);
        assert_eq!(event(&line), Event::Interaction(expected.clone()), "{rest}");
    }
}

#[test]
fn times_come_as_strings_dates_and_numbers() {
    for time in ["\"1636907100000\"", "\"2021-11-14T16:25:00Z\"", "1636907100000", "1636907100000.4", "1.6369071E12"] {
        let line = format!(r#"{{"event":"user","id":"e","timestamp":{time},"user":"u"}}"#);
        assert_eq!(event(&line).timestamp(), Timestamp::from_millis(1_636_907_100_000), "{time}");
    }
}

#[test]
fn every_kind_of_value_is_read() {
    let cases = [
        ("true", Value::Bool(true)),
        ("false", Value::Bool(false)),
        ("269.0", Value::Number(269.0)),
        ("-3", Value::Number(-3.0)),
        ("2.5E7", Value::Number(2.5e7)),
        (r#""""#, Value::Text("".into())),
        (r#""a\"b\\\u00e9\n\ud83d\ude00/\/é""#, Value::Text("a\"b\\é\n😀//é".into())),
        (" [ 1 , 2.5e0 ] ", Value::Numbers(vec![1.0, 2.5])),
        (r#"["a",""]"#, Value::Texts(vec!["a".into(), "".into()])),
        ("[]", Value::Texts(Vec::new())),
        ("[ ]", Value::Texts(Vec::new())),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn numbers_are_the_nearest_doubles() {
    for text in [
        "9.992",
        "0.1",
        "123456789012345678901234567890",
        "9007199254740993",
        "1e22",
        "1e23",
        "8.41e-22",
        "5e-324",
        "2e-999",
        "1.7976931348623157e308",
        "0.000000000000000000000000000000000001",
        "-0.0",
        "4.35",
        "0.3e1",
        "123456789.123456789e-10",
    ] {
        let expected: f64 = text.parse().expect("a number of Rust as well");
        assert_eq!(value(text), Value::Number(expected), "{text}");
    }
}

#[test]
fn keys_may_come_in_any_order_with_escapes_and_twice() {
    let expected = event(r#"{"event":"user","id":"e","timestamp":7,"user":"u"}"#);
    for line in [
        r#"{"user":"u","timestamp":7,"id":"e","event":"user"}"#,
        r#" { "us\u0065r" : "u" , "timestamp" : 7 , "id" : "e" , "event" : "user" } "#,
        r#"{"event":"user","id":"first","timestamp":7,"user":"u","id":"e"}"#,
    ] {
        assert_eq!(event(line), expected, "{line}");
    }
}

#[test]
fn unknown_keys_and_keys_of_other_kinds_are_ignored() {
    let expected = event(r#"{"event":"user","id":"e","timestamp":7,"user":"u"}"#);
    let foreign =
        r#""items":[{"id":{}}],"type":5,"item":null,"ranking":{"a":[1,{"b":[]}]},"x":[[[{}]],-1.5e-3,"\u0000",false]"#;
    for line in [
        format!(r#"{{"event":"user","id":"e","timestamp":7,"user":"u",{foreign}}}"#),
        format!(r#"{{{foreign},"id":"e","timestamp":7,"user":"u","event":"user"}}"#),
    ] {
        assert_eq!(event(&line), expected, "{line}");
    }
}

#[test]
fn deep_nesting_is_skipped_without_a_stack() {
    let (open, close) = ("[{\"a\":".repeat(200_000), "}]".repeat(200_000));
    let line = format!(r#"{{"event":"user","id":"e","timestamp":7,"user":"u","x":{open}1{close}}}"#);
    assert_eq!(event(&line).kind(), "user");
}

#[test]
fn a_rank_request_is_a_ranking_whose_kind_need_not_be_said() {
    let expected = event(r#"{"event":"ranking","id":"r","timestamp":7,"items":[{"id":"a"}]}"#);
    for kind in ["", r#""event":"ranking","#, r#""event":null,"#] {
        let body = format!(r#"{{{kind}"id":"r","timestamp":7,"items":[{{"id":"a"}}],"type":{{}}}}"#);
        let ranking = decode_ranking_request(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(Event::Ranking(ranking), expected, "{body}");
    }
}

#[test]
fn a_request_leaves_out_what_it_excludes_and_an_event_ignores_that_key() {
    let text = r#"{"exclude":["b","x"],"id":"r","timestamp":"1","items":[{"id":"a"},{"id":"b"},{"id":"c"}]}"#;
    let ids = |ranking: rankwright_event::Ranking| -> Vec<String> {
        ranking.items.iter().map(|item| item.id.as_str().to_owned()).collect()
    };
    let request = |text: &str| rankwright_event::json::decode_ranking_request(text.as_bytes());
    assert_eq!(request(text).map(ids), Ok(vec!["a".to_owned(), "c".to_owned()]));
    let last = r#"{"id":"r","timestamp":"1","items":[{"id":"a"}],"exclude":["a"]}"#;
    assert_eq!(request(last).map(ids), Ok(vec![]));
    let wrong = request(&text.replace(r#"["b","x"]"#, r#"["b",1]"#)).expect_err("a number is no id");
    assert_eq!(wrong.path(), "exclude[1]");
    let event = text.replacen('{', r#"{"event":"ranking","#, 1);
    let Ok(rankwright_event::Event::Ranking(event)) = rankwright_event::json::decode(event.as_bytes()) else {
        panic!()
    };
    assert_eq!(event.items.len(), 3);
}
