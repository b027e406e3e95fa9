//! `serve`: answers requests over the state and the models there are.

use crate::options::ServeOptions;
use crate::trainer::Trainer;
use anyhow::Result;
use rankwright_assembly::{Engine, Service, configuration, listen, runtime};
use rankwright_config::SourceKind;
use std::sync::Arc;
use tracing::info;

/// Serves until told to stop.
pub(crate) fn run(options: &ServeOptions) -> Result<()> {
    let config = configuration(options.config.as_deref())?;
    match config.source.as_ref().map(|source| &source.kind) {
        None => {}
        Some(SourceKind::File { .. }) => info!("source: files are read by 'import'; 'serve' takes events at /feedback"),
        Some(_) => anyhow::bail!(
            "source: 'serve' does not read a stream in this version: run 'ingest-worker' beside it over a shared state"
        ),
    }
    let runtime = runtime()?;
    let engine = Arc::new(runtime.block_on(Engine::open(config))?);
    runtime.block_on(listen(engine.clone(), service(engine)))
}

/// All that this program can do.
pub(crate) fn service(engine: Arc<Engine>) -> Service {
    Service { training: Some(Arc::new(Trainer::new(engine))), closes: true }
}
