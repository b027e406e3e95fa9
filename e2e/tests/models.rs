//! `models`: versions are shown, compared, switched, taken out and brought in, on every store.

use rankwright_e2e::Ended;
use rankwright_e2e::program::{command, run, run_on};
use rankwright_e2e::redis::Redis;
use serde_json::Value;
use std::path::Path;

/// A small made-up shop whose models are kept as `state` says.
fn shop(folder: &Path, state: &str) {
    run(&["generate", "--out", &folder.to_string_lossy(), "--rankings", "400", "--items", "100", "--users", "50"]).ok();
    let config = std::fs::read_to_string(folder.join("config.yml")).expect("was written");
    std::fs::write(folder.join("config.yml"), config.replace("type: memory", state)).expect("can be written");
    run_on("import", &folder.join("config.yml"), &folder.join("events.jsonl.gz"), &[]).ok();
}

fn call(folder: &Path, arguments: &[&str]) -> Ended {
    let arguments = [arguments, &["--config", "config.yml"]].concat();
    Ended::of(command(&arguments).current_dir(folder))
}

fn models(folder: &Path, arguments: &[&str]) -> String {
    call(folder, &[&["models"], arguments].concat()).ok().stdout
}

fn shown(folder: &Path, arguments: &[&str]) -> Value {
    let text = models(folder, &[&["show", "--output", "json"], arguments].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Ids of a model's versions, the oldest first.
fn versions(folder: &Path, model: &str) -> Vec<String> {
    let list = models(folder, &["list"]);
    let of = |line: &str| {
        line.strip_prefix(&format!("{model}\t")).and_then(|rest| rest.split('\t').next().map(str::to_owned))
    };
    list.lines().filter_map(of).collect()
}

fn every_command_works(folder: &Path) {
    for model in ["lightgbm", "xgboost", "lightgbm"] {
        call(folder, &["train", "--model", model]).ok();
    }
    let [first, second] = &versions(folder, "lightgbm")[..] else { panic!("two versions") };

    let version = shown(folder, &["--model", "lightgbm"]);
    assert_eq!(
        (&version["version"], &version["current"], &version["replaced"]),
        (&second.as_str().into(), &true.into(), &first.as_str().into())
    );
    assert_eq!((&version["settings"]["split"], &version["backend"]), (&"time=80%".into(), &"lightgbm".into()));
    assert!(version["trainedOn"]["first"].as_str() < version["trainedOn"]["last"].as_str(), "{version}");
    assert!(version["metrics"]["NDCG@10"].as_f64().is_some_and(|metric| metric > 0.0), "{version}");
    let shares = version["features"].as_array().expect("a list").iter().map(|feature| feature["share"].as_f64());
    assert!((shares.map(Option::unwrap_or_default).sum::<f64>() - 1.0).abs() < 1e-9, "{version}");
    let table = models(folder, &["show", "--model", "xgboost"]);
    assert!(table.contains("features by gain") && table.contains("backend.maxDepth"), "{table}");

    let diff = models(folder, &["diff", "--model", "lightgbm"]);
    assert!(diff.contains(&format!("{first} and {second}")) && !diff.contains("settings that differ"), "{diff}");

    models(folder, &["rollback", "--model", "lightgbm"]);
    assert_eq!(&shown(folder, &["--model", "lightgbm"])["version"], first);
    models(folder, &["promote", "--model", "lightgbm", "--to", second]);
    assert_eq!(&shown(folder, &["--model", "lightgbm"])["version"], second);

    taken_out_and_brought_in(folder, second);
}

/// A file that goes out comes back as another version with the same scores.
fn taken_out_and_brought_in(folder: &Path, current: &str) {
    for (model, file) in [("lightgbm", "m.txt"), ("xgboost", "m.ubj")] {
        let told = models(folder, &["export", "--model", model, "--out", file]);
        assert!(told.contains("its columns are, in this order: price, discount, "), "{told}");
        let told = models(folder, &["import", "--model", model, file]);
        assert!(told.contains("stored; compare it with 'rankwright evaluate'"), "{told}");
        let id = told.split('\t').nth(1).expect("an id").to_owned();
        let named = format!("{model}@{id}");
        let compared = call(folder, &["evaluate", "--output", "json", "--model", model, "--model", &named]).ok().stdout;
        let compared: Value = serde_json::from_str(&compared).expect("a report");
        assert_eq!(compared["differences"][0]["value"], 0.0, "{compared}");
        let version = shown(folder, &["--model", model, "--version", &id]);
        assert_eq!((&version["current"], &version["settings"]["imported from"]), (&false.into(), &file.into()));
        let gains = |version: &Value| version["features"][0]["name"].clone();
        assert_eq!(gains(&version), gains(&shown(folder, &["--model", model])));
    }
    assert_eq!(&shown(folder, &["--model", "lightgbm"])["version"], current, "what is brought in does not serve yet");
    models(folder, &["import", "--model", "lightgbm", "m.txt", "--promote"]);
    let imported = shown(folder, &["--model", "lightgbm"]);
    assert_eq!((&imported["replaced"], &imported["metrics"]), (&current.into(), &serde_json::json!({})));
    let config = std::fs::read_to_string(folder.join("config.yml")).expect("was written");
    let pinned = config.replacen("  lightgbm:\n", &format!("  lightgbm:\n    version: {current}\n"), 1);
    std::fs::write(folder.join("config.yml"), &pinned).expect("can be written");
    let told = models(folder, &["import", "--model", "lightgbm", "m.txt", "--promote"]);
    let pin = format!("models.lightgbm.version pins {current}, which is served all the same\n");
    assert!(told.ends_with(&pin), "{told}{pinned}");
    std::fs::write(folder.join("config.yml"), config).expect("can be written");
    let ranked = call(folder, &["rank", "--model", "lightgbm", "--output", "json", "request.txt"]).ok().stdout;
    assert!(!ranked.contains("fallback"), "{ranked}");
}

#[test]
fn models_in_a_folder_are_shown_switched_taken_out_and_brought_in() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    shop(folder, &format!("type: file\n  path: {}/state", folder.to_string_lossy()));
    every_command_works(folder);
    what_is_wrong_is_named(folder);
}

#[test]
fn models_in_redis_are_shown_switched_taken_out_and_brought_in() {
    let Some(redis) = Redis::of_its_own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    shop(folder.path(), &format!("type: redis\n  host: {}\n  port: {}", redis.host(), redis.port()));
    every_command_works(folder.path());
}

fn what_is_wrong_is_named(folder: &Path) {
    let refused = |arguments: &[&str]| call(folder, &[&["models"], arguments].concat()).refused().stderr;
    std::fs::write(folder.join("cut.txt"), "tree\nversion=v4\nnum_class=1\n").expect("can be written");
    std::fs::write(folder.join("other.json"), "{\"learner\": {}}").expect("can be written");
    let unknown = "20211114T162500000Z-1a2b3c4d";
    for (arguments, expected) in [
        (&["show", "--model", "m"][..], "the configuration has no model 'm': it has lightgbm, "),
        (&["show", "--model", "lightgbm", "--version", unknown], "model \"lightgbm\" has no version 2021"),
        (&["promote", "--model", "lightgbm", "--to", "newest"], "invalid model version \"newest\""),
        (&["import", "--model", "lightgbm", "none.txt"], "failed to read none.txt (. has config.yml, "),
        (&["import", "--model", "lightgbm", "state"], "failed to read state (it is a folder: name a file)"),
        (&["import", "--model", "lightgbm", "cut.txt"], "cut.txt: invalid LightGBM model"),
        (&["import", "--model", "lightgbm", "other.json"], "other.json: invalid XGBoost model"),
        (&["import", "--model", "lightgbm", "config.yml"], "neither JSON or UBJSON of XGBoost nor text of LightGBM"),
        (&["export", "--model", "xgboost", "--out", "m.json"], "has to end in .ubj"),
        (&["export", "--model", "xgboost", "--out", "none/m.ubj"], "cannot write to none: none does not exist"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(expected), "{arguments:?}: {expected}: {message}");
    }
    // a file of another model's columns
    let config = std::fs::read_to_string(folder.join("config.yml")).expect("was written");
    std::fs::write(folder.join("config.yml"), config.replace("      - discount\n", "")).expect("can be written");
    let message = refused(&["import", "--model", "lightgbm", "m.txt"]);
    assert!(
        message.contains("m.txt does not fit model 'lightgbm':")
            && message.contains("columns, and the features of the model have"),
        "{message}"
    );
}
