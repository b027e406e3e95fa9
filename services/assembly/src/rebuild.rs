//! Building a state from its events beside the live one, and putting it in its place.
//!
//! The events go into a state of this process alone: so they take the way of a single process, which is many times as fast
//! as sharing a state. What comes of them goes to where the configuration says when it is complete; nothing of it is
//! seen before. A state for Redis, which has to fit into memory there, is built in memory here. One for a folder is built
//! in a folder, and goes on there when it was killed.

use crate::closing::{Closing, Holding, REBUILD, StillOpen, TASK};
use crate::encoders::with_dictionaries;
use crate::engine::{Engine, service};
use crate::folder;
use crate::serving::identity;
use crate::{joins, open};
use anyhow::{Context, Result, bail};
use futures_util::future::BoxFuture;
use rankwright_config::{Config, State};
use rankwright_feature::Plan;
use rankwright_state::{FileStore, Filling, MemoryStore, Position, RedisStore, Space, Store, Writer};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tracing::{info, warn};

const SPACES: [Space; 6] = [Space::Values, Space::Joins, Space::Outbox, Space::Seen, Space::Waiting, Space::Watermarks];

/// How folders are called in which a state is built.
const REBUILT: &str = "rebuilt-";

/// A state that is being built.
pub struct Rebuild {
    engine: Arc<Engine>,
    target: Target,
}

/// Where the state lies, and where it goes.
enum Target {
    Redis {
        built: Arc<MemoryStore>,
        filling: Filling,
        /// No process may write to the live state meanwhile.
        untouched: bool,
        /// Others see that it is filled, and by whom.
        holding: Holding,
        holder: String,
        live: Arc<RedisStore>,
        config: Box<Config>,
    },
    /// In the place of a folder, which no other process uses meanwhile.
    Folder { built: PathBuf, path: PathBuf, held: FileStore },
}

impl Rebuild {
    /// Begins a state that replaces the live one. `data` names what is imported, where that is not the configuration's source.
    /// With a `name`, the state remembers that it was imported under it; `None` where it does already.
    ///
    /// # Errors
    /// When a store cannot be opened, or the state is in memory, or in a folder, which remembers no names.
    pub fn begin<'a>(
        config: &'a Config,
        data: Option<&'a Path>,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Self>>> {
        Box::pin(async move {
            match &config.state {
                State::Memory | State::File(_) if name.is_some() => {
                    bail!("--once: only a state in Redis remembers under which name it was imported")
                }
                State::Memory => bail!("--rebuild: the state is in memory, and each process starts with an empty one"),
                State::File(file) => Self::in_folder(config, file, data).await.map(Some),
                State::Redis(redis) => {
                    let live = open::redis(config, redis, &service()).await?;
                    if name.is_some() && live.imported().await?.as_deref() == name {
                        return Ok(None);
                    }
                    Self::in_redis(config, live, false, name).await.map(Some)
                }
            }
        })
    }

    /// Begins the state of a service in Redis that was never written to. `None` where there is no such, or where its keys are
    /// spread over servers, which cannot answer for all of them at once.
    ///
    /// # Errors
    /// When a store cannot be opened.
    pub fn of_untouched<'a>(config: &'a Config) -> BoxFuture<'a, Result<Option<Self>>> {
        Box::pin(async move {
            let State::Redis(redis) = &config.state else { return Ok(None) };
            let live = open::redis(config, redis, &service()).await?;
            if live.is_cluster() || !live.is_untouched().await? {
                return Ok(None);
            }
            Self::in_redis(config, live, true, None).await.map(Some)
        })
    }

    async fn in_redis(config: &Config, live: RedisStore, untouched: bool, name: Option<&str>) -> Result<Self> {
        let encoders = Engine::encoders(config).await?;
        Plan::of(&with_dictionaries(config.clone()).await?, &live, &encoders).await?; // so that all slots have a number there
        let (live, holder) = (Arc::new(live), identity());
        let holding = Holding::of_rebuild(live.clone(), &holder).await?;
        let filling = live.fill_next().await?.named(name.unwrap_or_default());
        let (built, own) = (Arc::new(MemoryStore::default()), Box::new(config.clone()));
        built.slots(filling.slots()).await?; // in their order: so they get the same numbers
        let mut config = config.clone();
        config.core.clickthrough.max_parallel_sessions = usize::MAX; // it is no state that anybody keeps in memory
        let engine = Arc::new(Engine::with(config, built.clone(), encoders).await?);
        Ok(Self { engine, target: Target::Redis { built, filling, untouched, holding, holder, live, config: own } })
    }

    async fn in_folder(
        config: &Config,
        file: &rankwright_config::state::FileState,
        data: Option<&Path>,
    ) -> Result<Self> {
        let path = folder::place(file);
        let built = file.path.join(format!("{REBUILT}{:016x}", digest(config, data)));
        if let Some(link) = [&path, &built].into_iter().find(|path| path.is_symlink()) {
            bail!("{} is a symbolic link: have state.path name the folder in which the files lie", link.display());
        }
        let held = folder::open(&path, file)?;
        for left in unfinished(&file.path)?.into_iter().filter(|left| *left != built) {
            info!(path = %left.display(), "a rebuild of another configuration, or from other data, was not completed: it is removed");
            if let Err(error) = fs::remove_dir_all(&left) {
                warn!(path = %left.display(), %error, "it stays: remove it by hand");
            }
        }
        let store = folder::open(&built, file)?;
        let target = Target::Folder { built, path, held };
        let engine = Arc::new(Engine::over(config.clone(), Arc::new(store)).await?);
        Ok(Self { engine, target })
    }

    /// What takes in the events.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Puts the state where it belongs; false where that one has changed meanwhile and should not have.
    ///
    /// # Errors
    /// When a store fails, or the engine is still in use. One state is live then, the previous one or, where the answer was lost,
    /// this one.
    pub fn complete(self) -> BoxFuture<'static, Result<bool>> {
        Box::pin(async move {
            let engine = Arc::into_inner(self.engine).context("the state that was built is in use")?;
            drop(engine); // click-throughs are where they belong, and folders are closed
            match self.target {
                Target::Redis { built, filling, untouched, holding, holder, live, config } => {
                    let filled = match untouched {
                        true => fill(&filling, &built, true, async || Ok(())).await,
                        false => in_place_of_live(&filling, &built, *config, live.clone(), &holder).await,
                    };
                    drop(holding);
                    if let Err(error) = live.hold(REBUILD, &holder, Duration::from_millis(1)).await {
                        tracing::debug!(%error, "for a moment, other processes take the state for one that is being filled");
                    }
                    filled
                }
                Target::Folder { built, path, held } => folder::replace(&path, &built, held).map(|()| true),
            }
        })
    }
}

