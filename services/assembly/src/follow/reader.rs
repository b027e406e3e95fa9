//! The loop: a writer for each partition, whose position moves with the effects of its events.
//!
//! A process that becomes a partition's writer raises its epoch: what an earlier one still has under way is refused.

mod commits;
#[cfg(test)]
mod tests;

use super::sweep::Sweep;
use super::tally::Tally;
use super::writer::{PAUSE, Writer};
use crate::closing::{Closing, StillOpen};
use crate::engine::Engine;
use crate::program::chain;
use anyhow::{Context, Result, bail};
use commits::Sent;
use futures_util::FutureExt;
use rankwright_event::{RankingId, Timestamp};
use rankwright_ingest::shared::{Pipeline, Reached, expect, reached};
use rankwright_ingest::{Counters, Error};
use rankwright_serve::clock::{believed, now};
use rankwright_source::{DeadLetters, Merged, Partition, Step, Stream};
use rankwright_state::{Position, Writer as StateWriter};
use rankwright_trace::Tracer;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Most batches that wait for slower partitions.
const HELD: usize = 128;
/// Events that are read before the first of them are committed, if they have come already: a commit of many costs little
/// more than one of few, because what they change in common is written once.
const AHEAD: usize = 32_768;
/// How far a partition has come of which nothing is left: as far as times reach that are accepted.
const NEVER: Timestamp = Timestamp::from_millis(253_402_300_799_999);
/// Silence after which a partition usually has no reader.
const UNREAD: Duration = Duration::from_secs(300);

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
    /// About how many are committed at once.
    together: usize,
    writers: BTreeMap<Partition, Writer>,
    pipeline: Pipeline,
    /// What the pipeline commits, step by step.
    sent: VecDeque<Sent>,
    /// Partitions that were begun again since the last step came: what it says of them is of before.
    again: BTreeSet<Partition>,
    tally: Arc<Tally>,
    /// Records batches; of a source that is read once, nothing.
    tracer: Tracer,
    sweep: Sweep,
    /// Closes rankings while this process alone reads everything once.
    alone: Option<Closing>,
    /// For how long partitions may be silent that are read.
    unread: Duration,
    /// When partitions that the source no longer has were read too recently to be sure of it, it is asked again.
    asks_again: Option<Timestamp>,
}

/// Where a writer stands in its partition; `None` at the very start.
fn place(partition: &Partition, at: &Position) -> Result<Option<rankwright_source::Position>> {
    let known = (!at.0.is_empty()).then(|| serde_json::from_str(&at.0));
    known.transpose().with_context(|| format!("the position of {partition}"))
}

