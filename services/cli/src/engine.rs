//! The parts of the engine, opened as a configuration says.

use anyhow::{Context, Result, bail};
use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::store::s3::S3Settings;
use rankwright_clickthrough::{self as clickthrough, ClickthroughStore, Header};
use rankwright_config::feature::Kind;
use rankwright_config::{self as config, Config, Environment, State};
use rankwright_event::Timestamp;
use rankwright_feature::Plan;
use rankwright_ingest::{Ingest, Settings};
use rankwright_model::{Column, MemoryVersions, VersionStore, Versions};
use rankwright_state::file::FileOptions;
use rankwright_state::{self as state, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tracing::{info, warn};

/// Name of the service that a laptop's state belongs to.
const SERVICE: &str = "default";

/// Everything that import, training and serving share.
pub(crate) struct Engine {
    /// The checked configuration.
    pub(crate) config: Config,
    /// All features, compiled.
    pub(crate) plan: Arc<Plan>,
    /// Values.
    pub(crate) state: Arc<dyn Store>,
    /// Training data.
    pub(crate) clickthroughs: Arc<dyn ClickthroughStore>,
    /// Models.
    pub(crate) versions: Arc<dyn VersionStore>,
}

/// Reads the configuration, prints its warnings, and refuses what this version cannot do.
pub(crate) fn configuration(path: Option<&Path>) -> Result<Config> {
    let (config, warnings) = Config::load(path, &Environment::of_process())?;
    warnings.iter().for_each(|warning| warn!("{warning}"));
    let missing = config.not_yet();
    if !missing.is_empty() {
        bail!("the configuration asks for what is not there yet:\n  {}", missing.join("\n  "));
    }
    Ok(config)
}

/// The wall clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

impl Engine {
    /// Opens the stores of a configuration, and compiles its features over them.
    pub(crate) async fn open(config: Config) -> Result<Self> {
        let state = open_state(&config)?;
        let plan = Arc::new(Plan::compile(&config.features, &*state).await?);
        let clickthroughs = open_clickthroughs(&config, &plan)?;
        let versions = open_versions(&config)?;
        Ok(Self { config, plan, state, clickthroughs, versions })
    }

    /// Begins to take in the events of a writer.
    pub(crate) async fn ingest(&self, writer: &str) -> Result<Ingest, rankwright_ingest::Error> {
        let (plan, state, clickthroughs) = (self.plan.clone(), self.state.clone(), self.clickthroughs.clone());
        Ingest::open(writer, plan, state, clickthroughs, self.settings()).await
    }

    /// Columns of all features, as models name them.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let column = |column: &rankwright_feature::Column| Column {
            name: column.name.clone(),
            feature: column.feature.clone(),
            fingerprint: column.fingerprint,
            categorical: column.categorical,
        };
        self.plan.columns().iter().map(column).collect()
    }

    /// What serving puts into the columns of `position` features.
    pub(crate) fn served_constants(&self) -> BTreeMap<String, f32> {
        let constant = |feature: &config::Feature| match feature.kind {
            Kind::Position(constant) => Some((feature.name.clone(), constant as f32)),
            _ => None,
        };
        self.config.features.iter().filter_map(constant).collect()
    }

    fn settings(&self) -> Settings {
        let join = self.config.core.clickthrough;
        Settings {
            session_length: join.max_session_length,
            ranking_wait: join.ranking_wait,
            max_open: join.max_parallel_sessions,
        }
    }
}

/// The folder of a state on disk; parts and models lie beside the values.
fn folder(config: &Config) -> Option<&PathBuf> {
    match &config.state {
        State::File(file) => Some(&file.path),
        _ => None,
    }
}

fn open_state(config: &Config) -> Result<Arc<dyn Store>> {
    Ok(match &config.state {
        State::File(file) => {
            file.note().iter().for_each(|note| info!("{note}"));
            let format = match file.format {
                config::state::Format::Binary => state::Format::Binary,
                config::state::Format::Json => state::Format::Json,
            };
            let options = FileOptions { format, ..FileOptions::default() };
            let path = file.path.join("state");
            let store = state::FileStore::open(&path, options, SERVICE);
            Arc::new(store.with_context(|| format!("failed to open the state in {}", path.display()))?)
        }
        _ => Arc::new(state::MemoryStore::default()),
    })
}

fn open_clickthroughs(config: &Config, plan: &Plan) -> Result<Arc<dyn ClickthroughStore>> {
    let column = |column: &rankwright_feature::Column| clickthrough::Column {
        name: column.name.clone(),
        fingerprint: column.fingerprint,
    };
    let columns = plan.columns().iter().map(column).collect();
    let header = Header { service: SERVICE.to_string(), columns };
    let in_folder = |path: PathBuf, format, header| -> Result<Arc<dyn ClickthroughStore>> {
        let store = clickthrough::FileStore::open(FileSettings::new(&path, format), header);
        Ok(Arc::new(store.with_context(|| format!("failed to open the click-throughs in {}", path.display()))?))
    };
    match (&config.train, folder(config)) {
        (Some(config::ClickthroughStore::Discard), _) => Ok(Arc::new(clickthrough::DiscardStore::new(header))),
        (Some(config::ClickthroughStore::File { path, format }), _) => in_folder(path.clone(), *format, header),
        (Some(config::ClickthroughStore::S3(s3)), _) => {
            let settings = S3Settings::from_config(s3)?;
            let store = clickthrough::S3Store::open(&settings, header);
            Ok(Arc::new(store.context("failed to open the click-throughs in S3")?))
        }
        (None, Some(folder)) => in_folder(folder.join("clickthroughs"), config::state::Format::Binary, header),
        _ => Ok(Arc::new(clickthrough::MemoryStore::new(header)?)),
    }
}

fn open_versions(config: &Config) -> Result<Arc<dyn VersionStore>> {
    Ok(match folder(config) {
        Some(folder) => Arc::new(Versions::open(folder.join("models"))?),
        None => Arc::new(MemoryVersions::default()),
    })
}
