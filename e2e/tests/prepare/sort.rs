//! `sort`.

use super::{check, gzip, report, validate};
use rankwright_e2e::Ended;
use rankwright_e2e::events::{DURABLE, cheap_wins, columns, item, lines, tracked};
use rankwright_e2e::folder::{folder, names, write};
use rankwright_e2e::program::{self, run};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

fn sort(data: &Path, out: &Path, more: &[&str]) -> Ended {
    let (data, out) = (data.to_string_lossy(), out.to_string_lossy());
    run(&[&["sort", "--data", &data, "--out", &out], more].concat())
}

#[test]
fn a_folder_is_sorted_into_one_file_whose_events_import_in_order() {
    let folder = folder();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("is new");
    let events = cheap_wins(200);
    write(&data, "1.jsonl", lines(&events[100..]));
    write(&data, "2.jsonl.gz", gzip(&lines(&events[..100])));
    let config =
        write(folder.path(), "config.yml", DURABLE.replace("./data", &folder.path().join("state").to_string_lossy()));
    let unsorted = report(&validate(&config, &data, &["--output", "json"]).refused());
    let message = check(&unsorted, "event ordering")["message"].as_str().expect("a text");
    let command = format!("rankwright sort --data {} --out sorted.jsonl.gz", data.display());
    assert!(message.ends_with(&command), "{message}");
    let out = folder.path().join("sorted.jsonl.gz");
    let ended = sort(&data, &out, &[]).ok();
    assert!(ended.stderr.contains(&format!("events={}", events.len())), "{}", ended.stderr);
    assert_eq!(names(folder.path()), ["config.yml", "data", "sorted.jsonl.gz"]);
    let sorted = report(&validate(&config, &out, &["--output", "json"]).ok());
    assert_eq!((&sorted["status"], &sorted["events"]), (&json!("PASS"), &json!(events.len())));
}

#[test]
fn the_command_that_a_report_proposes_sorts_events_of_every_format_from_every_folder() {
    let events: Vec<Value> = cheap_wins(30).into_iter().rev().collect();
    let tsv = |events: &[Value]| events.iter().map(|event| columns("unstruct", &tracked(event))).collect::<String>();
    let page_view = columns("page_view", &Value::Null);
    let enriched = |event: &Value| json!({"event": "unstruct", "event_id": "x", "unstruct_event": tracked(event)});
    let enriched = lines(&events.iter().map(enriched).collect::<Vec<_>>());
    for (name, text, format) in [
        ("late.jsonl", lines(&events), "json"),
        ("late.tsv", page_view.clone() + &tsv(&events) + &page_view, "snowplow:tsv"),
        ("late.json", enriched, "snowplow:json"),
    ] {
        for data in [".", name] {
            let folder = folder();
            let place = folder.path().join("my events");
            std::fs::create_dir(&place).expect("is new");
            let config = write(folder.path(), "config.yml", DURABLE);
            write(&place, name, &text);
            let checked = |data: &str| {
                let config = config.to_string_lossy();
                let arguments =
                    ["validate", "--config", &config, "--data", data, "--format", format, "--output", "json"];
                report(&Ended::of(program::command(&arguments).current_dir(&place)))
            };
            let unsorted = checked(data);
            assert_eq!(check(&unsorted, "event ordering")["status"], "FAIL", "{name}: {unsorted:#}");
            let message = check(&unsorted, "event ordering")["message"].as_str().expect("a text");
            let command = message.split_once("sort them: ").expect("a command").1;
            Ended::of(program::shell(command).current_dir(&place)).ok();
            let out = command.split_once("--out ").expect("an output").1;
            let sorted = checked(out);
            assert_eq!(check(&sorted, "event ordering")["status"], "PASS", "{command}: {sorted:#}");
            assert_eq!(sorted["events"], events.len(), "{command}");
        }
    }
}

#[test]
fn a_sort_leaves_lines_of_snowplow_as_they_are_and_others_out() {
    let folder = folder();
    let line = |number: usize| columns("unstruct", &tracked(&item("a", number as i64, &[])));
    let text = [columns("page_view", &Value::Null), line(2), line(1)].concat();
    let data = write(folder.path(), "events.tsv", text);
    let ended = sort(&data, Path::new("-"), &["--format", "snowplow"]).ok();
    assert_eq!(ended.stdout, line(1) + &line(2));
    assert!(ended.stderr.contains("others=1"), "{}", ended.stderr);
    let ended = sort(&data, Path::new("-"), &[]).refused();
    assert!(ended.stderr.contains("events.tsv:1: expected an event: an object"), "{}", ended.stderr);
}

