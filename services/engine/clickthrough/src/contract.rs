//! What every store of click-throughs has to do, as a suite that each of them runs.
//!
//! [`failures`] opens the store again for each check, at a place of the check's own; a store that outlives its process
//! finds there what it left.

use crate::testing::{header, ranking};
use crate::{
    Click, Clickthrough, ClickthroughStore, Column, Error, Forgotten, Header, Kind, Mark, Records, Rows, Shown,
    Subject, Who,
};
use rankwright_event::{Field, ItemId, Timestamp, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Opens a store at a place.
pub type Open<'a> = &'a dyn Fn(&str, Header) -> Box<dyn ClickthroughStore>;

/// What a store keeps, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeps {
    /// It forgets at once.
    Nothing,
    /// It forgets with its process.
    WhileOpen,
    /// It keeps what was flushed.
    Forever,
}

type Outcome = Result<(), String>;
type Check = (&'static str, Keeps, fn(&str, Open) -> Outcome);

const COLUMNS: usize = 5;

const CHECKS: &[Check] = &[
    ("marks count what was taken", Keeps::Nothing, marks_count_what_was_taken),
    ("a flush makes all durable", Keeps::Nothing, a_flush_makes_all_durable),
    ("a record of another shape is refused with its batch", Keeps::Nothing, another_shape_is_refused),
    ("an empty store gives nothing", Keeps::Nothing, an_empty_store_gives_nothing),
    ("what was appended is read in order", Keeps::WhileOpen, what_was_appended_is_read),
    ("unusual records come back bit for bit", Keeps::WhileOpen, unusual_records_come_back),
    ("a record appended twice is read once", Keeps::WhileOpen, a_record_is_read_once),
    ("a store can be read again and again", Keeps::WhileOpen, a_store_is_read_again),
    ("a reading holds while records are appended", Keeps::WhileOpen, a_reading_holds),
    ("several threads may append", Keeps::WhileOpen, several_threads_append),
    ("the status counts records", Keeps::WhileOpen, the_status_counts),
    ("a visitor who is forgotten is in no record", Keeps::WhileOpen, a_visitor_is_forgotten),
    ("an item that is forgotten is in no record", Keeps::WhileOpen, an_item_is_forgotten),
    ("what was forgotten does not come back", Keeps::Forever, what_was_forgotten_stays_away),
    ("what was flushed outlives its process", Keeps::Forever, what_was_flushed_outlives),
    ("records keep the columns they were made with", Keeps::Forever, records_keep_their_columns),
];

/// The checks that the store fails, and how.
pub fn failures(keeps: Keeps, open: Open) -> Vec<String> {
    let failed = |&(name, needs, check): &Check| {
        let outcome = if keeps >= needs { check(name, open) } else { Ok(()) };
        outcome.err().map(|reason| format!("{name}: {reason}"))
    };
    CHECKS.iter().filter_map(failed).collect()
}

/// Has a store, whose parts are due after `age`, bring its first records away without anybody waiting for it.
///
/// # Panics
/// When it does so too early, or not within 20 seconds.
pub fn becomes_durable_when_due(store: &dyn ClickthroughStore, records: &[Clickthrough], age: Duration) {
    let begun = Instant::now();
    let mark = store.append(records).expect("takes records");
    while store.flush_due().expect("is well") < mark {
        assert!(begun.elapsed() < Duration::from_secs(20), "never durable");
        std::thread::yield_now();
    }
    assert!(begun.elapsed() >= age, "put before it was due");
}

fn marks_count_what_was_taken(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    expect("first mark", append(&*store, some(0, 3))?, Mark(3))?;
    expect("mark of nothing", append(&*store, vec![])?, Mark(3))?;
    expect("second mark", append(&*store, some(3, 4))?, Mark(7))
}

fn a_flush_makes_all_durable(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    let taken = append(&*store, some(0, 3))?;
    ensure(store.durable() <= taken, "more is durable than was taken")?;
    expect("mark of the flush", store.flush().map_err(text)?, taken)?;
    expect("durable", store.durable(), taken)?;
    expect("mark of a flush of nothing", store.flush().map_err(text)?, taken)
}

fn another_shape_is_refused(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    for wrong in
        [ranking(9, 3, COLUMNS + 1), Clickthrough { rows: Rows { width: COLUMNS, values: vec![] }, ..ranking(9, 3, 0) }]
    {
        let outcome = store.append(&[ranking(8, 3, COLUMNS), wrong]);
        ensure(matches!(outcome, Err(Error::Shape { .. })), "taken")?;
    }
    ensure(read(&*store)?.is_empty(), "a part of the batch was kept")?;
    append(&*store, some(0, 2)).map(|_| ())
}

fn an_empty_store_gives_nothing(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    ensure(read(&*store)?.is_empty(), "records out of nowhere")?;
    expect("status", store.status(), Default::default())
}

fn what_was_appended_is_read(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    let records = some(0, 300); // several blocks, if they are small
    for batch in records.chunks(70) {
        append(&*store, batch.to_vec())?;
    }
    same(&read(&*store)?, &records)?;
    let mut entries = store.read().map_err(text)?;
    let (columns, _) = entries.next().ok_or("nothing")?.map_err(text)?;
    expect("columns", columns, header(COLUMNS).columns)?;
    ensure(entries.by_ref().all(|entry| entry.is_ok()) && entries.losses().is_empty(), "losses in a whole store")?;
    let bare = |record: Clickthrough| Clickthrough { rows: Rows::default(), ..record };
    let records: Vec<_> = records.into_iter().map(bare).collect();
    same(&all(store.read().map_err(text)?.without_rows())?, &records)?;
    let bare = |record: Clickthrough| Clickthrough { items: Vec::new(), ..record };
    let records: Vec<_> = records.into_iter().map(bare).collect();
    same(&all(store.read().map_err(text)?.without_items())?, &records)
}

fn unusual_records_come_back(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    append(&*store, unusual())?;
    same(&read(&*store)?, &unusual())
}

fn a_record_is_read_once(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    let other = Clickthrough { tenant: "other".into(), ..ranking(0, 2, COLUMNS) };
    let interaction = Clickthrough { kind: Kind::Interaction, ..ranking(0, 0, 0) };
    let again = Clickthrough { user: None, ..ranking(0, 2, COLUMNS) };
    append(&*store, vec![ranking(0, 2, COLUMNS), other.clone(), interaction.clone(), again.clone()])?;
    append(&*store, vec![again.clone(), ranking(1, 2, COLUMNS), again])?;
    same(&read(&*store)?, &[ranking(0, 2, COLUMNS), other, interaction, ranking(1, 2, COLUMNS)])?;
    let mut entries = store.read().map_err(text)?;
    expect("entries", entries.by_ref().count(), 4)?;
    expect("duplicates", entries.losses().duplicates, 3)
}

fn a_store_is_read_again(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    append(&*store, some(0, 5))?;
    same(&read(&*store)?, &some(0, 5))?;
    append(&*store, some(5, 5))?;
    store.flush().map_err(text)?;
    same(&read(&*store)?, &some(0, 10))?;
    same(&read(&*store)?, &some(0, 10))
}

fn a_reading_holds(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    append(&*store, some(0, 50))?;
    let mut entries = store.read().map_err(text)?;
    let first = entries.next().ok_or("nothing")?.map_err(text)?;
    append(&*store, some(50, 200))?;
    store.flush().map_err(text)?;
    let rest: Result<Vec<_>, _> = entries.by_ref().collect();
    let records: Vec<Clickthrough> = [first].into_iter().chain(rest.map_err(text)?).map(|(_, record)| record).collect();
    ensure(records.len() >= 50, "records that were there are missing")?;
    same(&records[..50], &some(0, 50))?;
    ensure(entries.losses().is_empty(), "what is being written counts as a loss")
}

fn several_threads_append(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    let append_own =
        |thread: u64| (0..20).try_for_each(|batch| append(&*store, some(1000 * thread + 10 * batch, 10)).map(|_| ()));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || append_own(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    expect("mark", store.flush().map_err(text)?, Mark(800))?;
    let records = read(&*store)?;
    for thread in 0..4 {
        let times = |records: &[Clickthrough]| records.iter().map(|record| record.timestamp).collect::<Vec<_>>();
        let of_thread = |time: &Timestamp| (time.millis() - 1_636_907_100_000) / 1_000_000 == thread;
        let own: Vec<Timestamp> = times(&records).into_iter().filter(of_thread).collect();
        expect("records of a thread", own, times(&some(1000 * thread as u64, 200)))?;
    }
    Ok(())
}

fn the_status_counts(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    append(&*store, some(0, 250))?;
    expect("records", store.status().records, 250)?;
    store.flush().map_err(text)?;
    expect("records after a flush", store.status().records, 250)?;
    ensure(store.status().bytes > 250 && store.status().parts > 0, "records without bytes")
}

/// Of the first visitor.
fn visitor() -> Subject {
    Subject { tenant: Default::default(), who: Who::User(ranking(0, 4, COLUMNS).user.unwrap_or_else(|| "".into())) }
}

/// Records of three visitors, one of whom is in another tenant as well.
fn of_visitors() -> Vec<Clickthrough> {
    let visitors = [ranking(0, 4, COLUMNS).user, ranking(1, 4, COLUMNS).user, None];
    let record =
        |number: u64| Clickthrough { user: visitors[number as usize % 3].clone(), ..ranking(number, 4, COLUMNS) };
    let elsewhere = Clickthrough { tenant: "other".into(), ..ranking(0, 4, COLUMNS) };
    (0..90).map(record).chain([elsewhere]).collect()
}

/// What is there without the first visitor.
fn of_others() -> Vec<Clickthrough> {
    let theirs =
        |record: &Clickthrough| record.tenant == visitor().tenant && record.user == ranking(0, 4, COLUMNS).user;
    of_visitors().into_iter().filter(|record| !theirs(record)).collect()
}

fn a_visitor_is_forgotten(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    append(&*store, of_visitors())?;
    let forgotten = store.forget(&visitor()).map_err(text)?;
    expect("records", forgotten.records, 30)?;
    expect("visits", forgotten.sessions.len(), 30)?;
    ensure(forgotten.parts > 0 && forgotten.left.is_empty(), "no part was written anew")?;
    same(&read(&*store)?, &of_others())?;
    expect("records of a second time", store.forget(&visitor()).map_err(text)?, Forgotten::default())?;
    append(&*store, some(200, 5))?;
    same(&read(&*store)?, &[of_others(), some(200, 5)].concat())?;
    expect("records in the status", store.status().records, 66)
}

fn an_item_is_forgotten(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    let item = ItemId::from("item-0");
    let records = some(0, 200);
    append(&*store, records.clone())?;
    let forgotten =
        store.forget(&Subject { tenant: Default::default(), who: Who::Item(item.clone()) }).map_err(text)?;
    let touched = |record: &&Clickthrough| {
        record.items.iter().any(|shown| shown.id == item) || record.interactions.iter().any(|click| click.item == item)
    };
    expect("records", forgotten.records, records.iter().filter(touched).count() as u64)?;
    ensure(forgotten.records > 10 && forgotten.sessions.is_empty(), "an item has no visits")?;
    let left = read(&*store)?;
    expect("records that are left", left.len(), 200)?;
    ensure(left.iter().find(touched).is_none(), "it is in a record")?;
    for (left, before) in left.iter().zip(&records) {
        let places: Vec<usize> = (0..4).filter(|&place| before.items[place].id != item).collect();
        expect("places", left.items.len(), places.len())?;
        for (place, &was) in places.iter().enumerate() {
            ensure(left.items[place] == before.items[was], "another item")?;
            let bits = |row: &[f32]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            expect("row", bits(left.rows.row(place)), bits(before.rows.row(was)))?;
        }
    }
    Ok(())
}

fn what_was_forgotten_stays_away(place: &str, open: Open) -> Outcome {
    append(&*open(place, header(COLUMNS)), of_visitors())?;
    let store = open(place, header(3)); // of other columns by now
    expect("records", store.forget(&visitor()).map_err(text)?.records, 30)?;
    drop(store);
    let store = open(place, header(COLUMNS));
    same(&read(&*store)?, &of_others())?;
    ensure(store.read().map_err(text)?.all(|entry| entry.is_ok_and(|(columns, _)| columns.len() == COLUMNS)), "columns")
}

fn what_was_flushed_outlives(place: &str, open: Open) -> Outcome {
    let store = open(place, header(COLUMNS));
    append(&*store, some(0, 250))?;
    store.flush().map_err(text)?;
    std::mem::forget(store); // killed
    let store = open(place, header(COLUMNS));
    expect("records", store.status().records, 250)?;
    append(&*store, some(250, 10))?;
    same(&read(&*store)?, &some(0, 260))?;
    drop(store); // ended
    let store = open(place, header(COLUMNS));
    expect("records", store.status().records, 260)?;
    expect("marks begin anew", store.durable(), Mark(0))?;
    same(&read(&*store)?, &some(0, 260))
}

fn records_keep_their_columns(place: &str, open: Open) -> Outcome {
    for columns in [COLUMNS, 2, 0] {
        append(&*open(place, header(columns)), vec![ranking(columns as u64, 4, columns)])?;
    }
    let entries: Result<Vec<_>, _> = open(place, header(7)).read().map_err(text)?.collect();
    let found: Vec<(Arc<[Column]>, usize)> =
        entries.map_err(text)?.into_iter().map(|(columns, record)| (columns, record.rows.width)).collect();
    expect("columns", found, [COLUMNS, 2, 0].map(|width| (header(width).columns, width)).to_vec())
}

/// Records at the edges of what there can be.
pub fn unusual() -> Vec<Clickthrough> {
    let bare = Clickthrough { user: None, session: None, fields: vec![], interactions: vec![], ..ranking(0, 0, 0) };
    let value = |number: usize| {
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE / 4.0, f32::MAX, 0.1][number % 7]
    };
    let fields = [
        ("", Value::Bool(false)),
        ("n\u{0}", Value::Number(0.1 + 0.2)),
        ("zero", Value::Number(-0.0)),
        ("\"quoted\"\n", Value::Text("{\"crc32\":\"00000000\",\u{fffd}".into())),
        ("list", Value::Numbers(vec![f64::MIN_POSITIVE, f64::MAX, -1e-300])),
        ("texts", Value::Texts(vec!["".into(), "ранг 順位".into()])),
        ("none", Value::Texts(vec![])),
    ];
    let item = |number: usize| Shown {
        id: format!("item\t{number}").into(),
        label: number.is_multiple_of(2).then_some(number as f64 / 3.0),
    };
    let click = Click { timestamp: Timestamp::MIN, id: "".into(), kind: "".into(), item: "never shown".into() };
    vec![
        Clickthrough { ranking: "".into(), tenant: "".into(), timestamp: Timestamp::MAX, ..bare.clone() },
        Clickthrough { ranking: "no rows".into(), items: (0..3).map(item).collect(), ..bare.clone() },
        Clickthrough { ranking: "no items".into(), rows: Rows { width: COLUMNS, values: vec![] }, ..bare.clone() },
        Clickthrough {
            ranking: "edges".into(),
            fields: fields.map(|(name, value)| Field::new(name, value)).to_vec(),
            items: (0..7).map(item).collect(),
            rows: Rows { width: COLUMNS, values: (0..7 * COLUMNS).map(value).collect() },
            interactions: vec![click.clone(), click],
            ..bare.clone()
        },
        Clickthrough { ranking: "x".repeat(10_000).into(), ..ranking(1, 500, COLUMNS) },
        Clickthrough { kind: Kind::Interaction, interactions: ranking(2, 3, 0).interactions, ..bare },
    ]
}

fn some(first: u64, count: u64) -> Vec<Clickthrough> {
    (first..first + count).map(|number| ranking(number, 4, COLUMNS)).collect()
}

fn append(store: &dyn ClickthroughStore, records: Vec<Clickthrough>) -> Result<Mark, String> {
    store.append(&records).map_err(text)
}

fn read(store: &dyn ClickthroughStore) -> Result<Vec<Clickthrough>, String> {
    all(store.read().map_err(text)?)
}

fn all(records: Records) -> Result<Vec<Clickthrough>, String> {
    records.map(|entry| entry.map(|(_, record)| record).map_err(text)).collect()
}

fn same(found: &[Clickthrough], expected: &[Clickthrough]) -> Outcome {
    expect("number of records", found.len(), expected.len())?;
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    differs.map_or(Ok(()), |place| Err(format!("record {place} differs: {:.300}", format!("{:?}", found[place]))))
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}

fn ensure(holds: bool, otherwise: &str) -> Outcome {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn text(error: Error) -> String {
    error.to_string()
}
