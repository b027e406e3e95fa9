//! What the decoder says of events that are wrong: where, what it expected and what it found.
#![allow(clippy::expect_used, missing_docs)]

use rankwright_event::json::{decode, decode_batch, decode_ranking_request, decode_time};

fn message(line: &str) -> String {
    decode(line.as_bytes()).expect_err(line).to_string()
}

fn message_of_value(value: &str) -> String {
    let line = format!(
        r#"{{"event":"ranking","id":"r","timestamp":1,"items":[{{"id":"a"}},{{"id":"b","fields":[{{"name":"f","value":{value}}}]}}]}}"#
    );
    let message = message(&line);
    let (place, rest) = message.split_once(": ").expect("a path");
    assert!(place.starts_with("items[1].fields[0].value"), "{message}");
    format!("{}{rest}", &place["items[1].fields[0].value".len()..])
        .rsplit_once(" (line 1")
        .expect("a place")
        .0
        .to_owned()
}

#[test]
fn missing_keys_are_named_for_each_kind() {
    for (line, missing) in [
        ("{}", "missing keys `event`, `id`, `timestamp`"),
        (r#"{"event":"item"}"#, "missing keys `id`, `timestamp`, `item`"),
        (r#"{"event":"user","id":"e"}"#, "missing keys `timestamp`, `user`"),
        (r#"{"event":"ranking","timestamp":1}"#, "missing keys `id`, `items`"),
        (r#"{"event":"interaction","id":"e","timestamp":1}"#, "missing keys `item`, `type`"),
        (r#" {"id":"e","timestamp":1,"item":"i"}"#, "missing key `event`"),
    ] {
        let column = 1 + line.len() - line.trim_start().len();
        assert_eq!(message(line), format!("{missing} (line 1, column {column})"), "{line}");
    }
}

#[test]
fn ids_have_at_most_4096_characters() {
    let event = |id: &str| format!(r#"{{"event":"item","id":"e","timestamp":1,"item":"{id}"}}"#);
    let (longest, longer) = ("ä".repeat(4096), "ä".repeat(4097));
    assert!(decode(event(&longest).as_bytes()).is_ok());
    let refused = "expected at most 4096 characters, found 4097";
    assert_eq!(message(&event(&longer)), format!("item: {refused} (line 1, column 47)"));
    let click = format!(r#"{{"event":"interaction","ranking":"{longer}"}}"#);
    assert_eq!(message(&click), format!("ranking: {refused} (line 1, column 34)"));
}

#[test]
fn a_wrong_value_is_named_by_its_path() {
    let filled = "expected a string that is not empty";
    let kinds = r#"expected "item", "user", "ranking" or "interaction""#;
    let range = "expected a time from -253402300799999 to 253402300799999 milliseconds since 1970, which is the end of the year 9999";
    let time =
        "expected milliseconds since 1970 (\"1636907100000\") or ISO 8601 with a zone (\"2021-11-14T16:25:00Z\")";
    for (line, expected) in [
        (r#"{"event":"itm","id":"e"}"#, format!("event: {kinds}, found \"itm\" (line 1, column 10)")),
        (r#"{"event":null}"#, format!("event: {kinds}, found null (line 1, column 10)")),
        (r#"{"event":"item","id":""}"#, format!("id: {filled}, found \"\" (line 1, column 22)")),
        (r#"{"event":"item","id": 5}"#, format!("id: {filled}, found 5 (line 1, column 23)")),
        (r#"{"event":"item","item":{}}"#, format!("item: {filled}, found an object (line 1, column 24)")),
        (r#"{"event":"user","user":null}"#, format!("user: {filled}, found null (line 1, column 24)")),
        (r#"{"user":"","event":"user"}"#, format!("user: {filled}, found \"\" (line 1, column 9)")),
        (r#"{"event":"interaction","type":""}"#, format!("type: {filled}, found \"\" (line 1, column 31)")),
        (r#"{"event":"item","timestamp":"soon"}"#, format!("timestamp: {time}, found \"soon\" (line 1, column 29)")),
        (r#"{"event":"item","timestamp":1e300}"#, format!("timestamp: {range}, found 1e300 (line 1, column 29)")),
        (
            r#"{"event":"item","timestamp":"1636907100000000"}"#,
            format!("timestamp: {range}, found \"1636907100000000\" (line 1, column 29)"),
        ),
        (
            r#"{"event":"item","timestamp":true}"#,
            "timestamp: expected a time: a string or a number, found true (line 1, column 29)".to_owned(),
        ),
        (
            r#"{"event":"item","tenant":[]}"#,
            "tenant: expected a string or null, found an array (line 1, column 26)".to_owned(),
        ),
        (
            r#"{"event":"ranking","items":[]}"#,
            "items: expected one item or more, found none (line 1, column 28)".to_owned(),
        ),
        (
            r#"{"event":"ranking","items":null}"#,
            "items: expected an array of items, found null (line 1, column 28)".to_owned(),
        ),
        (r#"{"event":"ranking","items":[{}]}"#, "items[0]: missing key `id` (line 1, column 29)".to_owned()),
        (
            "{\"event\":\"ranking\",\n \"items\":[{\"id\":\"a\"},\n  {\"id\":\"\"}]}",
            format!("items[1].id: {filled}, found \"\" (line 3, column 9)"),
        ),
        (
            r#"{"event":"ranking","items":[{"id":"a","label":"x"}]}"#,
            "items[0].label: expected a number, a boolean or null, found \"x\" (line 1, column 47)".to_owned(),
        ),
        (
            r#"{"event":"ranking","items":[{"id":"a","score":true}]}"#,
            "items[0].score: expected a number or null, found true (line 1, column 47)".to_owned(),
        ),
        (
            r#"{"event":"item","fields":{}}"#,
            "fields: expected an array of fields, found an object (line 1, column 26)".to_owned(),
        ),
        (
            r#"{"event":"item","fields":[{"name":"a"},3]}"#,
            "fields[0]: missing key `value` (line 1, column 27)".to_owned(),
        ),
    ] {
        assert_eq!(message(line), expected, "{line}");
    }
}

#[test]
fn values_are_booleans_numbers_strings_and_lists_of_one_kind() {
    let accepted = "expected a boolean, a number, a string, a list of strings or a list of numbers";
    for (value, expected) in [
        ("null", format!("{accepted}, found null")),
        ("{\"a\":1}", format!("{accepted}, found an object")),
        ("nul", format!("{accepted}, found `n`")),
        ("NaN", format!("{accepted}, found `N`")),
        ("[1,\"a\"]", "[1]expected a number like those before it, found \"a\"".to_owned()),
        ("[\"a\",\"b\",1]", "[2]expected a string like those before it, found 1".to_owned()),
        ("[true]", "[0]expected a string or a number, found true".to_owned()),
        ("[[1]]", "[0]expected a string or a number, found an array".to_owned()),
        ("[1,]", "[1]expected a number like those before it, found `]`".to_owned()),
        ("1e999", "expected a number within the range of a double, found 1e999".to_owned()),
        ("-1e400", "expected a number within the range of a double, found -1e400".to_owned()),
        ("-", "expected a digit".to_owned()),
        ("1.", "expected a digit".to_owned()),
        ("1e+", "expected a digit".to_owned()),
        ("\"\u{1}\"", "a control character in a string must be escaped".to_owned()),
        (r#""\x""#, r#"expected an escape (\" \\ \/ \b \f \n \r \t \u)"#.to_owned()),
        (r#""\ud800""#, r"expected \u and four hexadecimal digits, in pairs for characters beyond them".to_owned()),
        (r#""\u12é4""#, r"expected \u and four hexadecimal digits, in pairs for characters beyond them".to_owned()),
    ] {
        assert_eq!(message_of_value(value), expected, "{value}");
    }
    let outside = message(r#"{"event":"item","fields":[{"name":"f","value":01}]}"#);
    assert_eq!(outside, "fields[0]: expected `,` or `}`, found 1 (line 1, column 48)");
}

#[test]
fn a_text_that_is_no_json_is_refused_with_its_place() {
    for (line, expected) in [
        ("", "expected an event: an object, found the end (line 1, column 1)"),
        ("[]", "expected an event: an object, found an array (line 1, column 1)"),
        ("nonsense", "expected an event: an object, found `n` (line 1, column 1)"),
        (r#"{"event":"item""#, "expected `,` or `}`, found the end (line 1, column 16)"),
        (r#"{"event":"it"#, "event: expected `\"` at the end of a string, found the end (line 1, column 13)"),
        (r#"{"event" "item"}"#, "expected `:` after the key, found \"item\" (line 1, column 10)"),
        (r#"{"event":"item",}"#, "expected a key: a string, found `}` (line 1, column 17)"),
        (
            r#"{"event":"user","id":"e","timestamp":7,"user":"u"} {}"#,
            "expected the end, found an object (line 1, column 52)",
        ),
    ] {
        assert_eq!(message(line), expected, "{line}");
    }
    let error = decode_ranking_request(b"").expect_err("it is empty");
    assert_eq!(error.to_string(), "expected a rank request: an object, found the end (line 1, column 1)");
    let error = decode(b"{\"event\":\"\xff\"}").expect_err("not UTF-8");
    assert_eq!(error.to_string(), "expected UTF-8 (line 1, column 11)");
}

#[test]
fn messages_quote_little_of_a_long_input() {
    let line = format!(r#"{{"event":"{}é"}}"#, "é".repeat(100_000));
    assert!(message(&line).len() < 250, "{}", message(&line));
}

#[test]
fn a_rank_request_of_another_kind_is_refused() {
    let error = decode_ranking_request(br#"{"event":"item","id":"r"}"#).expect_err("an item event");
    assert_eq!(error.to_string(), r#"event: expected "ranking" in a rank request, found "item" (line 1, column 10)"#);
    let error = decode_ranking_request(br#"{"id":"r","items":[]}"#).expect_err("no items");
    assert_eq!((error.path(), error.reason()), ("items", "expected one item or more, found none"));
}

#[test]
fn a_batch_is_an_object_an_array_or_lines() {
    let (one, two) = (
        r#"{"event":"user","id":"a","timestamp":7,"user":"u"}"#,
        r#"{"user":"v","event":"user","id":"b","timestamp":7,"type":3}"#,
    );
    for body in [
        format!("{one}\n{two}"),
        format!("\r\n{one}\r\n\r\n{two}\r\n"),
        format!("{one}{two}"),
        format!(" [ {one} ,\n {two} ] "),
    ] {
        let events = decode_batch(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(events, [decode(one.as_bytes()).expect("valid"), decode(two.as_bytes()).expect("valid")], "{body}");
    }
    assert_eq!(decode_batch(one.as_bytes()).map(|events| events.len()), Ok(1));
    assert_eq!(decode_batch(b" [ ] "), Ok(Vec::new()));
}

#[test]
fn a_bad_event_refuses_its_batch_with_its_index() {
    let good = r#"{"event":"user","id":"a","timestamp":7,"user":"u"}"#;
    let bad = r#"{"event":"ranking","id":"r","timestamp":7,"items":[{"id":null}]}"#;
    let filled = "expected a string that is not empty, found null";
    for (body, expected) in [
        (format!("[{good},{good},{good},{bad}]"), format!("[3].items[0].id: {filled} (line 1, column 212)")),
        (format!("{good}\n{bad}\n{good}"), format!("[1].items[0].id: {filled} (line 2, column 58)")),
        (format!("{bad}\n{good}"), format!("[0].items[0].id: {filled} (line 1, column 58)")),
        (bad.to_owned(), format!("items[0].id: {filled} (line 1, column 58)")),
        (format!("[{good},5]"), "[1]: expected an event: an object, found 5 (line 1, column 53)".to_owned()),
        (format!("[{good}"), "[1]: expected `,` or `]`, found the end (line 1, column 52)".to_owned()),
        (format!("[{good}]{good}"), "expected the end, found an object (line 1, column 53)".to_owned()),
        (String::new(), "expected an event: an object, found the end (line 1, column 1)".to_owned()),
    ] {
        assert_eq!(decode_batch(body.as_bytes()).expect_err(&body).to_string(), expected, "{body}");
    }
}

#[test]
fn a_time_is_told_of_json_of_a_known_kind_alone() {
    let time = |text: &str| decode_time(text.as_bytes());
    let nothing_else = r#"{"event":"ranking","timestamp":"1636907100000"}"#;
    assert_eq!(time(nothing_else).map(|at| at.millis()), Ok(1_636_907_100_000), "other keys are not looked at");
    let last_counts = r#"{"timestamp":1,"x":[{"timestamp":2}],"event":"item","timestamp":"1970-01-01T00:00:00.003Z"}"#;
    assert_eq!(time(last_counts).map(|at| at.millis()), Ok(3));
    for (text, expected) in [
        ("{}", "missing keys `event`, `timestamp` (line 1, column 1)"),
        (r#"{"event":"item"}"#, "missing key `timestamp` (line 1, column 1)"),
        (r#"{"timestamp":1}"#, "missing key `event` (line 1, column 1)"),
        (r#"{"event":"item","timestamp":"soon"}"#, "timestamp: expected milliseconds since 1970"),
        (r#"{"event":"view","timestamp":1}"#, "event: expected \"item\""),
        ("a,b,c", "expected an event: an object, found `a`"),
        (r#"{"event":"item","timestamp":1"#, "found the end"),
        (r#"{"event":"item","timestamp":1} 2"#, "expected the end, found 2"),
    ] {
        let message = time(text).expect_err(text).to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}
