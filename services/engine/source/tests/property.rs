//! What holds for files of any content.
#![allow(clippy::expect_used, missing_docs)]

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use rankwright_config::{FileOrder, Offset};
use rankwright_event::{Timestamp, json};
use rankwright_source::Marks;
use support::{Contents, Folder, batches, batches_of, contents, item, limits, packed};

const NAMES: [&str; 3] = ["a.json", "a.jsonl.gz", "a.zst"];

/// A record of a file: an event, a blank line, or something else.
#[derive(Debug, Clone)]
enum Record {
    Event(String, i64),
    Blank,
    Bad(String),
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        4 => ("[a-z{}\\[\\],\"\\\\é]{1,12}", 0..2000_i64).prop_map(|(id, time)| Record::Event(id, time)),
        1 => Just(Record::Blank),
        1 => "[a-z0-9{}:]{1,30}".prop_map(Record::Bad),
    ]
}

fn text(records: &[Record], ends: &str) -> String {
    let line = |record: &Record| match record {
        Record::Event(id, time) => json::encode(&item(id, *time)),
        Record::Blank => " ".to_owned(),
        Record::Bad(text) => text.clone(),
    };
    records.iter().map(line).collect::<Vec<_>>().join(ends)
}

fn events(records: &[Record]) -> Vec<rankwright_event::Event> {
    let events = records.iter().filter_map(|record| match record {
        Record::Event(id, time) => Some(item(id, *time)),
        _ => None,
    });
    events.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_event_comes_once_in_order_and_every_bad_line_with_its_number(
        records in vec(record(), 0..40), block in 1..300_usize, name in 0..3_usize,
    ) {
        let folder = Folder::new().with(NAMES[name], text(&records, "\n"));
        let read = contents(&folder.open().with_limits(limits(block, 10_000)));
        let bad = records.iter().enumerate().filter(|(_, record)| matches!(record, Record::Bad(_)));
        prop_assert_eq!(read.events, events(&records));
        prop_assert_eq!(
            read.bad.iter().map(|bad| bad.line).collect::<Vec<_>>(),
            bad.map(|(index, _)| index as u64 + 1).collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_array_holds_what_its_elements_hold(records in vec(record(), 0..40), block in 1..300_usize, name in 0..3_usize) {
        let records: Vec<_> = records.into_iter().filter(|record| matches!(record, Record::Event(..))).collect();
        let folder = Folder::new().with(NAMES[name], format!("[{}]", text(&records, " ,\n")));
        let read = contents(&folder.open().with_limits(limits(block, 10_000)));
        prop_assert_eq!(read, Contents { events: events(&records), ..Contents::default() });
    }

    #[test]
    fn threads_change_nothing_and_reading_goes_on_after_every_batch(
        lines in vec(record(), 0..30), elements in vec(record(), 0..30), block in 1..300_usize, since in 0..2000_i64,
    ) {
        // with an end of the last line: without one, a bad line may still be written, and is reported each time
        let whole = format!("{}\n", text(&lines, "\n"));
        let folder = Folder::new().with("a.json", whole).with("b.gz", format!("[{}]", text(&elements, ",")));
        let offset = Offset::At(Timestamp::from_millis(since));
        let files = folder.opened(FileOrder::Name, offset).expect("opens the folder").with_limits(limits(block, 10_000));
        let all = batches_of(&files, 0);
        prop_assert_eq!(&batches_of(&files, 2), &all);
        for done in 1..all.len() {
            let (mut rest, mut expected) = (Contents::default(), Contents::default());
            let mut marks = Marks::of(&files);
            all[..done].iter().for_each(|batch| marks.reach(&files, &batch.position));
            batches(&files, Some(&marks)).into_iter().for_each(|batch| rest.add(batch));
            all[done..].iter().cloned().for_each(|batch| expected.add(batch));
            prop_assert_eq!(rest, expected, "after {}", all[done - 1].position);
        }
    }

    #[test]
    fn any_position_leaves_the_records_behind_it(records in vec(record(), 1..30), skip in 0..30_u64, block in 1..300_usize) {
        let folder = Folder::new().with("a.json", text(&records, "\n"));
        let files = folder.open().with_limits(limits(block, 10_000));
        let mut marks = Marks::of(&files);
        marks.reach(&files, &rankwright_source::Position::new("a.json", skip));
        let mut rest = Contents::default();
        batches(&files, Some(&marks)).into_iter().for_each(|batch| rest.add(batch));
        prop_assert_eq!(rest.events, events(&records[records.len().min(skip as usize)..]));
        prop_assert!(rest.bad.iter().all(|bad| bad.line > skip));
    }

    #[test]
    fn any_bytes_under_any_name_are_read_to_their_end(
        bytes in vec(any::<u8>(), 0..400), start in "(\\[|\\{|)", block in 1..100_usize, line in 1..100_usize, name in 0..3_usize,
    ) {
        let text = [start.as_bytes(), &bytes].concat();
        let folder = Folder::new().with(NAMES[name], &text).with_bytes("b.json.gz", &text).with_bytes("c.zst", &text);
        let files = folder.open().with_limits(limits(block, line));
        prop_assert_eq!(batches_of(&files, 2), batches_of(&files, 0));
    }

    #[test]
    fn broken_files_are_read_to_their_end(
        records in vec(record(), 0..30), changes in vec((any::<usize>(), any::<u8>()), 1..10), cut in any::<usize>(),
        block in 1..300_usize, array in any::<bool>(), name in 0..3_usize,
    ) {
        let text = if array { format!("[{}]", text(&records, ",\n")) } else { text(&records, "\n") };
        let mut bytes = packed(NAMES[name], text.as_bytes());
        for (at, byte) in changes {
            let at = at % bytes.len().max(1);
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
        }
        bytes.truncate(cut % (2 * bytes.len() + 1));
        let folder = Folder::new().with_bytes(NAMES[name], &bytes);
        let files = folder.open().with_limits(limits(block, 10_000));
        prop_assert_eq!(batches_of(&files, 2), batches_of(&files, 0));
    }
}
