//! The HTTP interface over an engine.

use crate::engine::Engine;
use crate::gauges::Gauges;
use crate::inlet::Inlet;
use anyhow::{Context, Result};
use prometheus::Registry;
use rankwright_serve::{App, Published, Training, server};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tracing::{info, warn};

/// Time goes on once a second.
const TICK: Duration = Duration::from_secs(1);

/// What a program offers beside answers.
#[derive(Default)]
pub struct Service {
    /// Trains models on request.
    pub training: Option<Arc<dyn Training>>,
    /// Closes the rankings of a shared state.
    pub closes: bool,
}

/// Who this process is among those that share a state: the machine's name, and something that no other process has.
pub fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "process".to_owned());
    format!("{host}-{:08x}", fastrand::u32(..))
}

/// Opens the port of an engine, and serves until told to stop.
///
/// # Errors
/// When the port cannot be opened, or a state of this process cannot be read.
pub async fn listen(engine: Arc<Engine>, service: Service) -> Result<()> {
    let registry = Registry::new();
    let inlet = Arc::new(Inlet::open(engine.clone(), service.closes, Gauges::registered(&registry)?).await?);
    let loader = Arc::new(Published::new(&engine.config.features, engine.state.clone(), engine.versions.clone()));
    let mut app = App::builder(&engine.config, engine.state.clone(), loader)
        .registry(registry)
        .feedback(inlet.clone())
        .training_command("rankwright train --config CONFIG --model MODEL")
        .status("ingest", inlet.clone());
    if let Some(training) = service.training {
        app = app.training(training);
    }
    let app = app.build()?;
    let (host, port) = (engine.config.api.host.as_str(), engine.config.api.port);
    app.prepare().await;
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
