//! Mistakes get a message that helps, and never a crash.

use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_e2e::events::{self, DURABLE, cheap_wins, click, item, lines, order, ranking};
use rankwright_e2e::program::{self, run, run_on};
use rankwright_e2e::{Ended, Service};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for temporary files")
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder can be written to");
    path
}

/// The configuration over file state in this folder.
fn config(folder: &Path) -> PathBuf {
    write(folder, "config.yml", &DURABLE.replace("./data", &folder.join("data").to_string_lossy()))
}

/// An import of these lines.
fn import(folder: &Path, text: &str, more: &[&str]) -> Ended {
    run_on("import", &config(folder), &write(folder, "events.jsonl", text), more)
}

/// Good events around three lines that are none, in lines 3, 5 and 6.
fn damaged() -> String {
    let good = lines(&[item("a", 0, &[]), item("b", 0, &[]), item("c", 0, &[]), item("d", 0, &[])]);
    let good: Vec<&str> = good.lines().collect();
    let truncated = &good[0][..40];
    let deep = "[".repeat(100_000);
    let wrong = r#"{"event":"item","id":"x","timestamp":"1","item":7,"fields":[]}"#;
    [good[0], good[1], truncated, good[2], wrong, &deep, good[3]].join("\n")
}

#[test]
fn models_behind_one_that_cannot_be_trained_are_trained_and_that_one_is_named() {
    let folder = folder();
    let impossible = "models:\n  a: {type: lambdamart, weights: {purchase: 1}, features: [price]}\n";
    let path = config(folder.path());
    let text = std::fs::read_to_string(&path).expect("was written").replace("models:\n", impossible);
    let path = write(folder.path(), "two.yml", &text);
    run_on("import", &path, &write(folder.path(), "events.jsonl", &lines(&cheap_wins(100))), &[]).ok();
    let ended = run(&["train", "--config", &path.to_string_lossy()]).refused();
    assert!(ended.stderr.contains("error: 1 of 2 models were not trained: a: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("model \"a\""), "{}", ended.stderr);
    let trained = |line: &str| line.contains("trained") && line.contains("model=\"m\"");
    assert!(ended.stderr.lines().any(trained), "{}", ended.stderr);
}

#[test]
fn lines_that_are_no_events_are_told_with_their_place_and_counted_and_the_import_goes_on() {
    let folder = folder();
    let import = import(folder.path(), &damaged(), &[]).ok();
    for line in [3, 5, 6] {
        assert!(import.stderr.contains(&format!("events.jsonl:{line}: ")), "line {line}:\n{}", import.stderr);
    }
    assert!(import.stderr.contains("items=4") && import.stderr.contains("skipped=3"), "{}", import.stderr);
}