/// Fills a generation and makes it live. The state that was live goes, with all that only it has. So its click-throughs are
/// brought to their store first: most of them before the generation is filled, the rest while closing is held up until the
/// new state is live.
async fn in_place_of_live(
    filling: &Filling,
    built: &MemoryStore,
    config: Config,
    live: Arc<RedisStore>,
    holder: &str,
) -> Result<bool> {
    let mut closing = Closing::new(Arc::new(Engine::over(config, live).await?), holder);
    let filled = replace_live(filling, built, &mut closing).await;
    closing.leave().await;
    if !filled? {
        bail!("another process has put another state in place meanwhile, or begun to: run it again");
    }
    Ok(true)
}

async fn replace_live(filling: &Filling, built: &MemoryStore, closing: &mut Closing) -> Result<bool> {
    bring_owed(closing).await?;
    closing.leave().await; // filling takes a while
    let alone = async || -> Result<_> {
        bring_owed(closing).await?;
        Ok(closing.alone().await?.ok_or(StillOpen)?)
    };
    fill(filling, built, false, alone).await
}

async fn bring_owed(closing: &mut Closing) -> Result<()> {
    let brought = match closing.bring().await {
        Ok(true) => Ok(()),
        Ok(false) => Err(StillOpen.into()),
        Err(error) => Err(anyhow::Error::from(error)),
    };
    brought.context("click-throughs in the state are not in their store yet, and would be lost with the state")
}

/// Folders that rebuilds of the state in a folder have left.
pub(crate) fn unfinished(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to list {}", folder.display()))?;
        if entry.file_name().to_string_lossy().starts_with(REBUILT) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Brings everything to Redis, and makes it live; whether it is. Right before, it gets `ready`, and keeps what comes of that until it
/// is live.
async fn fill<T>(
    filling: &Filling,
    built: &MemoryStore,
    untouched: bool,
    ready: impl AsyncFnOnce() -> Result<T>,
) -> Result<bool> {
    let (began, generation) = (std::time::Instant::now(), filling.number());
    let mut entities = 0;
    for space in SPACES {
        let listed = built.scan(space).await?;
        entities += listed.len();
        filling.put(&listed).await?;
    }
    let ours = [joins::WRITER, TASK]; // these stand nowhere in a source
    let handed_over =
        |(writer, position): &(Writer, Position)| !ours.contains(&writer.0.as_str()) && !position.0.is_empty();
    for (writer, position) in built.writers().into_iter().filter(handed_over) {
        filling.stands(&writer, &position).await?;
    }
    let kept = match ready().await {
        Ok(kept) => kept,
        Err(error) => {
            filling.give_up().await;
            return Err(error);
        }
    };
    let switched = filling.switch(untouched).await;
    drop(kept);
    let is_there = switched?;
    if is_there {
        info!(generation, entities, elapsed_ms = began.elapsed().as_millis() as u64, "the new state is live");
    }
    Ok(is_there)
}

/// Tells imports apart that must not go on with each other's work.
fn digest(config: &Config, data: Option<&Path>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (format!("{:?}", (&config.features, &config.core, &config.source)), data).hash(&mut hasher);
    config.seen().iter().for_each(|seen| format!("{seen:?}").hash(&mut hasher));
    config.models.values().for_each(|model| model.stored_fields().hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests;
