//! `evaluate`: docs/evaluation.md, done as it stands, and what is said where nothing can be compared.

use rankwright_e2e::Ended;
use rankwright_e2e::folder::folder;
use rankwright_e2e::page::{self, block};
use rankwright_e2e::program::{command, run, run_on};
use serde_json::Value;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../docs/evaluation.md");

/// The report that docs/evaluation.md links to.
const SAMPLE: &str = "../docs/evaluation-sample.html";

/// A made-up shop whose state stays in a folder.
fn shop(folder: &Path, more: &[&str]) {
    run(&[&["generate", "--out", &folder.to_string_lossy()], more].concat()).ok();
    let config = std::fs::read_to_string(folder.join("config.yml")).expect("was written");
    let state = format!("type: file\n  path: {}/state", folder.to_string_lossy());
    std::fs::write(folder.join("config.yml"), config.replace("type: memory", &state)).expect("can be written");
    run_on("import", &folder.join("config.yml"), &folder.join("events.jsonl.gz"), &[]).ok();
}

fn train(folder: &Path, model: &str) {
    Ended::of(command(&["train", "--config", "config.yml", "--model", model]).current_dir(folder)).ok();
}

fn evaluate(folder: &Path, more: &[&str]) -> Ended {
    Ended::of(command(&[&["evaluate", "--config", "config.yml"], more].concat()).current_dir(folder))
}

fn report(folder: &Path, more: &[&str]) -> Value {
    let ended = evaluate(folder, &[&["--output", "json"], more].concat()).ok();
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A figure of an order by a metric: the plain one, or the weighted one.
fn score(report: &Value, ranker: &str, weighted: bool) -> f64 {
    let scores = report["scores"].as_array().expect("a list");
    let score = scores.iter().find(|score| score["ranker"] == ranker).unwrap_or_else(|| panic!("{ranker} in {report}"));
    number(if weighted { &score["weighted"]["value"] } else { &score["value"] })
}

/// What does not depend on figures: tags and words.
fn words(page: &str) -> String {
    let figure = |sign: &char| sign.is_ascii_digit() || matches!(sign, '.' | ',' | '-' | '−' | '–' | ' ' | '\n');
    let words: String = page.chars().filter(|sign| !figure(sign)).collect();
    // ids of versions and of lists
    let codes = words.split("<code>").map(|part| part.split_once("</code>").map_or(part, |(_, rest)| rest));
    let worst = codes.collect::<Vec<_>>().join("<code></code>");
    let times = worst.replace("TZ", "");
    times.split_once("<h>Worstlists</h>").map_or_else(|| times.clone(), |(before, _)| before.to_owned())
}

#[test]
fn the_sample_is_the_report_of_the_commands_that_the_page_shows() {
    let folder = folder();
    let ended = page::run(folder.path(), &block(PAGE, "sh", "rankwright generate"));
    let folder = &folder.path().join("shop");
    let page = std::fs::read_to_string(folder.join("evaluation.html")).expect("was written");
    if std::env::var_os("UPDATE_SAMPLE").is_some() {
        std::fs::write(SAMPLE, &page).expect("can be written");
    }
    let sample = std::fs::read_to_string(SAMPLE).expect("is in the repository");
    assert_eq!(words(&page), words(&sample), "UPDATE_SAMPLE=1 writes the sample again");
    assert!(ended.stdout.contains("lists that lightgbm ranks worst, by NDCG@10"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| !line.starts_with('{')), "{}", ended.stdout);

    // the figures are those of the log of training, and weighting takes back what the order as shown owes to its positions
    let plain = report(folder, &["--context", "query"]);
    let (shown, random, model) =
        (score(&plain, "shown", false), score(&plain, "random", false), score(&plain, "lightgbm", false));
    assert!(model > shown && shown > random, "{model}, {shown}, {random}");
    assert!(score(&plain, "shown", true) - score(&plain, "random", true) < shown - random, "{plain}");
    assert_eq!(report(folder, &["--context", "query"]), plain, "the same command gives the same figures");
    for place in [0, 4, 9, 14, 19, 23] {
        // how often visitors of the made-up shop look there
        let truth = 1.0 / (1.0 + 0.15 * place as f64);
        let point = &plain["weighted"]["curve"]["points"][place];
        assert!((number(&point["examination"]) - truth).abs() < 0.1, "{point}, not {truth}");
    }

    // the current version, named in two ways
    let version = plain["rankers"][0]["version"].as_str().expect("a text").to_owned();
    let twice = refused(folder, &["--model", "lightgbm", "--model", &format!("lightgbm@{version}")]);
    assert!(twice.contains("is named twice"), "{twice}");

    // the next version beside it
    train(folder, "lightgbm");
    let both = block(PAGE, "sh", "rankwright evaluate").replace("20261128T150000000Z-1a2b3c4d", &version);
    assert!(both.contains(&version), "{both}");
    page::run(folder, &both);
}

/// The message of an evaluation that is refused.
fn refused(folder: &Path, more: &[&str]) -> String {
    evaluate(folder, more).refused().stderr
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let path = |name: &str| -> PathBuf { folder.join(name) };
    shop(folder, &["--rankings", "300", "--items", "100", "--users", "50"]);
    assert!(refused(folder, &[]).contains("no model that ranks is trained yet: run 'rankwright train' first"));
    train(folder, "lightgbm");
    for (arguments, expected) in [
        (&["--model", "lightgmb"][..], "no model 'lightgmb' that ranks: the configuration has"),
        (&["--model", "lightgbm@newest"], "invalid model version \"newest\""),
        (&["--arm", "ranker"], "no ranking has the field \"ranker\"; rankings have category"),
        (&["--arm", "category=random"], "no ranking has \"random\" in the field \"category\"; there are"),
        (&["--by", "page"], "no ranking of the test split has the field \"page\""),
        (&["--split", "tim"], "--split"),
        (&["--html", "none/report.html"], "--html: cannot write to none: none does not exist"),
        (&["--html", "state"], "is a folder: name a file in it"),
        (&["--html", "config.yml"], "config.yml is the configuration: name another file"),
    ] {
        let message = refused(folder, arguments);
        assert!(message.contains(expected), "{arguments:?}: {expected}: {message}");
    }
    assert!(!path("none").exists());

    let config = std::fs::read_to_string(path("config.yml")).expect("was written");
    let elsewhere = config.replace("/state", "/nowhere");
    std::fs::write(path("config.yml"), elsewhere).expect("can be written");
    let message = refused(folder, &["--model", "lightgbm"]);
    assert!(message.contains("model 'lightgbm' is not trained yet"), "{message}");
    std::fs::write(path("config.yml"), config.replace("type: file", "type: memory")).expect("can be written");
    assert_eq!(evaluate(folder, &[]).code, Some(1));
}
