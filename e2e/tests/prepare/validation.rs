//! `validate`, and the same checks before an import.

use super::{check, fact, gzip, report, validate};
use rankwright_e2e::Ended;
use rankwright_e2e::events::{DURABLE, at, cheap_wins, click, item, lines, ranking};
use rankwright_e2e::folder::{folder, write};
use rankwright_e2e::program::{self, run};
use serde_json::{Value, json};

/// A configuration over items with prices and colours.
const SHOP: &str = "
state: {type: memory}
models:
  m: {type: lambdamart, backend: {type: lightgbm}, weights: {click: 1}, features: [price, color, stock]}
features:
  - {name: price, type: number, field: item.price}
  - {name: stock, type: number, field: item.stock}
  - {name: color, type: string, field: item.color, encode: onehot, values: [red, green]}
";

/// Events of a shop in which everything is well.
fn shop() -> Vec<Value> {
    let of = |id: &str, price: i64, color: &str| {
        item(id, 0, &[("price", json!(price)), ("stock", json!(price + 1)), ("color", json!(color))])
    };
    vec![
        of("a", 1, "red"),
        of("b", 2, "green"),
        ranking("r1", 10, "u", &["a", "b"]),
        click("c1", 20, "r1", "u", "b"),
        ranking("r2", 30, "u", &["b", "a"]),
    ]
}

fn validated(events: &[Value]) -> (Value, Ended) {
    validated_with(SHOP, events)
}

fn validated_with(config: &str, events: &[Value]) -> (Value, Ended) {
    let folder = folder();
    let config = write(folder.path(), "config.yml", config);
    let data = write(folder.path(), "events.jsonl", lines(events));
    let ended = validate(&config, &data, &["--output", "json"]);
    (report(&ended), ended)
}

/// Names of the checks that failed.
fn failed(report: &Value) -> Vec<&str> {
    let checks = report["checks"].as_array().expect("a list of checks").iter();
    checks.filter(|check| check["status"] == "FAIL").filter_map(|check| check["name"].as_str()).collect()
}

#[test]
fn what_text_models_will_store_is_foreseen_without_them() {
    let matched = "type: field_match, rankingField: ranking.query, itemField: item.title";
    let config = format!(
        "
state: {{type: memory}}
models: {{m: {{type: noop}}}}
features:
  - {{name: meaning, {matched}, method: {{type: bi-encoder, model: test/none, dim: 384}}}}
  - {{name: pair, {matched}, method: {{type: cross-encoder, model: test/no-other}}}}
"
    );
    let title = |number: usize| item(&format!("i{number}"), number as i64, &[("title", json!("waterproof boots"))]);
    let events: Vec<_> = (0..30).map(title).collect();
    let folder = folder();
    let (config, data) = (write(folder.path(), "config.yml", config), write(folder.path(), "e.jsonl", lines(&events)));
    let size = report(&validate(&config, &data, &["--output", "json"]))["memory"].take();
    let of = |feature: &str, what: &str| size["features"][feature][what].as_u64().unwrap_or_default();
    assert_eq!([of("meaning", "values"), of("pair", "values")], [30, 30], "{size}");
    assert!(of("meaning", "bytes") > 30 * 392 && of("pair", "bytes") < 30 * 392, "{size}");
}

#[test]
fn good_events_pass_every_check() {
    let (report, ended) = validated(&shop());
    ended.ok();
    let names = [
        "event ordering",
        "event types",
        "field reference",
        "interaction-ranking join key",
        "interaction metadata",
        "interaction positions",
        "interaction type",
    ];
    let checks = report["checks"].as_array().expect("a list");
    assert_eq!(checks.iter().map(|check| check["name"].as_str().unwrap_or_default()).collect::<Vec<_>>(), names);
    assert!(checks.iter().all(|check| check["status"] == "PASS"), "{report:#}");
    let types = &check(&report, "event types")["details"];
    assert_eq!((&types["items"], &types["rankings"], &types["interactions"]), (&json!(2), &json!(2), &json!(1)));
    assert_eq!(check(&report, "interaction positions")["details"]["counts"], json!([0, 1]));
    let clicked = &fact(&report, "rankings with interactions").expect("is told")["details"];
    assert_eq!(clicked, &json!({"rankings": 2, "withInteractions": 1}));
    let range = &fact(&report, "time range").expect("is told")["details"];
    assert_eq!((&range["first"], &range["last"]), (&json!("2021-11-14T16:25:00Z"), &json!("2021-11-14T16:25:30Z")));
    assert!(report["memory"]["bytes"].as_u64() > Some(100) && report["memory"]["features"]["price"]["values"] == 2);
    for name in ["unknown values", "features that never vary", "items outside of lists", "unused fields"] {
        assert_eq!(fact(&report, name), None, "{name}");
    }
}

