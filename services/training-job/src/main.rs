//! `training-job`: trains models once, publishes those that pass their gate, and reports what was decided and why.

mod job;
mod report;
mod termination;

use anyhow::Result;
use clap::Parser;
use clap::builder::{OsStringValueParser, TypedValueParser};
use rankwright_assembly::{
    Engine, Service, TERMINATED, chain, complain, configuration, exit_code, flush_log, leave, listen, log_to_stderr,
    print, runtime,
};
use rankwright_serve::server::stop_signal;
use report::{Outcome, Report, Shared};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tracing::{info, warn};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Trains models on the stored click-throughs, and publishes those that pass the quality gate
///
/// Prints a report as JSON. Exit codes: 0, each model was published or its running version kept; 1, something failed;
/// 2, wrong arguments; 3, there is nothing to learn from yet; 75, Redis or the bucket did not answer or
/// refused for now: try again; 143, it was told to stop, and reports what it has done.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    config: Option<PathBuf>,
    /// A model, once or several times; default: all that are trained
    #[arg(short, long)]
    model: Vec<String>,
}

fn main() -> ExitCode {
    rankwright_train::restart_with_patient_threads();
    let options = Options::parse();
    log_to_stderr();
    let report = run(&options).unwrap_or_else(|error| {
        complain(&format!("error: {}", chain(&error)));
        Report::failed(chain(&error), exit_code(&error))
    });
    if !tell(&report) {
        std::thread::sleep(Duration::MAX); // it is about to end
    }
    flush_log();
    ExitCode::from(report.exit_code())
}

/// Prints a report, and leaves it for the supervisor of the container; false where that was done before.
fn tell(report: &Report) -> bool {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if TOLD.swap(true, Ordering::SeqCst) {
        return false;
    }
    if let Err(error) = print(&format!("{}\n", report.to_json())) {
        warn!(error = chain(&error), "the report was not printed");
    }
    if let Some(path) = std::env::var_os("TERMINATION_LOG").filter(|path| !path.is_empty())
        && let Err(error) = std::fs::write(&path, termination::message(report))
    {
        warn!(path = %path.display(), %error, "the report was not written");
    }
    true
}

fn run(options: &Options) -> Result<Report> {
    let config = job::checked(configuration(options.config.as_deref())?)?;
    let names = job::names(&config, &options.model)?;
    let runtime = runtime()?;
    let report = Arc::new(Shared::new(Report::new(rankwright_assembly::service())));
    runtime.spawn(stop(report.clone(), names.clone()));
    let engine = Arc::new(runtime.block_on(Engine::open_to_train(config, names.clone()))?);
    let port = Service { status: vec![("training", report.clone())], ..Service::default() };
    runtime.spawn(show(engine.clone(), port));
    for name in &names {
        let trained = job::train(&engine, name, &report);
        let (version, message) = (trained.version.as_deref().unwrap_or_default(), &trained.message);
        match trained.outcome {
            Outcome::Failed | Outcome::Nothing => warn!(model = name, "{message}"),
            Outcome::Published | Outcome::Kept => info!(model = name, version, "{message}"),
        }
    }
    runtime.block_on(engine.finish_traces());
    Ok(report.whole())
}

/// Ends the job when it is told to: what it has published stays, and is told; the rest is as if it had not begun.
async fn stop(report: Arc<Shared>, names: Vec<String>) {
    stop_signal().await;
    // one that is done with all ends by itself
    if report.stopped(&names).is_some_and(|stopped| tell(&stopped)) {
        leave(TERMINATED);
    }
}

/// Answers on the port while the job runs.
async fn show(engine: Arc<Engine>, service: Service) {
    if let Err(error) = listen(engine, service).await {
        warn!("training goes on without a port: {}", chain(&error));
    }
}
