//! `models`: the versions of models. Which there are, what they are, how two differ, and which one serves; models of XGBoost and
//! LightGBM are imported and exported.

mod diff;
mod export;
mod import;
mod list;
mod show;
#[cfg(test)]
mod testing;

use crate::options::{Output, path};
use crate::stop;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use rankwright_assembly::{as_owner, configuration, open_versions, runtime};
use rankwright_config::{Config, Model};
use rankwright_model::{Version, VersionId, VersionStore};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    /// Path of the configuration
    #[arg(short, long, env = "SERVICE_CONFIG", value_parser = path(), global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List versions, one a line: model, version, which one is current
    List,
    /// Show what is known about a version: metrics, features by gain, data and settings of its training
    Show {
        #[command(flatten)]
        which: Which,
        /// What is printed: a table, or JSON
        #[arg(short, long, value_enum, default_value_t = Output::Table)]
        output: Output,
    },
    /// Show how two versions differ
    Diff {
        /// The model
        #[arg(short, long)]
        model: String,
        /// One version; default: the one before the current one
        #[arg(long, value_name = "VERSION")]
        from: Option<String>,
        /// The other version; default: the current one
        #[arg(long, value_name = "VERSION")]
        to: Option<String>,
        /// What is printed: a table, or JSON
        #[arg(short, long, value_enum, default_value_t = Output::Table)]
        output: Output,
    },
    /// Make a stored version the current one
    Promote {
        /// The model
        #[arg(short, long)]
        model: String,
        /// The version
        #[arg(short, long, value_name = "VERSION")]
        to: String,
    },
    /// Make an earlier version the current one
    Rollback {
        /// The model
        #[arg(short, long)]
        model: String,
        /// The version; default: the one before the current one
        #[arg(short, long, value_name = "VERSION")]
        to: Option<String>,
    },
    /// Store a model that XGBoost (JSON, UBJSON) or LightGBM (text) has trained elsewhere, as a new version
    Import {
        /// The model of the configuration, whose features are the columns of the file
        #[arg(short, long)]
        model: String,
        /// The library's own file
        #[arg(value_name = "FILE", value_parser = path())]
        file: PathBuf,
        /// Make it the current version
        #[arg(long)]
        promote: bool,
    },
    /// Write a version as its library's own file
    Export {
        #[command(flatten)]
        which: Which,
        /// File to write: .ubj for XGBoost, or .json if it was imported as JSON; .txt for LightGBM
        #[arg(short, long, value_name = "FILE", value_parser = path())]
        out: PathBuf,
    },
}

/// A version of a model.
#[derive(Debug, Args)]
struct Which {
    /// The model
    #[arg(short, long)]
    model: String,
    /// The version; default: the current one
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

/// Does what is asked, and returns what to print.
pub(crate) fn run(options: &Options) -> Result<String> {
    let config = configuration(options.config.as_deref())?;
    if matches!(config.state, rankwright_config::State::Memory) {
        bail!("state is memory: models end with the process that trained them");
    }
    as_owner(&config)?;
    let versions = &*open_versions(&config)?;
    match &options.command {
        Command::List => list::of(&config, versions),
        Command::Show { which, output } => {
            let version = which.load(&config, versions)?;
            let current = versions.current(&which.model)?;
            let is_current = current.as_ref() == Some(version.id());
            match output {
                Output::Table => Ok(show::table(&version, is_current)),
                Output::Json => Ok(format!("{:#}\n", show::json(&version, is_current))),
            }
        }
        Command::Diff { model, from, to, output } => {
            known(&config, model)?;
            let (before, after) = diff::versions_of(versions, model, from.as_deref(), to.as_deref())?;
            match output {
                Output::Table => Ok(diff::table(&before, &after)),
                Output::Json => Ok(format!("{:#}\n", diff::json(&before, &after))),
            }
        }
        Command::Promote { model, to } => select(&config, versions, model, Some(to)),
        Command::Rollback { model, to } => select(&config, versions, model, to.as_deref()),
        Command::Import { model, file, promote } => import::run(&config, versions, model, file, *promote),
        Command::Export { which, out } => {
            let version = which.load(&config, versions)?;
            let runtime = runtime()?;
            let stop = stop::told(&runtime);
            export::run(&version, out, &|| stop.load(Ordering::Relaxed))
        }
    }
}

impl Which {
    fn load(&self, config: &Config, versions: &dyn VersionStore) -> Result<Version> {
        known(config, &self.model)?;
        load(versions, &self.model, self.version.as_deref())
    }
}

/// A version of a model, or its current one.
fn load(versions: &dyn VersionStore, model: &str, version: Option<&str>) -> Result<Version> {
    let id = version.map(str::parse::<VersionId>).transpose()?;
    versions.load(model, id.as_ref())?.ok_or_else(|| anyhow!("model '{model}' has no version yet"))
}

/// The definition of a model.
fn known<'a>(config: &'a Config, model: &str) -> Result<&'a Model> {
    config.models.get(model).with_context(|| {
        let names: Vec<&str> = config.models.keys().map(String::as_str).collect();
        format!(
            "the configuration has no model '{model}': it has {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        )
    })
}

fn pinned(model: &Model) -> Option<String> {
    model.learning().and_then(|learning| learning.version.clone())
}

/// A line about a version that is served whatever the current one is.
fn pin(model: &str, definition: &Model) -> String {
    pinned(definition).map_or_else(String::new, |pinned| {
        format!("models.{model}.version pins {pinned}, which is served all the same\n")
    })
}

/// Makes a version current: the given one, or the one that was current before.
fn select(config: &Config, versions: &dyn VersionStore, model: &str, to: Option<&str>) -> Result<String> {
    let definition = known(config, model)?;
    let id: VersionId = match to {
        Some(id) => id.parse()?,
        None => {
            let Some(id) = versions.previous(model)? else {
                bail!("model '{model}' has no version before the current one")
            };
            id
        }
    };
    versions.select(model, &id)?;
    let mut told = format!(
        "{model}\t{id}\tcurrent; servers load it within 10 seconds. The next training that passes the gate replaces it, unless \
         you pin models.{model}.version\n"
    );
    told += &pin(model, definition);
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::testing::stored;
    use super::*;

    #[test]
    fn rolling_back_goes_one_version_at_a_time_or_to_a_named_one() {
        let (config, versions, ids) = stored(3);
        let current = || versions.current("m").expect("reads").map(|id| id.to_string());
        select(&config, &versions, "m", None).expect("rolls back");
        assert_eq!(current().as_ref(), Some(&ids[1]));
        select(&config, &versions, "m", None).expect("rolls back");
        assert_eq!(current().as_ref(), Some(&ids[0]));
        assert!(select(&config, &versions, "m", None).is_err(), "there is none before the first");
        select(&config, &versions, "m", Some(&ids[2])).expect("rolls forward");
        assert_eq!(current().as_ref(), Some(&ids[2]));
        let error = select(&config, &versions, "other", None).expect_err("there is no such model").to_string();
        assert_eq!(error, "the configuration has no model 'other': it has m");
    }

    #[test]
    fn a_version_that_is_not_there_is_named() {
        let (_, versions, ids) = stored(1);
        assert_eq!(load(&versions, "m", None).expect("is there").id().as_str(), ids[0]);
        let missing = "20211114T162500000Z-1a2b3c4d";
        let error = load(&versions, "m", Some(missing)).expect_err("is not there").to_string();
        assert_eq!(error, format!("model \"m\" has no version {missing}"));
        assert_eq!(load(&versions, "n", None).expect_err("has none").to_string(), "model 'n' has no version yet");
    }
}
