//! The command line.

use crate::{autofeature, evaluate, export, generate, models};
use anyhow::{Context, Result, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};
use rankwright_config::Offset;
use std::path::PathBuf;

/// The version, and what the program is built without.
const VERSION: &str = match (cfg!(feature = "buckets"), cfg!(feature = "streams")) {
    (true, true) => env!("CARGO_PKG_VERSION"),
    (true, false) => concat!(env!("CARGO_PKG_VERSION"), " (without streams)"),
    (false, true) => concat!(env!("CARGO_PKG_VERSION"), " (without buckets)"),
    (false, false) => concat!(env!("CARGO_PKG_VERSION"), " (without buckets and streams)"),
};

/// Reranks search results and recommendations from visitor behaviour.
#[derive(Debug, Parser)]
#[command(name = "rankwright", version = VERSION, disable_version_flag = true)]
pub(crate) struct Options {
    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read historical events into the state and the click-through store
    Import(ImportOptions),
    /// Train models on the click-throughs of an earlier import
    Train(TrainOptions),
    /// Answer requests with the stored state and models
    Serve(ServeOptions),
    /// Import, train and serve in one process; requests are answered when training is done
    Standalone(ImportOptions),
    /// Rank the items of one request with the stored state and models, and explain the scores
    Rank(RankOptions),
    /// List, show, compare, import, export and switch the versions of models
    Models(models::Options),
    /// Compare models, the order shown and a random order on the test split of the click-throughs
    Evaluate(evaluate::Options),
    /// Show what a service stores: its state and its size, click-throughs, models
    Status(StatusOptions),
    /// Remove all data of a service (RANKWRIGHT_SERVICE) from Redis and S3
    Purge(PurgeOptions),
    /// Remove a visitor or an item from the state and from click-throughs
    Forget(ForgetOptions),
    /// Write the events of a made-up shop, with a configuration for them
    Generate(generate::Options),
    /// Count how many items have each term, and write the dictionary for field_match by BM25
    Termfreq(TermfreqOptions),
    /// Check a configuration and events for it before they are imported
    Validate(ValidateOptions),
    /// Sort event files by time, into one file
    Sort(SortOptions),
    /// Write a model's training data as files for XGBoost, LightGBM and notebooks
    Export(export::Options),
    /// Propose a configuration for events: features, with the reason for each, and models
    Autofeature(autofeature::Options),
    /// Print the JSON schema of configurations, by which editors complete and check them
    Schema,
    /// A subcommand that this version does not have
    #[command(external_subcommand)]
    Later(Vec<String>),
}

