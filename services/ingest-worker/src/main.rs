//! `ingest-worker`: brings a stream's events into a state that it shares with other processes, closes rankings and keeps
//! their click-throughs.

use anyhow::Result;
use clap::Parser;
use rankwright_assembly::{Engine, Service, chain, configuration, listen, log_to_stderr, runtime};
use rankwright_config::{SourceConfig, SourceKind, State};
use rankwright_ingest_worker::follow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Reads a stream into a shared state, closes rankings, and brings click-throughs to their store
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG")]
    config: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    log_to_stderr();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let mut config = configuration(options.config.as_deref())?;
    if !matches!(config.state, State::Redis(_)) {
        anyhow::bail!("state: ingest-worker shares its state with others: use 'type: redis', or 'rankwright serve'");
    }
    let source = config.source.clone();
    if let Some(SourceKind::File { .. }) = source.as_ref().map(|source| &source.kind) {
        anyhow::bail!("source: files are read by 'rankwright import'; ingest-worker reads streams");
    }
    config.models.clear(); // its port tells how it is, and ranks nothing
    let runtime = runtime()?;
    let engine = Arc::new(runtime.block_on(Engine::await_open(config))?);
    runtime.block_on(work(engine, source))
}

/// Reads the source beside the port, and closes rankings; without a source, those that `/feedback` opened.
async fn work(engine: Arc<Engine>, source: Option<SourceConfig>) -> Result<()> {
    let serving = listen(engine.clone(), Service { closes: true, ..Service::default() });
    let Some(source) = source else { return serving.await };
    tokio::select! {
        served = serving => served,
        lost = follow(engine, &source) => lost.and_then(|()| anyhow::bail!("the source has ended")),
    }
}
