//! `rankwright`: import, train and serve from one binary, with embedded state.

mod coverage;
mod engine;
mod gauges;
mod generate;
mod import;
mod options;
mod plugins;
mod progress;
mod serve;
mod standalone;
mod train;

use clap::Parser;
use options::{Command, Options};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rankwright_train::restart_with_patient_threads();
    let options = Options::parse();
    progress::log_to_stderr();
    match run(options.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Import(options) => import::run(&options),
        Command::Train(options) => train::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Standalone(options) => standalone::run(&options),
        Command::Generate(options) => {
            let summary = generate::run(&options)?;
            println!("{summary}");
            Ok(())
        }
        Command::Later(words) => Err(options::not_yet(&words)),
    }
}

/// An error and its causes in one line, each cause once.
fn chain(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}
