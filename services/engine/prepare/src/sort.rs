//! Events in order of time: an external merge sort.
//!
//! Records are read into a chunk of memory; a full chunk is sorted and written to a run, compressed, while the next one fills.
//! Then all runs are merged. Records are moved as bytes, and of each only the time is read. The sort is stable: events of
//! one time stay in the order of the input.

mod chunk;
mod merge;
mod run;

use crate::output::{Broken, Output, Target};
use chunk::{Chunk, Spiller};
use rankwright_event::Timestamp;
use rankwright_scratch::Scratch;
use rankwright_source::{BadLine, Files, Progress, Records, shown};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Temporary folders begin so. The next sort beside them removes those of processes that were killed.
const PREFIX: &str = ".rankwright-sort-";

/// How to sort.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory to use, in bytes; a single record that is longer is held all the same.
    pub memory: usize,
    /// Folder for runs; `None` is beside the output.
    pub runs: Option<PathBuf>,
    /// Whether records that are no events are left out. Else the first one is an error.
    pub skip_invalid: bool,
    /// Threads that read times, and that compress.
    pub threads: usize,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sorted {
    /// Events written.
    pub events: u64,
    /// Events that came behind a later one.
    pub out_of_order: u64,
    /// Records left out that are no events.
    pub invalid: u64,
    /// Enriched events of Snowplow left out that hold none of ours, such as page views.
    pub others: u64,
    /// Runs that did not fit into memory; 0 where all did.
    pub runs: usize,
    /// Times of the first and the last event.
    pub span: Option<(Timestamp, Timestamp)>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the files.
    Reading {
        /// Bytes of the files.
        progress: Progress,
        /// Events so far.
        events: u64,
    },
    /// Merging and writing.
    Writing {
        /// Events so far.
        done: u64,
        /// Events of all.
        total: u64,
    },
}

/// A listener for progress and for records that are skipped.
pub trait Watch {
    /// It has come so far.
    fn at(&mut self, stage: Stage);
    /// A record was left out that is no event.
    fn skipped(&mut self, bad: &BadLine);
}

/// Why events were not sorted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files cannot be read.
    #[error(transparent)]
    Source(#[from] rankwright_source::Error),
    /// A record that is no event.
    #[error("{0}: nothing is sorted; correct or remove it, or leave out all that are no events with --skip-invalid")]
    Invalid(BadLine),
    /// A file that is cut short.
    #[error("{0}: nothing is sorted")]
    Damaged(BadLine),
    /// Nothing to sort.
    #[error("there are no events to sort: {files} holds none, and {invalid} records that are no events")]
    Empty {
        /// Names of the files.
        files: String,
        /// How many records were left out.
        invalid: u64,
    },
    /// A temporary file.
    #[error("cannot use temporary files in {}: {source}{}", shown(folder), advice(source))]
    Temporary {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output.
    #[error("cannot write {place}: {source}{}", if is_full(source) { " (free some space, or name another --out)" } else { "" })]
    Output {
        /// The file.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// The process was told to stop.
    #[error("interrupted: nothing is written, and the temporary files are removed")]
    Interrupted,
}

/// What helps against a full disk.
fn advice(source: &io::Error) -> &'static str {
    if is_full(source) {
        " (they take about as much as the compressed events: free some space, or name another folder with --temp)"
    } else {
        ""
    }
}

fn is_full(source: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Sorts the events of some files. `stop` ends it early, within the time of a block.
///
/// # Errors
/// As [`Error`] says; the target is as it was then.
pub fn sort(
    files: &Files,
    target: &Target,
    options: &Options,
    watch: &mut dyn Watch,
    stop: &AtomicBool,
) -> Result<Sorted, Error> {
    let beside = target.folder();
    let make = |folder: PathBuf| Scratch::within(&folder, PREFIX).map_err(|source| Error::Temporary { folder, source });
    let scratch = make(beside)?;
    let elsewhere = options.runs.clone().map(make).transpose()?;
    let runs_in = elsewhere.as_ref().unwrap_or(&scratch).path();
    let temporary = |source| Error::Temporary { folder: runs_in.to_owned(), source };

    let mut reading = Reading {
        watch,
        skip_invalid: options.skip_invalid,
        stop,
        spiller: Spiller::new(runs_in, chunk_size(options.memory)),
        newest: Timestamp::MIN,
        sorted: Sorted::default(),
    };
    let outcome = files.read_records(options.threads, piece, |piece| match reading.take(piece) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    });
    let Reading { watch, spiller, mut sorted, .. } = reading;
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            spiller.abandon();
            return Err(error.into());
        }
    };
    if let ControlFlow::Break(Ended::Error(error)) = outcome {
        spiller.abandon();
        return Err(error);
    }
    let (last, mut runs) = spiller.finish().map_err(temporary)?;
    if sorted.events == 0 {
        return Err(Error::Empty { files: names(files), invalid: sorted.invalid });
    }
    sorted.runs = runs.len();
    let stopped = || stop.load(Ordering::Relaxed);
    let most = merge::most_runs(options.memory);
    for pass in 1.. {
        if runs.len() <= most {
            break;
        }
        runs = merge::fewer(runs, most, pass, runs_in, &stopped).map_err(temporary)?.ok_or(Error::Interrupted)?;
    }
    let failed = |source| Error::Output { place: target.name(), source };
    let output = Output::create(target, scratch.path(), options.threads).map_err(failed)?;
    let mut writing = Writing { output, watch, total: sorted.events, done: 0, stopped: &stopped };
    let merged = match runs.is_empty() {
        true => last.each(|_, line| writing.line(line)),
        false => merge::all(runs, |_, line| writing.line(line)).map_err(temporary)?,
    };
    let complete = match merged {
        ControlFlow::Break(Stopped::Interrupted) => return Err(Error::Interrupted),
        ControlFlow::Break(Stopped::Broken) => false, // finishing says why
        ControlFlow::Continue(()) => true,
    };
    match writing.output.finish(complete, &stopped).map_err(failed)? {
        true => Ok(sorted),
        false => Err(Error::Interrupted),
    }
}

