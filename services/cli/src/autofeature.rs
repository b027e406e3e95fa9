//! `autofeature`: a configuration proposed for events.

use crate::import::files;
use crate::options::{SourceOptions, past};
use crate::progress::Progress;
use crate::skipped::Skipped;
use crate::{stop, validate};
use anyhow::{Context, Result, anyhow, bail};
use clap::ArgAction;
use rankwright_assembly::{now, print, runtime};
use rankwright_config::Config;
use rankwright_prepare::propose::{self, Proposal, Proposer, Ruleset};
use rankwright_prepare::{Target, output, shell};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tokio::runtime::Runtime;
use tracing::{info, warn};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// File or folder with events
    #[arg(short, long)]
    data: PathBuf,
    /// How events are written: json, snowplow, snowplow:tsv, snowplow:json; default: json
    #[arg(short, long)]
    format: Option<String>,
    /// First event that is read: earliest, ts=<unixtime>, last=<duration>; default: earliest
    #[arg(short, long)]
    offset: Option<String>,
    /// Order in which the files of a folder are read: name, time, last-modified; default: name
    #[arg(short, long)]
    sort_files_by: Option<String>,
    /// Check the events with the proposed configuration, as 'validate' does; when a check fails, nothing is written
    #[arg(short, long, default_value_t = false, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    validation: bool,
    /// File for the configuration; - is standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// A text becomes a category if at least this share of the events with its field have it, and at least two events: over 0, up to 1
    #[arg(short, long, value_name = "PART", default_value_t = 0.003, value_parser = part)]
    cat_threshold: f64,
    /// Which features: stable (those that usually help), all (every feature that the events have data for)
    #[arg(short, long, default_value = "stable", value_parser = ruleset)]
    ruleset: Ruleset,
    /// Stop at the first event that cannot be read
    #[arg(long)]
    strict: bool,
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.parse::<f64>().ok().filter(|part| *part > 0.0 && *part <= 1.0);
    part.ok_or_else(|| "expected a number over 0, up to 1".to_owned())
}

fn ruleset(text: &str) -> Result<Ruleset, String> {
    text.parse().map_err(|error: propose::UnknownRuleset| error.to_string())
}

/// Writes the configuration, and says what is in it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let target = Target::of(&options.out, &options.data).context("--out")?;
    past(options.offset.as_deref())?;
    let runtime = runtime()?;
    let stop = stop::told(&runtime);
    let proposal = proposal(options, &target, &runtime, &stop)?;
    let (config, warnings) = Config::parse(&proposal.text, "the proposed configuration")
        .map_err(|errors| anyhow!("the proposed configuration does not load: {errors}"))?;
    warnings.iter().for_each(|warning| warn!("{warning}"));
    if options.validation {
        validate::check(&config, &source(options), &proposal.unwanted, &runtime, &stop)
            .context("no configuration was written")?;
    }
    write(&target, &proposal.text, &stop).with_context(|| format!("cannot write {}", target.name()))?;
    let (features, models) = (proposal.features, proposal.models.join(", "));
    info!(features, models, left_out = proposal.left_out.len(), out = target.name(), "proposed");
    match target {
        Target::File(path) => print(&format!("{}\n", path.display())),
        Target::Stdout | Target::Direct(_) => Ok(()),
    }
}

fn source(options: &Options) -> SourceOptions {
    SourceOptions {
        config: None,
        data: Some(options.data.clone()),
        format: options.format.clone(),
        offset: options.offset.clone(),
        sort_files_by: options.sort_files_by.clone(),
    }
}

/// Options by which other commands read the same events.
fn words<'o>(options: &'o Options, path: &'o str) -> Vec<&'o str> {
    let more =
        [("--format", &options.format), ("--offset", &options.offset), ("--sort-files-by", &options.sort_files_by)];
    let given = more.into_iter().filter_map(|(name, value)| Some([name, value.as_deref()?]));
    ["--data", path].into_iter().chain(given.flatten()).collect()
}

/// Reads all events.
fn proposal(options: &Options, target: &Target, runtime: &Runtime, stop: &AtomicBool) -> Result<Proposal> {
    let no_config = Config::default();
    let (path, files, _fetched) = files(&no_config, &source(options), runtime)?;
    let files = files.until(now().plus(no_config.core.ingest.max_ahead)); // as an import does
    let mut proposer = Proposer::new(propose::Options {
        ruleset: options.ruleset,
        threshold: options.cat_threshold,
        data: path.display().to_string(),
        events: shell::words(words(options, &path.to_string_lossy())),
        config: named(target, &options.out),
    });
    let (mut skipped, mut too_old) = (Skipped::new(options.strict), 0);
    let mut progress = Progress::new("autofeature", files.bytes());
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get() - 1).max(1);
    let outcome = files.read_parallel(None, threads, |batch| {
        if stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(anyhow!("interrupted: nothing is written"));
        }
        if let Err(error) = batch.bad.iter().try_for_each(|bad| skipped.see(bad)) {
            return ControlFlow::Break(error);
        }
        batch.events.iter().for_each(|event| proposer.see(event));
        too_old += batch.before_offset;
        progress.at(batch.progress.read, proposer.events(), "events");
        ControlFlow::Continue(())
    });
    let elapsed_ms = u64::try_from(progress.elapsed().as_millis()).unwrap_or(u64::MAX);
    progress.end();
    if let ControlFlow::Break(error) = outcome? {
        return Err(error);
    }
    if let Some(file) = skipped.damaged().first() {
        bail!("{file} is damaged or was cut short: no configuration is written");
    }
    let events = proposer.events();
    if events == 0 {
        bail!("{} holds no events{}", path.display(), skipped.instead(0, too_old));
    }
    info!(events, skipped = skipped.count(), elapsed_ms, "autofeature read");
    Ok(proposer.propose()?)
}

/// What the file is called in the commands of its comments.
fn named(target: &Target, out: &Path) -> String {
    match target {
        Target::File(_) => out.display().to_string(),
        Target::Stdout | Target::Direct(_) => "config.yml".to_owned(),
    }
}

fn write(target: &Target, text: &str, stop: &AtomicBool) -> Result<()> {
    match output::write(target, &|| stop.load(Ordering::Relaxed), |to| to.write_all(text.as_bytes()))? {
        true => Ok(()),
        false => bail!("interrupted: nothing is written"),
    }
}
