//! `export` as a user runs it: the boosters' own packages train on what it writes.

use rankwright_e2e::events::{DURABLE, cheap_wins, lines};
use rankwright_e2e::folder::{folder, names, write};
use rankwright_e2e::program::{self, clean, run, run_on};
use rankwright_e2e::quality::of_log;
use rankwright_e2e::{Ended, shared};
use std::path::{Path, PathBuf};
use std::process::Command;

fn export(config: &Path, out: &Path, more: &[&str]) -> Ended {
    let (config, out) = (config.to_string_lossy(), out.to_string_lossy());
    run(&[&["export", "--config", &config, "--out", &out], more].concat())
}

/// A configuration over file state in this folder, which has taken in this many lists.
fn imported(folder: &Path, lists: i64) -> PathBuf {
    let config = DURABLE.replace("./data", &folder.join("state").to_string_lossy());
    let config = write(folder, "config.yml", config);
    run_on("import", &config, &write(folder, "events.jsonl", lines(&cheap_wins(lists))), &[]).ok();
    config
}

/// An interpreter with the packages of `e2e/python`, and the folder of the boosters that the build has fetched.
fn python() -> Option<(PathBuf, PathBuf)> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let found = folder("RANKWRIGHT_TEST_PYTHON").zip(folder("RANKWRIGHT_BOOSTERS_DIR"));
    if found.is_none() {
        let why = "RANKWRIGHT_TEST_PYTHON or RANKWRIGHT_BOOSTERS_DIR is not set";
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{why}");
        println!("SKIPPED: {why}");
    }
    found
}

#[test]
fn the_boosters_own_packages_train_by_the_page_get_as_good_and_what_they_train_serves() {
    let Some((python, boosters)) = python() else { return };
    let folder = folder();
    let (shop, out) = (folder.path().join("shop"), folder.path().join("training"));
    let size = ["--items", "300", "--users", "300", "--rankings", "1500"];
    run(&[&["generate", "--out", &shop.to_string_lossy()], &size[..]].concat()).ok();
    let config = std::fs::read_to_string(shop.join("config.yml")).expect("is written");
    let state = format!("  type: file\n  path: {}", folder.path().join("state").display());
    let config = write(folder.path(), "config.yml", config.replacen("  type: memory", &state, 1));
    run_on("import", &config, &shop, &[]).ok();
    let mut ours = Vec::new();
    for model in ["xgboost", "lightgbm"] {
        let trained = run(&["train", "--config", &config.to_string_lossy(), "--model", model]).ok();
        ours.push(of_log(&trained.stderr).remove(0).reranked);
        let exported = export(&config, &out, &["--model", model, "--parquet"]).ok();
        assert!(exported.stdout.contains("of 91 columns"), "{}", exported.stdout);
    }
    let python = |script: &str| {
        let mut command = clean(Command::new(&python));
        command.env("PYTHONPATH", &boosters).env("PYTHONDONTWRITEBYTECODE", "1");
        // threads that wait for others leave the processor to them, as in our own programs
        command.env("OMP_WAIT_POLICY", "passive").env("GOMP_SPINCOUNT", "0");
        command.arg(Path::new(script).canonicalize().expect("it is in the repository"));
        command
    };
    let page = Path::new("../docs/export.md").canonicalize().expect("it is in the repository");
    let ended = Ended::of(python("python/export.py").arg(&out).arg(page)).ok();
    println!("{ours:?}: {}", ended.stdout);
    for (model, ours) in ["xgboost", "lightgbm"].into_iter().zip(ours) {
        let theirs = ended.stdout.lines().find_map(|line| line.strip_prefix(model)?.trim().parse::<f64>().ok());
        let theirs = theirs.unwrap_or_else(|| panic!("no figure of {model}: {}", ended.stdout));
        assert!((theirs - ours).abs() < 0.01, "{model}: {theirs} is not {ours}");
    }
    let request = shop.join("request.txt").to_string_lossy().into_owned();
    for (model, file) in [("xgboost", "tuned.ubj"), ("lightgbm", "tuned.txt")] {
        let (of, file) = (["--config", &config.to_string_lossy(), "--model", model], out.join(file));
        run(&[&["models", "import"], &of[..], &["--promote", &file.to_string_lossy()]].concat()).ok();
        let ranked = run(&[&["rank"], &of[..], &["--explain", "--output", "json", &request]].concat()).ok().stdout;
        let answer = write(folder.path(), "answer.json", &ranked);
        let theirs = Ended::of(python("python/scores.py").arg(&out).arg(model).arg(answer)).ok().stdout;
        let theirs: Vec<f64> = serde_json::from_str(&theirs).unwrap_or_else(|error| panic!("{error}: {theirs}"));
        let ranked: serde_json::Value = serde_json::from_str(&ranked).expect("an answer");
        assert!(ranked.get("fallback").is_none_or(serde_json::Value::is_null), "{ranked}");
        let items = ranked["items"].as_array().expect("a list").iter();
        let ours: Vec<f64> = items.map(|item| item["score"].as_f64().expect("a number")).collect();
        assert!(ours.len() > 5 && ours.first() != ours.last(), "{ours:?}");
        assert_eq!(theirs, ours, "{model} scores as its own package does");
    }
}

