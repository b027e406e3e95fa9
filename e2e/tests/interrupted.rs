//! Tools that are told to stop while they work: a sentence, exit code 1, and nothing under the final name.
//!
//! A tool that reads events gets a file that it takes minutes to come to the end of. One that reads click-throughs gets a
//! part that is a pipe into which nothing is written.

use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_e2e::events::{DURABLE, cheap_wins, item, lines};
use rankwright_e2e::folder::{folder, names, write};
use rankwright_e2e::program::{command, limited};
use rankwright_e2e::{Ended, wait};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Bytes of events that are compressed together, and how often these are repeated: 16 GiB in all.
const PIECE: usize = 16 << 20;
const PIECES: usize = 1024;
/// Bytes that a pipe holds.
const FULL: usize = 64 << 10;

/// A file with events that takes minutes to read.
fn endless(folder: &Path) -> PathBuf {
    let line = lines(&[item("a", 1, &[("title", json!("red shoes")), ("price", json!(7))])]);
    let mut piece = GzEncoder::new(Vec::new(), Compression::best());
    piece.write_all(line.repeat(PIECE / line.len()).as_bytes()).expect("a vector takes all");
    let piece = piece.finish().expect("a vector takes all");
    let path = folder.join("events.jsonl.gz");
    let mut file = File::create(&path).expect("the folder can be written to");
    (0..PIECES).for_each(|_| file.write_all(&piece).expect("there is room"));
    path
}

/// A tool that was started in a folder.
struct Tool(Child);

impl Tool {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut tool = command(arguments);
        tool.current_dir(folder).env("TMPDIR", folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(tool.spawn().expect("the program can be started"))
    }

    /// Waits until it has a file open.
    fn until_open(&mut self, file: &Path) {
        let file = file.canonicalize().expect("is there");
        let open = || fs::read_dir(format!("/proc/{}/fd", self.0.id())).expect("it lives").flatten();
        let has = || open().any(|entry| fs::read_link(entry.path()).is_ok_and(|open| open == file));
        wait::until("reading", || "it does not open the file".to_owned(), has);
    }

    /// Tells it to stop; what it says.
    fn interrupted(self) -> String {
        let told = Command::new("kill").arg("-INT").arg(self.0.id().to_string()).status();
        assert!(told.is_ok_and(|status| status.success()), "the process can be told");
        let ended = Ended::of_running(self.0).refused();
        assert_eq!(ended.stdout, "");
        ended.stderr
    }
}

#[test]
fn tools_that_read_events_stop_with_a_sentence_and_leave_nothing() {
    let inputs = folder();
    let data = endless(inputs.path());
    let name = data.to_string_lossy().into_owned();
    let price =
        "state: {type: memory}\nmodels: {m: {type: noop}}\nfeatures: [{name: p, type: number, field: item.price}]\n";
    for (arguments, told) in [
        (&["sort", "--out", "out.jsonl", "--data"][..], "error: interrupted: nothing is written"),
        (&["autofeature", "--out", "out.yml", "--data"], "error: interrupted: nothing is written"),
        (
            &["termfreq", "--fields", "title", "--language", "en", "--out", "out.json", "--data"],
            "error: interrupted: no dictionary is written",
        ),
        (
            &["validate", "--config", "config.yml", "--data"],
            "error: interrupted: the events were not checked to their end",
        ),
        (&["import", "--config", "config.yml", "--validation", "--data"], "error: interrupted: nothing was imported"),
        (&["import", "--config", "config.yml", "--data"], "error: interrupted: the import is not complete"),
    ] {
        let place = folder();
        write(place.path(), "config.yml", price);
        let mut tool = Tool::start(place.path(), &[arguments, &[name.as_str()]].concat());
        tool.until_open(&data);
        let log = tool.interrupted();
        assert!(log.contains(told), "{arguments:?}: {log}");
        assert_eq!(names(place.path()), ["config.yml"], "{arguments:?}");
    }
}

#[test]
fn a_shop_in_the_making_goes_when_the_tool_is_told_to_stop() {
    let place = folder();
    let arguments = ["generate", "--out", "shop", "--items", "10", "--users", "10", "--rankings", "1000000000"];
    let tool = Tool::start(place.path(), &arguments);
    let unfinished = place.path().join("shop/events.jsonl.gz.unfinished");
    wait::until("writing", || "it makes no file".to_owned(), || unfinished.is_file());
    let log = tool.interrupted();
    assert!(log.contains("error: interrupted: no events are written"), "{log}");
    assert_eq!(names(&place.path().join("shop")), Vec::<String>::new());
}

