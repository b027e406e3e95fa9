//! Complete parts on their way to their place, the oldest first.

use super::name::Name;
use crate::{Error, Result, Status};
use rankwright_object::{AbortHandle, Bytes};
use std::collections::VecDeque;

/// Parts that are put at the same time: enough to fill a line, few enough to hold in memory.
pub(super) const ROOM: usize = 4;

/// Complete parts that are not there for certain, or wait for an earlier one that is not.
#[derive(Default)]
pub(super) struct Queue {
    parts: VecDeque<Queued>,
    /// Records up to this mark are there.
    durable: u64,
    /// What this process has put.
    put: Status,
}

/// A part in the queue.
pub(super) struct Queued {
    pub(super) name: Name,
    pub(super) bytes: Bytes,
    /// Records taken by the store up to the end of the part.
    pub(super) mark: u64,
    pub(super) phase: Phase,
    /// The place did not take it once.
    pub(super) failed: bool,
    /// Puts it.
    pub(super) task: Option<AbortHandle>,
}

/// How far a part has come.
pub(super) enum Phase {
    /// To be put.
    Waiting,
    /// Being put.
    Going,
    /// The place did not take it; the caller does not know yet.
    Failed(Error),
    /// There.
    Arrived,
}

impl Queue {
    pub(super) fn push(&mut self, part: Queued) {
        self.parts.push_back(part);
        self.settle();
    }

    /// A part that is to be put now, and is taken to be on its way.
    pub(super) fn next(&mut self) -> Option<&mut Queued> {
        let part = self.parts.iter_mut().find(|part| matches!(part.phase, Phase::Waiting))?;
        part.phase = Phase::Going;
        Some(part)
    }

    /// Notes what became of a part.
    pub(super) fn arrived(&mut self, name: &Name, outcome: Result<()>) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.name == *name) {
            if outcome.is_ok() {
                self.put.records += part.name.records;
                self.put.bytes += part.bytes.len() as u64;
                self.put.parts += 1;
            }
            part.failed |= outcome.is_err();
            part.phase = outcome.map_or_else(Phase::Failed, |()| Phase::Arrived);
        }
        self.settle();
    }

    /// Lets go of parts at the front that have arrived.
    fn settle(&mut self) {
        while self.parts.front().is_some_and(|part| matches!(part.phase, Phase::Arrived)) {
            self.durable = self.parts.pop_front().map_or(self.durable, |part| part.mark);
        }
    }

    /// The error of a part that failed, which will be tried again.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.parts.iter_mut().find_map(|part| match std::mem::replace(&mut part.phase, Phase::Waiting) {
            Phase::Failed(error) => Some(error),
            phase => {
                part.phase = phase;
                None
            }
        })
    }

    /// Whether a part failed, or waits after it did.
    pub(super) fn is_stuck(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.phase, Phase::Waiting | Phase::Failed(_)))
    }

    /// Whether a part that was not taken is to be taken yet, also while it is put again.
    pub(super) fn retries(&self) -> bool {
        self.parts.iter().any(|part| part.failed && !matches!(part.phase, Phase::Arrived))
    }

    /// Lets go of all parts that have not arrived. What is being put is not tried again; it may arrive yet.
    pub(super) fn give_up(&mut self) {
        self.parts.drain(..).filter_map(|part| part.task).for_each(|task| task.abort());
    }

    pub(super) fn has_room(&self) -> bool {
        self.parts.len() < ROOM
    }

    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    /// What is there by this process, and what is on its way.
    pub(super) fn status(&self) -> Status {
        let waiting = || self.parts.iter().filter(|part| !matches!(part.phase, Phase::Arrived));
        Status {
            records: self.put.records + waiting().map(|part| part.name.records).sum::<u64>(),
            bytes: self.put.bytes + waiting().map(|part| part.bytes.len() as u64).sum::<u64>(),
            parts: self.put.parts + waiting().count() as u64,
        }
    }

    /// Starts its counts at zero: another process counts all that was put so far.
    pub(super) fn counts_anew(&mut self) {
        self.put = Status::default();
    }

    /// Names and bytes of parts that may not be there yet.
    pub(super) fn held(&self) -> Vec<(Name, Bytes)> {
        self.parts.iter().map(|part| (part.name, part.bytes.clone())).collect()
    }
}
