//! State in Redis, shared by many processes.
//!
//! All values of an entity are one string: a stamp, new with each value that is stored, and the encoded values. Values become
//! one another here, not in the server: a commit merges its writes into what it knows to lie under their keys, and one
//! script stores all of them, together with the writer's position, if every key still has the stamp that was merged
//! into. Where one has not, the script changes nothing and answers with what lies there; the commit merges again. So
//! there is one implementation of merging, and the server's work for a key is a comparison and a write.
//!
//! The script also makes the batch repeatable: sent again after a broken connection, it finds its own stamp with the
//! writer, and changes nothing. `docs/protocol.md` has the whole protocol.
//!
//! In a cluster no script touches everything: a batch becomes a redo record first, and then goes to each shard of the keys
//! in a part of its own (see `parts`). All else is the same.

mod bugs;
mod cache;
mod change;
mod commit;
mod generation;
mod layout;
mod line;
mod meta;
mod owner;
mod parts;
mod reading;
mod redo;
mod scripts;
mod shards;
mod slots;
mod sweep;
#[cfg(test)]
mod tests;
mod usage;

pub use generation::Filling;
pub use owner::{Claim, Owner, owner_of};
pub(crate) use usage::room_of_key;

use crate::expiry::outdated;
use crate::{
    BoxFuture, CacheUse, Commit, Entity, Error, Fingerprint, Format, Key, Lease, Listed, Outcome, Position, Rewrite,
    Rows, Show, Slot, Space, Stats, Store, Usage, Writer,
};
use cache::Cache;
use layout::Names;
use line::Line;
use parking_lot::RwLock;
use rankwright_event::Timestamp;
use rankwright_redis::{Link, Settings};
use redo::Numbers;
use scripts::Scripts;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot::Receiver;
use tokio::task::AbortHandle;

/// How a [`RedisStore`] works; what it holds does not depend on any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisOptions {
    /// How values are written, where the state's version has it; all formats are read.
    pub format: Format,
    /// How many entities are kept here; none where it is 0.
    pub cache_entries: usize,
    /// How long they are, where the server does not tell what changed; not at all where absent.
    pub cache_ttl: Option<Duration>,
    /// Whether to ask the server to tell what changed.
    pub tracking: bool,
    /// After how long of real time without a write a key is removed.
    pub retention: Duration,
    /// How long ids of events are remembered.
    pub seen: Duration,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            format: Format::Binary,
            cache_entries: 10_240,
            cache_ttl: None,
            tracking: true,
            retention: Duration::from_secs(90 * 86_400),
            seen: Duration::from_secs(300),
        }
    }
}

/// Entities in a Redis server, or in those of a cluster.
pub struct RedisStore {
    live: Arc<RwLock<Arc<Shared>>>,
    runtime: Handle,
    /// Looks which generation is live.
    looking: AbortHandle,
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

/// What the store's work needs, wherever it runs.
struct Shared {
    link: Arc<Link>,
    /// For reading alone. A server that follows what a connection has read follows all keys of a script with each command
    /// in it (before 7.2), which is slow for those of a commit.
    reading: Arc<Link>,
    names: Names,
    scripts: Scripts,
    cache: Arc<Cache>,
    options: RedisOptions,
    /// Version of the layout of what is live.
    layout: u32,
    /// How values are written there.
    format: Format,
    /// Which state it is.
    id: Option<String>,
    /// The state that this process has seen there first, where another one lies there now.
    lost: Option<String>,
    /// By which mark this process has claimed it.
    owner: Arc<OnceLock<Owner>>,
    /// Of commits to one server.
    line: Line,
    /// Of a cluster: the numbers of the last batches of writers that were acquired here.
    numbers: Numbers,
}

impl RedisStore {
    /// Opens the state of `service` in a server, and makes it where it does not exist.
    ///
    /// # Errors
    /// [`Error::Open`], where the server cannot be used; [`Error::Newer`], where a newer version wrote the state.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open(settings: Settings, options: RedisOptions, service: &str) -> BoxFuture<'_, Result<Self, Error>> {
        Box::pin(async move {
            let opened = Self::begin(settings, options, service, true).await?;
            Ok(opened.expect("it was made where it was not there"))
        })
    }

