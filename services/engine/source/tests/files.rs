//! What is read of files and folders, in which order, and what is said where that fails.
#![allow(clippy::expect_used, missing_docs)]

mod support;

use rankwright_config::{EventFormat, FileOrder, Offset, SourceConfig, SourceKind};
use rankwright_event::{Event, Timestamp, json};
use rankwright_source::{Error, Files, Marks, Position};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use support::{Contents, Folder, NOW, array, batches, batches_of, contents, gzip, items, limits, lines, open};

#[test]
fn lines_and_arrays_plain_and_compressed_hold_the_same_events() {
    let events = items(0..2000);
    let pretty = array(&events).replace("{\"", "\n  {\r\n \"");
    for name in ["a.json", "a.jsonl.gz", "a.zst", "a.json.zstd"] {
        for text in [lines(&events), array(&events), pretty.clone(), lines(&events).replace('\n', "\r\n\r\n")] {
            let folder = Folder::new().with(name, &text);
            for limits in [limits(100, 1000), limits(1 << 18, 1 << 26)] {
                let read = contents(&folder.open().with_limits(limits));
                assert_eq!(read.bad, [], "{name}");
                assert!(read.events == events, "{name}: other events than were written");
            }
        }
    }
}

#[test]
fn a_last_line_needs_no_end_and_a_first_one_may_have_a_byte_order_mark() {
    for text in [lines(&items([1, 2])), array(&items([1, 2]))] {
        let folder = Folder::new().with("a.json", format!("\u{feff} \n {}", text.trim_end()));
        for limits in [limits(1, 1000), limits(1000, 1000)] {
            assert_eq!(
                contents(&folder.open().with_limits(limits)),
                Contents { events: items([1, 2]), ..Contents::default() }
            );
        }
    }
}

#[test]
fn arrays_may_be_empty_or_follow_each_other() {
    let two = format!(" {} \n\n {}\n[ ]", array(&items([1, 2])), array(&items([3])));
    let folder = Folder::new().with("a.json", two).with("b.json", " [ ] ").with("c.json", "").with("d.json", " \n \n");
    assert_eq!(contents(&folder.open()), Contents { events: items([1, 2, 3]), ..Contents::default() });
}

#[test]
fn a_folder_is_read_in_the_order_of_names_times_or_changes() {
    let folder = Folder::new()
        .with("b.json", format!("broken\n{}", lines(&items([10]))))
        .with("c.jsonl.gz", array(&items([5, 30])))
        .with("a.ndjson", lines(&items([20])))
        .with("empty.json", "\n");
    for (name, seconds) in [("a.ndjson", 3), ("b.json", 1), ("c.jsonl.gz", 2), ("empty.json", 0)] {
        let file = std::fs::File::options().write(true).open(folder.path(name)).expect("opens what it wrote");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("sets a time");
    }
    for (order, expected) in [
        (FileOrder::Name, ["a.ndjson", "b.json", "c.jsonl.gz", "empty.json"]),
        (FileOrder::Time, ["c.jsonl.gz", "b.json", "a.ndjson", "empty.json"]),
        (FileOrder::LastModified, ["empty.json", "b.json", "c.jsonl.gz", "a.ndjson"]),
    ] {
        let files = folder.opened(order, Offset::Earliest).expect("opens the folder");
        assert_eq!(files.names().collect::<Vec<_>>(), expected, "{order:?}");
    }
    assert_eq!(contents(&folder.open()).events, items([20, 10, 5, 30]));
}

#[test]
fn folders_hidden_and_other_files_are_left_out_unless_they_are_named_themselves() {
    let folder =
        Folder::new().with("a.json", lines(&items([1]))).with(".b.json", "x").with("c.csv", lines(&items([2])));
    std::fs::create_dir(folder.path("d.json")).expect("makes a folder");
    assert_eq!(contents(&folder.open()), Contents { events: items([1]), ..Contents::default() });
    let named = open(&folder.path("c.csv"), FileOrder::Name, Offset::Earliest).expect("opens the file");
    assert_eq!(contents(&named).events, items([2]));
}

#[test]
fn an_offset_leaves_out_older_events_and_counts_them() {
    let folder = Folder::new().with("a.json", lines(&items([400_000, 999_000, 100, 700_000])));
    for (offset, expected, older) in [
        (Offset::Earliest, vec![400_000, 999_000, 100, 700_000], 0),
        (Offset::At(Timestamp::from_millis(700_000)), vec![999_000, 700_000], 2),
        (Offset::Last(Duration::from_millis(600_000)), vec![400_000, 999_000, 700_000], 1),
        (Offset::Latest, vec![], 0),
    ] {
        let read = contents(&folder.opened(FileOrder::Name, offset).expect("opens the folder"));
        assert_eq!((read.events, read.before_offset), (items(expected), older), "{offset:?}");
    }
}

