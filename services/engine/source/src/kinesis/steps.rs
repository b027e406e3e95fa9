//! Turns what the shards deliver into steps of the stream.

use super::aggregate;
use super::fetch::{Fetched, News};
use super::place::Place;
use super::{Held, Kinesis};
use crate::building::Message;
use crate::{BadLine, Error, Partition, Position, Progress, Step};
use aws_sdk_kinesis::types::Record;
use rankwright_event::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

impl Kinesis {
    /// What happened next.
    pub(super) async fn step(&mut self) -> Result<Step, Error> {
        self.give_back().await;
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Ok(self.hand_out(step));
            }
            let due = self.building.due().map(Into::into);
            let (renew, renews) = (self.renew_at, !self.bounded_reading() || self.ours.is_empty());
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(renew), if self.rounds.is_empty() && renews => self.renew(),
                Some(round) = self.rounds.join_next() => {
                    self.settle(round.expect("sharing out does not panic"))?;
                }
                () = sleep_until(due) => self.building.keys().into_iter().for_each(|session| self.finish_batch(session)),
                Some(fetched) = self.fetched.recv() => self.hear(fetched)?,
            }
        }
    }

    fn hand_out(&mut self, mut step: Step) -> Step {
        if let (Step::Batch { batch, .. }, true) = (&mut step, self.bounded_reading()) {
            // records have no numbers that could be counted, so shards are
            batch.progress = Progress { read: self.done, total: self.shards.all().count() as u64 };
        }
        step
    }

    fn hear(&mut self, fetched: Fetched) -> Result<(), Error> {
        let Fetched { session, shard, news } = fetched;
        let Some(held) = self.ours.get(&shard).filter(|held| held.session == Some(session)) else {
            return Ok(()); // read for an earlier start
        };
        let partition = held.partition.clone();
        self.worked |= !matches!(news, News::Lost(_));
        match news {
            News::Records(records, behind) => {
                self.behind(&shard, behind);
                self.take(session, &partition, &shard, &records);
            }
            News::CaughtUp(_) if self.bounded_reading() => self.pass_bound(session, &shard, &partition),
            News::CaughtUp(at) => {
                self.behind(&shard, Some(0));
                self.finish_batch(session);
                self.steps.push_back(Step::CaughtUp { partition, at: Some(at) });
            }
            News::End => self.reach_end(session, &shard, &partition),
            News::Lost(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn behind(&mut self, shard: &str, millis: Option<i64>) {
        if let Some(held) = self.ours.get_mut(shard) {
            held.behind = millis.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
        }
    }

    fn take(&mut self, session: u64, partition: &Partition, shard: &str, records: &[Record]) {
        let until = (self.settings.clock)().plus(self.settings.max_ahead);
        for record in records {
            if self.bounded_reading() && self.is_later(record) {
                return self.pass_bound(session, shard, partition);
            }
            if self.push(session, partition, record, until) {
                self.finish_batch(session);
            }
        }
    }

    /// Whether a record arrived after a bounded reading began.
    fn is_later(&self, record: &Record) -> bool {
        record
            .approximate_arrival_timestamp
            .is_some_and(|arrived| SystemTime::try_from(arrived).is_ok_and(|at| at > self.begun))
    }

    /// Adds a record to the batch; returns whether that is full.
    fn push(&mut self, session: u64, partition: &Partition, record: &Record, until: Timestamp) -> bool {
        let number = &record.sequence_number;
        let name = || -> Arc<str> { format!("{partition}:{number}").into() };
        let messages = aggregate::messages(record.data.as_ref());
        let mut full = false;
        for (index, payload) in messages.iter().flatten().enumerate() {
            let place = || (name(), index as u64);
            let message = Message { payload, place: &place, pass: &|_| {} };
            full |= self.building.push(session, partition, &message, until);
        }
        let content = || record.data.as_ref().into();
        let bad = messages.err().map(|reason| BadLine { file: name(), line: 0, reason, content: content() });
        let pass = |position: &mut Position| position.at = Some(number.clone());
        self.building.skip(session, partition, bad, pass);
        full
    }

    fn finish_batch(&mut self, session: u64) {
        let Some(batch) = self.building.take(session) else { return };
        let held = self.ours.values().find(|held| held.session == Some(session));
        if let Some(Held { partition, .. }) = held {
            self.steps.push_back(Step::Batch { partition: partition.clone(), batch });
        }
    }

    /// The shard is closed and read: that is a position, with which its last events are committed.
    fn reach_end(&mut self, session: u64, shard: &str, partition: &Partition) {
        self.building.skip(session, partition, None, |position| position.at = Some(Place::End.to_string()));
        if self.bounded_reading() {
            self.pass_bound(session, shard, partition);
        } else {
            self.finish_batch(session);
        }
    }

    /// A bounded reading has read a shard as far as it reads.
    pub(super) fn pass_bound(&mut self, session: u64, shard: &str, partition: &Partition) {
        self.finish_batch(session);
        self.steps.push_back(Step::CaughtUp { partition: partition.clone(), at: Some(Instant::now()) });
        self.shards.finish(shard);
        self.done += 1;
        if let Some(held) = self.ours.get_mut(shard) {
            (held.session, held.task) = (None, held.task.take().inspect(tokio::task::AbortHandle::abort));
        }
        self.take_ready();
        if self.shards.are_finished() {
            self.steps.push_back(Step::Ended);
        }
    }
}

async fn sleep_until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