#[test]
fn what_cannot_be_written_to_the_log_or_the_terminal_is_no_panic() {
    let folder = folder();
    let (config, events) = (config(folder.path()), write(folder.path(), "events.jsonl", &lines(&cheap_wins(20))));
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("every Linux has it");
    let mut import = program::command(&["import", "--config"]);
    let import = import.arg(&config).arg("--data").arg(&events).stderr(full()).status().expect("starts");
    assert!(import.success(), "the import does not hang on its log: {import}");
    let mut status = program::command(&["status", "--config"]);
    let status = status.arg(&config).stdout(full()).stderr(Stdio::piped()).spawn().expect("starts");
    let status = Ended::of_running(status).refused();
    assert!(status.stderr.contains("error: standard output is closed, or full"), "{}", status.stderr);
    // who reads it has seen enough
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let mut status = program::command(&["status", "--config"]);
    let ended = status.arg(&config).stdout(writer).output().expect("starts");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn events_of_a_pipe_are_refused_in_place_of_being_lost() {
    let folder = folder();
    let config = config(folder.path());
    let mut import = program::command(&["import", "--data", "/dev/stdin", "--config"]);
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(writer);
    let refused = Ended::of(import.arg(&config).stdin(reader)).refused();
    assert!(refused.stderr.contains("/dev/stdin is no file, but a pipe or a device"), "{}", refused.stderr);
    let events = folder.path().join("events");
    std::fs::create_dir(&events).expect("is new");
    write(&events, "a.jsonl", &lines(&cheap_wins(20)));
    let made = std::process::Command::new("mkfifo").arg(events.join("b.jsonl")).status().expect("mkfifo runs");
    assert!(made.success());
    let ended = run_on("import", &config, &events, &[]).ok();
    assert!(ended.stderr.contains("b.jsonl") && ended.stderr.contains("a pipe or a device"), "{}", ended.stderr);
}

#[test]
fn click_throughs_that_would_end_with_the_process_are_warned_of() {
    let folder = folder();
    let path = config(folder.path());
    let text = std::fs::read_to_string(&path).expect("was written");
    let kept = text.lines().filter(|line| !line.starts_with("train:")).collect::<Vec<_>>().join("\n");
    let path = write(folder.path(), "memory.yml", &format!("{kept}\ntrain: {{type: memory}}\n"));
    let ended = run_on("import", &path, &write(folder.path(), "events.jsonl", &lines(&cheap_wins(20))), &[]).ok();
    assert!(ended.stderr.contains("train is memory: click-throughs end with this process"), "{}", ended.stderr);
}

#[test]
fn a_strict_import_stops_at_the_first_bad_line() {
    let folder = folder();
    let import = import(folder.path(), &damaged(), &["--strict"]).refused();
    assert!(import.stderr.contains("events.jsonl:3: "), "{}", import.stderr);
    assert!(!import.stderr.contains("events.jsonl:5: "), "{}", import.stderr);
}

#[test]
fn a_line_as_long_as_a_film_is_skipped_like_any_other() {
    let folder = folder();
    let long = format!("{{\"event\":\"item\",\"id\":\"{}", "x".repeat(200 << 20));
    let text = [lines(&[item("a", 0, &[])]), long, "\n".to_owned(), lines(&[item("b", 0, &[])])].concat();
    let import = import(folder.path(), &text, &[]).ok();
    assert!(import.stderr.contains("items=2") && import.stderr.contains("skipped=1"), "{}", import.stderr);
    assert!(import.stderr.len() < 10_000, "the log repeats the line");
}

#[test]
fn events_of_a_far_future_are_skipped_in_an_import() {
    let folder = folder();
    let mut future = item("late", 0, &[]);
    future["timestamp"] = json!("4102444800000");
    let import = import(folder.path(), &lines(&[item("a", 0, &[]), future, item("b", 0, &[])]), &[]).ok();
    assert!(import.stderr.contains("items=2") && import.stderr.contains("skipped=1"), "{}", import.stderr);
    assert!(import.stderr.contains("2100-01-01") && import.stderr.contains("future"), "{}", import.stderr);
}

#[test]
fn a_path_that_does_not_exist_is_named_with_what_is_there() {
    let folder = folder();
    write(folder.path(), "events.jsonl", "");
    let import = run_on("import", &config(folder.path()), &folder.path().join("evnts.jsonl"), &[]).refused();
    assert!(import.stderr.contains("evnts.jsonl does not exist"), "{}", import.stderr);
    assert!(import.stderr.contains("events.jsonl"), "{}", import.stderr);
}

#[test]
fn all_mistakes_of_a_configuration_are_printed_with_line_and_path() {
    let folder = folder();
    let text = "\
models:
  m:
    type: lambdamart
    weights: {click: lots}
    features: [price, cttr]
features:
  - {name: price, type: number, field: item.price}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1 fortnight, perods: [7], scope: item}
modls: {}
";
    let config = write(folder.path(), "config.yml", text);
    for subcommand in ["serve", "train"] {
        let ended = run(&[subcommand, "--config", &config.to_string_lossy()]).refused();
        let places = [
            ("config.yml:4:", "models.m.weights.click", "lots"),
            ("config.yml:5:", "models.m.features[1]", "cttr"),
            ("config.yml:8:", "features[1].bucket", "1 fortnight"),
            ("config.yml:8:", "features[1].perods", "did you mean `periods`?"),
            ("config.yml:9:", "modls", "did you mean `models`?"),
        ];
        for (line, path, what) in places {
            for part in [line, path, what] {
                assert!(ended.stderr.contains(part), "no {part:?} in\n{}", ended.stderr);
            }
        }
    }
}

