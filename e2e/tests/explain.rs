//! `rankwright rank` and `?explain=contributions`: how much of a score each feature brings.

use rankwright_e2e::page::{self, block};
use rankwright_e2e::program::{command, run, run_on};
use rankwright_e2e::{Ended, Service};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const PAGE: &str = include_str!("../../docs/explanations.md");

/// A made-up shop with trained models, whose state stays in a folder.
fn shop(folder: &Path) -> String {
    run(&["generate", "--out", &folder.to_string_lossy()]).ok();
    let config = std::fs::read_to_string(folder.join("config.yml")).expect("was written");
    let state = format!("type: file\n  path: {}/state", folder.to_string_lossy());
    let config = config.replace("type: memory", &state) + "\napi: {host: 127.0.0.1, port: 0}\n";
    std::fs::write(folder.join("config.yml"), &config).expect("can be written");
    run_on("import", &folder.join("config.yml"), &folder.join("events.jsonl.gz"), &[]).ok();
    config
}

fn train(folder: &Path, model: &str) {
    run(&["train", "--config", &folder.join("config.yml").to_string_lossy(), "--model", model]).ok();
}

fn rank(folder: &Path, more: &[&str]) -> Ended {
    Ended::of(command(&[&["rank", "--config", "config.yml"], more].concat()).current_dir(folder))
}

fn without_time(text: &str) -> Value {
    let mut answer: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(answer.as_object_mut().expect("an object").remove("took").is_some_and(|took| took.is_u64()));
    answer
}

#[test]
fn what_features_bring_is_told_by_the_command_and_by_the_service() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let config = shop(folder);
    let before = rank(folder, &["--model", "lightgbm", "--explain", "request.txt"]).ok().stdout;
    assert!(before.starts_with("not ranked by the model: model lightgbm is not trained yet\n"), "{before}");

    let models = ["lightgbm", "xgboost"];
    let told = models.map(|model| {
        train(folder, model);
        let json = rank(folder, &["--model", model, "--explain", "--output", "json", "request.txt"]).ok().stdout;
        let answer = without_time(&json);
        assert_adds_up(&answer);
        answer
    });
    let table = page::run(folder, &block(PAGE, "bash", "rankwright rank")).stdout;
    assert_shows(&table, &told[0]);
    let shown = block(PAGE, "text", " #");
    assert!(table.starts_with(&shown), "docs/explanations.md shows\n{shown}\nthis is\n{table}");
    let plain = rank(folder, &["--model", "lightgbm", "request.txt"]).ok().stdout;
    let items = told[0]["items"].as_array().expect("a list").len();
    assert_eq!(plain.lines().count(), items + 1, "{plain}");

    a_damaged_version_is_refused(folder);

    let service = Service::serve(&config, folder);
    let request = std::fs::read_to_string(folder.join("request.txt")).expect("was written");
    for (model, told) in models.iter().zip(&told) {
        let answer = service.post_text(&format!("/rank/{model}?explain=contributions"), &request);
        assert_eq!(&without_time(&answer.text), told, "{model}: the command and the service say the same");
    }
    let asked = page::run(folder, &page::asking(&block(PAGE, "bash", "curl"), service.address().port())).stdout;
    assert_eq!(without_time(&asked), told[0], "and so does what the page asks");
    let used = rank(folder, &["--model", "lightgbm", "request.txt"]).refused().stderr;
    assert!(used.contains("while a process uses the state, ask its POST /rank/lightgbm"), "{used}");
}

/// Nothing is ranked by it; afterwards the version is as it was.
fn a_damaged_version_is_refused(folder: &Path) {
    let versions = std::fs::read_dir(folder.join("state/models/xgboost")).expect("models are stored");
    let version = versions.map(|entry| entry.expect("can be listed").path());
    let version = version.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "model"));
    let version = version.expect("one is trained");
    let whole = std::fs::read(&version).expect("can be read");
    std::fs::write(&version, &whole[..whole.len() / 2]).expect("can be written");
    let ended = rank(folder, &["--model", "xgboost", "request.txt"]).refused();
    assert!(ended.stderr.contains("error: model xgboost could not be loaded: "), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    std::fs::write(&version, whole).expect("can be written");
}

/// Contributions and bias are the score; the bias is the same for all but for the rounding of single precision.
fn assert_adds_up(answer: &Value) {
    let items = answer["items"].as_array().expect("a list");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} in {answer}"));
    let bias = number(&items[0]["bias"]);
    let mut brings = false;
    for item in items {
        let named =
            item["contributions"].as_array().expect("a list").iter().zip(item["features"].as_array().expect("a list"));
        let brought: Vec<f64> = named
            .map(|(brought, feature)| {
                assert_eq!(brought["name"], feature["name"]);
                number(&brought["value"])
            })
            .collect();
        let (sum, score) = (brought.iter().sum::<f64>() + number(&item["bias"]), number(&item["score"]));
        assert!((sum - score).abs() < 1e-6, "{sum} and {score}");
        assert!((number(&item["bias"]) - bias).abs() < 1e-5, "{answer}");
        brings |= brought.iter().any(|value| *value != 0.0);
    }
    assert!(brings, "{answer}");
}

/// The items in their order, each with the feature first that brings the most.
fn assert_shows(table: &str, answer: &Value) {
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let mut lines = table.lines();
    for item in answer["items"].as_array().expect("a list") {
        let id = item["item"].as_str().expect("a text");
        assert!(lines.any(|line| line.split_whitespace().nth(1) == Some(id)), "{id} in {table}");
        let brought = item["contributions"].as_array().expect("a list").iter();
        let size = |one: &&Value| one["value"].as_f64().unwrap_or_default().abs();
        let most = brought.max_by(|left, right| size(left).total_cmp(&size(right))).expect("there are features");
        let first = lines.next().and_then(|line| line.split_whitespace().next()).unwrap_or_default();
        let name = most["name"].as_str().expect("a text");
        assert!(name.starts_with(first.trim_end_matches('…')), "{name} first, found {first}: {table}");
    }
}

#[test]
fn a_request_that_cannot_be_ranked_is_refused_with_what_to_change() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    shop(folder);
    let refused = |more: &[&str]| rank(folder, more).refused().stderr;
    let missing = refused(&["--model", "lightgbm", "reqest.txt"]);
    assert!(missing.contains("failed to read reqest.txt") && missing.contains("request.txt"), "{missing}");
    let unknown = refused(&["--model", "lightgmb", "request.txt"]);
    assert!(unknown.contains("no model \"lightgmb\" that ranks: the configuration has lightgbm"), "{unknown}");
    std::fs::write(folder.join("bad.json"), "{\"id\": \"r\",\n \"items\": [{\"id\": 7.5}]}").expect("can be written");
    let bad = refused(&["--model", "lightgbm", "bad.json"]);
    assert!(bad.contains("bad.json: ") && bad.contains("line 2"), "{bad}");

    let mut piped = command(&["rank", "--config", "config.yml", "--model", "lightgbm", "--output", "json", "-"]);
    let piped = piped.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = piped.spawn().expect("the program can be started");
    let request = std::fs::read(folder.join("request.txt")).expect("was written");
    running.stdin.take().expect("a pipe").write_all(&request).expect("is read");
    let answer = without_time(&Ended::of_running(running).ok().stdout);
    assert_eq!(answer["fallback"], "model lightgbm is not trained yet");
}
