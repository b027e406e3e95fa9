//! `rankwright`: import, train and serve from one binary.

mod analytics;
mod autofeature;
mod evaluate;
mod evaluator;
mod export;
mod forget;
mod generate;
mod import;
mod models;
mod options;
mod order;
mod progress;
mod purge;
mod rank;
mod serve;
mod skipped;
mod sort;
mod standalone;
mod status;
mod stop;
mod termfreq;
mod told;
mod train;
mod trainer;
mod validate;

use clap::Parser;
use options::{Command, Options};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rankwright_train::restart_with_patient_threads();
    let options = Options::parse();
    rankwright_assembly::log_to(progress::Log);
    rankwright_assembly::exit(run(options.command))
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Import(options) if options.print_analytics => {
            analytics::print("import", options.source.config.as_deref())
        }
        Command::Train(options) if options.print_analytics => analytics::print("train", options.config.as_deref()),
        Command::Serve(options) if options.print_analytics => analytics::print("serve", options.config.as_deref()),
        Command::Standalone(options) if options.print_analytics => {
            analytics::print("standalone", options.source.config.as_deref())
        }
        Command::Import(options) => import::run(&options),
        Command::Train(options) => train::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Standalone(options) => standalone::run(&options),
        Command::Rank(options) => rankwright_assembly::print(&rank::run(&options)?),
        Command::Models(options) => rankwright_assembly::print(&models::run(&options)?),
        Command::Evaluate(options) => evaluate::run(&options),
        Command::Purge(options) => rankwright_assembly::print(&purge::run(&options)?),
        Command::Forget(options) => rankwright_assembly::print(&forget::run(&options)?),
        Command::Status(options) => status::run(&options),
        Command::Generate(options) => {
            let runtime = rankwright_assembly::runtime()?;
            let summary = generate::run(&options, &stop::told(&runtime))?;
            rankwright_assembly::print(&format!("{summary}\n"))
        }
        Command::Termfreq(options) => rankwright_assembly::print(&termfreq::run(&options)?),
        Command::Validate(options) => validate::run(&options),
        Command::Sort(options) => sort::run(&options),
        Command::Export(options) => rankwright_assembly::print(&export::run(&options)?),
        Command::Autofeature(options) => autofeature::run(&options),
        Command::Schema => rankwright_assembly::print(&format!("{:#}\n", rankwright_config::schema::document())),
        Command::Later(words) => Err(options::not_yet(&words)),
    }
}