#[test]
fn a_configuration_that_is_not_there_is_told_with_what_is_there() {
    let folder = folder();
    let (_, missing) = (config(folder.path()), folder.path().join("confg.yml"));
    let ended = run(&["serve", "--config", &missing.to_string_lossy()]).refused();
    let told = format!("{} does not exist; {} holds config.yml", missing.display(), folder.path().display());
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    let ended = run(&["serve"]).refused();
    assert!(ended.stderr.contains("--config") && ended.stderr.contains("SERVICE_CONFIG"), "{}", ended.stderr);
}

#[test]
fn a_subcommand_that_is_not_there_is_told_with_those_that_are() {
    let never = run(&["improt"]).refused();
    assert!(never.stderr.contains("'improt'") && never.stderr.contains("import, train, serve"), "{}", never.stderr);
}

#[test]
fn the_version_and_the_help_are_printed() {
    for option in ["-v", "--version"] {
        assert_eq!(run(&[option]).ok().stdout.trim(), concat!("rankwright ", env!("CARGO_PKG_VERSION")));
    }
    let help = run(&["-h"]).ok().stdout;
    assert!(["import", "train", "serve", "standalone", "generate"].iter().all(|name| help.contains(name)), "{help}");
    let ended = run(&["--no-such-option"]);
    assert!(ended.code.is_some_and(|code| code != 0) && ended.stderr.contains("--no-such-option"), "{}", ended.stderr);
}

#[test]
fn a_bad_event_refuses_its_whole_batch_with_its_index() {
    let folder = folder();
    let service = Service::serve(DURABLE, folder.path());
    let mut bad = click("c", 2, "r", "u", "a");
    bad["timestamp"] = json!("yesterday");
    let answer = service.post("/feedback", &json!([item("a", 0, &[]), ranking("r", 1, "u", &["a"]), bad]));
    let (_, message, path) = answer.refusal();
    assert_eq!((answer.status, path.as_str()), (400, "[2].timestamp"), "{message}");
    let mut future = item("b", 0, &[]);
    future["timestamp"] = json!("4102444800000");
    let answer = service.post("/feedback", &json!([item("a", 0, &[]), future]));
    assert_eq!((answer.status, answer.refusal().2.as_str()), (400, "[1].timestamp"), "{}", answer.text);
    let events = &service.status()["ingest"]["events"];
    assert_eq!(events, &json!({"item": 0, "user": 0, "ranking": 0, "interaction": 0}));
}

/// A folder with file state and a trained model `m`, and the file that holds the model.
fn with_model() -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let import = import(folder.path(), &lines(&cheap_wins(100)), &[]).ok();
    assert!(import.stderr.contains("clickthroughs=100"), "{}", import.stderr);
    run(&["train", "--config", &folder.path().join("config.yml").to_string_lossy()]).ok();
    let versions = folder.path().join("data/models/m");
    let files = std::fs::read_dir(&versions).expect("a version was published");
    let mut files = files.filter_map(Result::ok).map(|entry| entry.path());
    let version = files.find(|path| path.extension().is_some_and(|extension| extension == "model"));
    (folder, version.expect("a version was published"))
}