#[test]
fn each_check_fails_on_what_it_is_for_with_examples() {
    let failing = |change: &dyn Fn(&mut Vec<Value>), name: &str, example: &str| {
        let mut events = shop();
        change(&mut events);
        let (report, ended) = validated(&events);
        assert!(ended.stderr.contains(name), "{}", ended.stderr);
        ended.refused();
        let failed = check(&report, name);
        assert_eq!(failed["status"], "FAIL", "{name}: {report:#}");
        assert!(failed["examples"].to_string().contains(example), "{name}: {failed:#}");
        report
    };
    failing(&|events| events.swap(3, 4), "event ordering", "c1");
    failing(
        &|events| events.push(json!({"event": "view", "id": "x", "timestamp": at(40)})),
        "event types",
        "events.jsonl:6: event",
    );
    failing(
        &|events| events[..2].iter_mut().for_each(|item| item["fields"][1]["name"] = json!("stok")),
        "field reference",
        "item.stock",
    );
    failing(
        &|events| events.push(click("c9", 50, "r9", "u", "a")),
        "interaction-ranking join key",
        r#"\"c9\" (ranking \"r9\")"#,
    );
    failing(&|events| events.push(click("c8", 50, "r2", "u", "z")), "interaction metadata", r#"\"c8\" (item \"z\")"#);
    failing(&|events| drop(events.remove(3)), "interaction positions", "");
    let report = failing(
        &|events| {
            let mut like = click("l1", 50, "r2", "u", "a");
            like["type"] = json!("like");
            events.push(like);
        },
        "interaction type",
        r#"\"l1\" (type \"like\")"#,
    );
    assert_eq!(check(&report, "interaction type")["details"]["counts"], json!({"click": 1, "like": 1}));
}

#[test]
fn events_that_models_learn_from_pass_without_clicks_in_rankings() {
    let passes = |config: &str, events: &[Value]| {
        let (report, ended) = validated_with(config, events);
        assert_eq!(ended.code, Some(0), "{report:#}");
        check(&report, "interaction positions")["message"].as_str().expect("a text").to_owned()
    };
    let mut labelled = shop();
    labelled.remove(3);
    labelled[2]["items"][1]["label"] = json!(2);
    let none = "no interaction names an earlier ranking and one of its items";
    let by_label = SHOP.replace(", weights: {click: 1}", "");
    assert_eq!(passes(&by_label, &labelled), format!("{none}; 1 rankings have items[].label"));
    let like = |number: i64| json!({"event": "interaction", "id": format!("l{number}"), "timestamp": at(number), "type": "like", "user": "u", "item": "a"});
    let likes = [item("a", 0, &[]), like(1), like(2)];
    for model in ["type: als, interactions: [like]", "type: trending, weights: [{interaction: like}]"] {
        let config = format!("state: {{type: memory}}\nmodels: {{m: {{{model}}}}}\n");
        assert_eq!(passes(&config, &likes), format!("{none}, which no model needs"));
    }
}

#[test]
fn interactions_by_which_items_are_left_out_are_of_a_known_type() {
    let mut events = shop();
    for (place, kind) in ["purchase", "like"].into_iter().enumerate() {
        let mut more = click(kind, 40 + place as i64, "r2", "u", "b");
        more["type"] = json!(kind);
        events.push(more);
    }
    let types = |seen: &str| {
        let config = format!(
            "state: {{type: memory}}\nmodels:\n  m: {{type: als, interactions: [click], excludeSeen: {seen}}}\n  s: \
             {{type: semantic, encoder: {{type: csv, dim: 2, path: x.csv}}, excludeSeen: {}}}\n",
            seen == "true"
        );
        let (report, _) = validated_with(&config, &events);
        check(&report, "interaction type")["details"]["unknown"].clone()
    };
    assert_eq!([types("[purchase]"), types("[purchase, like]"), types("false")], [1, 0, 2]);
    assert_eq!(types("true"), 0, "a model that learns from no interactions leaves out by any");
}

#[test]
fn a_report_is_short_however_many_fields_events_have() {
    let mut events = shop();
    for number in 0..1000 {
        let names: Vec<String> = (0..100).map(|field| format!("attr_{number}_{field}")).collect();
        let fields: Vec<(&str, Value)> = names.iter().map(|name| (name.as_str(), json!(1))).collect();
        events.insert(0, item("a", 0, &fields));
    }
    let (report, ended) = validated(&events);
    ended.ok();
    assert!(report.to_string().len() < 20_000, "{} characters", report.to_string().len());
    let unused = &fact(&report, "unused fields").expect("is told")["details"];
    assert_eq!((&unused["more"], &unused["furtherValues"]), (&json!(950), &json!(99_000)));
}

#[test]
fn a_report_is_short_however_many_types_interactions_have() {
    let mut events = shop();
    for number in 0..3000 {
        let mut act = click(&format!("a{number}"), 40, "r2", "u", "b");
        act["type"] = json!(format!("type_{number}"));
        events.push(act);
    }
    events.extend([1, 2].map(|number| click(&format!("late{number}"), 50, "r2", "u", "b")));
    let (report, ended) = validated(&events);
    ended.refused();
    let failed = check(&report, "interaction type");
    assert!(report.to_string().len() < 20_000, "{} characters", report.to_string().len());
    let counts = failed["details"]["counts"].as_object().expect("an object");
    assert_eq!((counts.len(), &counts["click"], &failed["details"]["further"]), (50, &json!(3), &json!(2951)));
    let message = failed["message"].as_str().expect("a text");
    assert!(message.contains("(these use click): 3 click, 1 type_0, "), "{message}");
    assert!(message.ends_with(", 2951 of further types"), "{message}");
}

#[test]
fn a_field_of_rankings_is_none_of_items() {
    let feature = "  - {name: words, type: word_count, field: item.query}\n";
    let config = SHOP.replace("price, color", "words, price, color") + feature;
    let mut events = shop();
    events[2]["fields"] = json!([{"name": "query", "value": "red shoes"}]);
    let (report, ended) = validated_with(&config, &events);
    ended.refused();
    let missing = &check(&report, "field reference")["details"]["missing"];
    assert_eq!(*missing, json!(["features[3] 'words' refers to item.query, which no event carried"]));
}

#[test]
fn values_of_rankings_are_no_values_of_their_items() {
    let mut events = shop();
    for place in [2, 4] {
        events[place]["fields"] = json!([{"name": "color", "value": format!("c{place}")}]);
    }
    let (report, ended) = validated(&events);
    ended.ok();
    assert_eq!(fact(&report, "unknown values"), None);
    // nor do they make a field of items vary
    events[1]["fields"][2]["value"] = json!("red");
    let constant = fact(&validated(&events).0, "features that never vary").cloned().expect("is told");
    assert_eq!(constant["details"]["field"], "item.color");
}

#[test]
fn values_that_a_feature_cannot_read_are_told() {
    let features = "  - {name: n, type: number, field: item.color}\n  - {name: b, type: boolean, field: item.price}\n  \
                    - {name: age, type: item_age, source: item.color}\n";
    let config = SHOP.replace("price, color", "n, b, age, price, color") + features;
    let (report, ended) = validated_with(&config, &shop());
    ended.ok();
    let told = |name: &str| -> Vec<String> {
        let facts = report["facts"].as_array().expect("a list of facts").iter();
        facts
            .filter(|fact| fact["name"] == *name)
            .filter_map(|fact| Some(fact["message"].as_str()?.to_owned()))
            .collect()
    };
    let unreadable = |place: usize, feature: &str, kind: &str, field: &str| {
        format!(
            "features[{place}] '{feature}' of type {kind} cannot read 2 of 2 values (100.0 %) of {field}: they count as missing"
        )
    };
    let expected = [
        unreadable(3, "n", "number", "item.color"),
        unreadable(4, "b", "boolean", "item.price"),
        unreadable(5, "age", "item_age", "item.color"),
    ];
    assert_eq!(told("unreadable values"), expected);
    let constant = told("features that never vary");
    assert_eq!(constant.len(), 3, "{constant:?}");
    assert!(
        constant[0].starts_with("features[3] 'n': item.color has no value that the feature can use in 2 events"),
        "{constant:?}"
    );
}

#[test]
fn values_that_are_no_texts_cannot_be_read_by_a_feature_of_texts() {
    let config = SHOP.replace("[red, green]", "['1', '2']");
    let mut events = shop();
    for (event, size) in events.iter_mut().zip([1, 2]) {
        event["fields"][2]["value"] = json!(size);
    }
    let (report, ended) = validated_with(&config, &events);
    ended.ok();
    let unreadable = fact(&report, "unreadable values").expect("is told");
    assert_eq!((&unreadable["details"]["values"], &unreadable["details"]["unreadable"]), (&json!(2), &json!(2)));
    let told =
        "features[2] 'color' of type string cannot read 2 of 2 values (100.0 %) of item.color: they count as missing";
    assert_eq!(unreadable["message"], told);
    assert_eq!(fact(&report, "unknown values"), None);
    let constant = fact(&report, "features that never vary").expect("is told")["message"].as_str().expect("a text");
    assert!(constant.contains("item.color has no value that the feature can use in 2 events"), "{constant}");
}

#[test]
fn a_field_that_only_some_items_have_varies() {
    let config =
        SHOP.replace("price, color", "sale, price, color") + "  - {name: sale, type: boolean, field: item.sale}\n";
    let constant = |on_sale: &[usize]| {
        let mut events = shop();
        for place in on_sale {
            let fields = events[*place]["fields"].as_array_mut().expect("a list");
            fields.push(json!({"name": "sale", "value": true}));
        }
        events.insert(2, events[0].clone());
        fact(&validated_with(&config, &events).0, "features that never vary")
            .map(|fact| fact["details"]["field"].clone())
    };
    assert_eq!(constant(&[0]), None, "an item is not on sale");
    assert_eq!(constant(&[0, 1]), Some(json!("item.sale")));
}

#[test]
fn what_a_model_could_not_learn_from_is_told() {
    let mut events = shop();
    events[1]["fields"] = json!([{"name": "price", "value": 1}, {"name": "stock", "value": 9}, {"name": "color", "value": "blue"}, {"name": "brand", "value": "x"}]);
    let same = [("price", json!(1)), ("stock", json!(4)), ("color", json!("red"))];
    events.push(item("c", 40, &same));
    events.push(click("c2", 40, "r2", "u", "c"));
    events.push(item("a", 8 * 3600, &same));
    let (report, ended) = validated(&events);
    ended.ok();
    let told = |name: &str| fact(&report, name).unwrap_or_else(|| panic!("{name}: {report:#}")).clone();
    assert_eq!(told("unknown values")["details"]["mostOften"], json!({"blue": 1}));
    assert_eq!(told("features that never vary")["details"]["field"], "item.price");
    assert_eq!(told("items outside of lists")["details"]["outside"], 1);
    assert_eq!(told("unused fields")["details"]["fields"], json!(["item.brand"]));
    assert_eq!(told("time range")["details"]["gaps"], json!([{"from": "2021-11-14T17:00:00Z", "hours": 7}]));
}

#[test]
fn names_may_come_before_what_they_name() {
    let mut events = shop();
    events.rotate_left(2); // items last
    for (place, event) in events.iter_mut().enumerate() {
        event["timestamp"] = json!(at(place as i64));
    }
    events.swap(0, 1); // and a click before its ranking
    let (report, ended) = validated(&events);
    ended.refused();
    assert_eq!(failed(&report), ["event ordering"], "{report:#}");
    assert_eq!(fact(&report, "interactions before rankings").expect("is told")["details"]["early"], 1);
}

#[test]
fn a_folder_whose_clicks_are_read_before_their_rankings_fails_by_the_order_alone() {
    let (clicks, others): (Vec<Value>, Vec<Value>) =
        cheap_wins(20).into_iter().partition(|event| event["event"] == "interaction");
    let folder = folder();
    let data = folder.path().join("events");
    std::fs::create_dir(&data).expect("is new");
    write(&data, "clicks.jsonl", lines(&clicks));
    write(&data, "rankings.jsonl", lines(&others));
    let config = write(folder.path(), "config.yml", DURABLE);
    let ended = validate(&config, &data, &["--output", "json"]).refused();
    let report = report(&ended);
    assert_eq!(failed(&report), ["event ordering"], "{report:#}");
    let message = check(&report, "interaction positions")["message"].as_str().expect("a text");
    let early = format!("{} come before their ranking: if `event ordering` fails, sort the events first", clicks.len());
    assert!(message.ends_with(&early), "{message}");
}

#[test]
fn the_report_is_text_for_people_and_the_configuration_can_be_checked_alone() {
    let folder = folder();
    let config = write(folder.path(), "config.yml", SHOP);
    let data = write(folder.path(), "events.jsonl", lines(&shop()));
    let ended = validate(&config, &data, &[]).ok();
    assert!(
        ended.stdout.starts_with("the configuration is valid: 3 features, 1 models (m)\n\nPASS  event ordering"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("memory in Redis by feature:"), "{}", ended.stdout);
    let alone = run(&["validate", "--config", &config.to_string_lossy(), "--validation=false"]).ok();
    assert_eq!(alone.stdout, "the configuration is valid: 3 features, 1 models (m); no events were read\n");
    let stream = "source: {type: kafka, brokers: ['localhost:9092'], topic: events, groupId: shop, options: {max.poll.records: '500'}}";
    let stream = write(folder.path(), "stream.yml", format!("{SHOP}\n{stream}\n"));
    let ended = run(&["validate", "--config", &stream.to_string_lossy(), "--validation=false"]).ok();
    let told = "source.options.max.poll.records: ignored, state.pipeline says how large batches are";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let wrong = write(folder.path(), "wrong.yml", SHOP.replace("[price, color, stock]", "[prise, color, stock]"));
    let ended = run(&["validate", "--config", &wrong.to_string_lossy(), "--validation=false"]).refused();
    assert!(ended.stderr.contains("prise"), "{}", ended.stderr);
    let without = run(&["validate", "--config", &config.to_string_lossy()]).refused();
    assert!(
        without.stderr.contains("there are no events to read: name a file or folder with --data"),
        "{}",
        without.stderr
    );
}

#[test]
fn events_that_cannot_be_read_fail_a_validation() {
    let folder = folder();
    let config = write(folder.path(), "config.yml", SHOP);
    let whole = gzip(&lines(&cheap_wins(500)));
    let cut = write(folder.path(), "cut.jsonl.gz", &whole[..whole.len() / 2]);
    let ended = validate(&config, &cut, &[]).refused();
    assert!(
        ended.stdout.contains("FAIL  event types") && ended.stdout.contains("the file is damaged"),
        "{}",
        ended.stdout
    );
    let empty = write(folder.path(), "empty.jsonl", "");
    let ended = validate(&config, &empty, &[]).refused();
    assert!(ended.stdout.contains("empty.jsonl holds no events"), "{}", ended.stdout);
    let missing = validate(&config, &folder.path().join("evnets.jsonl"), &[]).refused();
    assert!(
        missing.stderr.contains("evnets.jsonl does not exist") && missing.stderr.contains("cut.jsonl.gz"),
        "{}",
        missing.stderr
    );
    let csv = write(folder.path(), "prices.csv", "id,price\na,1\n");
    let ended = validate(&config, &csv, &[]).refused();
    assert!(ended.stdout.contains("prices.csv:1: expected an event: an object"), "{}", ended.stdout);
}

#[test]
fn an_import_with_validation_takes_nothing_where_a_check_fails() {
    let folder = folder();
    let state = folder.path().join("state");
    let durable = DURABLE.replace("./data", &state.to_string_lossy());
    let config = write(folder.path(), "config.yml", durable);
    let mut events = cheap_wins(50);
    let good = write(folder.path(), "good.jsonl", lines(&events));
    events.push(click("c999", 60, "r999", "u", "i1"));
    let bad = write(folder.path(), "bad.jsonl", lines(&events));
    let ended = program::run_on("import", &config, &bad, &["--validation"]).refused();
    assert!(ended.stderr.contains("FAIL interaction-ranking join key"), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing was imported") && !ended.stderr.contains("rankings="), "{}", ended.stderr);
    let ended = program::run_on("import", &config, &good, &["--validation=true"]).ok();
    assert!(ended.stderr.contains("PASS event ordering") && ended.stderr.contains("rankings=50"), "{}", ended.stderr);
    let ended = program::run_on("standalone", &config, &bad, &["--validation"]).refused();
    assert!(ended.stderr.contains("1 of 7 checks failed"), "{}", ended.stderr);
}
