//! Commits what was read: what several partitions have brought in one step, where the store can do that.

use super::Reader;
use crate::follow::tally::Seen;
use crate::follow::writer::{PAUSE, Writer};
use crate::program::chain;
use anyhow::Result;
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::Error;
use rankwright_ingest::shared::{Intake, Prepared, Share};
use rankwright_serve::clock::now;
use rankwright_source::{Batch, Partition};
use rankwright_state::Position;
use rankwright_trace::{Kind, Span};
use std::collections::BTreeMap;
use tracing::{debug, error, warn};

/// What became of batches that were to be committed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    All,
    Nothing,
    /// The store did not say.
    Unknown,
}

/// Batches that are committed at once, each with the times of its events.
pub(super) struct Sent {
    batches: Vec<(Partition, Batch)>,
    seen: Vec<Seen>,
    /// From when they were put together to when they are committed.
    span: Span,
}

impl Sent {
    /// What is read again.
    fn leave_out(&mut self, lost: &[Partition]) {
        let mut kept =
            self.batches.iter().map(|(partition, _)| !lost.contains(partition)).collect::<Vec<_>>().into_iter();
        self.seen.retain(|_| kept.next() != Some(false));
        self.batches.retain(|(partition, _)| !lost.contains(partition));
    }
}

impl Reader {
    /// Commits what has come, in the order of event time, as far as no earlier event may still come.
    pub(super) async fn drain(&mut self) -> Result<()> {
        self.send_all().await?;
        self.settle().await.map(drop)
    }

    /// The same; the last of it may still be under way.
    pub(super) async fn send_all(&mut self) -> Result<()> {
        loop {
            let batches = match self.commits_together() {
                true => self.merged.pop_some(self.together),
                false => self.merged.pop().into_iter().collect(),
            };
            if batches.is_empty() {
                return Ok(());
            }
            self.take(batches).await?;
        }
    }

    /// Commits batches of several partitions; in one step, where the store can do that. It is put together, and made ready by
    /// the store, while those before it are committed.
    async fn take(&mut self, mut batches: Vec<(Partition, Batch)>) -> Result<()> {
        let span = self.tracer.begin(Kind::Consumer, None, || "ingest".into());
        span.note("rankwright.partitions", batches.len());
        span.note("rankwright.events", batches.iter().map(|(_, batch)| batch.events.len()).sum::<usize>());
        for (_, batch) in &batches {
            // who reads a lost batch again puts them there again
            if let Err(error) = self.letters.put(&batch.bad).await {
                self.tally.lost(&error);
            }
        }
        let prepared = match self.is_pipelined() {
            true => {
                let _preparing = span.child("prepare");
                self.prepare(&batches).await.inspect_err(|error| span.fail(error))?
            }
            false => None,
        };
        let room = match prepared {
            Some(_) => self.sent.len().saturating_sub(usize::from(self.pipeline.is_full())),
            None => 0,
        };
        let lost = self.settle_to(room).await.inspect_err(|error| span.fail(error))?;
        batches.retain(|(partition, _)| !lost.contains(partition)); // they are read again
        let mut seen = Vec::with_capacity(batches.len());
        for (partition, batch) in &batches {
            self.tally.bad(partition, &batch.bad);
            seen.push(self.tally.batch(partition, batch));
        }
        let sent = Sent { batches, seen, span };
        let sound = prepared.filter(|prepared| self.pipeline.is_sound(prepared));
        match sound {
            Some(prepared) => {
                self.pipeline.send(prepared);
                self.sent.push_back(sent);
                Ok(())
            }
            None => self.commit(sent).await, // nothing is under way
        }
    }

    /// Whether there is something to be done while a step is committed elsewhere. What is read once sees rankings close
    /// between two steps.
    fn is_pipelined(&self) -> bool {
        self.alone.is_none() && self.engine.state.shared() && self.commits_together()
    }

    /// Puts the effects of batches together; `None` where that has to wait for what is under way.
    async fn prepare(&mut self, batches: &[(Partition, Batch)]) -> Result<Option<Prepared>> {
        match self.pipeline.prepare(&shares(&mut self.writers, batches)?, now()).await {
            Ok(prepared) => Ok(prepared),
            Err(error) => {
                debug!("a batch is built again: {}", chain(&error.into()));
                Ok(None)
            }
        }
    }

    /// Waits until what is under way is committed. Returns partitions that another process has read meanwhile, and that are read
    /// again from where it has left them.
    pub(super) async fn settle(&mut self) -> Result<Vec<Partition>> {
        self.settle_to(0).await
    }

    /// The same, until `left` steps are left, or none where one of them has failed.
    async fn settle_to(&mut self, left: usize) -> Result<Vec<Partition>> {
        let (mut lost, mut failed) = (Vec::new(), false);
        while self.sent.len() > left || failed {
            let intakes = self.writers.values_mut().filter_map(Writer::ordered);
            let settled = self.pipeline.settle(intakes).await;
            let Some(mut sent) = self.sent.pop_front() else { break };
            sent.leave_out(&lost);
            let together = self.outcome(&sent.batches, settled).await;
            failed |= together != Together::All;
            lost.extend(self.complete(sent, together).await?);
        }
        Ok(lost)
    }