#[test]
fn an_answer_that_standard_output_has_no_room_for_is_an_error_of_every_tool() {
    let (folder, _) = with_model();
    let events = write(folder.path(), "events.jsonl", &lines(&cheap_wins(100)));
    let request = ranking("q", 3000, "u", &["i9", "i3", "i6"]).to_string();
    let request = write(folder.path(), "request.json", &request);
    let config = folder.path().join("config.yml");
    let [config, events, request] = [&config, &events, &request].map(|path| path.to_string_lossy());
    for arguments in [
        &["schema"][..],
        &["rank", "--config", &config, "--model", "m", &request],
        &["evaluate", "--config", &config],
        &["models", "--config", &config, "list"],
        &["models", "--config", &config, "show", "--model", "m"],
        &["validate", "--config", &config, "--data", &events],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("every Linux has it");
        let mut tool = program::command(arguments);
        let running = tool.stdout(full).stderr(Stdio::piped()).spawn().expect("starts");
        let ended = Ended::of_running(running).refused();
        let told = "error: standard output is closed, or full";
        assert!(ended.stderr.contains(told), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn what_is_no_request_is_refused_with_its_name() {
    let (folder, _) = with_model();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"{}").expect("a vector takes all");
    let packed = packed.finish().expect("a vector takes all");
    std::fs::write(folder.path().join("request.gz"), packed).expect("the folder can be written to");
    write(folder.path(), "empty.json", "");
    for (request, told) in [
        ("-", "standard input: "),
        ("empty.json", "empty.json: "),
        ("request.gz", "request.gz: "),
        ("data", "failed to read data (it is a folder"),
    ] {
        let mut rank = program::command(&["rank", "--config", "config.yml", "--model", "m", request]);
        let ended = Ended::of(rank.current_dir(folder.path())).refused();
        assert!(ended.stderr.contains(told), "{request}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{request}");
    }
}

#[test]
fn a_damaged_version_is_named_and_nothing_is_written_of_it() {
    let (folder, version) = with_model();
    let bytes = std::fs::read(&version).expect("the version can be read");
    std::fs::write(&version, &bytes[..bytes.len() / 2]).expect("the version can be written");
    let id = version.file_stem().expect("it has a name").to_string_lossy().into_owned();
    for arguments in [
        &["models", "show", "--model", "m"][..],
        &["models", "export", "--model", "m", "--out", "m.txt"],
        &["evaluate", "--html", "report.html"],
    ] {
        let mut tool = program::command(&[arguments, &["--config", "config.yml"]].concat());
        let ended = Ended::of(tool.current_dir(folder.path())).refused();
        let told = format!("cannot read version {id} of model \"m\"");
        assert!(ended.stderr.contains(&told), "{arguments:?}: {}", ended.stderr);
    }
    let made = ["m.txt", "report.html"].map(|name| folder.path().join(name).exists());
    assert_eq!(made, [false; 2]);
}

#[test]
fn a_file_cut_short_in_zstd_gives_no_output() {
    let folder = folder();
    let plain = write(folder.path(), "events.jsonl", &lines(&cheap_wins(500)));
    let (whole, cut) = (folder.path().join("whole.jsonl.zst"), folder.path().join("cut.jsonl.zst"));
    run(&["sort", "--data", &plain.to_string_lossy(), "--out", &whole.to_string_lossy()]).ok();
    let bytes = std::fs::read(&whole).expect("was written");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("the folder can be written to");
    let out = folder.path().join("out");
    for tool in [&["sort"][..], &["autofeature"], &["termfreq", "--fields", "price", "--language", "en"]] {
        let (cut, out) = (cut.to_string_lossy(), out.to_string_lossy());
        let ended = run(&[tool, &["--data", &cut, "--out", &out]].concat()).refused();
        assert!(ended.stderr.contains("cut.jsonl.zst"), "{tool:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("damaged"), "{tool:?}: {}", ended.stderr);
    }
    assert!(!out.exists());
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_told_with_the_name_that_fits() {
    let folder = folder();
    let plain = write(folder.path(), "events.jsonl", &lines(&cheap_wins(20)));
    let packed = folder.path().join("packed.jsonl.gz");
    run(&["sort", "--data", &plain.to_string_lossy(), "--out", &packed.to_string_lossy()]).ok();
    std::fs::rename(packed, folder.path().join("packed.jsonl")).expect("was written");
    std::fs::copy(&plain, folder.path().join("plain.jsonl.gz")).expect("was written");
    for (name, told) in [
        ("packed.jsonl", "it is compressed with gzip, so its name has to end in .gz"),
        ("plain.jsonl.gz", "it is not compressed, so its name must not end in .gz"),
    ] {
        let data = folder.path().join(name);
        let told = format!("{name}:1: the file cannot be read: {told}");
        let out = folder.path().join("out").to_string_lossy().into_owned();
        let import = run_on("import", &config(folder.path()), &data, &[]).refused();
        let data = data.to_string_lossy();
        let [sort, autofeature] =
            ["sort", "autofeature"].map(|tool| run(&[tool, "--data", &data, "--out", &out]).refused());
        for ended in [import, sort, autofeature] {
            assert!(ended.stderr.contains(&told), "{}", ended.stderr);
        }
    }
}

/// What a service in this folder answers, and its log.
fn ranked(config: &str, folder: &Path) -> (Value, String) {
    let service = Service::serve(config, folder);
    let answer = service.rank("m", &ranking("q", 3000, "u", &["i9", "i3", "i6"]));
    (answer, service.log())
}

#[test]
fn a_model_of_an_earlier_process_is_served() {
    let (folder, _) = with_model();
    let (answer, log) = ranked(DURABLE, folder.path());
    assert_eq!(answer["fallback"], Value::Null, "{log}");
    assert_eq!(order(&answer), ["i3", "i6", "i9"], "{answer}");
}

#[test]
fn a_model_file_cut_short_leaves_the_order_as_it_was_and_says_so() {
    let (folder, version) = with_model();
    let bytes = std::fs::read(&version).expect("the version can be read");
    for rest in [0, 1, 20, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&version, &bytes[..rest]).expect("the version can be written");
        let (answer, log) = ranked(DURABLE, folder.path());
        assert!(answer["fallback"].as_str().is_some_and(|why| why.contains("model m")), "{rest}: {answer}");
        assert_eq!(order(&answer), ["i9", "i3", "i6"], "{rest}");
        assert!(log.contains("failed to load a model") && !log.contains("panicked"), "{rest}: {log}");
    }
}

#[test]
fn a_model_trained_with_other_features_is_not_served_and_the_features_are_named() {
    let (folder, _) = with_model();
    let other = DURABLE.replace("interaction: click, scope: item}", "interaction: purchase, scope: item}");
    let (answer, log) = ranked(&other, folder.path());
    assert!(answer["fallback"].as_str().is_some_and(|why| why.contains("model m")), "{answer}");
    assert_eq!(order(&answer), ["i9", "i3", "i6"]);
    assert!(log.contains("trained with other features") && log.contains("clicks"), "{log}");
    assert!(log.contains("train it again, or give it the previous features back"), "{log}");
}

#[test]
fn requests_at_the_edges_have_defined_answers() {
    let (folder, _) = with_model();
    let service = Service::serve(DURABLE, folder.path());
    let rank = |items: &[&str]| service.post("/rank/m", &ranking("q", 3000, "nobody", items));
    let twice = rank(&["i9", "i3", "i9"]).ok().json();
    assert_eq!(order(&twice), ["i3", "i9", "i9"]);
    assert_eq!(order(&rank(&["unknown", "another"]).ok().json()).len(), 2);
    let many: Vec<String> = (0..10_000).map(|number| format!("n{number}")).collect();
    let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(order(&rank(&many).ok().json()).len(), 10_000);
    many.push("one more");
    assert_eq!(rank(&many).status, 400);
    let mut empty = ranking("q", 1, "u", &[]);
    assert_eq!(service.post("/rank/m", &empty).status, 400);
    empty["items"] = json!("all");
    assert_eq!(service.post("/rank/m", &empty).refusal().2, "items");
    assert_eq!(service.post("/rank/nobody", &events::ranking("q", 1, "u", &["a"])).status, 404);
}
