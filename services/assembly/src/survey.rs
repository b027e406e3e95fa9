//! What there is of a service, read from its stores: for `rankwright status`.
//!
//! Nothing is made or changed by it. What cannot be reached is a problem, and all else is told.

mod json;

use crate::closing::TASK;
use crate::encoders::{Encoders, Wanted};
use crate::engine::service;
use crate::folder;
use crate::open::{clickthroughs_of, redis_options, redis_settings, versions};
use crate::program::chain;
use crate::size::{Growth, Size};
use anyhow::Result;
use rankwright_clickthrough::{self as clickthrough, Header};
use rankwright_config::{self as config, ClickthroughStore, Config, Model, State};
use rankwright_encoder::Task;
use rankwright_event::Timestamp;
use rankwright_feature::readers;
use rankwright_ingest::shared::{Reached, reached};
use rankwright_model::VersionStore;
use rankwright_serve::clock::now;
use rankwright_state::{Position, RedisOptions, RedisStore, Store, Writer};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tracing::warn;

/// Keys that are sampled of each server of a Redis.
const KEYS: usize = 5_000;
/// Rows that are sampled of a folder.
const ROWS: usize = 5_000_000;
/// Events of the year 9999 are those that no partition has.
const NO_MORE: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// What there is of a service.
#[derive(Debug)]
pub struct Survey {
    /// Whose it is.
    pub service: String,
    /// When it was looked at.
    pub at: Timestamp,
    /// Values, and what is under way.
    pub state: Found<StateFound>,
    /// Training data.
    pub clickthroughs: Found<clickthrough::Status>,
    /// Models of the configuration.
    pub models: Found<Vec<ModelFound>>,
}

/// A store, and what lies there.
#[derive(Debug)]
pub struct Found<T> {
    /// What it is, as the configuration calls it.
    pub kind: &'static str,
    /// Where it is.
    pub place: String,
    /// What is there; `None` where nothing is yet.
    pub found: Option<T>,
    /// Why it cannot be told.
    pub problem: Option<String>,
    /// What else to know of it.
    pub note: Option<&'static str>,
}

/// What there is of a state.
#[derive(Debug)]
pub struct StateFound {
    /// Number of the generation that is live.
    pub generation: u32,
    /// What it takes.
    pub size: Size,
    /// Partitions and replicas, with how far they have come.
    pub writers: Vec<WriterFound>,
    /// The process that closes rankings, of a shared state.
    pub closer: Option<String>,
    /// How it grows, by the process that has watched it for longest. `None` where none has watched it long enough and recently.
    pub growth: Option<Growth>,
}

/// One who writes to a state.
#[derive(Debug)]
pub struct WriterFound {
    /// How far in event time.
    pub reached: Reached,
    /// Where in the source.
    pub position: Option<Position>,
}

/// What there is of a model.
#[derive(Debug)]
pub struct ModelFound {
    /// Its name.
    pub name: String,
    /// The version that serves, unless one is pinned.
    pub current: Option<String>,
    /// The version before it.
    pub previous: Option<String>,
    /// The version that the configuration names.
    pub pinned: Option<String>,
    /// How many versions there are.
    pub versions: usize,
    /// Of the current one.
    pub trained: Option<Timestamp>,
    /// Of the current one.
    pub metrics: BTreeMap<String, f64>,
}

impl Survey {
    /// Looks at all stores of a configuration.
    pub fn of(config: &Config, runtime: &Runtime) -> Self {
        let service = service();
        let state = Found::of(place_of_state(config), || runtime.block_on(state(config, &service)));
        let clickthroughs = Found::of(place_of_clickthroughs(config), || clickthroughs(config, &service));
        let models = Found::of(place_of_models(config), || models(config, &service));
        Self { service, at: now(), state, clickthroughs, models }
    }

