//! The loop of a stream: what its partitions hold comes into the state, and their positions move with the effects.
//!
//! The stream's own memory of positions is not used. A partition begins where the last commit of it ended, be it by another
//! process.

mod leases;
mod reader;
mod sweep;
mod tally;
mod writer;

pub use tally::Tally;

use crate::engine::{Engine, now};
use crate::serving::identity;
use anyhow::{Context, Result, bail};
use leases::Held;
use rankwright_config::{SourceConfig, SourceKind};
use rankwright_ingest::Counters;
use rankwright_source::{BatchLimits, DeadLetters, Kafka, Kinesis, Pulsar, Stream, StreamSettings};
use reader::Reader;
use std::sync::Arc;

/// Reads a source until it is lost for good, or told to `stop`.
///
/// # Errors
/// With the reason why the source cannot be read any further.
pub(crate) async fn follow(
    engine: Arc<Engine>,
    source: &SourceConfig,
    tally: Arc<Tally>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let name = identity();
    let opened = (open(&engine, source, Some(&name))?, letters(source)?);
    Reader::new(engine, name, opened, tally, false).follow(stop).await
}

/// Reads what a source holds at this time, and closes what no more events will come for.
///
/// # Errors
/// When the source or a store fails, or somebody else reads the source meanwhile.
pub async fn read_all(engine: Arc<Engine>, source: &SourceConfig, tally: Arc<Tally>) -> Result<Counters> {
    let opened = (open(&engine, source, None)?, letters(source)?);
    Reader::new(engine, identity(), opened, tally, true).read_all().await
}

/// Whether a source is a stream, which is followed.
pub fn is_stream(source: &SourceConfig) -> bool {
    !matches!(source.kind, SourceKind::File { .. })
}

fn letters(source: &SourceConfig) -> Result<DeadLetters> {
    DeadLetters::open(source).context("source.deadLetter")
}

/// Opens a stream: as it goes on, shared by process `name` with others, or what there is of it now.
fn open(engine: &Engine, source: &SourceConfig, name: Option<&str>) -> Result<Box<dyn Stream>> {
    let max_ahead = engine.config.core.ingest.max_ahead;
    let settings = StreamSettings { limits: BatchLimits::default(), clock: Arc::new(now), max_ahead };
    let held = name.map(|name| Arc::new(Held { store: engine.state.clone(), holder: name.to_owned() }));
    let (opened, what): (Result<Box<dyn Stream>, _>, _) = match &source.kind {
        SourceKind::Kafka { topic, .. } if held.is_some() => (Kafka::open(source, settings).map(boxed), topic),
        SourceKind::Kafka { topic, .. } => (Kafka::bounded(source, settings).map(boxed), topic),
        SourceKind::Pulsar { topic, .. } if held.is_some() => (Pulsar::open(source, settings).map(boxed), topic),
        SourceKind::Pulsar { topic, .. } => (Pulsar::bounded(source, settings).map(boxed), topic),
        SourceKind::Kinesis { topic, .. } => match held {
            Some(leases) => (Kinesis::open(source, settings, leases).map(boxed), topic),
            None => (Kinesis::bounded(source, settings).map(boxed), topic),
        },
        SourceKind::File { .. } => bail!("source: files are no stream; 'rankwright import' reads them"),
    };
    opened.with_context(|| format!("failed to read {what}"))
}

fn boxed(stream: impl Stream + 'static) -> Box<dyn Stream> {
    Box::new(stream)
}
