//! How open rankings lie in a state of one process: for its only writer, or for several.
//!
//! A configuration decides it by naming a stream as source. Where it says something else than the last time, also another
//! stream, what is open from then closes first, as at the end of an import: nothing is lost, the two forms never mix, and
//! no closer waits for partitions of the previous stream.

use crate::engine::Engine;
use anyhow::{Context, Result};
use rankwright_config::{SourceConfig, SourceKind};
use rankwright_ingest::shared::{Closer, Taken};
use rankwright_serve::clock::now;
use rankwright_state::{Commit, Lease, Position, Space, Store, Writer};

/// Keeps as its position what was said the last time.
pub(crate) const WRITER: &str = "form of joins";
const ONE: &str = "one writer";
const MANY: &str = "many writers";

/// Closes what is open in the other form.
pub(crate) async fn settle(engine: &Engine) -> Result<()> {
    if engine.state.shared() || !engine.state.durable() {
        return Ok(());
    }
    let lease = engine.state.acquire(&Writer(WRITER.to_owned())).await?;
    let stream = engine.config.source.as_ref().and_then(name_of);
    let wanted = stream.map_or(ONE.to_owned(), |stream| format!("{MANY} of {stream}"));
    let before = if lease.position.0.is_empty() { ONE } else { lease.position.0.as_str() };
    if before != wanted {
        let closed =
            if before.starts_with(MANY) { close_of_many(engine, &lease).await } else { close_of_one(engine).await };
        closed.context("failed to close the rankings that are open from before the source changed")?;
        let (from, to) = (lease.position.clone(), Position(wanted));
        engine.state.commit(&lease, Commit { from, to, ..Commit::default() }).await?;
    }
    Ok(())
}

/// Whether what is open lies there as several writers leave it.
pub(crate) async fn are_of_many(state: &dyn Store) -> Result<bool> {
    if state.shared() {
        return Ok(true);
    }
    let positions = state.positions(&[Writer(WRITER.to_owned())]).await?;
    Ok(positions.iter().flatten().any(|position| position.0.starts_with(MANY)))
}

/// What partitions of a stream are called after; `None` for files.
fn name_of(source: &SourceConfig) -> Option<String> {
    match &source.kind {
        SourceKind::File { .. } => None,
        SourceKind::Kafka { topic, .. } => Some(format!("kafka:{topic}")),
        SourceKind::Pulsar { topic, .. } => Some(format!("pulsar:{topic}")),
        SourceKind::Kinesis { region, topic, .. } => Some(format!("kinesis:{region}/{topic}")),
    }
}

async fn close_of_one(engine: &Engine) -> Result<()> {
    Ok(engine.ingest("feedback").await?.finish().await?)
}

/// Closers no longer wait for partitions.
async fn close_of_many(engine: &Engine, lease: &Lease) -> Result<()> {
    let watermarks = engine.state.scan(Space::Watermarks).await?;
    let writes = watermarks.into_iter().map(|(key, _)| (key, None)).collect();
    let (from, to) = (lease.position.clone(), lease.position.clone());
    engine.state.commit(lease, Commit { from, to, writes, ..Commit::default() }).await?;
    let (plan, state, parts) = (engine.plan.clone(), engine.state.clone(), engine.clickthroughs.clone());
    let mut none = Taken::default();
    let closer = Closer::open(WRITER, &mut none, plan, state, parts, engine.settings());
    Ok(closer.await?.finish(now()).await?)
}
