//! Several programs over one Redis, and what they should come to.

use crate::events::{at, click, item, lines, ranking};
use crate::random::Random;
use crate::redis::Redis;
use crate::{Ended, Launch, Service, program};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Features and stores of the services in these tests, where they need no more than these.
pub const FEATURES: &str = "
core: {clickthrough: {maxSessionLength: 10s}}
train: {type: file, path: ./parts, format: json}
features:
  - {name: clicks, type: interaction_count, interaction: click, scope: item}
  - {name: recent, type: interacted_with, interaction: click, field: item.brand, scope: user}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7]}
  - {name: brand_ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7], scope: item.brand}
  - {name: words, type: field_match, rankingField: ranking.query, itemField: item.brand, method: {type: term, language: en}}
  - {name: grams, type: field_match, rankingField: ranking.query, itemField: item.brand, method: {type: ngram, language: en, n: 2}}
models:
  same: {type: noop}
";

/// Number of items in the catalogue of [`day`].
pub const ITEMS: usize = 30;

/// [`FEATURES`] with [`text_features`], and a model that leaves out what visitors took, for which the state keeps that.
pub fn features() -> String {
    with_texts(FEATURES) + "  taken: {type: trending, weights: [{interaction: click}], excludeSeen: true}\n"
}

/// A configuration over this server or cluster.
pub fn config(redis: &Redis) -> String {
    format!("state: {{type: redis, {}}}\n{}", redis.patient(), features())
}

/// A configuration with [`text_features`] behind its other features.
///
/// # Panics
/// Where its models do not follow its features.
pub fn with_texts(config: &str) -> String {
    assert!(config.contains("\nmodels:"), "{config}");
    config.replace("\nmodels:", &format!("\n{}models:", text_features()))
}

/// Features of the query and an item's brand: by BM25 and, where tests have models, by vectors.
///
/// # Panics
/// Where there is no working folder.
pub fn text_features() -> String {
    let dictionary = std::path::absolute("src/many/terms.json").expect("there is a working folder");
    let feature = |name: &str, method: &str| {
        let fields = "rankingField: ranking.query, itemField: item.brand";
        format!("  - {{name: {name}, type: field_match, {fields}, method: {{{method}}}}}\n")
    };
    let weighed = feature("weighed", &format!("type: bm25, language: en, termFreq: {}", dictionary.display()));
    match program::models() {
        Some(_) => weighed + &feature("meaning", "type: bi-encoder, model: test/minilm-int8, dim: 384"),
        None => weighed,
    }
}

/// Starts a program of a service in a folder of its own.
///
/// # Panics
/// When it does not come up.
pub fn launch(program: &str, config: &str, service: &str, folder: &Path) -> Service {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    let environment = [("RANKWRIGHT_SERVICE", service)];
    Launch { subcommand: program, config, data: None, folder, environment: &environment }.start()
}

/// Imports events into the state of a service, in a folder of its own.
///
/// # Panics
/// When that fails.
pub fn import(config: &str, service: &str, events: &[Value], folder: &Path) {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(folder.join("config.yml"), config).expect("can be written");
    std::fs::write(folder.join("events.jsonl"), lines(events)).expect("can be written");
    let mut command = program::command(&["import", "--config", "config.yml", "--data", "events.jsonl"]);
    Ended::of(command.current_dir(folder).env("RANKWRIGHT_SERVICE", service)).ok();
}

/// A catalogue of [`ITEMS`], then visitors who click; in order of time.
pub fn day(random: &mut Random, rankings: i64) -> Vec<Value> {
    let items: Vec<String> = (0..ITEMS).map(|number| format!("i{number}")).collect();
    let brand = |number: usize| json!(format!("brand {}", number % 4));
    let mut events: Vec<Value> =
        items.iter().enumerate().map(|(number, id)| item(id, 0, &[("brand", brand(number))])).collect();
    for number in 0..rankings {
        let (second, user) = (10 + 2 * number, format!("u{}", number % 12));
        let shown: Vec<&str> = (0..5).map(|_| items[random.below(items.len())].as_str()).collect();
        let id = format!("r{number}");
        let mut list = ranking(&id, second, &user, &shown);
        list["fields"] = json!([{"name": "query", "value": format!("a brand such as {}", number % 4)}]);
        events.push(list);
        for (place, item) in shown.iter().enumerate().take(random.below(3)) {
            events.push(click(&format!("c{number}-{place}"), second + 1, &id, &user, item));
        }
    }
    events.push(json!({"event": "interaction", "id": "lone", "timestamp": at(20 + 2 * rankings), "type": "click", "item": "i1", "user": "u1"}));
    events
        .push(json!({"event": "user", "id": "end", "timestamp": at(1000 + 2 * rankings), "user": "u1", "fields": []}));
    events
}

