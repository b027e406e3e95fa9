//! The loop of a stream: a writer for each partition, whose position moves with the effects of its events.
//!
//! The stream's own memory of positions is not used. A partition begins where its writer's last commit ended, and whoever
//! becomes its writer raises its epoch: what an earlier one still has under way is refused.

use anyhow::{Context, Result, bail};
use rankwright_assembly::{Engine, chain, now};
use rankwright_config::{SourceConfig, SourceKind};
use rankwright_ingest::Error;
use rankwright_ingest::shared::{Intake, Origin, expect};
use rankwright_source::{Batch, BatchLimits, Kafka, KafkaSettings, Merged, Partition, Step, Stream};
use rankwright_state::Position;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, error, info, warn};

/// So many batches wait for slower partitions at most.
const HELD: usize = 64;
/// Between two attempts to reach a state store that does not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// So many messages that cannot be read are warned of; the rest is for those who ask.
const SHOWN: u64 = 100;

/// Reads a source as a member of its group until it is lost for good.
///
/// # Errors
/// With the reason why the source cannot be read any further.
pub async fn follow(engine: Arc<Engine>, source: &SourceConfig) -> Result<()> {
    let SourceKind::Kafka { topic, .. } = &source.kind else { bail!("source: only kafka is followed as a stream") };
    let settings = KafkaSettings {
        limits: BatchLimits::default(),
        clock: Arc::new(now),
        max_ahead: engine.config.core.ingest.max_ahead,
    };
    let stream = Kafka::open(source, settings).with_context(|| format!("failed to read the topic {topic}"))?;
    let (merged, writers) = (Merged::new(HELD), BTreeMap::new());
    let mut reader = Reader { engine, stream: Box::new(stream), merged, writers, bad: 0 };
    let lost = reader.run().await;
    reader.stream.close().await;
    lost
}

struct Reader {
    engine: Arc<Engine>,
    stream: Box<dyn Stream>,
    merged: Merged,
    writers: BTreeMap<Partition, Intake>,
    bad: u64,
}

impl Reader {
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
                Step::Ended => return Ok(()),
            }
            self.drain().await?;
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
        let mut intake = self.open(&partition).await;
        let known = intake.position().clone();
        let from = match known.0.is_empty() {
            true => None,
            false => Some(serde_json::from_str(&known.0).with_context(|| format!("the position of {partition}"))?),
        };
        let position = self.stream.start(&partition, from).await?;
        info!(%partition, offset = position.line, "reading");
        let to = Position(serde_json::to_string(&position)?);
        // a partition without events begins at the same place the next time
        while let Err(error) = intake.apply(&[], &[], to.clone(), now()).await {
            warn!(%partition, "waiting for the state store: {}", chain(&error.into()));
            tokio::time::sleep(PAUSE).await;
            intake = self.open(&partition).await;
        }
        self.merged.assign(partition.clone());
        self.writers.insert(partition, intake);
        Ok(())
    }

    /// Becomes the writer of a partition; waits for a store that is away.
    async fn open(&self, partition: &Partition) -> Intake {
        loop {
            let engine = &*self.engine;
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
        for bad in &batch.bad {
            self.bad += 1;
            match self.bad {
                1..=SHOWN => warn!("skipped {bad}"),
                _ => debug!("skipped {bad}"),
            }
        }
        let to = Position(serde_json::to_string(&batch.position)?);
        loop {
            let Some(intake) = self.writers.get_mut(partition) else { return Ok(()) }; // somebody else's by now
            let before = intake.position().clone();
            match intake.apply(&batch.events, &[], to.clone(), now()).await {
                Ok(_) => {
                    self.stream.note(partition, &batch.position);
                    return Ok(());
                }
                Err(Error::LostLease { .. }) => return self.begin_again(partition).await,
                Err(error) => error!(%partition, "waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
            let again = self.open(partition).await;
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
                let again = self.open(partition).await;
                if *again.position() != before {
                    return self.begin_again(partition).await;
                }
                self.writers.insert(partition.clone(), again);
                Ok(())
            }
        }
    }
}