    /// Commits batches, with nothing else under way.
    async fn commit(&mut self, sent: Sent) -> Result<()> {
        let together = match sent.batches.len() > 1 && self.commits_together() {
            true => self.commit_together(&sent.batches).await.inspect_err(|error| sent.span.fail(error))?,
            false => Together::Nothing,
        };
        self.complete(sent, together).await.map(drop)
    }

    /// Commits one by one what was not committed at once; which partitions another process has by now, or are read again.
    async fn complete(&mut self, sent: Sent, together: Together) -> Result<Vec<Partition>> {
        let Sent { batches, seen, span } = sent;
        let newest = batches.iter().flat_map(|(_, batch)| &batch.events).map(Event::timestamp).max();
        let mut lost = Vec::new();
        for ((partition, batch), seen) in batches.into_iter().zip(seen) {
            let unknown = together == Together::Unknown;
            let mut is_there = together == Together::All;
            if !is_there {
                let committed = self.commit_alone(&partition, &batch, unknown).await;
                is_there = committed.inspect_err(|error| span.fail(error))?;
            }
            if is_there {
                self.tally.committed(seen, now());
            } else {
                lost.push(partition);
            }
        }
        self.close_due().await;
        self.sweep(newest).await;
        Ok(lost)
    }

    /// Whether batches of several partitions can be one commit. Where not, they are committed one by one, in order of time.
    fn commits_together(&self) -> bool {
        self.stream.ordered() && self.engine.state.moves_together()
    }

    /// Commits all of the batches at once, or none of them.
    async fn commit_together(&mut self, batches: &[(Partition, Batch)]) -> Result<Together> {
        let committed = Intake::apply_together(&mut shares(&mut self.writers, batches)?, now()).await;
        Ok(self.outcome(batches, committed).await)
    }

    /// What became of batches that were sent at once.
    async fn outcome(&mut self, batches: &[(Partition, Batch)], committed: Result<(), Error>) -> Together {
        match committed {
            Ok(()) => {
                for (partition, batch) in batches.iter().filter(|(partition, _)| self.writers.contains_key(partition)) {
                    self.stream.note(partition, &batch.position);
                }
                Together::All
            }
            Err(Error::LostLease { .. }) => Together::Nothing, // whose it is shows when each goes alone
            Err(error) => {
                error!("waiting for the state store: {}", chain(&error.into()));
                tokio::time::sleep(PAUSE).await;
                Together::Unknown
            }
        }
    }

    /// Commits a batch, which may be there already where that is `unknown`. Waits for a store that is away, because nothing of
    /// the stream may be left out. False where another process has the partition.
    async fn commit_alone(&mut self, partition: &Partition, batch: &Batch, mut unknown: bool) -> Result<bool> {
        let to = behind(batch)?;
        loop {
            let Some(writer) = self.writers.get_mut(partition) else { return Ok(false) }; // another process has it by now
            if unknown {
                let before = writer.position();
                let again = self.open(partition).await;
                let (is_there, is_next) = (again.position() == to, again.position() == before);
                if !is_there && !is_next {
                    return self.begin_again(partition).await.map(|()| false); // another process has read on meanwhile
                }
                self.writers.insert(partition.clone(), again);
                if is_there {
                    self.stream.note(partition, &batch.position); // only the answer was lost
                    return Ok(true);
                }
                unknown = false;
                continue;
            }
            match writer.apply(&batch.events, to.clone()).await {
                Ok(()) => {
                    self.stream.note(partition, &batch.position);
                    return Ok(true);
                }
                Err(Error::LostLease { .. }) => return self.begin_again(partition).await.map(|()| false),
                Err(error) => error!(%partition, "waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
            unknown = true;
        }
    }

    /// Time has come as far as the newest event.
    async fn sweep(&mut self, newest: Option<Timestamp>) {
        let Some(newest) = newest else { return };
        if let Err(error) = self.sweep.reach(newest, &self.engine.plan, &*self.engine.state).await {
            warn!("outdated values are removed later: {}", chain(&error.into()));
        }
    }

    /// Rankings of what is read once close while it is read, as rates change when they do.
    async fn close_due(&mut self) {
        if let Some(closing) = &mut self.alone
            && let Err(error) = closing.tick_through().await
        {
            tracing::debug!(%error, "rankings are closed later");
        }
    }
}

/// What the writers of partitions bring at once.
fn shares<'a>(
    writers: &'a mut BTreeMap<Partition, Writer>,
    batches: &'a [(Partition, Batch)],
) -> Result<Vec<Share<'a>>> {
    let mut shares = Vec::with_capacity(batches.len());
    for (partition, writer) in writers {
        let batch = batches.iter().find(|(of, _)| of == partition);
        if let (Some(intake), Some((_, batch))) = (writer.ordered(), batch) {
            shares.push(Share { intake, events: &batch.events, to: behind(batch)? });
        }
    }
    Ok(shares)
}

/// The position behind a batch, as its writer keeps it.
fn behind(batch: &Batch) -> Result<Position> {
    Ok(Position(serde_json::to_string(&batch.position)?))
}
