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

use crate::engine::Engine;
use crate::serving::identity;
use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use leases::Held;
use rankwright_config::state::Pipeline;
use rankwright_config::{SourceConfig, SourceKind, State};
use rankwright_event::RankingId;
use rankwright_ingest::Counters;
use rankwright_serve::clock::believed;
use rankwright_source::{BatchLimits, DeadLetters, Leases, Stream, StreamSettings};
use reader::Reader;
use std::sync::Arc;
use std::time::Duration;

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
/// When the source or a store fails, or another process reads the source meanwhile.
pub fn read_all<'a>(
    engine: Arc<Engine>,
    source: &'a SourceConfig,
    tally: Arc<Tally>,
) -> BoxFuture<'a, Result<(Counters, Vec<RankingId>)>> {
    Box::pin(async move {
        let opened = (open(&engine, source, None)?, letters(source)?);
        Reader::new(engine, identity(), opened, tally, true).read_all().await
    })
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
    let settings = StreamSettings {
        limits: batches(&engine.config.state),
        clock: Arc::new(believed),
        max_ahead,
        gone_after: GONE_AFTER,
    };
    let held = name.map(|name| Held { store: engine.state.clone(), holder: name.to_owned() });
    let leases = held.map(|held| Arc::new(held) as Arc<dyn Leases>);
    let place = || match &source.kind {
        SourceKind::Kafka { topic, .. } | SourceKind::Pulsar { topic, .. } | SourceKind::Kinesis { topic, .. } => {
            format!("failed to read {topic}")
        }
        SourceKind::File { .. } => "source".to_owned(),
    };
    rankwright_source::open(source, settings, leases).with_context(place)
}

/// A topic that was removed may be created again within this time.
const GONE_AFTER: Duration = Duration::from_mins(5);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How much of a stream becomes a batch, which is one commit. What upstream does by default is left to us.
fn batches(state: &State) -> BatchLimits {
    let (ours, default) = (BatchLimits::default(), Pipeline::default());
    let State::Redis(redis) = state else { return ours };
    let Pipeline { max_size, flush_period, enabled } = redis.pipeline;
    if !enabled {
        return BatchLimits { events: 1, ..ours };
    }
    let events = if max_size == default.max_size { ours.events } else { max_size };
    let wait = if flush_period == default.flush_period { ours.wait } else { flush_period.min(LONGEST_WAIT) };
    BatchLimits { events, wait, ..ours }
}

/// About how many events are committed at once, where several partitions have brought some: the state store is busy with
/// them for some ten milliseconds. As many as of one partition, where the configuration says how many these are.
fn together(limits: BatchLimits) -> usize {
    const TOGETHER: usize = 12_288;
    if limits.events == BatchLimits::default().events { TOGETHER } else { limits.events }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pipeline: &str) -> BatchLimits {
        let text = format!(
            "state: {{type: redis, host: localhost, port: 6379, pipeline: {pipeline}}}\nmodels: {{m: {{type: noop}}}}\n"
        );
        batches(&rankwright_config::Config::parse(&text, "test").expect("is a configuration").0.state)
    }

    #[test]
    fn a_pipeline_says_how_large_batches_become() {
        let ours = BatchLimits::default();
        assert_eq!(of("{maxSize: 128, flushPeriod: 1s}"), ours, "upstream's defaults are left to us");
        assert_eq!(of("{maxSize: 50}"), BatchLimits { events: 50, ..ours });
        assert_eq!(of("{flushPeriod: 2s}"), BatchLimits { wait: Duration::from_secs(2), ..ours });
        assert_eq!(of("{flushPeriod: 10d}").wait, LONGEST_WAIT);
        assert_eq!(of("{enabled: false, maxSize: 50}"), BatchLimits { events: 1, ..ours });
    }

    #[test]
    fn a_commit_is_as_large_as_a_batch_where_that_is_configured() {
        assert_eq!(together(of("{maxSize: 50}")), 50);
        assert_eq!(together(of("{enabled: false}")), 1);
        assert_eq!(together(of("{maxSize: 128}")), 12_288);
    }
}
