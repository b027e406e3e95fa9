//! `rank-server`: answers requests over a state and models that it shares with other processes; holds nothing itself.

use anyhow::Result;
use clap::Parser;
use clap::builder::{OsStringValueParser, TypedValueParser};
use rankwright_assembly::{Service, configuration_with_text, exit, listen, log_to_stderr, open_on, runtime};
use rankwright_config::{ClickthroughStore, State};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Answers rank requests with a shared state and the stored models
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
    let (mut config, told) = configuration_with_text(options.config.as_deref())?;
    if !matches!(config.state, State::Redis(_)) {
        anyhow::bail!("state: rank-server shares its state with others: use 'type: redis', or 'rankwright serve'");
    }
    config.train = Some(ClickthroughStore::Discard); // the one who closes rankings keeps them
    let runtime = runtime()?;
    let Some((runtime, engine, begun)) = open_on(runtime, config, Some(false))? else {
        return Ok(()); // told to stop while it waited
    };
    let (engine, begun) = (Arc::new(engine), Some(begun));
    runtime.block_on(listen(engine, Service { ranks: true, feedback: true, begun, told, ..Service::default() }))
}
