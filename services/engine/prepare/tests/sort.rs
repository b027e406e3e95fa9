//! Sorting: the order, what it is made of, and what is left behind where it fails.
#![allow(clippy::expect_used, missing_docs)]

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use rankwright_config::{EventFormat, FileOrder, Offset};
use rankwright_event::Timestamp;
use rankwright_prepare::Target;
use rankwright_prepare::sort::{Error, Options, Sorted, Stage, Watch, sort};
use rankwright_source::{BadLine, Files, Limits};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// An event of this time, told from others by its number.
fn event(time: i64, number: usize) -> String {
    let padding = "x".repeat(number * 7 % 50);
    format!(r#"{{"event":"item","id":"e{number}","timestamp":"{time}","item":"{padding}","fields":[]}}"#)
}

/// A folder with files in a folder `in`, and a place for the output.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        fs::create_dir(folder.path().join("in")).expect("is new");
        Self(folder)
    }

    fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.input().join(name), text).expect("can be written");
        self
    }

    fn input(&self) -> PathBuf {
        self.0.path().join("in")
    }

    fn out(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn sort(&self, name: &str, options: &Options) -> Result<Sorted, Error> {
        self.sort_with(name, options, &mut Watched::default(), &AtomicBool::new(false))
    }

    fn sort_with(&self, name: &str, how: &Options, watch: &mut dyn Watch, stop: &AtomicBool) -> Result<Sorted, Error> {
        let target = Target::of(&self.out(name), &self.input()).expect("a place for it");
        // small blocks, so that little text is many of them
        let limits = Limits { block: 256, line: 1 << 16 };
        sort(&open(&self.input()).with_limits(limits), &target, how, watch, stop)
    }

    /// What lies beside the input.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("is there").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "in").collect();
        names.sort();
        names
    }
}

fn open(path: &Path) -> Files {
    Files::open(path, EventFormat::Json, FileOrder::Name, Offset::Earliest, Timestamp::MAX).expect("there are files")
}

/// In so much memory. 2.5 KiB are chunks of a kilobyte, and two runs at once.
fn within(memory: usize) -> Options {
    Options { memory, runs: None, skip_invalid: false, threads: 2 }
}

const LITTLE: usize = 2560;
const MUCH: usize = 64 << 20;

#[derive(Default)]
struct Watched {
    skipped: Vec<String>,
    stages: Vec<Stage>,
}

impl Watch for Watched {
    fn at(&mut self, stage: Stage) {
        self.stages.push(stage);
    }