    /// Opens the state of `service` in a server, and makes nothing: `None` where it does not exist.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open_existing(
        settings: Settings,
        options: RedisOptions,
        service: &str,
    ) -> BoxFuture<'_, Result<Option<Self>, Error>> {
        Box::pin(async move { Self::begin(settings, options, service, false).await })
    }

    async fn begin(
        settings: Settings,
        options: RedisOptions,
        service: &str,
        make: bool,
    ) -> Result<Option<Self>, Error> {
        let place = settings.to_string();
        let cannot_open = |source| Error::Open { place: place.clone(), source };
        let cache = Arc::new(Cache::new(options.cache_entries, options.cache_ttl));
        let names = Names::new(service, 0).map_err(|error| cannot_open(error.into()))?;
        let watcher = (options.tracking && options.cache_entries > 0).then(|| cache.watcher());
        let link = Arc::new(Link::new(settings.clone(), None).map_err(|error| cannot_open(error.into()))?);
        let reading = Arc::new(Link::new(settings, watcher).map_err(|error| cannot_open(error.into()))?);
        let live = if make {
            let live = meta::open(&link, &names).await?;
            Some(meta::identified(&link, &names, live).await)
        } else {
            meta::found(&link, &names).await?
        };
        let Some(live) = live else { return Ok(None) };
        meta::warn_of_eviction(&link).await;
        let (names, scripts) = (names.of_generation(live.generation, live.shards), Scripts::new(link.is_cluster()));
        let shared = Shared {
            link,
            reading,
            names,
            scripts,
            cache,
            options,
            layout: live.format,
            format: options.format.in_layout(live.format),
            id: live.id,
            lost: None,
            owner: Arc::default(),
            line: Line::default(),
            numbers: Numbers::default(),
        };
        let live = Arc::new(RwLock::new(Arc::new(shared)));
        let looking = tokio::spawn(look(live.clone())).abort_handle();
        Ok(Some(Self { live, runtime: Handle::current(), looking }))
    }

    /// The generation that is live, as far as is known here.
    fn current(&self) -> Arc<Shared> {
        self.live.read().clone()
    }

    /// Runs the store's work where there are clocks and sockets for it.
    fn run<'a, T, F>(&'a self, work: impl FnOnce(Arc<Shared>) -> F + Send + 'a) -> BoxFuture<'a, Result<T, Error>>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
        T: Send + 'static,
    {
        let work = work(self.current());
        if Handle::try_current().is_ok() {
            return Box::pin(work);
        }
        let running = self.runtime.spawn(work);
        Box::pin(async move {
            running.await.unwrap_or_else(|error| Err(Error::Failed { action: "work", source: Box::new(error) }))
        })
    }
}

/// Goes on with another generation as soon as it is live.
async fn look(live: Arc<RwLock<Arc<Shared>>>) {
    loop {
        tokio::time::sleep(generation::LOOKS_EVERY).await;
        let current = live.read().clone();
        if let Err(error) = go_on(&live, &current).await {
            tracing::debug!(%error, "the live generation is looked up later");
        }
    }
}

/// What is live now.
async fn go_on(live: &RwLock<Arc<Shared>>, current: &Arc<Shared>) -> Result<Arc<Shared>, Error> {
    let Some(next) = current.successor().await? else { return Ok(current.clone()) };
    let mut live = live.write();
    if !live.is(&next.names, next.layout, next.id.as_deref()) {
        *live = Arc::new(next);
    }
    Ok(live.clone())
}

/// Names what was tried in an error.
fn failed(action: &'static str) -> impl Fn(rankwright_redis::Error) -> Error {
    move |source| Error::Failed { action, source: Box::new(source) }
}

