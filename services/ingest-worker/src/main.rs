//! `ingest-worker`: closes the rankings of a state that it shares with other processes, and keeps their click-throughs.

use anyhow::Result;
use clap::Parser;
use rankwright_assembly::{Engine, Service, chain, configuration, listen, log_to_stderr, runtime};
use rankwright_config::State;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Closes rankings of a shared state, and brings click-throughs to their store
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
    if config.source.is_some() {
        anyhow::bail!("source: ingest-worker reads no stream in this version: remove it, and send events to /feedback");
    }
    config.models.clear(); // its port tells how it is, and ranks nothing
    let runtime = runtime()?;
    let engine = Arc::new(runtime.block_on(Engine::await_open(config))?);
    runtime.block_on(listen(engine, Service { closes: true, ..Service::default() }))
}
