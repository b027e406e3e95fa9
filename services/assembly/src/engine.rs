//! The parts of the engine, opened as a configuration says.

use crate::encoders::{Encoders, Wanted, leave_out_texts, with_dictionaries};
use crate::follow::is_stream;
use crate::traces::Traces;
use crate::work::{UnderWay, Work};
use crate::{joins, open, remote};
use anyhow::{Result, anyhow};
use futures_util::future::BoxFuture;
use rankwright_clickthrough::ClickthroughStore;
use rankwright_config::feature::Kind;
use rankwright_config::{self as config, Config, Environment, LoadError};
use rankwright_event::RankingId;
use rankwright_feature::Plan;
use rankwright_ingest::{Counters, Ingest, Settings};
use rankwright_model::{Column, VersionStore};
use rankwright_state::{Claim, Owner, Store};
use rankwright_trace::{Span, Tracer};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use tokio::runtime::Handle;
use tracing::warn;

/// Texts that a model computes together: what is stored of one must not depend on those beside it.
const ALONE: usize = 1;

/// Everything that import, training and serving share.
pub struct Engine {
    /// The checked configuration.
    pub config: Config,
    /// Its features, compiled: for a training, without those that only other models learn from and that need a model of texts or files.
    pub plan: Arc<Plan>,
    /// Values.
    pub state: Arc<dyn Store>,
    /// Training data.
    pub clickthroughs: Arc<dyn ClickthroughStore>,
    /// Models.
    pub versions: Arc<dyn VersionStore>,
    /// Models of texts that features compute with.
    pub encoders: Arc<Encoders>,
    /// Where the stores' clocks and sockets are.
    pub(crate) runtime: Handle,
    /// What the import has met that this process began with; empty where there was none.
    pub imported: OnceLock<Imported>,
    /// Whether no more events are taken in for now: what is open fills memory, and cannot close before click-throughs are with
    /// their store.
    pub(crate) full: AtomicBool,
    /// Imports and trainings of this process.
    pub(crate) work: Arc<Work>,
    /// What is recorded; begun when it is first asked for.
    traces: OnceLock<Traces>,
}

/// Interactions of an import, and those of them whose ranking did not come.
#[derive(Debug, Default)]
pub struct Imported {
    /// What was taken in.
    pub counters: Counters,
    /// Some rankings that interactions waited for in vain.
    pub unknown: Vec<RankingId>,
}

/// Reads the configuration, prints its warnings, and refuses what this version cannot do.
///
/// # Errors
/// When there is none, or it has mistakes.
pub fn configuration(path: Option<&Path>) -> Result<Config> {
    configuration_with_text(path).map(|(config, _)| config)
}

/// What a configuration says, for the page for browsers.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// As it was loaded, without what is secret.
    pub shown: rankwright_config::Shown,
    /// What was warned of.
    pub warnings: Vec<String>,
}

/// The same, with what it says.
///
/// # Errors
/// As [`configuration`].
pub fn configuration_with_text(path: Option<&Path>) -> Result<(Config, Told)> {
    let path = path.filter(|path| !path.as_os_str().is_empty());
    let environment = Environment::of_process()?;
    let place = Config::place(path, &environment)?;
    let (text, place) = if remote::is_remote(Path::new(&place)) {
        // before there is a runtime: what it needs follows from the configuration
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        (runtime.block_on(remote::text(&place))?, place)
    } else {
        Config::text(path, &environment).map_err(unread)?
    };
    let (config, warnings) = Config::of_text(&text, &place, &environment)?;
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    warnings.iter().for_each(|warning| warn!("{warning}"));
    if let Some(source) = &config.source {
        let more = rankwright_source::check(source).map_err(|error| anyhow!("{place}: {error}"))?;
        more.iter().for_each(|warning| warn!("{warning}"));
        warnings.extend(more);
    }
    Ok((config, Told { shown: rankwright_config::shown(&text, &environment), warnings }))
}