/// A path; an empty one, as of a variable that is set to nothing, counts as absent later.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    #[command(flatten)]
    pub(crate) source: SourceOptions,
    /// Check the events first, as 'validate' does; when a check fails, nothing is imported
    #[arg(short, long, default_value_t = false, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub(crate) validation: bool,
    /// Rebuild the state from these events beside the live one, and swap it in when it is complete
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// With --rebuild: a name that the state in Redis remembers; a second run under the same name does nothing
    #[arg(long, value_name = "NAME", env = "RANKWRIGHT_IMPORT_ONCE", requires = "rebuild")]
    pub(crate) once: Option<String>,
    /// Stop at the first event that cannot be read
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print as JSON what such a program could report of its set-up, and end; nothing is ever sent
    #[arg(long)]
    pub(crate) print_analytics: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrainOptions {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    /// The model; default: all, one after the other
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    /// How to split into train and test, instead of the configuration's split: time=N%, random=N%, hold_last=N%, field=NAME:TRAIN:TEST
    #[arg(short, long)]
    pub(crate) split: Option<String>,
    /// Print as JSON what such a program could report of its set-up, and end; nothing is ever sent
    #[arg(long)]
    pub(crate) print_analytics: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    /// Print as JSON what such a program could report of its set-up, and end; nothing is ever sent
    #[arg(long)]
    pub(crate) print_analytics: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RankOptions {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    /// The model
    #[arg(short, long)]
    pub(crate) model: String,
    /// File with the request, as POST /rank/<model> takes it; - reads standard input
    #[arg(value_name = "REQUEST.json", value_parser = path())]
    pub(crate) request: PathBuf,
    /// Show how much of each score the features bring
    #[arg(short, long)]
    pub(crate) explain: bool,
    /// What is printed: a table, or the JSON that the service answers
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PurgeOptions {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Remove a state that belongs to another service or cluster, as RANKWRIGHT_TAKE_OVER=true does
    #[arg(long)]
    pub(crate) take_over: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetOptions {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) subject: SubjectOptions,
    /// The tenant whose visitor or item it is
    #[arg(short, long, default_value = "default")]
    pub(crate) tenant: String,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SubjectOptions {
    /// Id of the visitor
    #[arg(short, long)]
    pub(crate) user: Option<String>,
    /// Id of the item
    #[arg(short, long)]
    pub(crate) item: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TermfreqOptions {
    /// File or folder with events
    #[arg(short, long)]
    pub(crate) data: PathBuf,
    /// Text fields of items, separated by commas
    #[arg(short, long, value_delimiter = ',', required = true)]
    pub(crate) fields: Vec<String>,
    /// Language of the texts: generic, en, de, fr, ...; use the same as in the configuration
    #[arg(short, long)]
    pub(crate) language: String,
    /// File for the dictionary; compressed if its name ends in .gz
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// How events are written: json, snowplow, snowplow:tsv, snowplow:json; default: json
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// First event that is read: earliest, ts=<unixtime>, last=<duration>; default: earliest
    #[arg(long)]
    pub(crate) offset: Option<String>,
    /// Order in which the files of a folder are read: name, time, last-modified; default: name
    #[arg(short, long)]
    pub(crate) sort_files_by: Option<String>,
    /// Stop at the first event that cannot be read
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateOptions {
    #[command(flatten)]
    pub(crate) source: SourceOptions,
    /// Read and check the events; false checks only the configuration
    #[arg(short, long, default_value_t = true, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub(crate) validation: bool,
    /// How the report is written: text, json
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) output: ReportForm,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportForm {
    Text,
    Json,
}

/// A configuration, and events for it.
#[derive(Debug, Args)]
pub(crate) struct SourceOptions {
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    /// File or folder with events; default: the configuration's source
    #[arg(short, long)]
    pub(crate) data: Option<PathBuf>,
    /// How events are written: json, snowplow, snowplow:tsv, snowplow:json; default: json; without --data, that of the configuration's source
    #[arg(short, long)]
    pub(crate) format: Option<String>,
    /// First event that is read: earliest, latest, ts=<unixtime>, last=<duration>; default: earliest; without --data, that of the configuration's source
    #[arg(short, long)]
    pub(crate) offset: Option<String>,
    /// Order in which the files of a folder are read: name, time, last-modified; default: name; without --data, that of the configuration's source
    #[arg(short, long)]
    pub(crate) sort_files_by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SortOptions {
    /// File or folder with events; the files of a folder become one
    #[arg(short, long)]
    pub(crate) data: PathBuf,
    /// File for the sorted events, compressed if its name ends in .gz or .zst; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Memory to use, such as 400MiB or 2GiB
    #[arg(long, default_value = "400MiB", value_parser = memory)]
    pub(crate) memory: usize,
    /// Folder for temporary files; default: beside the output
    #[arg(long, value_name = "DIR")]
    pub(crate) temp: Option<PathBuf>,
    /// How events are written: json, snowplow, snowplow:tsv, snowplow:json; default: json
    #[arg(short, long)]
    pub(crate) format: Option<String>,
    /// Skip lines that are not events; without this, the first one ends the sort
    #[arg(long)]
    pub(crate) skip_invalid: bool,
}

/// Reads a size in bytes. Less than 16 MiB would leave no room for what threads hold.
fn memory(text: &str) -> Result<usize, String> {
    const LEAST: usize = 16 << 20;
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "k" | "kib" => Some(1 << 10),
        "m" | "mib" => Some(1 << 20),
        "g" | "gib" => Some(1 << 30),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        _ => None,
    };
    let bytes = unit.and_then(|unit: usize| digits.trim().parse::<usize>().ok()?.checked_mul(unit));
    let bytes = bytes.ok_or("expected a size such as 400MiB, 2GiB or 500MB")?;
    if bytes < LEAST { Err("expected 16MiB or more".to_owned()) } else { Ok(bytes) }
}

/// What an option says, if it is there.
pub(crate) fn parsed<T: std::str::FromStr>(text: Option<&str>, option: &'static str) -> Result<Option<T>>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.map(|text| text.parse().context(option)).transpose()
}

/// The first event that is read of files, all of whose events are there.
pub(crate) fn past(offset: Option<&str>) -> Result<Offset> {
    match parsed::<Offset>(offset, "--offset")?.unwrap_or_default() {
        Offset::Latest => {
            bail!(
                "--offset: nothing is left to read after the latest event: name earliest, ts=<unixtime> or last=<duration>"
            )
        }
        offset => Ok(offset),
    }
}

/// Why a subcommand cannot be run.
pub(crate) fn not_yet(words: &[String]) -> anyhow::Error {
    let name = words.first().map_or("", String::as_str);
    let command = Options::command();
    let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    anyhow::anyhow!("unknown subcommand '{name}': expected one of {} (see --help)", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_subcommand_is_told_with_all_that_there_are() {
        let told = not_yet(&["trian".to_owned()]).to_string();
        assert!(told.starts_with("unknown subcommand 'trian': expected one of import, train, "), "{told}");
        assert!(told.ends_with(", autofeature, schema (see --help)"), "{told}");
    }
}
