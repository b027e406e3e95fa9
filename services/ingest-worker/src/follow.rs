//! The loop of a stream: a writer for each partition, whose position moves with the effects of its events.
//!
//! The stream's own memory of positions is not used. A partition begins where its writer's last commit ended, and whoever
//! becomes its writer raises its epoch: what an earlier one still has under way is refused.

use crate::leases::Held;
use crate::writer::{PAUSE, Writer};
use anyhow::{Context, Result, bail};
use rankwright_assembly::{Engine, chain, identity, now};
use rankwright_config::{SourceConfig, SourceKind};
use rankwright_event::Timestamp;
use rankwright_ingest::Error;
use rankwright_ingest::shared::expect;
use rankwright_source::{Batch, BatchLimits, Kafka, Kinesis, Merged, Partition, Pulsar, Step, Stream, StreamSettings};
use rankwright_state::Position;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::{debug, error, info, warn};

/// So many batches wait for slower partitions at most.
const HELD: usize = 64;
/// So many messages that cannot be read are warned of; the rest is for those who ask.
const SHOWN: u64 = 100;
/// How far a partition has come of which nothing is left: as far as times reach that are accepted.
const NEVER: Timestamp = Timestamp::from_millis(253_402_300_799_999);

/// Reads a source, together with others, until it is lost for good.
///
/// # Errors
/// With the reason why the source cannot be read any further.
pub async fn follow(engine: Arc<Engine>, source: &SourceConfig) -> Result<()> {
    let name = identity();
    let stream = open(&engine, source, &name)?;
    let (merged, writers) = (Merged::new(HELD), BTreeMap::new());
    let mut reader = Reader { engine, name, stream, merged, writers, bad: 0 };
    let lost = reader.run().await;
    reader.stream.close().await;
    lost
}

/// Opens a stream, which process `name` shares with others.
fn open(engine: &Engine, source: &SourceConfig, name: &str) -> Result<Box<dyn Stream>> {
    let max_ahead = engine.config.core.ingest.max_ahead;
    let settings = StreamSettings { limits: BatchLimits::default(), clock: Arc::new(now), max_ahead };
    Ok(match &source.kind {
        SourceKind::Kafka { topic, .. } => {
            Box::new(Kafka::open(source, settings).with_context(|| format!("failed to read the topic {topic}"))?)
        }
        SourceKind::Pulsar { topic, .. } => {
            Box::new(Pulsar::open(source, settings).with_context(|| format!("failed to read the topic {topic}"))?)
        }
        SourceKind::Kinesis { topic, .. } => {
            let leases = Arc::new(Held { store: engine.state.clone(), holder: name.to_owned() });
            let opened = Kinesis::open(source, settings, leases);
            Box::new(opened.with_context(|| format!("failed to read the stream {topic}"))?)
        }
        SourceKind::File { .. } => bail!("source: files are no stream; 'rankwright import' reads them"),
    })
}

struct Reader {
    engine: Arc<Engine>,
    /// This process among the others.
    name: String,
    stream: Box<dyn Stream>,
    merged: Merged,
    writers: BTreeMap<Partition, Writer>,
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
                Step::Finished(partition) => self.finish(&partition).await?,
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
        let mut writer = self.open(&partition).await;
        let known = writer.position();
        let from = match known.0.is_empty() {
            true => None,
            false => Some(serde_json::from_str(&known.0).with_context(|| format!("the position of {partition}"))?),
        };
        let position = self.stream.start(&partition, from).await?;
        info!(%partition, %position, "reading");
        let to = Position(serde_json::to_string(&position)?);
        // a partition without events begins at the same place the next time
        while let Err(error) = writer.apply(&[], to.clone()).await {
            warn!(%partition, "waiting for the state store: {}", chain(&error.into()));
            tokio::time::sleep(PAUSE).await;
            writer = self.open(&partition).await;
        }
        self.merged.assign(partition.clone());
        self.writers.insert(partition, writer);
        Ok(())
    }

    /// Becomes the writer of a partition; waits for a store that is away.
    async fn open(&self, partition: &Partition) -> Writer {
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
        for bad in &batch.bad {
            self.bad += 1;
            match self.bad {
                1..=SHOWN => warn!("skipped {bad}"),
                _ => debug!("skipped {bad}"),
            }
        }
        let to = Position(serde_json::to_string(&batch.position)?);
        loop {
            let Some(writer) = self.writers.get_mut(partition) else { return Ok(()) }; // somebody else's by now
            let before = writer.position();
            match writer.apply(&batch.events, to.clone()).await {
                Ok(()) => {
                    self.stream.note(partition, &batch.position);
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

    /// Somebody else was its writer meanwhile: what is held of it may be there already. Where it is no longer ours, the stream
    /// says so with its next step.
    async fn begin_again(&mut self, partition: &Partition) -> Result<()> {
        warn!(%partition, "another process has read this partition");
        self.writers.remove(partition);
        self.merged.revoke(partition);
        tokio::time::sleep(PAUSE).await;
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