    fn skipped(&mut self, bad: &BadLine) {
        self.skipped.push(bad.to_string());
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}

fn lines(events: &[String]) -> String {
    events.iter().map(|event| event.clone() + "\n").collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_output_is_a_stable_sort_of_the_input(
        times in vec(vec(0..20_i64, 0..120), 1..4),
        memory in prop_oneof![Just(LITTLE), Just(8192), Just(MUCH)],
        threads in 0..3_usize,
    ) {
        prop_assume!(times.iter().any(|times| !times.is_empty()));
        let mut numbers = 0..;
        let files: Vec<Vec<(i64, String)>> = times
            .iter()
            .map(|times| times.iter().zip(&mut numbers).map(|(&time, number)| (time, event(time, number))).collect())
            .collect();
        let mut place = Place::new();
        for (number, events) in files.iter().enumerate() {
            let events: Vec<String> = events.iter().map(|(_, event)| event.clone()).collect();
            place = match number % 3 {
                0 => place.with(&format!("{number}.jsonl"), lines(&events)),
                1 => place.with(&format!("{number}.json.gz"), gzip(&format!("[{}]", events.join(",\n")))),
                _ => place.with(&format!("{number}.zst"), zstd::encode_all(lines(&events).as_bytes(), 1).expect("compresses")),
            };
        }
        let sorted = place.sort("out.jsonl", &Options { threads, ..within(memory) }).expect("they are events");
        let mut expected: Vec<(i64, String)> = files.concat();
        expected.sort_by_key(|(time, _)| *time);
        let text = fs::read_to_string(place.out("out.jsonl")).expect("was written");
        let expected: Vec<&str> = expected.iter().map(|(_, event)| event.as_str()).collect();
        prop_assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        prop_assert_eq!(sorted.events, text.lines().count() as u64);
        prop_assert_eq!(place.left(), ["out.jsonl"]);
    }
}

#[test]
fn many_runs_are_merged_in_passes_and_those_of_one_time_keep_their_order() {
    let events: Vec<String> = (0..500).map(|number| event(i64::from(number % 2 == 0), number as usize)).collect();
    let place = Place::new().with("a.jsonl", lines(&events));
    let sorted = place.sort("out.jsonl", &within(LITTLE)).expect("they are events");
    assert!(sorted.runs > 16, "{sorted:?}");
    let odd_then_even = (0..500).filter(|n| n % 2 == 1).chain((0..500).filter(|n| n % 2 == 0));
    let expected: Vec<String> = odd_then_even.map(|number| events[number].clone()).collect();
    assert_eq!(fs::read_to_string(place.out("out.jsonl")).expect("was written"), lines(&expected));
    let span = Some((Timestamp::from_millis(0), Timestamp::from_millis(1)));
    assert_eq!((sorted.events, sorted.out_of_order, sorted.invalid, sorted.span), (500, 250, 0, span));
}

#[test]
fn the_output_is_compressed_as_its_name_says() {
    let events: Vec<String> = (0..20_000).rev().map(|number| event(number, number as usize)).collect();
    let place = Place::new().with("a.jsonl", lines(&events));
    let expected: Vec<String> = events.iter().rev().cloned().collect();
    for threads in [1, 3] {
        for name in ["out.jsonl.gz", "out.zst", "out.json.zstd", "out.jsonl"] {
            place.sort(name, &Options { threads, ..within(MUCH) }).expect("they are events");
            let bytes = fs::read(place.out(name)).expect("was written");
            let mut text = String::new();
            match name.rsplit('.').next() {
                Some("gz") => drop(MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("is whole")),
                Some("jsonl") => text = String::from_utf8(bytes).expect("is text"),
                _ => text = String::from_utf8(zstd::decode_all(&bytes[..]).expect("is whole")).expect("is text"),
            }
            assert!(text == lines(&expected), "{name}: another text");
        }
    }
}

#[test]
fn lines_are_moved_unchanged_and_elements_of_arrays_become_lines() {
    let odd = "  {\"timestamp\" : 1.0e1 ,\"event\":\"user\", \"x\": [\"\\u00e9 é \\n\", {}]}\t\r\n";
    let place = Place::new()
        .with("a.jsonl", format!("\u{feff}{}\n\n{odd}{}", event(20, 1), event(5, 2)))
        .with("b.json", "[\n {\"event\": \"user\",\n  \"timestamp\": \"1970-01-01T00:00:00.001Z\"}\n]");
    place.sort("out.jsonl", &within(MUCH)).expect("they are events");
    let expected = format!(
        "{{\"event\": \"user\",   \"timestamp\": \"1970-01-01T00:00:00.001Z\"}}\n{}\n{odd}{}\n",
        event(5, 2),
        event(20, 1)
    );
    assert_eq!(fs::read_to_string(place.out("out.jsonl")).expect("was written"), expected);
}

#[test]
fn a_line_that_is_no_event_is_told_with_its_place_and_nothing_is_written() {
    let place = Place::new().with("a.jsonl", format!("{}\n{{\"timestamp\":1}}\n{}\n", event(1, 1), event(0, 2)));
    let error = place.sort("out.jsonl", &within(LITTLE)).expect_err("one is none").to_string();
    assert!(error.starts_with("a.jsonl:2: missing key `event`") && error.contains("--skip-invalid"), "{error}");
    assert_eq!(place.left(), Vec::<String>::new());
    let mut watched = Watched::default();
    let lenient = Options { skip_invalid: true, ..within(LITTLE) };
    let sorted = place.sort_with("out.jsonl", &lenient, &mut watched, &AtomicBool::new(false)).expect("others are");
    assert_eq!((sorted.events, sorted.invalid), (2, 1));
    assert_eq!(watched.skipped, ["a.jsonl:2: missing key `event` (column 1)"]);
    let text = fs::read_to_string(place.out("out.jsonl")).expect("was written");
    assert_eq!(text, lines(&[event(0, 2), event(1, 1)]));
}

#[test]
fn a_name_of_a_file_keeps_its_message_on_one_line() {
    let name = "a\nerror: all is well \u{1b}[2J.jsonl";
    let place = Place::new().with(name, "{}\n");
    let bad = place.sort("out.jsonl", &within(MUCH)).expect_err("is no event").to_string();
    let lenient = Options { skip_invalid: true, ..within(MUCH) };
    let none = place.sort("out.jsonl", &lenient).expect_err("there are none").to_string();
    let target = Target::of(&place.input().join(name), &place.input()).expect_err("among the events").to_string();
    let missing = place.input().join(format!("{name}/other"));
    let missing = Files::open(&missing, EventFormat::Json, FileOrder::Name, Offset::Earliest, Timestamp::MAX);
    let missing = missing.expect_err("is not there").to_string();
    for message in [bad, none, target, missing] {
        assert!(message.contains(r"a\nerror: all is well \u{1b}[2J.jsonl"), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
    }
}

#[test]
fn a_file_that_is_cut_short_is_refused_even_where_lines_may_be_left_out() {
    let events: Vec<String> = (0..500).map(|number| event(number, number as usize)).collect();
    let whole = gzip(&lines(&events));
    let place = Place::new().with("a.jsonl.gz", &whole[..whole.len() / 2]);
    for skip_invalid in [false, true] {
        let error = place.sort("out.jsonl", &Options { skip_invalid, ..within(LITTLE) }).expect_err("half of it");
        assert!(matches!(error, Error::Damaged(_)), "{error}");
        assert!(error.to_string().contains("the file is damaged"), "{error}");
    }
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn nothing_to_sort_is_an_error() {
    let place = Place::new().with("a.jsonl", "").with("b.json", "[]");
    let error = place.sort("out.jsonl", &within(MUCH)).expect_err("there are none").to_string();
    assert!(error.contains("a.jsonl, b.json holds none"), "{error}");
    let place = Place::new().with("a.csv.jsonl", "id,price\n1,2\n");
    let lenient = Options { skip_invalid: true, ..within(MUCH) };
    let error = place.sort("out.jsonl", &lenient).expect_err("there are none").to_string();
    assert!(error.contains("2 records that are no events"), "{error}");
    assert_eq!(place.left(), Vec::<String>::new());
}

/// Tells to stop at some stage.
struct Stopping<'a>(&'a AtomicBool, fn(Stage) -> bool);

impl Watch for Stopping<'_> {
    fn at(&mut self, stage: Stage) {
        self.0.fetch_or((self.1)(stage), Ordering::Relaxed);
    }

    fn skipped(&mut self, _: &BadLine) {}
}

#[test]
fn what_is_told_to_stop_leaves_nothing_behind_and_an_earlier_output_stays() {
    let events: Vec<String> = (0..40_000).map(|number| event(number, number as usize)).collect();
    let place = Place::new().with("a.jsonl", lines(&events));
    fs::write(place.out("out.jsonl"), "earlier").expect("can be written");
    let reading = |stage| matches!(stage, Stage::Reading { events, .. } if events > 100);
    let writing = |stage| matches!(stage, Stage::Writing { .. });
    for (when, memory) in [(reading as fn(Stage) -> bool, LITTLE), (writing, MUCH), (writing, 1 << 20)] {
        let stop = AtomicBool::new(false);
        let error = place.sort_with("out.jsonl", &within(memory), &mut Stopping(&stop, when), &stop);
        assert!(matches!(error, Err(Error::Interrupted)), "{error:?}");
        assert_eq!(place.left(), ["out.jsonl"]);
        assert_eq!(fs::read_to_string(place.out("out.jsonl")).expect("stays"), "earlier");
    }
}

#[test]
fn what_a_killed_sort_left_goes_with_the_next_one() {
    let place = Place::new().with("a.jsonl", lines(&[event(1, 1)]));
    let left = place.out(".rankwright-sort-abcdef");
    fs::create_dir(&left).expect("is new");
    fs::write(left.join("lock"), "").expect("can be written"); // nobody holds it
    fs::write(left.join("run-000000"), "half").expect("can be written");
    place.sort("out.jsonl", &within(MUCH)).expect("they are events");
    assert_eq!(place.left(), ["out.jsonl"]);
}

#[test]
fn temporary_files_go_where_they_are_told_to() {
    let events: Vec<String> = (0..500).map(|number| event(-number, number as usize)).collect();
    let place = Place::new().with("a.jsonl", lines(&events));
    let temp = tempfile::tempdir().expect("there is room");
    let elsewhere = Options { runs: Some(temp.path().to_owned()), ..within(LITTLE) };
    assert!(place.sort("out.jsonl", &elsewhere).expect("they are events").runs > 1);
    assert_eq!(fs::read_dir(temp.path()).expect("is there").count(), 0);
    let gone = temp.path().join("gone");
    let error = place.sort("out.jsonl", &Options { runs: Some(gone.clone()), ..within(LITTLE) });
    let error = error.expect_err("it is not there").to_string();
    assert!(error.contains(&format!("temporary files in {}", gone.display())), "{error}");
}

#[test]
fn a_target_is_no_folder_lies_in_one_and_not_among_the_events() {
    let place = Place::new().with("a.jsonl", lines(&[event(1, 1)]));
    let refused = |path: &Path, data: &Path| Target::of(path, data).expect_err("refused").to_string();
    assert!(refused(place.0.path(), &place.input()).contains("is a folder: name a file in it"));
    let nowhere = refused(&place.out("no/such.jsonl"), &place.input());
    let folder = place.out("no").display().to_string();
    assert!(nowhere.starts_with(&format!("cannot write to {folder}: {folder} does not exist; ")), "{nowhere}");
    let remote = refused(Path::new("s3://bucket/sorted.jsonl"), &place.input());
    assert_eq!(remote, "cannot write to s3://bucket/sorted.jsonl: name a file on this machine");
    let inside = place.input().join("sorted.jsonl");
    assert!(refused(&inside, &place.input()).contains("is among the events"));
    let itself = place.input().join("a.jsonl");
    assert!(refused(&itself, &itself).contains("is among the events"));
    assert_eq!(Target::of(Path::new("-"), &itself).expect("taken"), Target::Stdout);
    assert_eq!(Target::of(Path::new("/dev/null"), &itself).expect("taken"), Target::Direct("/dev/null".into()));
    // a name beside the only file that is read is free
    assert!(matches!(Target::of(&inside, &itself), Ok(Target::File(_))));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_with_what_helps() {
    let place = Place::new().with("a.jsonl", lines(&[event(1, 1)]));
    let files = open(&place.input());
    let stop = AtomicBool::new(false);
    let full = Target::of(Path::new("/dev/full"), &place.input()).expect("every Linux has it");
    let error = sort(&files, &full, &within(MUCH), &mut Watched::default(), &stop).expect_err("it is full").to_string();
    assert!(error.starts_with("cannot write /dev/full: No space left on device"), "{error}");
    assert!(error.contains("name another --out"), "{error}");
}
