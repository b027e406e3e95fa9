//! Enriched events of Snowplow, from files to a trained model.

use rankwright_e2e::events::{DURABLE, cheap_wins, columns, lines, tracked};
use rankwright_e2e::folder::write;
use rankwright_e2e::page::{self, block};
use rankwright_e2e::program::{run, run_on};
use serde_json::{Value, json};
use std::path::Path;

/// Imports events and trains; the version's metrics, which depend on nothing but the events.
fn metrics(folder: &Path, name: &str, text: &str, format: &str) -> String {
    let folder = folder.join(name.replace('.', "-"));
    std::fs::create_dir(&folder).expect("it is new");
    let (config, data) = (folder.join("config.yml"), folder.join(name));
    let state = folder.join("state");
    std::fs::write(&config, DURABLE.replace("./data", &state.to_string_lossy())).expect("the folder can be written to");
    std::fs::write(&data, text).expect("the folder can be written to");
    let imported = run_on("import", &config, &data, &["--format", format]).ok();
    assert!(!imported.stderr.contains("WARN"), "{}", imported.stderr);
    let trained = run(&["train", "--config", &config.to_string_lossy()]).ok();
    let quality = trained.stderr.lines().find(|line| line.contains("quality on the test split"));
    let quality = quality.unwrap_or_else(|| panic!("nothing was trained: {}", trained.stderr));
    quality.split_once("quality").expect("it is in it").1.to_owned()
}

#[test]
fn every_form_of_an_event_trains_the_same_model() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let events = cheap_wins(300);
    let plain = metrics(folder.path(), "events.jsonl", &lines(&events), "json");
    let page_view = columns("page_view", &Value::Null);
    let tsv: String = events.iter().map(|event| columns("unstruct", &tracked(event)) + &page_view).collect();
    assert_eq!(metrics(folder.path(), "events.tsv", &tsv, "snowplow"), plain);
    let enriched: Vec<Value> =
        events.iter().map(|event| json!({"event": "unstruct", "unstruct_event": tracked(event)})).collect();
    assert_eq!(metrics(folder.path(), "enriched.jsonl", &lines(&enriched), "snowplow:json"), plain);
    let analytics = |event: &Value| {
        let key = format!("unstruct_event_com_rankwright_{}_1", event["event"].as_str().expect("an event has a kind"));
        json!({"event": "unstruct", "event_id": event["id"], key: event})
    };
    let analytics: Vec<Value> = events.iter().map(analytics).collect();
    assert_eq!(metrics(folder.path(), "analytics.jsonl", &lines(&analytics), "snowplow:json"), plain);
}

#[test]
fn the_event_that_the_page_tracks_is_one_of_its_schema() {
    let script = block(&page::read("snowplow"), "js", "import");
    let (_, tracked) = script.split_once("event: {").expect("the script tracks an event");
    let schema = tracked.split('"').nth(1).expect("the event has a schema");
    let data = tracked.split_once("data: {").and_then(|(_, rest)| rest.split_once('}')).expect("the event has data").0;
    let data = data.replace("crypto.randomUUID()", r#""e1""#).replace("String(Date.now())", r#""1636907100000""#);
    let quoted = data.split_whitespace().map(|word| match word.strip_suffix(':') {
        Some(key) => format!("{key:?}:"),
        None => word.to_owned(),
    });
    let data = format!("{{{}}}", quoted.collect::<Vec<_>>().join(" ").trim_end_matches(','));
    let data: Value = serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}"));

    let path = schema.strip_prefix("iglu:").expect("it is one of Iglu");
    let registered = std::fs::read_to_string(format!("../docs/iglu/schemas/{path}")).expect("the schema is there");
    let registered: Value = serde_json::from_str(&registered).expect("a schema is JSON");
    let keys = data.as_object().expect("an object").keys();
    let unknown: Vec<&String> = keys.filter(|key| registered["properties"].get(key.as_str()).is_none()).collect();
    let required = registered["required"].as_array().expect("a list").iter();
    let missing: Vec<&Value> = required.filter(|key| data[key.as_str().expect("a key")].is_null()).collect();
    assert!(unknown.is_empty() && missing.is_empty(), "unknown {unknown:?}, missing {missing:?} in {data}");

    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let inner = json!({"schema": schema, "data": data});
    let outer = json!({"schema": "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0", "data": inner});
    let config =
        write(folder.path(), "config.yml", DURABLE.replace("./data", &folder.path().join("state").to_string_lossy()));
    let data = write(folder.path(), "event.tsv", columns("unstruct", &outer));
    let told = run_on("import", &config, &data, &["--format", "snowplow:tsv"]).ok().stderr;
    assert!(told.contains("interactions=1 clickthroughs=") && told.contains("skipped=0"), "{told}");
}

#[test]
fn another_form_than_the_configured_one_is_told_with_its_place() {
    for (format, expected) in [
        (
            "snowplow:tsv",
            "events.jsonl:1: expected an enriched event of Snowplow: 131 columns with tabs between them, found 1",
        ),
        ("snowplow:json", "events.jsonl:1: expected an enriched event of Snowplow: an object with `unstruct_event`"),
    ] {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let (config, data) = (folder.path().join("config.yml"), folder.path().join("events.jsonl"));
        let state = folder.path().join("state");
        std::fs::write(&config, DURABLE.replace("./data", &state.to_string_lossy())).expect("it can be written to");
        std::fs::write(&data, lines(&cheap_wins(5))).expect("it can be written to");
        let ended = run_on("import", &config, &data, &["--format", format]);
        assert!(ended.stderr.contains(expected), "{format}: {}", ended.stderr);
    }
}
