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
use futures_util::FutureExt;
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::shared::{Intake, Share, expect};
use rankwright_ingest::{Counters, Error};
use rankwright_source::{Batch, DeadLetters, Merged, Partition, Step, Stream};
use rankwright_state::Position;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::{error, info, warn};

/// So many batches wait for slower partitions at most.
const HELD: usize = 128;
/// So many events are read before the first of them are committed, if they have come already: a commit of many costs little
/// more than one of few, as what they change in common is written once.
const AHEAD: usize = 32_768;
/// About so many events are committed at once, which the state store is busy with for some ten milliseconds.
const TOGETHER: usize = 4096;
/// How far a partition has come of which nothing is left: as far as times reach that are accepted.
const NEVER: Timestamp = Timestamp::from_millis(253_402_300_799_999);

/// What became of batches that were to be committed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    All,
    Nothing,
    /// The store did not say.
    Unknown,
}

/// Reads a stream into the state.
pub(super) struct Reader {
    engine: Arc<Engine>,
    /// This process among the others.
    name: String,
    stream: Box<dyn Stream>,
    letters: DeadLetters,
    merged: Merged,
    /// Events read since the last ones were committed.
    ahead: usize,
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
            ahead: 0,
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
            match self.step().await? {
                Step::Assigned(partitions) => {
                    self.begin_all(partitions).await?;
                }
                Step::Revoked(partitions) => {
                    for partition in partitions {
                        info!(%partition, "given up");
                        self.merged.revoke(&partition);
                        self.writers.remove(&partition);
                        self.tally.left(&partition);
                    }
                }
                Step::Batch { partition, batch } => {
                    self.ahead += batch.events.len();
                    self.merged.push(partition, batch);
                }
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
            self.tally.waiting(&self.merged);
            self.tally.lag(&self.stream.lag());
        }
    }

    /// What happened next in the stream. Before it waits for that, what has come is committed.
    async fn step(&mut self) -> Result<Step> {
        if (self.ahead < TOGETHER || self.merged.has_room_for(AHEAD))
            && let Some(step) = self.stream.next().now_or_never()
        {
            return Ok(step?);
        }
        self.drain().await?;
        self.ahead = 0;
        Ok(self.stream.next().await?)
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

    /// Reads partitions as [`Reader::begin`] does. All of them are begun at about the same time: what one is ahead of the
    /// others would stay in memory.
    async fn begin_all(&mut self, partitions: Vec<Partition>) -> Result<()> {
        let mut opened = Vec::with_capacity(partitions.len());
        for partition in partitions {
            opened.push((self.open(&partition).await, partition));
        }
        for (writer, partition) in opened {
            self.begin_as(partition, Some(writer)).await?;
        }
        Ok(())
    }

    /// Becomes the writer of a partition, and reads on where the last one stopped.
    async fn begin(&mut self, partition: Partition) -> Result<()> {
        self.begin_as(partition, None).await
    }

    async fn begin_as(&mut self, partition: Partition, mut opened: Option<Writer>) -> Result<()> {
        let (writer, position) = loop {
            let mut writer = match opened.take() {
                Some(writer) => writer,
                None => self.open(&partition).await,
            };
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
        loop {
            let batches = self.merged.pop_some(TOGETHER);
            if batches.is_empty() {
                return Ok(());
            }
            self.take(batches).await?;
        }
    }

    /// Commits batches of several partitions; in one step, where the store can do that.
    async fn take(&mut self, batches: Vec<(Partition, Batch)>) -> Result<()> {
        let mut seen = Vec::with_capacity(batches.len());
        for (partition, batch) in &batches {
            self.tally.bad(partition, &batch.bad);
            if let Err(error) = self.letters.put(&batch.bad).await {
                self.tally.lost(&error);
            }
            seen.push(self.tally.batch(partition, batch));
        }
        let newest = batches.iter().flat_map(|(_, batch)| &batch.events).map(Event::timestamp).max();
        let committed = match self.is_of_many(&batches) {
            true => self.together(&batches).await?,
            false => Together::Nothing,
        };
        if committed != Together::All {
            for (partition, batch) in &batches {
                self.alone(partition, batch, committed == Together::Unknown).await?;
            }
        }
        seen.into_iter().for_each(|seen| self.tally.committed(seen, now()));
        self.close_due().await;
        self.sweep(newest).await;
        Ok(())
    }

    fn is_of_many(&self, batches: &[(Partition, Batch)]) -> bool {
        batches.len() > 1 && self.stream.ordered() && self.engine.state.moves_together()
    }

    /// Commits all of the batches at once, or none of them.
    async fn together(&mut self, batches: &[(Partition, Batch)]) -> Result<Together> {
        let mut shares = Vec::with_capacity(batches.len());
        for (partition, writer) in &mut self.writers {
            let batch = batches.iter().find(|(of, _)| of == partition);
            if let (Writer::Ordered(intake), Some((_, batch))) = (writer, batch) {
                shares.push(Share { intake, events: &batch.events, to: behind(batch)? });
            }
        }
        match Intake::apply_together(&mut shares, now()).await {
            Ok(()) => {
                batches.iter().for_each(|(partition, batch)| self.stream.note(partition, &batch.position));
                Ok(Together::All)
            }
            Err(Error::LostLease { .. }) => Ok(Together::Nothing), // whose it is shows when each goes alone
            Err(error) => {
                error!("waiting for the state store: {}", chain(&error.into()));
                tokio::time::sleep(PAUSE).await;
                Ok(Together::Unknown)
            }
        }
    }

    /// Commits a batch, which may be there already where that is `unknown`; waits for a store that is away, as nothing of the
    /// stream may be left out.
    async fn alone(&mut self, partition: &Partition, batch: &Batch, mut unknown: bool) -> Result<()> {
        let to = behind(batch)?;
        loop {
            let Some(writer) = self.writers.get_mut(partition) else { return Ok(()) }; // somebody else's by now
            if unknown {
                let before = writer.position();
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
                unknown = false;
                continue;
            }
            match writer.apply(&batch.events, to.clone()).await {
                Ok(()) => {
                    self.stream.note(partition, &batch.position);
                    return Ok(());
                }
                Err(Error::LostLease { .. }) => return self.begin_again(partition).await,
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

/// The position behind a batch, as its writer keeps it.
fn behind(batch: &Batch) -> Result<Position> {
    Ok(Position(serde_json::to_string(&batch.position)?))
}