/// A day in which items change their brand in turn, each at most seven times: rates over brands count under what an item was when
/// it was shown, and the state keeps the newest eight updates of an item, however far apart writers are.
pub fn day_of_changes(random: &mut Random, rankings: i64) -> Vec<Value> {
    const CHANGES: i64 = 6 * ITEMS as i64;
    let every = (rankings / CHANGES).max(3);
    let mut events = Vec::new();
    for event in day(random, rankings) {
        let number = event["id"].as_str().and_then(|id| id.strip_prefix('r')?.parse::<i64>().ok());
        if let Some(number) = number.filter(|number| number % every == 0) {
            let changed = format!("i{}", number / every % ITEMS as i64);
            events.push(item(&changed, 9 + 2 * number, &[("brand", json!(format!("brand {}", random.below(4))))]));
        }
        events.push(event);
    }
    events
}

/// A day with a pause in which all sessions end, cut in two there.
pub fn halves(random: &mut Random) -> (Vec<Value>, Vec<Value>) {
    const PAUSE: std::ops::Range<u64> = 290..310;
    let number = |event: &Value| {
        let id = event["id"].as_str().unwrap_or_default();
        let digits: String = id.trim_start_matches(['r', 'c']).chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok().filter(|_| id.starts_with(['r', 'c']))
    };
    let events = day(random, 600).into_iter().filter(|event| !number(event).is_some_and(|id| PAUSE.contains(&id)));
    let later = |event: &Value| {
        number(event).is_some_and(|id| id >= PAUSE.end)
            || ["lone", "end"].contains(&event["id"].as_str().unwrap_or_default())
    };
    events.partition(|event| !later(event))
}

/// Click-throughs of parts by kind and id, without their feature values: the state that a ranking saw is another's.
///
/// # Panics
/// When two records of one ranking differ.
pub fn click_throughs(folders: &[PathBuf]) -> BTreeMap<String, Value> {
    records(folders, |_, item| drop(item.as_object_mut().map(|item| item.remove("row"))))
}

/// The same with feature values, but for those of some features.
///
/// # Panics
/// When two records of one ranking differ, be it in those, or a feature has no columns.
pub fn click_throughs_with_rows(folders: &[PathBuf], but: &[&str]) -> BTreeMap<String, Value> {
    records(folders, |columns, item| {
        let left_out = |column: &String| but.iter().any(|feature| column.starts_with(feature));
        assert!(but.iter().all(|feature| columns.iter().any(|column| column.starts_with(feature))), "{columns:?}");
        if let Some(row) = item.get_mut("row").and_then(Value::as_array_mut) {
            assert_eq!(row.len(), columns.len());
            let mut columns = columns.iter();
            row.retain(|_| columns.next().is_some_and(|column| !left_out(column)));
        }
    })
}

fn records(folders: &[PathBuf], of_item: impl Fn(&[String], &mut Value)) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for folder in folders {
        let Ok(parts) = std::fs::read_dir(folder.join("parts")) else { continue };
        for part in parts {
            let part = std::fs::read_to_string(part.expect("can be listed").path()).unwrap_or_default();
            let mut columns = Vec::new();
            for line in part.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                if let Some(header) = line["header"]["columns"].as_array() {
                    columns = header.iter().filter_map(|column| Some(column["name"].as_str()?.to_owned())).collect();
                }
                let mut record = line["record"].clone();
                if let Some(fields) = record.as_object_mut() {
                    for item in fields.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
                        of_item(&columns, item);
                    }
                    let before = found.insert(format!("{}/{}", fields["kind"], fields["id"]), record.clone());
                    assert!(before.as_ref().is_none_or(|same| *same == record), "two records: {before:?} and {record}");
                }
            }
        }
    }
    found
}
