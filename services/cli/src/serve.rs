//! `serve`: answers requests over the state and the models there are.

use crate::engine::{Engine, configuration};
use crate::gauges::Gauges;
use crate::options::ServeOptions;
use crate::plugins::{Inlet, Trainer};
use anyhow::{Context, Result};
use prometheus::Registry;
use rankwright_config::SourceKind;
use rankwright_serve::{App, Published, server};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tracing::{info, warn};

/// Time goes on once a second.
const TICK: Duration = Duration::from_secs(1);

/// Serves until told to stop.
pub(crate) fn run(options: &ServeOptions) -> Result<()> {
    let config = configuration(options.config.as_deref())?;
    match config.source.as_ref().map(|source| &source.kind) {
        None => {}
        Some(SourceKind::File { .. }) => info!("source: files are read by 'import'; 'serve' takes events at /feedback"),
        Some(_) => anyhow::bail!(
            "source: 'serve' does not read a stream in this version: remove it, or send events to /feedback"
        ),
    }
    let runtime = runtime()?;
    let engine = runtime.block_on(Engine::open(config))?;
    runtime.block_on(listen(Arc::new(engine)))
}

/// A thread for each core: they wait for connections, requests and answers, and compute requests of usual size.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Opens the port of an engine, and serves until told to stop.
pub(crate) async fn listen(engine: Arc<Engine>) -> Result<()> {
    let registry = Registry::new();
    let inlet = Arc::new(Inlet::open(engine.clone(), Gauges::registered(&registry)?).await?);
    let loader = Arc::new(Published::new(&engine.config.features, engine.state.clone(), engine.versions.clone()));
    let app = App::builder(&engine.config, engine.state.clone(), loader)
        .registry(registry)
        .feedback(inlet.clone())
        .training(Arc::new(Trainer::new(engine.clone())))
        .status("ingest", inlet.clone())
        .build()?;
    app.prepare().await;
    let (host, port) = (engine.config.api.host.as_str(), engine.config.api.port);
    let listener = TcpListener::bind((host, port)).await;
    let listener = listener.with_context(|| format!("failed to listen on {host}:{port}"))?;
    info!(address = %listener.local_addr()?, "serving");
    let ticking = tokio::spawn(tick(inlet.clone()));
    let served = rankwright_serve::run(app, listener, server::stop_signal()).await;
    ticking.abort();
    inlet.close().await;
    if let Err(error) = &served {
        warn!(%error, "stopped serving");
    }
    info!("stopped");
    Ok(served?)
}

async fn tick(inlet: Arc<Inlet>) {
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        inlet.tick().await;
    }
}
