//! `export`: a model's training data as files, for boosters and notebooks.

use crate::options::path;
use crate::progress::Progress;
use crate::stop;
use crate::train::warn_of_losses;
use anyhow::{Context, Result, bail};
use rankwright_assembly::{columns_of, configuration, open_clickthroughs, runtime};
use rankwright_config::model::{LambdaMart, Model, Split};
use rankwright_config::{ClickthroughStore, Config, State};
use rankwright_train::Progress as Step;
use rankwright_train::export::{Export, Exported};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use tracing::info;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    config: Option<PathBuf>,
    /// The model; default: the only one of type lambdamart
    #[arg(short, long)]
    model: Option<String>,
    /// Folder for the files; created if it is not there
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Share of the click-throughs to take, drawn at random: over 0, up to 1
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = ratio)]
    sample: f64,
    /// How to split into train and test, instead of the configuration's split: time=N%, random=N%, hold_last=N%, field=NAME:TRAIN:TEST
    #[arg(short, long)]
    split: Option<String>,
    /// Write train.parquet and test.parquet as well, with the names of columns
    #[arg(long)]
    parquet: bool,
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse::<f64>().ok().filter(|ratio| *ratio > 0.0 && *ratio <= 1.0);
    ratio.ok_or_else(|| "expected a number over 0, up to 1".to_owned())
}

/// Writes the files; what was written.
pub(crate) fn run(options: &Options) -> Result<String> {
    let config = configuration(options.config.as_deref())?;
    kept(&config)?;
    let (name, mut model) = chosen(&config, options.model.as_deref())?;
    if let Some(split) = &options.split {
        model.split = split.parse::<Split>().context("--split")?;
    }
    let runtime = runtime()?;
    let reading = stop::at_once(&runtime, "interrupted: nothing is written");
    let _inside = runtime.enter(); // stores that wait for a network do so on its threads
    let columns = runtime.block_on(columns_of(&config))?;
    let clickthroughs = open_clickthroughs(&config)?;
    let mut progress = Progress::new("export", 0);
    let export = Export { name: &name, config: &model, columns: &columns, share: options.sample };
    let prepared = export.read(&*clickthroughs, &mut |step| {
        if let Step::Reading { rankings } = step {
            progress.at(0, rankings, "rankings read");
        }
    })?;
    warn_of_losses(&name, &prepared.reading);
    let stop = stop::told(&runtime); // from now on there is something to be removed
    drop(reading);
    progress.of(prepared.rows());
    let exported = prepared.write(&options.out, options.parquet, &mut |rows| {
        progress.at(rows, rows, "rows written");
        !stop.load(Ordering::Relaxed)
    })?;
    progress.end();
    let elapsed_ms = u64::try_from(progress.elapsed().as_millis()).unwrap_or(u64::MAX);
    info!(model = name, rankings = prepared.reading.rankings, elapsed_ms, "exported");
    Ok(told(&exported))
}

/// A line for each side, then the files.
fn told(exported: &Exported) -> String {
    let mut text = String::new();
    for (side, (rankings, rows)) in [("train", exported.train), ("test", exported.test)] {
        let _ = writeln!(text, "{side}: {rankings} rankings, {rows} rows of {} columns", exported.columns);
    }
    for file in &exported.files {
        let _ = writeln!(text, "{}", file.display());
    }
    text
}

/// Refuses to look for click-throughs where none are kept.
fn kept(config: &Config) -> Result<()> {
    match (&config.train, &config.state) {
        (Some(ClickthroughStore::Discard), _) => {
            bail!("nothing to export: 'train: {{type: discard}}' keeps no click-throughs")
        }
        (Some(ClickthroughStore::Memory), _) | (None, State::Memory) => bail!(
            "nothing to export: click-throughs in memory end with the process that imported them; \
             use 'state: {{type: file, path: ...}}' and 'import' first"
        ),
        _ => Ok(()),
    }
}

/// The model of this name, or the only one that boosters train.
fn chosen(config: &Config, asked: Option<&str>) -> Result<(String, LambdaMart)> {
    let trees = |(name, model): (&String, &Model)| Some((name.clone(), model.trees()?.clone()));
    let mut models: Vec<(String, LambdaMart)> = config.models.iter().filter_map(trees).collect();
    let names = models.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(asked) = asked else {
        return match models.len() {
            1 => Ok(models.remove(0)),
            0 => bail!("the configuration has no model of type lambdamart: there is nothing to export"),
            _ => bail!("name one of the models with --model: {names}"),
        };
    };
    match (models.iter().position(|(name, _)| name == asked), config.models.get(asked)) {
        (Some(place), _) => Ok(models.remove(place)),
        (None, Some(model)) => {
            bail!("model '{asked}' is of type {}: only lambdamart has training files", model.type_name())
        }
        (None, None) if names.is_empty() => bail!("no model '{asked}': the configuration has none of type lambdamart"),
        (None, None) => bail!("no model '{asked}': the configuration has {names}"),
    }
}
