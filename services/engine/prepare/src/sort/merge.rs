//! Many runs become one order.

use super::run::{Run, RunReader, RunWriter};
use rankwright_event::Timestamp;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// What an open run takes: buffers, and the window of its compression.
const OPEN_RUN: usize = 1 << 20;
/// Files that a process may have open are often no more than 1,024, some of them others'.
const MOST_OPEN: usize = 128;
/// Records between two checks whether to stop.
const ASKED: u64 = 4096;

/// Runs that are merged at once.
pub(super) fn most_runs(memory: usize) -> usize {
    (memory / 5 * 4 / OPEN_RUN).clamp(2, MOST_OPEN)
}

/// Takes the records of all runs in order of time; of one time, in the order of the runs.
pub(super) fn all<B>(
    runs: Vec<Run>,
    mut take: impl FnMut(Timestamp, &[u8]) -> ControlFlow<B>,
) -> io::Result<ControlFlow<B>> {
    let mut readers = Vec::with_capacity(runs.len());
    for run in runs {
        readers.extend(run.open()?);
    }
    let first = |(place, reader): (usize, &RunReader)| Reverse((reader.time, place));
    let mut next: BinaryHeap<_> = readers.iter().enumerate().map(first).collect();
    while let Some(mut top) = next.peek_mut() {
        let Reverse((_, place)) = *top;
        let reader = &mut readers[place];
        if let ControlFlow::Break(why) = take(reader.time, &reader.line) {
            return Ok(ControlFlow::Break(why));
        }
        match reader.next()? {
            true => *top = Reverse((reader.time, place)), // sifted down when it is dropped
            false => drop(PeekMut::pop(top)),
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Merges neighbours, at most `most` at once, into fewer runs in the same order; `None` where it was told to stop. `pass` tells
/// its files from those of other passes.
pub(super) fn fewer(
    runs: Vec<Run>,
    most: usize,
    pass: usize,
    folder: &Path,
    stopped: &dyn Fn() -> bool,
) -> io::Result<Option<Vec<Run>>> {
    let mut merged = Vec::with_capacity(runs.len().div_ceil(most));
    let mut runs = runs.into_iter().peekable();
    while runs.peek().is_some() {
        let group: Vec<Run> = runs.by_ref().take(most).collect();
        let mut writer = RunWriter::create(&folder.join(format!("merged-{pass}-{:06}", merged.len())))?;
        let mut count = 0_u64;
        let outcome = all(group, |time, line| {
            count += 1;
            match writer.record(time, line) {
                Err(error) => ControlFlow::Break(Some(error)),
                Ok(()) if count.is_multiple_of(ASKED) && stopped() => ControlFlow::Break(None),
                Ok(()) => ControlFlow::Continue(()),
            }
        })?;
        match outcome {
            ControlFlow::Break(Some(error)) => return Err(error),
            ControlFlow::Break(None) => return Ok(None),
            ControlFlow::Continue(()) => merged.push(writer.finish()?),
        }
    }
    Ok(Some(merged))
}