/// Names of files, a few of them.
fn names(files: &Files) -> String {
    let names: Vec<String> = files.names().take(3).map(shown).collect();
    match files.names().count() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Two chunks take four fifths: one fills while the other is sorted and written.
fn chunk_size(memory: usize) -> usize {
    (memory / 5 * 2).clamp(1 << 10, 1 << 30)
}

/// Records of a block that are events, and those that are none.
struct Piece {
    chunk: Chunk,
    bad: Vec<BadLine>,
    others: u64,
    progress: Progress,
}

fn piece(records: Records) -> Piece {
    let (mut chunk, mut others) = (Chunk::default(), 0);
    let mut bad: Vec<BadLine> = records.bad().collect();
    records.each(|record| match (record.too_long(), record.time()) {
        (Some(too_long), _) => bad.push(too_long),
        (None, Ok(Some(time))) => chunk.push(time, record.text),
        (None, Ok(None)) => others += 1,
        (None, Err(error)) => bad.push(record.bad(&error)),
    });
    bad.sort_by_key(|bad| bad.line);
    Piece { chunk, bad, others, progress: records.progress() }
}

struct Reading<'a> {
    watch: &'a mut dyn Watch,
    skip_invalid: bool,
    stop: &'a AtomicBool,
    spiller: Spiller,
    newest: Timestamp,
    sorted: Sorted,
}

/// Why reading ended early.
enum Ended {
    Error(Error),
    /// A run could not be written; the spiller says why.
    Spill,
}

impl Reading<'_> {
    fn take(&mut self, piece: Piece) -> Result<(), Ended> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Ended::Error(Error::Interrupted));
        }
        for bad in piece.bad {
            self.bad(bad).map_err(Ended::Error)?;
        }
        for time in piece.chunk.times() {
            self.sorted.out_of_order += u64::from(time < self.newest);
            self.newest = self.newest.max(time);
            let (first, last) = self.sorted.span.unwrap_or((time, time));
            self.sorted.span = Some((first.min(time), last.max(time)));
        }
        self.sorted.events += piece.chunk.len() as u64;
        self.sorted.others += piece.others;
        self.spiller.take(&piece.chunk).map_err(|Broken| Ended::Spill)?;
        self.watch.at(Stage::Reading { progress: piece.progress, events: self.sorted.events });
        Ok(())
    }

    fn bad(&mut self, bad: BadLine) -> Result<(), Error> {
        if bad.ends_file() {
            return Err(Error::Damaged(bad));
        }
        if !self.skip_invalid {
            return Err(Error::Invalid(bad));
        }
        self.sorted.invalid += 1;
        self.watch.skipped(&bad);
        Ok(())
    }
}

struct Writing<'a> {
    output: Output,
    watch: &'a mut dyn Watch,
    total: u64,
    done: u64,
    stopped: &'a dyn Fn() -> bool,
}

enum Stopped {
    Interrupted,
    Broken,
}

impl Writing<'_> {
    fn line(&mut self, line: &[u8]) -> ControlFlow<Stopped> {
        self.done += 1;
        match self.output.line(line, self.stopped) {
            Err(Broken) => return ControlFlow::Break(Stopped::Broken),
            Ok(false) => return ControlFlow::Continue(()),
            Ok(true) => {}
        }
        if (self.stopped)() {
            return ControlFlow::Break(Stopped::Interrupted);
        }
        self.watch.at(Stage::Writing { done: self.done, total: self.total });
        ControlFlow::Continue(())
    }
}
