//! The loop: a writer for each partition, whose position moves with the effects of its events.
//!
//! Whoever becomes a partition's writer raises its epoch: what an earlier one still has under way is refused.

use super::sweep::Sweep;
use super::tally::Tally;
use super::writer::{PAUSE, Writer};
use crate::closing::Closing;
use crate::engine::{Engine, now};
use crate::program::chain;
use anyhow::{Context, Result, bail};
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::shared::expect;
use rankwright_ingest::{Counters, Error};
use rankwright_source::{Batch, DeadLetters, Merged, Partition, Step, Stream};
use rankwright_state::Position;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::{error, info, warn};

/// So many batches wait for slower partitions at most.
const HELD: usize = 64;
/// How far a partition has come of which nothing is left: as far as times reach that are accepted.
const NEVER: Timestamp = Timestamp::from_millis(253_402_300_799_999);

/// Reads a stream into the state.
pub(super) struct Reader {
    engine: Arc<Engine>,
    /// This process among the others.
    name: String,
    stream: Box<dyn Stream>,
    letters: DeadLetters,
    merged: Merged,
    writers: BTreeMap<Partition, Writer>,
    tally: Arc<Tally>,
    sweep: Sweep,
    /// Closes rankings while everything is read once, by nobody else.
    alone: Option<Closing>,
}

impl Reader {
    /// A reader of what nobody else reads, or one of many.
    pub(super) fn new(
        engine: Arc<Engine>,
        name: String,
        (stream, letters): (Box<dyn Stream>, DeadLetters),
        tally: Arc<Tally>,
        alone: bool,
    ) -> Self {
        let alone = alone.then(|| Closing::new(engine.clone(), name.clone()));
        Self {
            engine,
            name,
            stream,
            letters,
            merged: Merged::new(HELD),
            writers: BTreeMap::new(),
            tally,
            sweep: Sweep::default(),
            alone,
        }
    }

    /// Reads until the stream is lost for good, or it is told to `stop`: it leaves then, so that others can go on at once.
    pub(super) async fn follow(mut self, stop: impl Future<Output = ()>) -> Result<()> {
        let lost = tokio::select! {
            lost = self.run() => lost,
            () = stop => Ok(()), // what is under way is as if this process had been killed: nothing is lost
        };
        self.stream.close().await;
        lost
    }

    /// Reads all of a bounded stream, and closes what nobody will add to.
    pub(super) async fn read_all(mut self) -> Result<Counters> {
        let read = self.run().await;
        self.stream.close().await;
        read?;
        let mut counters = Counters::default();
        for mut writer in std::mem::take(&mut self.writers).into_values() {
            writer.leave().await?;
            counters = counters.and(writer.counters());
        }
        let Some(mut closing) = self.alone else { return Ok(counters) };
        let finished = closing.finish().await;
        closing.leave().await;
        if !finished? {
            info!("what is still open is closed by another process of this service");
        }
        Ok(counters.and(closing.counters()))
    }

    async fn run(&mut self) -> Result<()> {
        self.expect().await?;
        loop {
            match self.stream.next().await? {
                Step::Assigned(partitions) => {
                    for partition in partitions {
                        self.begin(partition).await?;
                    }
                }
                Step::Revoked(partitions) => {
                    for partition in partitions {
                        info!(%partition, "given up");
                        self.merged.revoke(&partition);
                        self.writers.remove(&partition);
                        self.tally.left(&partition);
                    }
                }
                Step::Batch { partition, batch } => self.merged.push(partition, batch),
                Step::CaughtUp(partition) => {
                    self.merged.caught_up(&partition);
                    self.drain().await?;
                    // what is held of it for slower partitions is not behind us yet
                    if !self.merged.holds(&partition) {
                        self.pass(&partition).await?;
                    }
                }
                Step::Finished(partition) => self.finish(&partition).await?,
                Step::Ended => return self.end().await,
            }
            self.drain().await?;
            self.tally.waiting(&self.merged);
            self.tally.lag(&self.stream.lag());
        }
    }

    /// Nothing is waited for any more.
    async fn end(&mut self) -> Result<()> {
        self.writers.keys().for_each(|partition| self.merged.caught_up(partition));
        self.drain().await
    }

