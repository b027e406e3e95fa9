//! The loop: a writer for each partition, whose position moves with the effects of its events.
//!
//! Whoever becomes a partition's writer raises its epoch: what an earlier one still has under way is refused.

use super::tally::Tally;
use crate::closing::Closing;
use crate::engine::{Engine, now};
use crate::program::chain;
use anyhow::{Context, Result, bail};
use rankwright_ingest::shared::{Intake, Origin, expect};
use rankwright_ingest::{Counters, Error};
use rankwright_source::{Batch, DeadLetters, Merged, Partition, Step, Stream};
use rankwright_state::Position;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, info, warn};

/// So many batches wait for slower partitions at most.
const HELD: usize = 64;
/// Between two attempts to reach a state store that does not answer.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Reader {
    engine: Arc<Engine>,
    stream: Box<dyn Stream>,
    letters: DeadLetters,
    merged: Merged,
    writers: BTreeMap<Partition, Intake>,
    tally: Arc<Tally>,
    /// Everything is read once, by nobody else.
    alone: bool,
}

impl Reader {
    pub(super) fn new(
        engine: Arc<Engine>,
        stream: Box<dyn Stream>,
        letters: DeadLetters,
        tally: Arc<Tally>,
        alone: bool,
    ) -> Self {
        Self { engine, stream, letters, merged: Merged::new(HELD), writers: BTreeMap::new(), tally, alone }
    }

    /// Reads until the stream is lost for good; what was read by the writers that are left.
    pub(super) async fn follow(mut self) -> Result<BTreeMap<Partition, Intake>> {
        let lost = self.run().await;
        self.stream.close().await;
        lost.map(|()| self.writers)
    }

    /// Reads all of a bounded stream, and closes what nobody will add to.
    pub(super) async fn read_all(self) -> Result<Counters> {
        let engine = self.engine.clone();
        let mut counters = Counters::default();
        for mut intake in self.follow().await?.into_values() {
            intake.leave().await?;
            counters = counters.and(intake.counters());
        }
        let mut closing = Closing::new(engine, crate::serving::identity());
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
                Step::Ended => return self.drain().await,
            }
            self.drain().await?;
            self.tally.waiting(&self.merged);
            self.tally.lag(&self.stream.lag());
        }
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
        let mut intake = Self::open(&self.engine, &partition).await;
        let known = intake.position().clone();
        let from = match known.0.is_empty() {
            true => None,
            false => Some(serde_json::from_str(&known.0).with_context(|| format!("the position of {partition}"))?),
        };
        let position = self.stream.start(&partition, from).await?;
        info!(%partition, offset = position.line, "reading");
        self.tally.begun(&partition, &position);
        let to = Position(serde_json::to_string(&position)?);
        // a partition without events begins at the same place the next time
        while let Err(error) = intake.apply(&[], &[], to.clone(), now()).await {
            warn!(%partition, "waiting for the state store: {}", chain(&error.into()));
            tokio::time::sleep(PAUSE).await;
            intake = Self::open(&self.engine, &partition).await;
        }
        self.merged.assign(partition.clone());
        self.writers.insert(partition, intake);
        Ok(())
    }

    /// Becomes the writer of a partition; waits for a store that is away.
    async fn open(engine: &Engine, partition: &Partition) -> Intake {
        loop {
            let (plan, state, settings) = (engine.plan.clone(), engine.state.clone(), engine.settings());
            match Intake::open(partition.as_str(), Origin::Partition, plan, state, settings, now()).await {
                Ok(intake) => return intake,
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
            let Some(intake) = self.writers.get_mut(partition) else { return Ok(()) }; // somebody else's by now
            let before = intake.position().clone();
            match intake.apply(&batch.events, &[], to.clone(), now()).await {
                Ok(_) => {
                    self.tally.committed(seen, now());
                    self.stream.note(partition, &batch.position);
                    return Ok(());
                }
                Err(Error::LostLease { .. }) => return self.begin_again(partition).await,
                Err(error) => error!(%partition, "waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
            let again = Self::open(&self.engine, partition).await;
            let (is_there, is_next) = (*again.position() == to, *again.position() == before);
            if !is_there && !is_next {
                return self.begin_again(partition).await; // somebody has read on meanwhile
            }
            self.writers.insert(partition.clone(), again);
            if is_there {
                return Ok(()); // only the answer was lost
            }
        }
    }

    /// Somebody else was its writer meanwhile: what is held of it may be there already. Where it is no longer ours, the stream
    /// says so with its next step.
    async fn begin_again(&mut self, partition: &Partition) -> Result<()> {
        if self.alone {
            bail!("another process reads {partition} as well: stop it, and start again");
        }
        warn!(%partition, "another process has read this partition");
        self.writers.remove(partition);
        self.merged.revoke(partition);
        tokio::time::sleep(PAUSE).await;
        self.begin(partition.clone()).await
    }

    /// A partition that is read to its end comes as far in time as the wall clock.
    async fn pass(&mut self, partition: &Partition) -> Result<()> {
        let Some(intake) = self.writers.get_mut(partition) else { return Ok(()) };
        let before = intake.position().clone();
        match intake.pass(now(), now()).await {
            Ok(()) => Ok(()),
            Err(Error::LostLease { .. }) => self.begin_again(partition).await,
            Err(error) => {
                warn!(%partition, "waiting for the state store: {}", chain(&error.into()));
                let again = Self::open(&self.engine, partition).await;
                if *again.position() != before {
                    return self.begin_again(partition).await;
                }
                self.writers.insert(partition.clone(), again);
                Ok(())
            }
        }
    }
}