#[test]
fn bad_lines_are_reported_with_file_line_and_reason_and_skipped() {
    let text = format!("{}\n{{\"event\":\"item\"}}\nnonsense\n{}", lines(&items([1])), lines(&items([2])));
    let read = contents(&Folder::new().with("a.json", text).open());
    assert_eq!(read.events, items([1, 2]));
    assert_eq!(
        read.reports(),
        [
            "a.json:3: missing keys `id`, `timestamp`, `item` (column 1)",
            "a.json:4: expected an event: an object, found `n` (column 1)",
        ]
    );
}

#[test]
fn bad_elements_are_reported_with_the_line_of_the_fault_and_their_index() {
    let good = array(&items([1]));
    let good = &good[1..good.len() - 1];
    let bad = "{\"event\":\"ranking\",\n\"items\":[\n{\"id\":5}]}";
    for block in [1, 7, 1000] {
        let text = format!("[\n{good},\n7,\n{bad},,{good}]");
        let read = contents(&Folder::new().with("a.json", text).open().with_limits(limits(block, 1000)));
        assert_eq!(read.events, items([1, 1]));
        assert_eq!(
            read.reports(),
            [
                "a.json:3: [1]: expected an event: an object, found 7",
                "a.json:6: [2].items[0].id: expected a string that is not empty, found 5",
                "a.json:6: [3]: expected an event: an object, found the end (column 12)",
            ]
        );
    }
}

#[test]
fn a_record_beyond_the_limit_is_a_bad_line_and_the_next_is_read() {
    let long = format!("{{\"event\":\"item\",\"x\":\"{}\"}}", "y\\\"".repeat(1000));
    let (one, two) = (lines(&items([1])), lines(&items([2])));
    let texts =
        [format!("{one}{long}\n{two}"), format!("{two}{long}\n{long}").replacen(&two, &(one.clone() + &two), 1)];
    for (text, reports) in texts.iter().zip([vec![2], vec![3, 4]]) {
        for (block, array) in [(1, false), (10, false), (100_000, false), (1, true), (10, true), (100_000, true)] {
            let text = if array { format!("[{}]", text.trim_end().replace('\n', ",\n")) } else { text.clone() };
            let read = contents(&Folder::new().with("a.json", text).open().with_limits(limits(block, 200)));
            assert_eq!(read.events, items([1, 2]), "block {block}, array {array}");
            let expected: Vec<_> = reports.iter().map(|line| format!("a.json:{line}: longer than 200 bytes")).collect();
            assert_eq!(read.reports(), expected, "block {block}, array {array}");
        }
    }
}