#[test]
fn sorted_events_go_to_standard_output() {
    let folder = folder();
    let late = [item("b", 2, &[]), item("a", 1, &[])];
    let data = write(folder.path(), "events.jsonl", lines(&late));
    let ended = sort(&data, Path::new("-"), &[]).ok();
    assert_eq!(ended.stdout, lines(&[late[1].clone(), late[0].clone()]));
}

#[test]
fn a_sort_of_what_cannot_be_sorted_says_why_and_writes_nothing() {
    let folder = folder();
    let good = lines(&cheap_wins(500));
    let inputs = folder.path().join("inputs");
    std::fs::create_dir(&inputs).expect("is new");
    let whole = gzip(&good);
    write(&inputs, "cut.jsonl.gz", &whole[..whole.len() / 2]);
    write(&inputs, "prices.csv", "id,price\na,1\n");
    write(&inputs, "empty.jsonl", "");
    write(&inputs, "bad.jsonl", format!("{good}{{\"event\":\"item\"\n"));
    let out = folder.path().join("out.jsonl");
    for (name, expected) in [
        ("cut.jsonl.gz", vec!["cut.jsonl.gz:", "the file is damaged", "nothing is sorted"]),
        ("prices.csv", vec!["prices.csv:1: expected an event: an object", "--skip-invalid"]),
        ("empty.jsonl", vec!["there are no events to sort: empty.jsonl"]),
        ("bad.jsonl", vec!["bad.jsonl:1021: ", "--skip-invalid"]),
        ("none.jsonl", vec!["none.jsonl does not exist", "bad.jsonl, cut.jsonl.gz, empty.jsonl, prices.csv"]),
    ] {
        let ended = sort(&inputs.join(name), &out, &[]).refused();
        for part in expected {
            assert!(ended.stderr.contains(part), "{name}: {part}:\n{}", ended.stderr);
        }
        assert_eq!(names(folder.path()), ["inputs"], "{name}");
    }
    let ended = sort(&inputs, &inputs.join("out.jsonl"), &[]).refused();
    assert!(ended.stderr.contains("is among the events that are read"), "{}", ended.stderr);
    let ended = sort(&inputs.join("bad.jsonl"), &out, &["--skip-invalid"]).ok();
    assert!(ended.stderr.contains("skipped bad.jsonl:1021") && ended.stderr.contains("invalid=1"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(&out).expect("was written").lines().count(), 1020);
}

#[test]
fn a_file_that_may_not_grow_is_told_and_nothing_is_left() {
    let folder = folder();
    let data = write(folder.path(), "events.jsonl", lines(&cheap_wins(20_000)));
    let out = folder.path().join("out.jsonl");
    let (data, out) = (data.to_string_lossy(), out.to_string_lossy());
    let ended = Ended::of(&mut program::limited(64, &["sort", "--data", &data, "--out", &out])).refused();
    assert!(ended.stderr.contains("out.jsonl: File too large"), "{}", ended.stderr);
    assert_eq!(names(folder.path()), ["events.jsonl"]);
}

#[test]
fn an_interrupted_sort_says_so_and_removes_what_it_has_made() {
    for signal in ["-INT", "-TERM"] {
        let (folder, temp) = (folder(), folder());
        let data = write(folder.path(), "events.jsonl", lines(&cheap_wins(40_000)));
        let mut sort = program::command(&["sort", "--out", "-", "--data"]);
        sort.arg(&data).env("TMPDIR", temp.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = sort.spawn().expect("starts");
        // it writes, and the test reads no further
        let mut stdout = child.stdout.take().expect("is a pipe");
        stdout.read_exact(&mut [0]).expect("something comes");
        assert_eq!(names(temp.path()).len(), 1);
        let killed = Command::new("kill").arg(signal).arg(child.id().to_string()).status().expect("kill runs");
        assert!(killed.success());
        let ended = Ended::of_running(child).refused();
        assert!(ended.stderr.contains("error: interrupted: nothing is written"), "{}", ended.stderr);
        assert_eq!(names(temp.path()), Vec::<String>::new());
    }
}
