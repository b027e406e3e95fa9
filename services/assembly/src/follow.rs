//! The loop of a stream: what its partitions hold comes into the state, and their positions move with the effects.
//!
//! The stream's own memory of positions is not used. A partition begins where the last commit of it ended, be it by another
//! process.

mod reader;
mod tally;

pub use tally::Tally;

use crate::engine::{Engine, now};
use anyhow::{Context, Result, bail};
use rankwright_config::{SourceConfig, SourceKind};
use rankwright_ingest::Counters;
use rankwright_source::{BatchLimits, DeadLetters, Kafka, KafkaSettings, Stream};
use reader::Reader;
use std::sync::Arc;

/// Reads a source until it is lost for good.
///
/// # Errors
/// With the reason why the source cannot be read any further.
pub(crate) async fn follow(engine: Arc<Engine>, source: &SourceConfig, tally: Arc<Tally>) -> Result<()> {
    let (stream, letters) = open(&engine, source, false)?;
    Reader::new(engine, stream, letters, tally, false).follow().await.map(|_| ())
}

/// Reads what a source holds at this time, and closes what no more events will come for.
///
/// # Errors
/// When the source or a store fails, or somebody else reads the source meanwhile.
pub async fn read_all(engine: Arc<Engine>, source: &SourceConfig, tally: Arc<Tally>) -> Result<Counters> {
    let (stream, letters) = open(&engine, source, true)?;
    Reader::new(engine, stream, letters, tally, true).read_all().await
}

/// Whether a source is a stream, which is followed.
pub fn is_stream(source: &SourceConfig) -> bool {
    !matches!(source.kind, SourceKind::File { .. })
}

fn open(engine: &Engine, source: &SourceConfig, bounded: bool) -> Result<(Box<dyn Stream>, DeadLetters)> {
    let letters = DeadLetters::open(source).context("source.deadLetter")?;
    let (limits, clock) = (BatchLimits::default(), Arc::new(now));
    let settings = KafkaSettings { limits, clock, max_ahead: engine.config.core.ingest.max_ahead };
    let stream: Box<dyn Stream> = match &source.kind {
        SourceKind::Kafka { topic, .. } => {
            let opened = if bounded { Kafka::bounded(source, settings) } else { Kafka::open(source, settings) };
            Box::new(opened.with_context(|| format!("failed to read the topic {topic}"))?)
        }
        _ => bail!("source: only kafka is followed as a stream"),
    };
    Ok((stream, letters))
}