    /// Has closing wait for all partitions, also those that others have or nobody has yet.
    async fn expect(&mut self) -> Result<()> {
        let partitions = self.stream.all().await?;
        let names: Vec<&str> = partitions.iter().map(Partition::as_str).collect();
        while let Err(error) = expect(&*self.engine.state, &names, now()).await {
            warn!("partitions are not noted yet: {}", chain(&error.into()));
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Becomes the writer of a partition, and reads on where the last one stopped.
    async fn begin(&mut self, partition: Partition) -> Result<()> {
        let (writer, position) = loop {
            let mut writer = self.open(&partition).await;
            let known = writer.position();
            let from = match known.0.is_empty() {
                true => None,
                false => Some(serde_json::from_str(&known.0).with_context(|| format!("the position of {partition}"))?),
            };
            let position = self.stream.start(&partition, from).await?;
            // a partition without events begins at the same place the next time
            match writer.apply(&[], Position(serde_json::to_string(&position)?)).await {
                Ok(()) => break (writer, position),
                Err(Error::LostLease { .. }) => warn!(%partition, "another process reads it meanwhile"),
                Err(error) => warn!(%partition, "waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await; // it may stand elsewhere by then
        };
        info!(%partition, %position, "reading");
        self.tally.begun(&partition, &position);
        self.merged.assign(partition.clone());
        self.writers.insert(partition, writer);
        Ok(())
    }

    /// Becomes the writer of a partition; waits for a store that is away.
    async fn open(&mut self, partition: &Partition) -> Writer {
        let dealt = (!self.stream.ordered()).then_some(&*self.name);
        loop {
            match Writer::open(&self.engine, partition, dealt).await {
                Ok(writer) => return writer,
                Err(error) => warn!(%partition, "waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn drain(&mut self) -> Result<()> {
        while let Some((partition, batch)) = self.merged.pop() {
            self.take(&partition, batch).await?;
        }
        Ok(())
    }

    /// Commits a batch; waits for a store that is away, as nothing of the stream may be left out.
    async fn take(&mut self, partition: &Partition, batch: Batch) -> Result<()> {
        self.tally.bad(partition, &batch.bad);
        if let Err(error) = self.letters.put(&batch.bad).await {
            self.tally.lost(&error);
        }
        let seen = self.tally.batch(partition, &batch);
        let to = Position(serde_json::to_string(&batch.position)?);
        loop {
            let Some(writer) = self.writers.get_mut(partition) else { return Ok(()) }; // somebody else's by now
            let before = writer.position();
            match writer.apply(&batch.events, to.clone()).await {
                Ok(()) => {
                    self.tally.committed(seen, now());
                    self.stream.note(partition, &batch.position);
                    self.close_due().await;
                    self.sweep(&batch).await;
                    return Ok(());
                }
                Err(Error::LostLease { .. }) => return self.begin_again(partition).await,
                Err(error) => error!(%partition, "waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
            let again = self.open(partition).await;
            let (is_there, is_next) = (again.position() == to, again.position() == before);
            if !is_there && !is_next {
                return self.begin_again(partition).await; // somebody has read on meanwhile
            }
            self.writers.insert(partition.clone(), again);
            if is_there {
                self.stream.note(partition, &batch.position); // only the answer was lost
                return Ok(());
            }
        }
    }

    /// Time has come as far as the newest event.
    async fn sweep(&mut self, batch: &Batch) {
        let Some(newest) = batch.events.iter().map(Event::timestamp).max() else { return };
        if let Err(error) = self.sweep.reach(newest, &self.engine.plan, &*self.engine.state).await {
            warn!("outdated values are removed later: {}", chain(&error.into()));
        }
    }

    /// Rankings of what is read once close while it is read, as rates change when they do.
    async fn close_due(&mut self) {
        if let Some(closing) = &mut self.alone
            && let Err(error) = closing.tick().await
        {
            tracing::debug!(%error, "rankings are closed later");
        }
    }

    /// Somebody else was its writer meanwhile: what is held of it may be there already. Where it is no longer ours, the stream
    /// says so with its next step.
    async fn begin_again(&mut self, partition: &Partition) -> Result<()> {
        if self.alone.is_some() {
            bail!("another process reads {partition} as well: stop it, and start again");
        }
        warn!(%partition, "another process has read this partition");
        self.writers.remove(partition);
        self.merged.revoke(partition);
        tokio::time::sleep(PAUSE).await;
        self.expect().await?; // it may be another generation of the state, which knows of no partition
        self.begin(partition.clone()).await
    }

    /// Nobody waits for a partition any more that is over; those that follow from it are waited for before.
    async fn finish(&mut self, partition: &Partition) -> Result<()> {
        self.expect().await?;
        self.merged.revoke(partition);
        let Some(mut writer) = self.writers.remove(partition) else { return Ok(()) };
        while let Err(error) = writer.pass(NEVER).await {
            if matches!(error, Error::LostLease { .. }) {
                return Ok(()); // whoever has it now finds its end as well
            }
            warn!(%partition, "waiting for the state store: {}", chain(&error.into()));
            tokio::time::sleep(PAUSE).await;
            writer = self.open(partition).await;
        }
        info!(%partition, "read to its end");
        Ok(())
    }

    /// A partition that is read to its end comes as far in time as the wall clock.
    async fn pass(&mut self, partition: &Partition) -> Result<()> {
        let Some(writer) = self.writers.get_mut(partition) else { return Ok(()) };
        let before = writer.position();
        match writer.pass(now()).await {
            Ok(()) => Ok(()),
            Err(Error::LostLease { .. }) => self.begin_again(partition).await,
            Err(error) => {
                warn!(%partition, "waiting for the state store: {}", chain(&error.into()));
                let again = self.open(partition).await;
                if again.position() != before {
                    return self.begin_again(partition).await;
                }
                self.writers.insert(partition.clone(), again);
                Ok(())
            }
        }
    }
}
