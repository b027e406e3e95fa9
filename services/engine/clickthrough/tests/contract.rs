//! Every store passes the suite, and the suite finds every way in which a store can be broken.
#![allow(clippy::unwrap_used)]

use rankwright_clickthrough::contract::{Keeps, failures};
use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::{
    Clickthrough, ClickthroughStore, DiscardStore, FileStore, Forgotten, Format, Header, Mark, MemoryStore, Records,
    Result, Status, Subject,
};
use std::path::Path;

fn file_store(folder: &Path, format: Format, part_records: u64) -> impl Fn(&str, Header) -> Box<dyn ClickthroughStore> {
    move |place: &str, header: Header| {
        let settings =
            FileSettings { part_records, block_bytes: 10_000, ..FileSettings::new(folder.join(place), format) };
        Box::new(FileStore::open(settings, header).unwrap())
    }
}

fn in_memory(_: &str, header: Header) -> Box<dyn ClickthroughStore> {
    Box::new(MemoryStore::new(header).unwrap().with_limits(u64::MAX, 10_000))
}

#[test]
fn the_discarding_store_keeps_its_promises() {
    assert_eq!(failures(Keeps::Nothing, &|_, header| Box::new(DiscardStore::new(header))), [""; 0]);
}

#[test]
fn the_store_in_memory_keeps_its_promises() {
    assert_eq!(failures(Keeps::WhileOpen, &in_memory), [""; 0]);
}

#[test]
fn the_store_in_files_keeps_its_promises_in_both_formats_with_large_and_small_parts() {
    for format in [Format::Binary, Format::Json] {
        for part_records in [1, 100, u64::MAX] {
            let folder = tempfile::tempdir().unwrap();
            let open = file_store(folder.path(), format, part_records);
            assert_eq!(failures(Keeps::Forever, &open), [""; 0], "{format:?}, {part_records}");
        }
    }
}

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    LosesTheLastOfABatch,
    ForgetsMissing,
    CountsCalls,
    FlushesNothing,
    IsNeverDurable,
    TurnsBatchesRound,
    TakesAnything,
    ReadsOnlyFlushed,
    ForgetsAtTheEnd,
    CountsNothing,
    RemembersAll,
}

struct Broken {
    fault: Fault,
    inner: Box<dyn ClickthroughStore>,
    calls: std::sync::atomic::AtomicU64,
    flushed: std::sync::atomic::AtomicBool,
}

impl ClickthroughStore for Broken {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark> {
        use std::sync::atomic::Ordering::SeqCst;
        let mut records = records.to_vec();
        let mark = Mark(self.calls.fetch_add(1, SeqCst) + 1);
        self.flushed.store(false, SeqCst);
        match self.fault {
            Fault::LosesTheLastOfABatch => drop(records.pop()),
            Fault::TurnsBatchesRound => records.reverse(),
            Fault::ForgetsMissing => {
                records.iter_mut().flat_map(|record| &mut record.rows.values).for_each(|value| *value = value.max(0.0));
            }
            Fault::TakesAnything => {
                for record in records {
                    let _ = self.inner.append(&[record]);
                }
                return Ok(mark);
            }
            _ => {}
        }
        let taken = self.inner.append(&records)?;
        Ok(if self.fault == Fault::CountsCalls { mark } else { taken })
    }

    fn flush(&self) -> Result<Mark> {
        self.flushed.store(true, std::sync::atomic::Ordering::SeqCst);
        if self.fault == Fault::FlushesNothing { Ok(Mark(0)) } else { self.inner.flush() }
    }

    fn durable(&self) -> Mark {
        if self.fault == Fault::IsNeverDurable { Mark(0) } else { self.inner.durable() }
    }

    fn read(&self) -> Result<Records> {
        let flushed = self.flushed.load(std::sync::atomic::Ordering::SeqCst);
        if self.fault == Fault::ReadsOnlyFlushed && !flushed {
            return Ok(Records::new(std::iter::empty()));
        }
        self.inner.read()
    }

    fn forget(&self, subject: &Subject) -> Result<Forgotten> {
        if self.fault == Fault::RemembersAll { Ok(Forgotten::default()) } else { self.inner.forget(subject) }
    }

    fn status(&self) -> Status {
        if self.fault == Fault::CountsNothing { Status::default() } else { self.inner.status() }
    }
}

#[test]
fn a_broken_store_fails_the_suite() {
    use Fault::*;
    for fault in [
        LosesTheLastOfABatch,
        ForgetsMissing,
        CountsCalls,
        FlushesNothing,
        IsNeverDurable,
        TurnsBatchesRound,
        TakesAnything,
        ReadsOnlyFlushed,
        ForgetsAtTheEnd,
        CountsNothing,
        RemembersAll,
    ] {
        // a store in memory, which claims to keep for ever only where that is the fault
        let keeps = if fault == ForgetsAtTheEnd { Keeps::Forever } else { Keeps::WhileOpen };
        let open = |place: &str, header: Header| -> Box<dyn ClickthroughStore> {
            Box::new(Broken { fault, inner: in_memory(place, header), calls: 0.into(), flushed: false.into() })
        };
        assert_ne!(failures(keeps, &open), [""; 0], "{fault:?} was not found");
    }
}