/// Why a configuration cannot be read; where there is no such file, with what is there.
fn unread(error: LoadError) -> anyhow::Error {
    match &error {
        LoadError::Read { path, source } if source.kind() == io::ErrorKind::NotFound => {
            anyhow::Error::new(rankwright_source::missing(path)).context("cannot read the configuration")
        }
        _ => error.into(),
    }
}

/// Opens the models of a configuration alone.
///
/// # Errors
/// When they cannot be reached.
pub fn open_versions(config: &Config) -> Result<Arc<dyn VersionStore>> {
    open::versions(config, &service())
}

/// Opens the click-throughs of a configuration alone, to read them: another process may write to them meanwhile. S3 and Redis need a
/// runtime around the call.
///
/// # Errors
/// When nothing is stored there, or it cannot be reached.
pub fn open_clickthroughs(config: &Config) -> Result<Arc<dyn ClickthroughStore>> {
    open::clickthroughs_to_read(config, &service())
}

/// Columns of all features, as models name them, without the state that their values are in.
///
/// # Errors
/// When a feature needs what is not there, such as a text model.
pub async fn columns_of(config: &Config) -> Result<Vec<Column>> {
    let config = with_dictionaries(config.clone()).await?;
    let encoders = Engine::encoders(&config).await?;
    let plan = Plan::of(&config, &rankwright_state::MemoryStore::default(), &encoders).await?;
    Ok(columns(&plan))
}

/// What serving puts into the columns of `position` features, by name of the feature.
pub fn served_constants(config: &Config) -> BTreeMap<String, f32> {
    let constant = |feature: &config::Feature| match &feature.kind {
        Kind::Position(position) => Some((feature.name.clone(), position.served as f32)),
        _ => None,
    };
    config.features.iter().filter_map(constant).collect()
}

fn columns(plan: &Plan) -> Vec<Column> {
    let column = |column: &rankwright_feature::Column| Column {
        name: column.name.clone(),
        feature: column.feature.clone(),
        fingerprint: column.fingerprint,
        categorical: column.categorical,
    };
    plan.columns().iter().map(column).collect()
}

/// Name of the service that a shared state belongs to: `RANKWRIGHT_SERVICE`, or `default`.
pub fn service() -> String {
    std::env::var("RANKWRIGHT_SERVICE").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned())
}

/// Who this program works for: `RANKWRIGHT_OWNER`, which an operator sets; `RANKWRIGHT_TAKE_OVER` lets it take a state over.
pub(crate) fn claim() -> Claim {
    let owner = std::env::var("RANKWRIGHT_OWNER").ok().filter(|owner| !owner.is_empty());
    Claim { owner: owner.map(Owner::new), takes_over: is_set("RANKWRIGHT_TAKE_OVER") }
}

/// Whether a variable of the environment says yes.
pub(crate) fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| matches!(value.as_str(), "1" | "true"))
}

