//! Enriched events of Snowplow.

use rankwright_event::{Event, json, snowplow};

const ITEM: &str =
    r#"{"event":"item","id":"e1","timestamp":"1636907100000","item":"p1","fields":[{"name":"title","value":"a\tb"}]}"#;
const CLICK: &str = r#"{"id":"e2","timestamp":"1636907100000","item":"p1","type":"click","ranking":"r1"}"#;

/// Around an event, as trackers send it.
fn described(schema: &str, data: &str) -> String {
    let outer = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0";
    format!(r#"{{"schema":"{outer}","data":{{"schema":"{schema}","data":{data}}}}}"#)
}

/// A line of 131 columns.
fn line(kind: &str, tracked: &str) -> String {
    let mut columns = vec![String::new(); 131];
    (columns[0], columns[1]) = ("shop".to_owned(), "web".to_owned());
    (columns[5], columns[58]) = (kind.to_owned(), tracked.to_owned());
    columns[80] = "Mozilla/5.0 (Windows NT 10.0)".to_owned();
    columns.join("\t")
}

fn ours(name: &str) -> String {
    format!("iglu:com.rankwright/{name}/jsonschema/1-0-0")
}

fn tsv(line: &str) -> Option<Event> {
    snowplow::decode_tsv(line.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn plain(text: &str) -> Option<Event> {
    Some(json::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn an_event_of_ours_is_read_from_its_column() {
    assert_eq!(tsv(&line("unstruct", &described(&ours("item"), ITEM))), plain(ITEM));
    let upstream = described("iglu:ai.metarank/item/jsonschema/1-0-0", ITEM);
    assert_eq!(tsv(&line("unstruct", &upstream)), plain(ITEM));
    assert_eq!(tsv(&(line("unstruct", &described(&ours("item"), ITEM)) + "\r")), plain(ITEM));
}

#[test]
fn the_schema_says_which_kind_an_event_is() {
    let whole = CLICK.replacen('{', r#"{"event":"interaction","#, 1);
    for data in [CLICK, &whole] {
        assert_eq!(tsv(&line("unstruct", &described(&ours("interaction"), data))), plain(&whole));
    }
    let later = described(&ours("interaction").replace("1-0-0", "1-2-3"), CLICK);
    assert_eq!(tsv(&line("unstruct", &later)), plain(&whole));
}

#[test]
fn schema_and_data_may_come_in_any_order() {
    let turned =
        format!(r#"{{"data":{{"data":{ITEM},"schema":"{}"}},"schema":"iglu:x/y/jsonschema/1-0-0"}}"#, ours("item"));
    assert_eq!(tsv(&line("unstruct", &turned)), plain(ITEM));
}

#[test]
fn enriched_events_of_others_are_passed_over() {
    let other = described("iglu:com.acme/checkout/jsonschema/1-0-0", r#"{"step": 2}"#);
    for line in [line("unstruct", &other), line("page_view", ""), line("struct", ""), line("unstruct", "")] {
        assert_eq!(tsv(&line), None);
    }
}

#[test]
fn a_line_may_end_behind_what_was_tracked() {
    let whole = line("unstruct", &described(&ours("item"), ITEM));
    let short: Vec<&str> = whole.split('\t').take(59).collect();
    assert_eq!(tsv(&short.join("\t")), plain(ITEM));
}

#[test]
fn both_forms_of_json_are_read() {
    let tracked = described(&ours("item"), ITEM);
    let analytics = format!(r#"{{"event_id":"x","unstruct_event_com_rankwright_item_1":{ITEM}}}"#);
    let upstream = format!(r#"{{"unstruct_event_ai_metarank_item_1":{ITEM}}}"#);
    for text in [format!(r#"{{"app_id":"shop","unstruct_event":{tracked},"x":[1]}}"#), analytics, upstream] {
        assert_eq!(snowplow::decode_json(text.as_bytes()), Ok(plain(ITEM)), "{text}");
    }
    for text in [
        r#"{"event":"page_view","event_id":"x","unstruct_event":null}"#,
        r#"{"event":"page_ping","collector_tstamp":"2021-11-14T16:25:00Z"}"#,
        r#"{"event":"unstruct","event_id":"x","unstruct_event_com_acme_checkout_1":{"step":2}}"#,
    ] {
        assert_eq!(snowplow::decode_json(text.as_bytes()), Ok(None), "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let message = |line: &str| snowplow::decode_tsv(line.as_bytes()).expect_err("it is wrong").to_string();
    assert_eq!(
        message(ITEM),
        "expected an enriched event of Snowplow: 131 columns with tabs between them, found 1 (line 1, column 1)"
    );
    assert!(message("a\tb\tc").contains("found 3"));
    let nameless = line("unstruct", &described(&ours("item"), r#"{"id":"e","timestamp":"1","fields":[{"name":"a"}]}"#));
    let place = nameless.find(r#"{"name":"a"}"#).expect("it is there") + 1;
    let told = message(&nameless);
    assert_eq!(told, format!("unstruct_event.data.data.fields[0]: missing key `value` (line 1, column {place})"));
    let other_kind = message(&line("unstruct", &described(&ours("user"), ITEM)));
    assert!(other_kind.contains("its schema says `user`"), "{other_kind}");
    let version = message(&line("unstruct", &described(&ours("item").replace("1-0-0", "2-0-0"), ITEM)));
    assert!(version.starts_with("unstruct_event.data.schema: unknown schema"), "{version}");
    let cut = message(&line("unstruct", &described(&ours("item"), ITEM)[..150]));
    assert!(cut.contains("unstruct_event"), "{cut}");
    let json = |text: &str| snowplow::decode_json(text.as_bytes()).expect_err("it is wrong").to_string();
    assert!(json(ITEM).contains("expected an enriched event of Snowplow"), "{}", json(ITEM));
    assert!(json("[]").contains("expected an enriched event of Snowplow: an object"), "{}", json("[]"));
    assert!(json(r#"{"unstruct_event":{"schema":"x"}}"#).contains("missing key `data`"));
}

#[test]
fn no_bytes_make_it_panic() {
    let whole = line("unstruct", &described(&ours("item"), ITEM));
    for end in 0..whole.len() {
        let _ = snowplow::decode_tsv(&whole.as_bytes()[..end]);
        let _ = snowplow::decode_json(&described(&ours("item"), ITEM).as_bytes()[..end.min(200)]);
        let mut bytes = whole.clone().into_bytes();
        bytes[end] = 0xff;
        let _ = snowplow::decode_tsv(&bytes);
    }
}