#[test]
fn a_damaged_file_is_read_as_far_as_it_goes_and_the_next_one_whole() {
    let events = items(0..5000);
    for text in [lines(&events), array(&events)] {
        for name in ["a.json.gz", "a.json.zst"] {
            let packed = support::packed(name, text.as_bytes());
            let folder =
                Folder::new().with_bytes(name, &packed[..packed.len() - 100]).with("b.json", lines(&items([7])));
            let read = contents(&folder.open().with_limits(limits(1000, 1000)));
            let (last, head) = read.events.split_last().expect("events before the damage");
            assert!(head.len() >= 2400 && events.starts_with(head), "{name}: {} events", head.len());
            assert_eq!(*last, items([7])[0]);
            assert_eq!(read.bad.len(), 1);
            assert!(read.bad[0].reason.starts_with("the file is damaged"), "{}", read.bad[0]);
            assert!(read.bad[0].line as usize > head.len(), "{}", read.bad[0]);
        }
    }
    let other = Folder::new().with_bytes("a.json.gz", b"\0{}\n");
    assert!(contents(&other.open()).reports()[0].starts_with("a.json.gz:1: the file is damaged"));
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_told_with_the_name_that_fits() {
    let text = lines(&items([1]));
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (gzip, zstd) = (gzip(text.as_bytes()), support::zstd(text.as_bytes()));
    for (name, bytes, problem) in [
        ("a.json", gzip.clone(), "it is compressed with gzip, so its name has to end in .gz"),
        ("a.json.zst", gzip, "it is compressed with gzip, so its name has to end in .gz"),
        ("a.json", zstd.clone(), "it is compressed with zstd, so its name has to end in .zst"),
        ("a.json.gz", zstd, "it is compressed with zstd, so its name has to end in .zst"),
        ("a.json", [b"\xff\xfe".to_vec(), wide].concat(), "it is UTF-16: convert it to UTF-8"),
        ("a.json.gz", text.into_bytes(), "it is not compressed, so its name must not end in .gz, .zst or .zstd"),
    ] {
        let folder = Folder::new().with_bytes(name, &bytes).with("b.json", lines(&items([7])));
        let read = contents(&folder.open());
        assert_eq!(
            (read.reports(), read.events),
            (vec![format!("{name}:1: the file cannot be read: {problem}")], items([7]))
        );
        assert!(read.bad[0].ends_file() && read.bad[0].is_misnamed());
    }
}

#[test]
fn progress_counts_bytes_on_disk_up_to_all_of_them() {
    let folder = Folder::new().with("a.json.gz", lines(&items(0..9000))).with("b.json", lines(&items(0..9000)));
    let files = folder.open();
    let progress: Vec<_> =
        batches(&files.clone().with_limits(limits(1000, 1000)), None).iter().map(|batch| batch.progress).collect();
    assert!(progress.is_sorted_by_key(|progress| progress.read));
    let last = progress.last().expect("some batches");
    assert_eq!((last.read, last.total, last.ratio()), (files.bytes(), files.bytes(), 1.0));
    let middle = progress[progress.len() / 4].ratio();
    assert!(middle > 0.0 && middle < 0.9, "{middle}");
}

/// What is left behind the marks, as item numbers.
fn rest(files: &Files, marks: &Marks) -> Contents {
    let mut read = Contents::default();
    batches(files, Some(marks)).into_iter().for_each(|batch| read.add(batch));
    read
}

fn of(expected: impl IntoIterator<Item = i64>) -> Contents {
    Contents { events: items(expected), ..Contents::default() }
}

fn reached(files: &Files, positions: &[(&str, u64)]) -> Marks {
    let mut marks = Marks::of(files);
    for (file, line) in positions {
        marks.reach(files, &Position::new(*file, *line));
    }
    marks
}

#[test]
fn reading_goes_on_behind_what_was_read_of_each_file() {
    let folder =
        Folder::new().with("a.json", lines(&items([1, 2]))).with("b.json", format!("\n{}", array(&items([3, 4]))));
    let files = folder.open();
    let check = |positions: &[(&str, u64)], expected: &[i64]| {
        assert_eq!(rest(&files, &reached(&files, positions)), of(expected.iter().copied()), "{positions:?}");
    };
    check(&[], &[1, 2, 3, 4]);
    check(&[("a.json", 1)], &[2, 3, 4]);
    check(&[("a.json", 1), ("a.json", 2)], &[3, 4]);
    check(&[("a.json", 2), ("b.json", 1)], &[4]);
    check(&[("b.json", 2)], &[1, 2]);
    check(&[("a.json", 2), ("b.json", 9)], &[]);
}

#[test]
fn files_that_come_go_grow_or_change_are_told_apart() {
    let folder = Folder::new().with("b.json", lines(&items([1, 2]))).with("c.json", lines(&items([3])));
    let marks = reached(&folder.open(), &[("b.json", 2), ("c.json", 1)]);
    let text = serde_json::to_string(&marks).expect("plain data");
    assert_eq!(serde_json::from_str::<Marks>(&text).expect("our own text"), marks);
    let folder = folder.with("a.json", lines(&items([4]))); // comes before those that were read
    assert_eq!(rest(&folder.open(), &marks), of([4]));
    let folder = folder.with("b.json", lines(&items([1, 2, 5]))); // has grown
    assert_eq!(rest(&folder.open(), &marks), of([4, 5]));
    let folder = folder.with("c.json", lines(&items([6, 7]))); // is another file
    assert_eq!(rest(&folder.open(), &marks), of([4, 5, 6, 7]));
    std::fs::remove_file(folder.path("b.json")).expect("removes what it wrote");
    assert_eq!(rest(&folder.open(), &marks), of([4, 6, 7]));
    let mut marks = marks;
    marks.retain(&folder.open());
    assert!(!serde_json::to_string(&marks).expect("plain data").contains("b.json"), "{marks:?}");
}

#[test]
fn what_was_incomplete_is_read_when_it_is_whole() {
    let events = items(0..130);
    for name in ["a.json", "a.json.gz", "a.json.zst"] {
        for text in [lines(&events), array(&events)] {
            let packed = support::packed(name, text.as_bytes());
            for (place, block) in (1..packed.len()).step_by(97).flat_map(|place| [(place, 100), (place, 1 << 18)]) {
                let folder = Folder::new().with_bytes(name, &packed[..place]);
                let files = folder.open().with_limits(limits(block, 1000));
                let (mut marks, mut read) = (Marks::of(&files), Contents::default());
                for batch in batches(&files, None) {
                    marks.reach(&files, &batch.position);
                    read.add(batch);
                }
                assert_eq!(rest(&files, &marks).events, [], "{name}: nothing of {place} bytes is read twice");
                let folder = folder.with_bytes(name, &packed);
                let whole = rest(&folder.open().with_limits(limits(block, 1000)), &marks);
                assert_eq!(whole.bad, [], "{name}, {place} bytes");
                assert!([read.events, whole.events].concat() == events, "{name}: other events behind {place} bytes");
            }
        }
    }
}

#[test]
fn what_was_left_out_before_an_offset_cannot_be_added() {
    let folder = Folder::new().with("a.json", lines(&items([1, 2])));
    let opened =
        |millis| folder.opened(FileOrder::Name, Offset::At(Timestamp::from_millis(millis))).expect("opens the folder");
    let marks = reached(&opened(1000), &[("a.json", 2)]);
    let refused = opened(999).read(Some(&marks)).map(|_| ()).expect_err("an earlier offset").to_string();
    assert!(refused.contains("from 1970-01-01T00:00:01Z on") && refused.contains("count twice"), "{refused}");
    assert_eq!(rest(&opened(1001), &marks), of([]));
}

#[test]
fn an_event_of_the_future_is_a_bad_line() {
    let folder = Folder::new().with("a.json", lines(&items([1, 2, 3])));
    let newest = items([2])[0].timestamp();
    let read = contents(&folder.open().until(newest));
    assert_eq!(read.events, items([1, 2]));
    assert_eq!(read.bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [3]);
    assert!(read.bad[0].reason.contains("lies further in the future"), "{:?}", read.bad);
}

#[test]
fn a_receiver_may_end_the_reading() {
    let folder = Folder::new().with("a.json", lines(&items(0..10_000)));
    let files = folder.open().with_limits(limits(100, 1000));
    for threads in [0, 1, 3] {
        let mut seen = 0;
        let end = files.read_parallel(None, threads, |batch| {
            seen += 1;
            if seen == 3 { ControlFlow::Break(batch.position.line) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(end, Ok(ControlFlow::Break(line)) if (3..30).contains(&line)), "{threads} threads: {end:?}");
    }
}

#[test]
fn an_error_of_the_system_ends_the_reading_in_order() {
    let folder = Folder::new().with("a.json", lines(&items(0..100))).with("b.json", lines(&items([1])));
    let files = folder.open().with_limits(limits(100, 1000));
    std::fs::remove_file(folder.path("b.json")).expect("removes what it wrote");
    for threads in [0, 1, 3] {
        let mut events = 0;
        let end = files.read_parallel(None, threads, |batch| {
            events += batch.events.len();
            ControlFlow::<()>::Continue(())
        });
        assert!(
            matches!(&end, Err(Error::Open { path, .. }) if path.ends_with("b.json")),
            "{threads} threads: {end:?}"
        );
        assert_eq!(events, 100);
    }
}

#[test]
fn a_path_that_is_not_there_is_an_error_that_shows_what_is() {
    let folder = Folder::new().with("a.json", "").with("b.json", "");
    std::fs::create_dir(folder.path("c")).expect("makes a folder");
    let error = |path: &Path| open(path, FileOrder::Name, Offset::Earliest).expect_err("nothing there").to_string();
    let here = folder.path("");
    let here = here.to_str().expect("a plain name").trim_end_matches('/');
    let gone = folder.path("x/y.json");
    assert_eq!(error(&gone), format!("{} does not exist; {here} holds a.json, b.json, c/", gone.display()));
    assert_eq!(
        error(&folder.path("c")),
        format!(
            "{here}/c holds no files named *.json, *.jsonl or *.ndjson, plain or with .gz, .zst, .zstd; {here}/c is empty"
        )
    );
    assert!(error(Path::new("no-such-file-here.json")).starts_with("no-such-file-here.json does not exist; . holds "));
    let many = (0..30).fold(Folder::new(), |folder, number| folder.with(&format!("f{number:02}.csv"), ""));
    let error = many.opened(FileOrder::Name, Offset::Earliest).expect_err("no events").to_string();
    assert!(error.ends_with("f18.csv, f19.csv and 10 more"), "{error}");
}

#[test]
fn what_this_version_does_not_read_is_refused_by_name() {
    let file = |path: &str| SourceKind::File { path: Some(PathBuf::from(path)), sort: FileOrder::Name };
    let kafka = SourceKind::Kafka {
        brokers: vec!["localhost:9092".to_owned()],
        topic: "events".to_owned(),
        group_id: "g".to_owned(),
        options: Default::default(),
    };
    let kinesis = SourceKind::Kinesis { region: "eu-west-1".to_owned(), topic: "events".to_owned(), endpoint: None };
    for (kind, format, what) in [
        (kafka, EventFormat::Json, "source kafka"),
        (kinesis, EventFormat::Json, "source kinesis"),
        (file("s3://bucket/events"), EventFormat::Json, "s3://bucket/events (reading from s3)"),
    ] {
        let config = SourceConfig { offset: Offset::Earliest, format, kind, dead_letter: None };
        let error = Files::configured(&config, NOW).expect_err("refused").to_string();
        assert_eq!(
            error,
            format!(
                "{what} is not available in this version: read JSON from a file or folder, or send events to POST /feedback"
            )
        );
    }
    let folder = Folder::new().with("a.json", lines(&items([1])));
    let url = format!("file://{}", folder.path("a.json").display());
    let config =
        SourceConfig { offset: Offset::Earliest, format: EventFormat::Json, kind: file(&url), dead_letter: None };
    assert_eq!(contents(&Files::configured(&config, NOW).expect("a file")).events, items([1]));
}

/// An enriched event of Snowplow in columns, and as JSON.
fn enriched(event: &Event) -> [String; 2] {
    let (kind, data) = (event.kind(), json::encode(event));
    let schema = format!("iglu:com.rankwright/{kind}/jsonschema/1-0-0");
    let inner = format!(r#"{{"schema":"{schema}","data":{data}}}"#);
    let outer = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0";
    let tracked = format!(r#"{{"schema":"{outer}","data":{inner}}}"#);
    let mut columns = vec![String::new(); 131];
    (columns[5], columns[58]) = ("unstruct".to_owned(), tracked.clone());
    [columns.join("\t"), format!(r#"{{"event":"unstruct","unstruct_event":{tracked}}}"#)]
}

#[test]
fn enriched_events_of_snowplow_are_read_in_both_forms() {
    let events = items(0..500);
    let lines = |form: usize| events.iter().map(|event| enriched(event)[form].clone() + "\n").collect::<String>();
    let page_view = "\tweb\t\t\t\tpage_view".to_owned() + &"\t".repeat(125) + "\n";
    let folder = Folder::new()
        .with("a.tsv", page_view.clone() + &lines(0))
        .with_bytes("b.tsv.gz", &gzip((lines(0) + &page_view).as_bytes()))
        .with("c.jsonl", lines(1) + "{\"event\":\"page_view\",\"event_id\":\"x\"}\n")
        .with("d.jsonl", lines(1) + "{}\n");
    let open = |path: &Path, format| {
        Files::open(path, format, FileOrder::Time, Offset::Earliest, NOW).expect("there are files")
    };
    let tsv = contents(&open(&folder.path(""), EventFormat::SnowplowTsv));
    assert_eq!((tsv.events.len(), &tsv.events[..500], tsv.bad.len()), (1000, &events[..], 0));
    let json = contents(&open(&folder.path("c.jsonl"), EventFormat::SnowplowJson));
    assert_eq!((json.events, json.bad.len()), (events.clone(), 0));
    let wrong = contents(&open(&folder.path("d.jsonl"), EventFormat::SnowplowJson));
    assert_eq!((wrong.events, wrong.bad.len()), (events, 1));
    assert!(
        wrong.bad[0].to_string().starts_with("d.jsonl:501: expected an enriched event of Snowplow"),
        "{}",
        wrong.bad[0]
    );
    let error =
        Files::open(&folder.path("").join("none"), EventFormat::SnowplowTsv, FileOrder::Name, Offset::Earliest, NOW);
    assert!(error.is_err());
    let empty = Folder::new().with("a.json", "");
    let error = Files::open(&empty.path(""), EventFormat::SnowplowTsv, FileOrder::Name, Offset::Earliest, NOW);
    assert!(error.expect_err("no such files").to_string().contains("holds no files named *.tsv, plain"));
}

#[test]
fn threads_change_nothing() {
    let events = items(0..3000);
    let text = lines(&events).replace("i1000\"", "i1000\\q\"");
    let folder =
        Folder::new().with("a.json.gz", &text).with("b.json", array(&events)).with_bytes("c.gz", &gzip(b"")[..5]);
    let files = folder.open().with_limits(limits(500, 1000));
    let alone = batches_of(&files, 0);
    assert_eq!(alone.iter().map(|batch| batch.events.len()).sum::<usize>(), 5999);
    for threads in [1, 2, 5] {
        assert!(batches_of(&files, threads) == alone, "{threads} threads");
    }
}