impl Engine {
    /// Opens the stores of a configuration, and compiles its features over them.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub fn open(config: Config) -> BoxFuture<'static, Result<Self>> {
        Box::pin(async move {
            let state = open::state(&config, &service()).await?;
            Self::over(config, state).await
        })
    }

    /// Opens what it takes to train these models. Models of texts and files that they do not learn from need not be there.
    ///
    /// # Errors
    /// When a store cannot be opened, or a model of texts, or a file.
    pub fn open_to_train(mut config: Config, models: Vec<String>) -> BoxFuture<'static, Result<Self>> {
        if let config::State::Redis(redis) = &mut config.state {
            redis.cache.max_size = 0; // a training reads each item once
        }
        Box::pin(async move {
            let state = open::state(&config, &service()).await?;
            Self::without_texts(config, state, &models).await
        })
    }

    /// The engine for work that takes in no events and computes no rows, without the models of texts and the files that these models
    /// do not learn from.
    pub(crate) async fn without_texts(mut config: Config, state: Arc<dyn Store>, models: &[String]) -> Result<Self> {
        let encoders = Encoders::open(leave_out_texts(&mut config, models), ALONE).await?;
        Self::assemble(config, state, encoders).await
    }

    /// The engine over a state that is open.
    pub(crate) async fn over(config: Config, state: Arc<dyn Store>) -> Result<Self> {
        let encoders = Self::encoders(&config).await?;
        Self::with(config, state, encoders).await
    }

    /// The same with models of texts that are open.
    pub(crate) async fn with(config: Config, state: Arc<dyn Store>, encoders: Encoders) -> Result<Self> {
        let engine = Self::assemble(config, state, encoders).await?;
        joins::settle(&engine).await?;
        Ok(engine)
    }

    /// Opens the models of texts that features compute with.
    pub(crate) async fn encoders(config: &Config) -> Result<Encoders> {
        Encoders::open(Wanted::of_features(config), ALONE).await
    }

    async fn assemble(config: Config, state: Arc<dyn Store>, encoders: Encoders) -> Result<Self> {
        let (service, encoders) = (service(), Arc::new(encoders));
        let config = with_dictionaries(config).await?;
        let plan = Arc::new(Plan::of(&config, &*state, &*encoders).await?);
        let clickthroughs = open::clickthroughs(&config, &plan, &service)?;
        let versions = open::versions(&config, &service)?;
        let (runtime, imported, full) = (Handle::current(), OnceLock::new(), AtomicBool::new(false));
        let (traces, work) = (OnceLock::new(), Arc::default());
        Ok(Self { config, plan, state, clickthroughs, versions, encoders, runtime, imported, full, work, traces })
    }

    /// Whether several writers add to the state: other processes, or the partitions of a stream.
    pub fn has_many_writers(&self) -> bool {
        self.state.shared() || self.config.source.as_ref().is_some_and(is_stream)
    }

    /// Begins to take in the events of the only process that writes to this state.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn ingest(&self, writer: &str) -> Result<Ingest, rankwright_ingest::Error> {
        let (plan, state, clickthroughs) = (self.plan.clone(), self.state.clone(), self.clickthroughs.clone());
        Ingest::open(writer, plan, state, clickthroughs, self.settings()).await
    }

    /// Begins traces, as the environment says. Who asks for it has to let [`Engine::finish_traces`] send the last of them.
    pub fn tracer(&self) -> &Tracer {
        self.traces().tracer()
    }

    /// Has `/status` tell of an import, until what this returns goes.
    pub fn importing(&self) -> UnderWay {
        self.work.begin("import", None)
    }

    /// The same of the training of a model.
    pub fn training(&self, model: &str) -> UnderWay {
        self.work.begin("training", Some(model))
    }

    /// Records the training of a model.
    pub fn training_span(&self, model: &str) -> Span {
        self.traces().training(model)
    }

    pub(crate) fn traces(&self) -> &Traces {
        self.traces.get_or_init(|| Traces::begin(&self.runtime))
    }

    /// Sends the traces that wait, within two seconds.
    pub fn finish_traces(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(traces) = self.traces.get() {
                traces.finish().await;
            }
        })
    }

    /// Where the stores' clocks and sockets are, for threads that were not begun there.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Columns of all features, as models name them.
    pub fn columns(&self) -> Vec<Column> {
        columns(&self.plan)
    }

    /// What serving puts into the columns of `position` features.
    pub fn served_constants(&self) -> BTreeMap<String, f32> {
        served_constants(&self.config)
    }

    /// How rankings and interactions become click-throughs.
    pub fn settings(&self) -> Settings {
        let join = self.config.core.clickthrough;
        Settings {
            session_length: join.max_session_length,
            ranking_wait: join.ranking_wait,
            max_open: join.max_parallel_sessions,
            max_open_bytes: join.max_open_bytes,
        }
    }
}
