//! Turns what the connections of partitions deliver into steps of the stream.

use super::line::{News, Order};
use super::place::{Begin, Place};
use super::reading::{Entry, Unreadable};
use super::{Part, Pulsar};
use crate::building::{Building, Message};
use crate::{BadLine, Error, Position, Progress, Step};
use rankwright_event::Timestamp;
use std::sync::Arc;
use std::time::Instant;

impl Pulsar {
    /// What happened next.
    pub(super) async fn step(&mut self) -> Result<Step, Error> {
        self.connect().await?;
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Ok(self.hand_out(step));
            }
            let due = self.building.due();
            if due.is_some_and(|due| due <= Instant::now()) {
                self.building.keys().into_iter().for_each(|number| self.finish_batch(number));
                continue;
            }
            tokio::select! {
                biased;
                Some((number, news)) = self.news.recv() => self.hear(number, news)?,
                () = sleep_until(due) => {}
                Some(partitions) = self.counts.recv() => self.grow(partitions),
            }
        }
    }

    fn hand_out(&mut self, mut step: Step) -> Step {
        if let Step::Batch { batch, .. } = &mut step {
            batch.progress = self.progress();
        }
        step
    }

    /// Of a bounded reading: entries have no numbers that could be counted, so partitions are.
    fn progress(&self) -> Progress {
        if !self.bounded {
            return Progress::default();
        }
        let read = self.parts.iter().filter(|part| part.done).count();
        Progress { read: read as u64, total: self.parts.len() as u64 }
    }

    pub(super) fn hear(&mut self, number: usize, news: News) -> Result<(), Error> {
        let Some(part) = self.parts.get_mut(number) else { return Ok(()) };
        match news {
            News::Ours => {
                part.ours = true;
                self.steps.push_back(Step::Assigned(vec![part.partition.clone()]));
            }
            News::NotOurs => self.give_up(number),
            News::Entry(session, entry) if part.session == Some(session) => self.take(number, &entry),
            News::AtEnd(session, at) if part.session == Some(session) => self.reach_end(number, at),
            News::Backlog(entries) => part.backlog = Some(entries),
            News::Entry(..) | News::AtEnd(..) => {} // read for an earlier start
            News::Lost(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn give_up(&mut self, number: usize) {
        let Some(part) = self.parts.get_mut(number) else { return };
        (part.ours, part.session, part.backlog) = (false, None, None);
        part.pending.clear();
        self.building.take(number); // for the partition's next reader
        let partition = part.partition.clone();
        // a partition that was never handed out is not reported
        let unheard =
            self.steps.iter().position(|step| matches!(step, Step::Assigned(of) if *of == [partition.clone()]));
        self.steps
            .retain(|step| !matches!(step, Step::Batch { partition: of, .. } | Step::CaughtUp { partition: of, .. } if *of == partition));
        match unheard {
            Some(_) => self.steps.retain(|step| !matches!(step, Step::Assigned(of) if *of == [partition.clone()])),
            None => self.steps.push_back(Step::Revoked(vec![partition])),
        }
    }

    fn take(&mut self, number: usize, entry: &Entry) {
        let until = (self.settings.clock)().plus(self.settings.max_ahead);
        let Some(part) = self.parts.get_mut(number) else { return };
        part.order(Order::Taken(entry.count));
        if !self.ordered {
            part.read.push(entry.id.clone());
        }
        if part.push(number, entry, &mut self.building, until) {
            self.finish_batch(number);
        }
    }

    fn finish_batch(&mut self, number: usize) {
        let Some(part) = self.parts.get_mut(number) else { return };
        let Some(mut batch) = self.building.take(number) else { return };
        if !self.ordered {
            part.batches += 1;
            let done = std::mem::take(&mut part.read);
            part.pending.insert(part.batches, done);
            batch.position = Position::at(&part.partition, part.batches.to_string());
            batch.cuts.clear();
        }
        self.steps.push_back(Step::Batch { partition: part.partition.clone(), batch });
    }

    /// Nothing is left of what was added to a partition before.
    pub(super) fn reach_end(&mut self, number: usize, at: Instant) {
        self.finish_batch(number);
        let Some(part) = self.parts.get_mut(number).filter(|part| !part.done) else { return };
        self.steps.push_back(Step::CaughtUp { partition: part.partition.clone(), at: Some(at) });
        if self.bounded {
            part.done = true;
            self.end_with_the_last();
        }
    }

    /// Ends a bounded reading when every partition was read.
    pub(super) fn end_with_the_last(&mut self) {
        if self.bounded && self.parts.iter().all(|part| part.done) {
            self.steps.push_back(Step::Ended);
        }
    }
}

impl Part {
    /// Adds an entry to the batch; returns whether that is full.
    fn push(&self, number: usize, entry: &Entry, building: &mut Building<usize>, until: Timestamp) -> bool {
        let partition = &self.partition;
        let name = || -> Arc<str> { format!("{partition}:{}:{}", entry.id.ledger_id, entry.id.entry_id).into() };
        let place = Begin::after(Place::behind(&entry.id));
        let pass = |position: &mut Position| position.at = Some(place.to_string());
        let mut full = false;
        for (index, payload) in entry.messages.iter().flatten() {
            let place = || (name(), *index as u64);
            full |= building.push(number, partition, &Message { payload, place: &place, pass: &|_| {} }, until);
        }
        let bad = entry.messages.as_ref().err().map(|Unreadable { reason, content }| BadLine {
            file: name(),
            line: 0,
            reason: reason.clone(),
            content: content.as_slice().into(),
        });
        building.skip(number, partition, bad, pass);
        full
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
