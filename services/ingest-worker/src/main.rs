//! `ingest-worker`: brings a stream's events into a state that it shares with other processes, closes rankings and keeps
//! their click-throughs.

use anyhow::Result;
use clap::Parser;
use clap::builder::{OsStringValueParser, TypedValueParser};
use rankwright_assembly::{Service, configuration, exit, is_stream, listen, log_to_stderr, open_on, runtime};
use rankwright_config::State;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Reads a stream into a shared state, closes rankings, and writes click-throughs to their store
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    config: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    log_to_stderr();
    exit(run(&options))
}

fn run(options: &Options) -> Result<()> {
    let config = configuration(options.config.as_deref())?;
    if !matches!(config.state, State::Redis(_)) {
        anyhow::bail!("state: ingest-worker shares its state with others: use 'type: redis', or 'rankwright serve'");
    }
    let follows = config.source.clone();
    if follows.as_ref().is_some_and(|source| !is_stream(source)) {
        anyhow::bail!("source: files are read by 'rankwright import'; ingest-worker reads streams");
    }
    let runtime = runtime()?;
    let Some((runtime, engine, begun)) = open_on(runtime, config, None)? else {
        return Ok(()); // told to stop while it waited
    };
    let (engine, begun) = (Arc::new(engine), Some(begun));
    // without a source it closes the rankings that `/feedback` opened
    runtime.block_on(listen(engine, Service { feedback: true, closes: true, follows, begun, ..Service::default() }))
}