#[test]
fn click_throughs_are_exported_while_a_server_holds_the_state() {
    let folder = folder();
    let config = imported(folder.path(), 60);
    let text = std::fs::read_to_string(&config).expect("is written");
    let served = folder.path().join("served");
    std::fs::create_dir(&served).expect("can be made");
    let _service = rankwright_e2e::Service::serve(&text, &served);
    let exported = export(&config, &folder.path().join("out"), &["--split", "time=50%"]).ok();
    assert!(
        exported.stdout.starts_with("train: 30 rankings, 150 rows of 2 columns\ntest: 30 rankings"),
        "{}",
        exported.stdout
    );
    let names = names(&folder.path().join("out"));
    assert_eq!(names, ["lightgbm.conf", "test.csv", "train.csv"]);
}

#[test]
fn a_sample_and_another_split_are_taken() {
    let folder = folder();
    let config = imported(folder.path(), 200);
    let exported = export(&config, &folder.path().join("out"), &["--sample", "0.5", "--split", "random=90%"]).ok();
    let count = |side: &str| -> f64 {
        let line = exported.stdout.lines().find_map(|line| line.strip_prefix(side));
        line.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{}", exported.stdout))
    };
    let (train, test) = (count("train: "), count("test: "));
    assert!((60.0..140.0).contains(&(train + test)), "{train} {test}");
    assert!((train / (train + test) - 0.9).abs() < 0.02, "{train} {test}");
}

#[test]
fn what_cannot_be_exported_is_told_and_nothing_is_written() {
    let folder = folder();
    let config = imported(folder.path(), 20);
    let out = folder.path().join("out");
    let text = std::fs::read_to_string(&config).expect("is written");
    let with = |name: &str, from: &str, to: &str| write(folder.path(), name, text.replacen(from, to, 1));
    let als = "models:\n  similar: {type: als, interactions: [click]}\n";
    let two = with("two.yml", "models:\n", als);
    let model = "  m2: {type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [price]}\n";
    let three = with("three.yml", "models:\n", &format!("{als}{model}"));
    let state = folder.path().join("state");
    let memory = with("memory.yml", &format!("{{type: file, path: {}}}", state.display()), "{type: memory}");
    let discard = with("discard.yml", "core:", "train: {type: discard}\ncore:");
    let empty = with("empty.yml", &state.to_string_lossy(), &folder.path().join("other").to_string_lossy());
    let file = write(folder.path(), "file", "");
    let refused = |config: &Path, out: &Path, more: &[&str], what: &str| {
        let ended = export(config, out, more).refused();
        assert!(ended.stderr.contains(what), "no {what:?} in {}", ended.stderr);
    };
    refused(&two, &out, &["--model", "similar"], "model 'similar' is of type als: only lambdamart has training files");
    refused(&two, &out, &["--model", "x"], "no model 'x': the configuration has m");
    refused(&three, &out, &[], "name one of the models with --model: m, m2");
    refused(&memory, &out, &[], "nothing to export: click-throughs in memory end with the process");
    refused(&discard, &out, &[], "'train: {type: discard}' keeps no click-throughs");
    refused(&empty, &out, &[], "there are no click-throughs in");
    refused(&config, &file, &[], "file is a file: name a folder");
    refused(&config, &out, &["--split", "half"], "--split");
    refused(&config, &out, &["--sample", "0.000001"], "a sample of 0.000001 of all click-throughs holds no ranking");
    for ratio in ["0", "2", "x"] {
        let ended = export(&config, &out, &["--sample", ratio]);
        assert!(
            ended.code == Some(2) && ended.stderr.contains("expected a number over 0, up to 1"),
            "{}",
            ended.stderr
        );
    }
    assert!(!out.exists());
}

#[test]
fn a_file_that_may_not_grow_is_told_and_what_was_there_stays() {
    let folder = folder();
    let config = imported(folder.path(), 2000);
    let out = folder.path().join("out");
    let arguments = ["export", "--config", &config.to_string_lossy(), "--out", &out.to_string_lossy()];
    let limited = || Ended::of(&mut program::limited(16, &arguments)).refused();
    let ended = limited();
    assert!(ended.stderr.contains("train.csv: File too large"), "{}", ended.stderr);
    assert!(!out.exists());
    std::fs::create_dir(&out).expect("can be made");
    write(&out, "lightgbm.conf", "earlier");
    limited();
    assert_eq!(names(&out), ["lightgbm.conf"]);
    assert_eq!(std::fs::read_to_string(out.join("lightgbm.conf")).expect("is there"), "earlier");
}

#[test]
fn real_lists_are_exported_with_the_columns_of_their_model() {
    let Some(data) = shared::path("data/ranklens_small_events.jsonl.gz") else { return };
    let folder = folder();
    let state = format!("state: {{type: file, path: {}}}\n", folder.path().join("state").display());
    let config = write(folder.path(), "config.yml", state + include_str!("../ranklens.yml"));
    run_on("import", &config, &data, &[]).ok();
    let out = folder.path().join("out");
    let exported = export(&config, &out, &["--model", "xgboost"]).ok();
    assert_eq!(names(&out), ["featmap.txt", "test.svm", "train.svm", "xgboost.conf"]);
    let map = std::fs::read_to_string(out.join("featmap.txt")).expect("is written");
    assert!(map.contains("\tgenre\tc\n") && map.contains("\tgenres_science_fiction\tq\n"), "{map}");
    assert!(exported.stdout.contains(&format!("of {} columns", map.lines().count())), "{}", exported.stdout);
}