impl Reader {
    /// The only reader, or one of many.
    pub(super) fn new(
        engine: Arc<Engine>,
        name: String,
        (stream, letters): (Box<dyn Stream>, DeadLetters),
        tally: Arc<Tally>,
        alone: bool,
    ) -> Self {
        let together = super::together(super::batches(&engine.config.state));
        let tracer = if alone { Tracer::default() } else { engine.tracer().clone() };
        let alone = alone.then(|| Closing::new(engine.clone(), name.clone()));
        let pipeline = Pipeline::new(engine.plan.clone(), engine.state.clone(), engine.settings());
        Self {
            engine,
            name,
            stream,
            letters,
            merged: Merged::new(HELD),
            ahead: 0,
            together,
            writers: BTreeMap::new(),
            pipeline,
            sent: VecDeque::new(),
            again: BTreeSet::new(),
            tally,
            tracer,
            sweep: Sweep::default(),
            alone,
            unread: UNREAD,
            asks_again: None,
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

    /// Reads all of a bounded stream, and closes what no writer will add to.
    pub(super) async fn read_all(mut self) -> Result<(Counters, Vec<RankingId>)> {
        let read = self.run().await;
        self.stream.close().await;
        read?;
        let mut counters = Counters::default();
        for mut writer in std::mem::take(&mut self.writers).into_values() {
            writer.leave().await?;
            counters = counters.and(writer.counters());
        }
        let Some(mut closing) = self.alone else { return Ok((counters, Vec::new())) };
        let finished = closing.finish().await;
        closing.leave().await;
        if !finished? {
            return Err(StillOpen.into());
        }
        Ok((counters.and(closing.counters()), closing.unknown_rankings().to_vec()))
    }

    async fn run(&mut self) -> Result<()> {
        self.expect().await?;
        loop {
            if self.asks_again.is_some_and(|time| time < now()) {
                self.expect().await?;
            }
            let step = self.step().await?;
            self.again.clear();
            if let Step::Revoked(partitions) = &step {
                self.give_up(partitions); // before what is under way: they are not to be taken from their new reader
            }
            if !matches!(step, Step::Batch { .. }) {
                self.ahead = 0;
                self.settle().await?;
            }
            match step {
                Step::Assigned(partitions) => self.begin_all(partitions).await?,
                Step::Revoked(_) => {}
                Step::Batch { partition, batch } => {
                    self.ahead += batch.events.len();
                    self.merged.push(partition, batch);
                }
                Step::CaughtUp { partition, .. } if self.again.contains(&partition) => {}
                Step::CaughtUp { partition, at } => {
                    self.merged.caught_up(&partition);
                    self.drain().await?;
                    // what is held of it for slower partitions is not behind us yet
                    if let Some(at) = at
                        && !self.merged.holds(&partition)
                        && !self.again.contains(&partition)
                    {
                        self.pass(&partition, at).await?;
                    }
                }
                Step::Finished(partition) => self.finish(&partition).await?,
                Step::Ended => return self.end().await,
            }
            self.tally.waiting(&self.merged);
            self.tally.lag(&self.stream.lag());
        }
    }

    /// What happened next in the stream. Before it waits for that, what has come is committed. While memory is full of what
    /// cannot close, nothing is read: the stream keeps it.
    async fn step(&mut self) -> Result<Step> {
        while self.engine.full.load(Ordering::Relaxed) && self.alone.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
        // only batches are read ahead, after others: what the stream owes after another step is not to be broken off
        let after_batch = self.ahead > 0;
        let events = if self.ahead < self.together { usize::MAX } else { AHEAD };
        if after_batch
            && self.merged.has_room_for(events)
            && let Some(step) = self.come().await
        {
            return step;
        }
        self.send_all().await?;
        self.ahead = 0;
        // more may be decoded while the last of it is committed
        if after_batch && let Some(step) = self.come().await {
            return step;
        }
        self.settle().await?;
        Ok(self.stream.next().await?)
    }

    /// What has happened already.
    async fn come(&mut self) -> Option<Result<Step>> {
        let step = self.stream.next().now_or_never()?;
        tokio::task::yield_now().await; // decoding has taken its time
        Some(step.map_err(Into::into))
    }

    /// Others have these partitions, or will.
    fn give_up(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            info!(%partition, "given up");
            self.merged.revoke(partition);
            self.writers.remove(partition);
            self.tally.left(partition);
        }
    }

    /// Nothing is waited for any more.
    async fn end(&mut self) -> Result<()> {
        self.writers.keys().for_each(|partition| self.merged.caught_up(partition));
        self.drain().await
    }

    /// Has the closer wait for all partitions, also those of other readers and those without a reader so far.
    async fn expect(&mut self) -> Result<()> {
        // before the list: what is noted later may not be in it
        let (known, recent) = self.known().await;
        let partitions = self.stream.all().await?;
        self.check(&partitions).await?;
        let names: Vec<&str> = partitions.iter().map(Partition::as_str).collect();
        while let Err(error) = expect(&*self.engine.state, &names, now()).await {
            warn!("partitions are not noted yet: {}", chain(&error.into()));
            tokio::time::sleep(PAUSE).await;
        }
        self.leave_gone(&known).await;
        let is_left = |known: &Reached| !names.contains(&known.writer.as_str());
        self.asks_again = recent.iter().any(is_left).then(|| now().plus(self.unread));
        Ok(())
    }

    /// Refuses positions from which the stream cannot go on before anybody waits for that.
    async fn check(&mut self, partitions: &[Partition]) -> Result<()> {
        let writers: Vec<_> = partitions.iter().map(|partition| StateWriter(partition.as_str().to_owned())).collect();
        let stand = loop {
            match self.engine.state.positions(&writers).await {
                Ok(stand) => break stand,
                Err(error) => warn!("waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
        };
        for (partition, at) in partitions.iter().zip(stand) {
            if let Some(from) = at.as_ref().map(|at| place(partition, at)).transpose()?.flatten() {
                self.stream.check(&from)?;
            }
        }
        Ok(())
    }

    /// The partitions that the state knows, with how far they were read: those without a reader, and those that were read
    /// recently. A list of partitions may lag behind by a moment, so what was read a moment ago still exists.
    async fn known(&mut self) -> (Vec<Reached>, Vec<Reached>) {
        let known = loop {
            match reached(&*self.engine.state).await {
                Ok(reached) => break reached,
                Err(error) => warn!("waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
        };
        let long_ago = now().minus(self.unread);
        let partitions = known.into_iter().filter(|known| known.partition);
        partitions.partition(|known| known.seen < long_ago || known.watermark == Some(NEVER))
    }

    /// Closers no longer wait for partitions that the source has lost.
    async fn leave_gone(&mut self, known: &[Reached]) {
        let names: Vec<_> = known.iter().map(|known| known.writer.as_str()).collect();
        for partition in self.stream.gone(&names) {
            let open = known.iter().any(|known| known.writer == partition.as_str() && known.watermark != Some(NEVER));
            if !open || self.writers.contains_key(&partition) {
                continue;
            }
            warn!(%partition, "the source no longer has this partition: its unread events are lost, and closing no longer waits for it");
            let writer = self.open(&partition).await;
            self.end_of(&partition, writer).await;
        }
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
            let from = place(&partition, &writer.position())?;
            let position = self.stream.start(&partition, from).await?;
            match writer.begin(&self.engine, Position(serde_json::to_string(&position)?)).await {
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

    /// Another process was its writer meanwhile: what is held of it may be committed already. Where it is no longer ours, the
    /// stream says so with its next step.
    async fn begin_again(&mut self, partition: &Partition) -> Result<()> {
        if self.alone.is_some() {
            bail!("another process reads {partition} as well: stop it, and start again");
        }
        warn!(%partition, "another process has read this partition");
        self.writers.remove(partition);
        self.merged.revoke(partition);
        self.again.insert(partition.clone());
        tokio::time::sleep(PAUSE).await;
        self.expect().await?; // it may be another generation of the state, which knows of no partition
        self.begin(partition.clone()).await
    }

    /// Closers no longer wait for a partition that has ended; before that, they wait for those that follow from it.
    async fn finish(&mut self, partition: &Partition) -> Result<()> {
        self.expect().await?;
        self.merged.revoke(partition);
        self.tally.left(partition);
        let Some(writer) = self.writers.remove(partition) else { return Ok(()) };
        if self.end_of(partition, writer).await {
            info!(%partition, "read to its end");
        }
        Ok(())
    }

    /// Says that nothing more comes of a partition; false where another process is its writer, which says it as well.
    async fn end_of(&mut self, partition: &Partition, mut writer: Writer) -> bool {
        while let Err(error) = writer.pass(NEVER).await {
            if matches!(error, Error::LostLease { .. }) {
                return false;
            }
            warn!(%partition, "waiting for the state store: {}", chain(&error.into()));
            tokio::time::sleep(PAUSE).await;
            writer = self.open(partition).await;
        }
        true
    }

    /// A partition that was read to its end comes as far in time as the wall clock was then: a store that was away may have let
    /// us wait since.
    async fn pass(&mut self, partition: &Partition, at: Instant) -> Result<()> {
        let Some(writer) = self.writers.get_mut(partition) else { return Ok(()) };
        let before = writer.position();
        match writer.pass(believed().minus(at.elapsed())).await {
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
