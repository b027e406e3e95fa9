//! A configuration written for the upstream service works as it stands.

use rankwright_e2e::{Service, events, program, shared};
use serde_json::json;

const GAPS: [&str; 2] = [
    "'ctr_tag' refers to item.tag, which no event carried",
    "'ctr_genre' refers to item.genre, which no event carried",
];

fn assert_warned_of_the_gaps_alone(log: &str) {
    for gap in GAPS {
        assert!(log.contains(gap), "no word of {gap:?}:\n{log}");
    }
    assert_eq!(log.matches("which no event carried").count(), GAPS.len(), "{log}");
}

#[test]
fn it_is_imported_unchanged_with_a_warning_for_each_field_that_the_data_lacks() {
    let Some(config) = shared::path("data/ranklens.yml") else { return };
    let Some(data) = shared::path("data/ranklens_small_events.jsonl.gz") else { return };
    let import = program::run_on("import", &config, &data, &[]).ok();
    assert_warned_of_the_gaps_alone(&import.stderr);
}

#[test]
fn it_is_served_on_the_data_it_was_written_for() {
    let Some(config) = shared::path("data/ranklens.yml") else { return };
    let Some(data) = shared::path("data/ranklens_events.jsonl.gz") else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let text = std::fs::read_to_string(config).expect("the configuration can be read");
    let other_port =
        |line: &str| if line.starts_with("api:") { "api: {host: 127.0.0.1, port: 0}" } else { line }.to_owned();
    let text: Vec<String> = text.lines().map(other_port).collect();
    let service = Service::standalone(&text.join("\n"), &data, folder.path());
    assert_warned_of_the_gaps_alone(&service.log());
    let items = ["1805", "2387", "105197", "62374", "no such film"];
    let request = events::ranking("r", 300_000, "a visitor never seen", &items);
    let answer = service.rank("xgboost", &request);
    assert_eq!(answer["fallback"], json!(null), "{answer}");
    let mut ranked = events::order(&answer);
    ranked.sort_unstable();
    assert_eq!(ranked, ["105197", "1805", "2387", "62374", "no such film"]);
    assert!(events::feature(&answer, "1805", "popularity").as_f64().is_some_and(|value| value > 0.0), "{answer}");
}

#[test]
fn what_could_be_counted_of_its_use_is_printed_and_no_server_is_looked_for() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = folder.path().join("config.yml");
    let text = "{state: {type: redis, host: redis.invalid, port: 6379, auth: {password: hunter2}},
  source: {type: kafka, brokers: ['kafka.invalid:9092'], topic: visits, groupId: shop},
  features: [{name: price, type: number, field: item.price}], models: {none: {type: noop}}}";
    std::fs::write(&config, text).expect("the configuration can be written");
    let config = config.to_string_lossy();
    for mode in ["import", "train", "serve", "standalone"] {
        let arguments = [mode, "--config", &config, "--print-analytics"];
        let printed = program::run(&arguments).ok().stdout;
        let counted: serde_json::Value = serde_json::from_str(&printed).expect("it prints JSON");
        assert_eq!(
            (&counted["mode"], &counted["state"], &counted["source"]),
            (&json!(mode), &json!("redis"), &json!("kafka"))
        );
        assert_eq!(counted["features"], json!([{"name": "price", "type": "number"}]));
        assert!(["invalid", "hunter2", "visits", "shop"].iter().all(|hidden| !printed.contains(hidden)), "{printed}");
        let mut off = program::command(&arguments);
        let off = program::Ended::of(off.env("SERVICE_TRACKING", "false")).ok();
        assert!(off.stdout.is_empty() && off.stderr.contains("analytics are off"), "{}{}", off.stdout, off.stderr);
    }
}

/// What others have in their configurations: names that we have other ones for, and keys that mean nothing here.
const FOREIGN: &str = r"
items: [{name: price, type: number}]
state: {type: file, path: ./data, whenExists: append}
input: {type: file, offset: earliest}
api: {timeout: 60s, analytics: false}
core: {clickthrough: {maxSessionLength: 10s}, import: {cache: {enabled: true}}}
models:
  m:
    type: lambdamart
    backend: {type: xgboost, iterations: 20, seed: 0, learningRate: 1.5}
    weights: {click: 50}
    features: [price]
    split: 'field=side:train:test'
  shown: {type: noop, selector: {accept: true}}
features:
  - {name: price, type: number, field: metadata.price, ttl: 90d}
";

#[test]
fn names_and_keys_of_others_are_read_or_named_in_a_warning() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let written = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("can be written");
    };
    let mut list = 0;
    let foreign = |mut event: serde_json::Value| {
        if event["event"] == "item" {
            event["event"] = json!("metadata");
        } else if event["event"] == "ranking" {
            list += 1;
            let side = ["train", "train", "test", "neither"][list % 4];
            event["fields"] = json!([{"name": "side", "value": side}]);
        }
        event
    };
    let events: Vec<_> = events::cheap_wins(200).into_iter().map(foreign).collect();
    written("config.yml", FOREIGN);
    written("events.jsonl", &events::lines(&events));
    let run = |arguments: &[&str]| {
        let mut command = program::command(arguments);
        program::Ended::of(command.current_dir(folder.path()).env("METARANK_CONFIG", "config.yml"))
    };
    let import = run(&["import", "--data", "events.jsonl"]).ok();
    assert!(import.stderr.contains("items=20") && import.stderr.contains("skipped=0"), "{}", import.stderr);
    for warning in [
        "METARANK_CONFIG: is read as SERVICE_CONFIG",
        " items: items is ignored",
        "state.whenExists: whenExists is ignored",
        "api.analytics: analytics is ignored",
        "core.import.cache: cache is ignored",
        "models.shown.selector: selector is ignored",
    ] {
        assert_eq!(import.stderr.matches(warning).count(), 1, "{warning}:\n{}", import.stderr);
    }
    let nothing = run(&["import"]).refused();
    assert!(nothing.stderr.contains("--data, or as source.path"), "{}", nothing.stderr);
    let trained = run(&["train"]).ok();
    assert!(
        trained.stderr.contains("rankings=100") && trained.stderr.contains("has neither value"),
        "{}",
        trained.stderr
    );
    let by_option = run(&["train", "--split", "field=side:neither:test"]).ok();
    assert!(by_option.stderr.contains("rankings=50"), "{}", by_option.stderr);
    let wrong = run(&["train", "--split", "field=side:test"]).refused();
    assert!(wrong.stderr.contains("field=<ranking field>:<train>:<test>"), "{}", wrong.stderr);
}