impl Store for RedisStore {
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
        let (wanted, live) = (wanted.to_vec(), self.live.clone());
        self.run(move |mut shared| async move {
            loop {
                match shared.allocate(&wanted).await? {
                    Some(slots) => return Ok(slots),
                    None => shared = go_on(&live, &shared).await?,
                }
            }
        })
    }

    fn clear_unfinished(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.run(move |shared| async move { shared.clear_unfinished().await })
    }

    fn clear_former(&self) -> BoxFuture<'_, Result<u64, Error>> {
        let live = self.live.clone();
        self.run(move |shared| async move { go_on(&live, &shared).await?.clear_former().await })
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.run(move |shared| async move { shared.settle().await })
    }

    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Rows, Error>> {
        let keys = keys.to_vec();
        self.run(move |shared| async move { shared.read(keys).await })
    }

    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>> {
        let (writer, live) = (writer.clone(), self.live.clone());
        // the lease may have been lost with its generation
        self.run(move |shared| async move { go_on(&live, &shared).await?.become_writer(writer).await })
    }

    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>> {
        let lease = lease.clone();
        self.run(move |shared| async move { shared.apply(&lease, commit, None).await })
    }

    fn commit_when<'a>(
        &'a self,
        lease: &'a Lease,
        commit: Commit,
        due: Receiver<()>,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        let lease = lease.clone();
        self.run(move |shared| async move { shared.apply(&lease, commit, Some(due)).await })
    }

    fn written(&self, keys: &[Key]) -> Vec<Option<Option<Arc<Entity>>>> {
        let shared = self.current();
        let last = |key| shared.cache.guess(&shared.names.entity(key)).map(|known| known.map(|(_, entity)| entity));
        keys.iter().map(last).collect()
    }

    /// In a cluster, rows of writers lie where their names put them.
    fn moves_together(&self) -> bool {
        !self.is_cluster()
    }

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Listed, Error>> {
        self.run(move |shared| async move { shared.scan(space).await })
    }

    /// All from the generation that was live at its beginning.
    fn each_item<'a>(&'a self, show: &'a mut Show<'a>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let shared = self.current();
            let of_it = |_| {
                let shared = shared.clone();
                async move { shared.names_of_items().await }
            };
            let (mut left, mut at_once) = (self.run(of_it).await?, sweep::FIRST);
            while !left.is_empty() {
                let names = left.split_off(left.len().saturating_sub(at_once));
                let shared = shared.clone();
                let page = self.run(|_| async move { shared.page(&names).await }).await?;
                at_once = page.next;
                page.listed.into_iter().for_each(|(key, entity)| show(key, entity));
            }
            Ok(())
        })
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        let outdated = outdated(now, ttl, other);
        self.run(move |shared| async move { shared.remove_outdated(outdated).await })
    }

    fn rewrite(&self, change: Rewrite) -> BoxFuture<'_, Result<u64, Error>> {
        self.run(move |shared| async move { shared.rewrite(&change).await })
    }

    fn durable(&self) -> bool {
        true
    }

    fn shared(&self) -> bool {
        true
    }

    fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Listed, Error>> {
        self.run(move |shared| async move { shared.oldest(space, until, limit).await })
    }

    fn count(&self, space: Space) -> BoxFuture<'_, Result<usize, Error>> {
        self.run(move |shared| async move { shared.count(space).await })
    }

    fn hold<'a>(&'a self, task: &'a str, holder: &'a str, time: Duration) -> BoxFuture<'a, Result<bool, Error>> {
        let (task, holder) = (task.to_owned(), holder.to_owned());
        self.run(move |shared| async move { shared.hold(&task, &holder, time).await })
    }

    fn stats(&self) -> BoxFuture<'_, Result<Stats, Error>> {
        self.run(move |shared| async move { shared.stats().await })
    }

    fn cache_use(&self) -> Option<CacheUse> {
        Some(self.current().cache.used())
    }

    fn usage(&self, keys: usize) -> BoxFuture<'_, Result<Usage, Error>> {
        self.run(move |shared| async move { shared.usage(keys).await })
    }

    fn known_slots(&self) -> BoxFuture<'_, Result<Vec<(Fingerprint, Slot)>, Error>> {
        self.run(move |shared| async move {
            let fingerprints = shared.all_slots().await?.into_iter();
            Ok(fingerprints.enumerate().map(|(number, fingerprint)| (fingerprint, Slot(number as u16))).collect())
        })
    }

    fn positions<'a>(&'a self, writers: &'a [Writer]) -> BoxFuture<'a, Result<Vec<Option<Position>>, Error>> {
        let writers = writers.to_vec();
        self.run(move |shared| async move { shared.positions(writers).await })
    }

    fn holder<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>> {
        let task = task.to_owned();
        self.run(move |shared| async move { shared.holder(&task).await })
    }

    fn tell_growth(&self, word: String) -> BoxFuture<'_, Result<(), Error>> {
        self.run(move |shared| async move { shared.tell_growth(&word).await })
    }

    fn growth(&self) -> BoxFuture<'_, Result<Option<String>, Error>> {
        self.run(move |shared| async move { shared.growth().await })
    }

    fn live_generation(&self) -> u32 {
        self.current().names.generation()
    }

    fn id(&self) -> Option<String> {
        self.current().id.clone()
    }

    /// An import makes a second generation: then what took the place of the lost one is not empty any more.
    fn emptied(&self) -> bool {
        let shared = self.current();
        shared.lost.is_some() && shared.names.generation() == 1
    }
}

impl Shared {
    /// Whether this is the state and generation that it works on.
    fn is(&self, names: &Names, layout: u32, id: Option<&str>) -> bool {
        let same = self.id.is_none() || self.id.as_deref() == id;
        same && (self.names.generation(), self.layout) == (names.generation(), layout)
    }
}