#[test]
fn tools_whose_output_has_no_room_say_so_and_leave_nothing() {
    let place = folder();
    fs::remove_file(shop(place.path())).expect("is there");
    let events = [item("a", 1, &[("title", json!("red shoes"))])];
    write(place.path(), "items.jsonl", lines(&events));
    fs::create_dir(place.path().join("made")).expect("is new");
    let trees = ["models", "export", "--config", "config.yml", "--model", "m", "--out", "trees.txt"];
    Ended::of(command(&trees).current_dir(place.path())).ok();
    let versions = place.path().join("data/models/m");
    let (before, stored) = (names(place.path()), names(&versions));
    for (arguments, told) in [
        (
            &["termfreq", "--fields", "title", "--language", "en", "--out", "t.dict", "--data", "items.jsonl"][..],
            "t.dict: File too large",
        ),
        (&["evaluate", "--config", "config.yml", "--html", "report.html"], "report.html: File too large"),
        (&["models", "export", "--config", "config.yml", "--model", "m", "--out", "m.txt"], "m.txt: File too large"),
        (&["generate", "--out", "made", "--rankings", "100"], "made/events.jsonl.gz: File too large"),
        (&["models", "import", "--config", "config.yml", "--model", "m", "trees.txt"], ".model: File too large"),
    ] {
        let ended = Ended::of(limited(0, arguments).current_dir(place.path())).refused();
        assert!(ended.stderr.contains(told), "{arguments:?}: {}", ended.stderr);
        assert_eq!((names(place.path()), names(&place.path().join("made"))), (before.clone(), vec![]), "{arguments:?}");
        assert_eq!(names(&versions), stored, "{arguments:?}");
    }
}

/// A folder with a model that was trained, and a part of click-throughs that is a pipe; the part.
fn shop(folder: &Path) -> PathBuf {
    write(folder, "config.yml", DURABLE);
    let data = write(folder, "events.jsonl", lines(&cheap_wins(60)));
    let here = |mut command: Command| Ended::of(command.current_dir(folder)).ok();
    here(command(&["import", "--config", "config.yml", "--data", "events.jsonl"]));
    here(command(&["train", "--config", "config.yml"]));
    fs::remove_file(data).expect("was written");
    let pipe = folder.join(format!("data/clickthroughs/99999999-1-{:032x}.bin", 1));
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    pipe
}

/// Waits until a tool has opened the pipe to read from it, once more.
fn opened(pipe: &Path) -> File {
    OpenOptions::new().write(true).open(pipe).expect("is there")
}

#[test]
fn tools_that_read_click_throughs_stop_with_a_sentence_and_write_nothing() {
    let place = folder();
    let pipe = shop(place.path());
    let before = names(place.path());
    for (arguments, told) in [
        (&["export", "--config", "config.yml", "--out", "files"][..], "error: interrupted: nothing is written"),
        (&["evaluate", "--config", "config.yml", "--html", "report.html"], "error: interrupted: there is no report"),
    ] {
        let tool = Tool::start(place.path(), arguments);
        drop(opened(&pipe)); // its size is looked at
        let held = opened(&pipe); // it is read, and does not end
        let log = tool.interrupted();
        drop(held);
        assert!(log.contains(told), "{arguments:?}: {log}");
        assert_eq!(names(place.path()), before, "{arguments:?}");
    }
}

#[test]
fn a_training_that_is_told_to_stop_says_so() {
    let place = folder();
    let pipe = shop(place.path());
    let training = Tool::start(place.path(), &["train", "--config", "config.yml"]);
    let held = opened(&pipe); // it is read, and does not end
    let log = training.interrupted();
    drop(held);
    assert!(log.contains("error: interrupted: the training is not complete"), "{log}");
}

#[test]
fn tools_that_wait_for_their_input_stop_with_a_sentence() {
    let place = folder();
    fs::remove_file(shop(place.path())).expect("is there");
    let input = place.path().join("input");
    assert!(Command::new("mkfifo").arg(&input).status().is_ok_and(|status| status.success()));
    for (arguments, told) in [
        (&["rank", "--config", "config.yml", "--model", "m", "input"][..], "error: interrupted: nothing is ranked"),
        (
            &["models", "import", "--config", "config.yml", "--model", "m", "input"],
            "error: interrupted: 'rankwright models list' shows what is stored",
        ),
    ] {
        let tool = Tool::start(place.path(), arguments);
        let held = opened(&input); // it is read, and does not end
        let log = tool.interrupted();
        drop(held);
        assert!(log.contains(told), "{arguments:?}: {log}");
    }
}

#[test]
fn tools_that_are_stopped_while_they_write_leave_nothing() {
    let place = folder();
    fs::remove_file(shop(place.path())).expect("is there");
    for (arguments, out, told) in [
        (
            &["evaluate", "--config", "config.yml", "--html", "report.html"][..],
            "report.html",
            "error: interrupted: there is no report",
        ),
        (
            &["models", "export", "--config", "config.yml", "--model", "m", "--out", "m.txt"],
            "m.txt",
            "error: interrupted: nothing is written",
        ),
    ] {
        let out = place.path().join(out);
        assert!(Command::new("mkfifo").arg(&out).status().is_ok_and(|status| status.success()));
        let mut full = OpenOptions::new().read(true).write(true).open(&out).expect("is there");
        full.write_all(&[0; FULL]).expect("there is room");
        let before = names(place.path());
        let mut tool = Tool::start(place.path(), arguments);
        tool.until_open(&out); // and it waits until there is room
        let log = tool.interrupted();
        assert!(log.contains(told), "{log}");
        assert_eq!(names(place.path()), before);
    }
}
