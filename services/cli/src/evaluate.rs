//! `evaluate`: models, the order as it was shown and a random one, compared on the test split of the click-throughs.

mod html;
mod plot;
pub(crate) mod rankers;
mod table;

use crate::options::{Output, path};
use crate::progress::Progress;
use crate::stop;
use anyhow::{Context, Result, bail};
use rankers::chosen;
use rankwright_assembly::{
    as_owner, complain, configuration, open_clickthroughs, open_versions, print, runtime, served_constants,
};
use rankwright_config::model::{Arm, Split, Weighting};
use rankwright_config::{Config, State, ranking_field};
use rankwright_prepare::{Target, output};
use rankwright_train::evaluate::Report;
use rankwright_train::{Evaluation, Progress as Step};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tokio::runtime::Runtime;
use tracing::info;

/// What an interrupted comparison says.
const INTERRUPTED: &str = "interrupted: there is no report";

/// What is compared, and how it is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    config: Option<PathBuf>,
    /// A model or MODEL@VERSION, once or several times; the first one's split, labels and metrics are used; default: all models that rank
    #[arg(short, long, value_name = "MODEL[@VERSION]")]
    model: Vec<String>,
    /// How to split into train and test, instead of the configuration's split: time=N%, random=N%, hold_last=N%, field=NAME:TRAIN:TEST
    #[arg(short, long)]
    split: Option<String>,
    /// A ranking field: report figures for each of its values too
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,
    /// Ranking field that names the ranker, or FIELD=VALUE of lists in random order: tells how often visitors look at each position
    #[arg(long, value_name = "FIELD[=VALUE]")]
    arm: Option<String>,
    /// Ranking field, such as a query: positions of an item are compared only within one of its values
    #[arg(long, value_name = "FIELD")]
    context: Option<String>,
    /// Number of random draws of visitors that intervals are computed from
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(100..=100_000))]
    resamples: u64,
    /// Seed of these draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many of each model's worst lists to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    worst: u64,
    /// What is printed: tables, or JSON
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Write an HTML page with plots, which needs no network, to this file
    #[arg(long, value_name = "FILE", value_parser = path())]
    html: Option<PathBuf>,
}

/// Compares, and prints what that comes to.
pub(crate) fn run(options: &Options) -> Result<()> {
    let target = options.html.as_deref().map(|html| page_target(html, options.config.as_deref())).transpose()?;
    let config = configuration(options.config.as_deref())?;
    if matches!(config.state, State::Memory) {
        bail!("state is memory: models end with the process that trained them; use 'state: {{type: file, path: ...}}'");
    }
    as_owner(&config)?;
    let runtime = runtime()?; // stores that wait for a network do so on its threads
    let comparing = stop::at_once(&runtime, INTERRUPTED);
    let report = compared(&config, options, &runtime)?;
    if let Some(target) = &target {
        let page = html::page(&report);
        let stop = stop::told(&runtime); // from now on there is something to be removed
        drop(comparing);
        let stopped = || stop.load(Ordering::Relaxed);
        let written = output::write(target, &stopped, |to| to.write_all(page.as_bytes()));
        if !written.with_context(|| format!("--html: cannot write {}", target.name()))? {
            bail!("{INTERRUPTED}");
        }
        info!(path = target.name(), "wrote the report");
    }
    print(&match options.output {
        Output::Table => table::of(&report),
        Output::Json => format!("{:#}\n", serde_json::to_value(&report).context("a report is JSON")?),
    })
}

/// Where the page goes: not in place of the configuration.
fn page_target(html: &Path, config: Option<&Path>) -> Result<Target> {
    let target = Target::new(html).context("--html")?;
    if let (Target::File(page), Some(config)) = (&target, config)
        && config.canonicalize().is_ok_and(|config| config == *page)
    {
        bail!("--html: {} is the configuration: name another file", target.name());
    }
    Ok(target)
}

fn compared(config: &Config, options: &Options, runtime: &Runtime) -> Result<Report> {
    let arm = options.arm.as_deref().map(str::parse::<Arm>).transpose().context("--arm")?;
    let split = options.split.as_deref().map(str::parse::<Split>).transpose().context("--split")?;
    let context = options.context.as_deref().map(|field| ranking_field(field).to_owned());
    let _inside = runtime.enter();
    let chosen = chosen(config, &*open_versions(config)?, &options.model)?;
    chosen.left_out.iter().for_each(|left_out| complain(left_out));
    let store = open_clickthroughs(config)?;
    let mut definition = chosen.definition.clone();
    definition.split = split.unwrap_or(definition.split);
    let evaluation = Evaluation {
        model: &chosen.model,
        config: &definition,
        rankers: &chosen.rankers,
        served: &served_constants(config),
        by: options.by.as_deref().map(ranking_field),
        weighting: &Weighting { arm, context },
        resamples: options.resamples as usize,
        seed: options.seed,
        worst: options.worst as usize,
    };
    let mut progress = Progress::new("evaluate", 0);
    let report = evaluation.run(&*store, &mut |step| {
        if let Step::Reading { rankings } = step {
            progress.at(0, rankings, "rankings read");
        }
    });
    progress.end();
    let mut report = report?;
    report.notes.extend(chosen.notes);
    Ok(report)
}