    /// What cannot be told, and why, in one line; `None` where all can.
    pub fn problem(&self) -> Option<String> {
        let problem = |what, problem: &Option<String>| problem.as_ref().map(|problem| format!("{what}: {problem}"));
        let problems = [
            problem("state", &self.state.problem),
            problem("click-throughs", &self.clickthroughs.problem),
            problem("models", &self.models.problem),
        ];
        let problems: Vec<String> = problems.into_iter().flatten().collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}

/// Where a store is, and what to say of it.
struct Place {
    kind: &'static str,
    place: String,
    note: Option<&'static str>,
}

impl<T> Found<T> {
    fn of(place: Result<Place>, look: impl FnOnce() -> Result<Option<T>>) -> Self {
        let problem = |error: anyhow::Error| Some(chain(&error).replace('\n', " "));
        let Place { kind, place, note } = match place {
            Ok(place) => place,
            Err(error) => {
                return Self { kind: "?", place: "?".to_owned(), found: None, problem: problem(error), note: None };
            }
        };
        match look() {
            Ok(found) => Self { kind, place, found, problem: None, note },
            Err(error) => Self { kind, place, found: None, problem: problem(error), note },
        }
    }
}

/// Memory ends with its process.
const OF_PROCESS: Option<&str> = Some("in the memory of the process that serves: ask its GET /status");

fn in_memory() -> Place {
    Place { kind: "memory", place: "-".to_owned(), note: OF_PROCESS }
}

fn in_folder(folder: &Path) -> Place {
    Place { kind: "file", place: folder.display().to_string(), note: None }
}

fn in_redis(redis: &config::state::Redis, database: u16) -> Result<Place> {
    Ok(Place { kind: "redis", place: redis_settings(redis, database)?.to_string(), note: None })
}

fn place_of_state(config: &Config) -> Result<Place> {
    match &config.state {
        State::Memory => Ok(in_memory()),
        State::File(file) => Ok(in_folder(&folder::place(file))),
        State::Redis(redis) => in_redis(redis, redis.db.state),
    }
}

fn place_of_models(config: &Config) -> Result<Place> {
    match &config.state {
        State::Memory => Ok(in_memory()),
        State::File(file) => Ok(in_folder(&file.path.join("models"))),
        State::Redis(redis) => in_redis(redis, redis.db.models),
    }
}

fn place_of_clickthroughs(config: &Config) -> Result<Place> {
    match (&config.train, &config.state) {
        (Some(ClickthroughStore::Discard), _) => {
            Ok(Place { kind: "discard", place: "-".to_owned(), note: Some("nothing is kept") })
        }
        (Some(ClickthroughStore::File { path, .. }), _) => Ok(in_folder(path)),
        (Some(ClickthroughStore::S3(s3)), _) => {
            Ok(Place { kind: "s3", place: format!("s3://{}/{}", s3.bucket, s3.prefix), note: None })
        }
        (Some(ClickthroughStore::Redis { redis, .. }), _) | (None, State::Redis(redis)) => {
            in_redis(redis, redis.db.rankings)
        }
        (None, State::File(file)) => Ok(in_folder(&file.path.join("clickthroughs"))),
        (Some(ClickthroughStore::Memory), _) | (None, State::Memory) => Ok(in_memory()),
    }
}

async fn state(config: &Config, service: &str) -> Result<Option<StateFound>> {
    // before the state is opened: while a state in files is open here, no service can start over it
    let embedders = match &config.state {
        State::Memory => Encoders::default(),
        State::File(file) if !file.path.exists() => Encoders::default(),
        _ => embedders(config).await,
    };
    let (state, keys): (Arc<dyn Store>, _) = match &config.state {
        State::Memory => return Ok(None),
        State::File(file) => match folder::existing(&folder::place(file), file)? {
            Some(state) => (Arc::new(state), ROWS),
            None => return Ok(None),
        },
        State::Redis(redis) => {
            let options = RedisOptions { cache_entries: 0, tracking: false, ..redis_options(config, redis) };
            let settings = redis_settings(redis, redis.db.state)?;
            match RedisStore::open_existing(settings, options, service).await? {
                Some(state) => (Arc::new(state), KEYS),
                None => return Ok(None),
            }
        }
    };
    let size = Size::of(&*state, &readers(config, &embedders)?, keys).await?;
    let reached = reached(&*state).await?;
    let names: Vec<Writer> = reached.iter().map(|reached| Writer(reached.writer.clone())).collect();
    let positions = state.positions(&names).await?;
    let writers = reached.into_iter().zip(positions).map(|(reached, position)| WriterFound { reached, position });
    let (writers, closer) = (writers.collect(), state.holder(TASK).await?);
    let growth = state.growth().await?.and_then(|word| Growth::read(&word)).filter(|growth| growth.is_recent(now()));
    Ok(Some(StateFound { generation: state.live_generation(), size, writers, closer, growth }))
}

/// The models of texts whose results are stored, as far as they are here: none is fetched to look at a state.
async fn embedders(config: &Config) -> Encoders {
    let wanted = Wanted::of_features(config).into_iter().filter(|wanted| wanted.task == Task::Embed);
    Encoders::open_present(wanted.collect(), 1).await.unwrap_or_else(|error| {
        let error = chain(&error);
        warn!(error, "a text model was not opened: what is stored of it counts as unused");
        Encoders::default()
    })
}

fn clickthroughs(config: &Config, service: &str) -> Result<Option<clickthrough::Status>> {
    let folder = match (&config.train, &config.state) {
        (Some(ClickthroughStore::Memory | ClickthroughStore::Discard), _) | (None, State::Memory) => return Ok(None),
        (Some(ClickthroughStore::File { path, .. }), _) => Some(path.clone()),
        (None, State::File(file)) => Some(file.path.join("clickthroughs")),
        _ => None,
    };
    if folder.is_some_and(|folder| !folder.exists()) {
        return Ok(None);
    }
    let header = Header { service: service.to_owned(), columns: Default::default() };
    Ok(Some(clickthroughs_of(config, header)?.status()))
}

fn models(config: &Config, service: &str) -> Result<Option<Vec<ModelFound>>> {
    match &config.state {
        State::Memory => return Ok(None),
        State::File(file) if !file.path.join("models").exists() => return Ok(None),
        _ => {}
    }
    let versions = versions(config, service)?;
    config.models.iter().map(|(name, model)| of_model(name, model, &*versions)).collect::<Result<_>>().map(Some)
}

fn of_model(name: &str, model: &Model, versions: &dyn VersionStore) -> Result<ModelFound> {
    let (ids, current) = (versions.list(name)?, versions.current(name)?);
    let previous = versions.previous(name)?;
    let metadata = versions.load(name, None)?.map(|version| version.metadata().clone());
    let pinned = model.learning().and_then(|learning| learning.version.clone());
    Ok(ModelFound {
        name: name.to_owned(),
        current: current.map(|id| id.to_string()),
        previous: previous.map(|id| id.to_string()),
        pinned,
        versions: ids.len(),
        trained: metadata.as_ref().map(|metadata| metadata.created_at),
        metrics: metadata.map(|metadata| metadata.metrics).unwrap_or_default(),
    })
}

impl WriterFound {
    /// The event time that it has come to; `None` before its first event, and at its end.
    pub(crate) fn watermark(&self) -> Option<Timestamp> {
        self.reached.watermark.filter(|_| !self.has_ended())
    }

    /// Whether nothing is left of its partition.
    pub fn has_ended(&self) -> bool {
        self.reached.watermark.is_some_and(|watermark| watermark >= NO_MORE)
    }
}
