//! The servers of a cluster: which of them has a key, and what to do when that changes.
//!
//! This is a router of our own over one [`Node`] for each server, in place of the client library's cluster connection: each
//! server is talked to exactly as a single one is, with the same time limits, the same mending and the same news of keys,
//! which that connection neither limits nor passes on in this way. What a router has to know is little, as we never send
//! commands over keys of several slots:
//!
//! - `MOVED`: the map of slots is out of date. It is asked for again, and the commands go where they were sent to.
//! - `ASK`: the slot is on its way. The commands go to its new server once, on a connection of their own.
//! - `TRYAGAIN`, `CLUSTERDOWN`, `LOADING`, a replica that was not one before: asked again until the time limit of a command.
//! - No connection: another server may have taken over; if the map says so, that one is asked.
//!
//! What was cached is dropped whenever a slot changes its server, and whenever a connection breaks.

use crate::node::{Failure, Node, Whereabouts};
use crate::slots::{Range, ranges, slot_of};
use crate::{Address, Change, Error, Problem, Settings, Watcher};
use futures_util::future::try_join_all;
use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind, Value, cmd};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How often commands follow a slot before it is believed to be nowhere.
const MOST_TRIES: u32 = 16;
/// How long to wait before a server is asked again that is not ready.
const WAIT: Duration = Duration::from_millis(25);

/// All servers of a cluster.
pub(crate) struct Cluster {
    settings: Arc<Settings>,
    seeds: Vec<Address>,
    watcher: Option<Watcher>,
    nodes: Mutex<HashMap<Address, Arc<Node>>>,
    map: RwLock<Arc<Map>>,
    asking: tokio::sync::Mutex<()>,
}

/// Who has which slots, in order of slots.
#[derive(Default)]
struct Map {
    version: u64,
    ranges: Vec<Range>,
    owners: Vec<Arc<Node>>,
}

impl Map {
    fn owner(&self, slot: u16) -> Option<&Arc<Node>> {
        let place = self.ranges.partition_point(|range| range.last < slot);
        self.ranges.get(place).filter(|range| range.first <= slot)?;
        self.owners.get(place)
    }

    /// Each server once.
    fn servers(&self) -> Vec<Arc<Node>> {
        let mut servers: Vec<Arc<Node>> = Vec::new();
        for owner in &self.owners {
            if !servers.iter().any(|known| Arc::ptr_eq(known, owner)) {
                servers.push(owner.clone());
            }
        }
        servers
    }
}

/// What to do after commands failed.
enum Next {
    /// They are somewhere else now, perhaps there.
    Follow(Option<Address>),
    /// They are to be sent there once.
    Ask(Address),
    /// The same again, a little later.
    Wait,
    /// Another server may have taken over.
    Look,
    /// Nothing helps.
    Stop,
}

impl Cluster {
    /// A cluster that is not talked to yet.
    pub(crate) fn new(settings: Arc<Settings>, seeds: Vec<Address>, watcher: Option<Watcher>) -> Self {
        let (nodes, map, asking) = (Mutex::default(), RwLock::default(), tokio::sync::Mutex::default());
        Self { settings, seeds, watcher, nodes, map, asking }
    }

    /// Whether all servers tell of changes to keys that were read.
    pub(crate) fn is_watching(&self) -> bool {
        let map = self.map();
        !map.owners.is_empty() && map.owners.iter().all(|node| node.is_watching())
    }

    /// Sends commands to the server that has `key`.
    pub(crate) async fn send<T, F, W>(&self, key: &[u8], work: &W) -> Result<T, Error>
    where
        W: Fn(MultiplexedConnection) -> F + Send + Sync,
        F: Future<Output = RedisResult<T>> + Send,
        T: Send,
    {
        let (slot, end) = (slot_of(key), Instant::now() + self.settings.command);
        let mut map = self.known().await?;
        let mut asked: Option<Arc<Node>> = None;
        for tries in 1.. {
            let Some(node) = asked.take().or_else(|| map.owner(slot).cloned()) else {
                map = self.pause(&map, None, end).await.ok_or_else(|| self.nowhere(slot))?;
                continue;
            };
            let failure = match node.send(work).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match next(&failure) {
                _ if tries == MOST_TRIES && !matches!(next(&failure), Next::Wait) => return Err(failure.error),
                Next::Follow(to) => {
                    map = self.refresh(&map, to.as_ref()).await?;
                    asked = to.map(|to| self.node(&to));
                }
                Next::Ask(to) => match self.ask(&to, work).await {
                    Ok(answer) => return Ok(answer),
                    Err(failure) if matches!(next(&failure), Next::Stop) => return Err(failure.error),
                    Err(failure) => map = self.pause(&map, None, end).await.ok_or(failure.error)?,
                },
                Next::Wait => map = self.pause(&map, None, end).await.ok_or(failure.error)?,
                Next::Look => {
                    let newer = self.refresh(&map, None).await?;
                    if newer.owner(slot).is_some_and(|owner| Arc::ptr_eq(owner, &node)) {
                        return Err(failure.error);
                    }
                    map = newer;
                }
                Next::Stop => return Err(failure.error),
            }
        }
        Err(self.nowhere(slot))
    }

    /// Sends commands to every server.
    pub(crate) async fn each<T, F, W>(&self, work: &W) -> Result<Vec<T>, Error>
    where
        W: Fn(MultiplexedConnection) -> F + Send + Sync,
        F: Future<Output = RedisResult<T>> + Send,
        T: Send,
    {
        let known = self.known().await?;
        let map = self.refresh(&known, None).await?; // a server that came and has not been talked to is one of them
        let servers = map.servers();
        try_join_all(servers.iter().map(|node| async move { node.send(work).await.map_err(|failure| failure.error) }))
            .await
    }

    /// A slot that is on its way: the server it goes to answers what is announced to it.
    async fn ask<T, F, W>(&self, to: &Address, work: &W) -> Result<T, Failure>
    where
        W: Fn(MultiplexedConnection) -> F + Send + Sync,
        F: Future<Output = RedisResult<T>> + Send,
    {
        let node = self.node(to);
        let mut connection = node.separate().await?;
        let announced: RedisResult<()> = cmd("ASKING").query_async(&mut connection).await;
        let answer = match announced {
            Ok(()) => work(connection).await,
            Err(error) => Err(error),
        };
        answer.map_err(|error| node.failed(error))
    }

    /// Waits a little and looks who has what; `None` when the time is over.
    async fn pause(&self, map: &Arc<Map>, hint: Option<&Address>, end: Instant) -> Option<Arc<Map>> {
        if Instant::now() + WAIT >= end {
            return None;
        }
        tokio::time::sleep(WAIT).await;
        Some(self.refresh(map, hint).await.unwrap_or_else(|_| map.clone()))
    }

    async fn known(&self) -> Result<Arc<Map>, Error> {
        let map = self.map();
        match map.owners.is_empty() {
            true => self.refresh(&map, None).await,
            false => Ok(map),
        }
    }

    /// Asks which server has which slots, unless another task has done so since `seen`.
    async fn refresh(&self, seen: &Arc<Map>, hint: Option<&Address>) -> Result<Arc<Map>, Error> {
        let _asking = self.asking.lock().await;
        let map = self.map();
        if map.version != seen.version {
            return Ok(map);
        }
        let known = map.ranges.iter().map(|range| &range.owner);
        let mut asked: Vec<&Address> = Vec::new();
        let mut last = None;
        for address in hint.into_iter().chain(known).chain(&self.seeds) {
            if asked.contains(&address) {
                continue;
            }
            asked.push(address);
            match self.slots(address).await {
                Ok(ranges) => return Ok(self.take(&map, ranges)),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| self.problem(Problem::Other("there is no node to ask".to_owned()))))
    }

    /// What a server says of who has what.
    async fn slots(&self, address: &Address) -> Result<Vec<Range>, Error> {
        let node = self.node(address);
        let question = |mut connection: MultiplexedConnection| async move {
            cmd("CLUSTER").arg("SLOTS").query_async::<Value>(&mut connection).await
        };
        let answer = node.send(&question).await.map_err(|failure| failure.error)?;
        ranges(&answer, address).filter(|ranges| !ranges.is_empty()).ok_or_else(|| Error {
            place: node.place().to_owned(),
            problem: Problem::Refuses("it has joined no cluster, or none with slots".to_owned()),
        })
    }

    /// Goes by new ranges from now on.
    fn take(&self, map: &Map, ranges: Vec<Range>) -> Arc<Map> {
        let owners = ranges.iter().map(|range| self.node(&range.owner)).collect();
        let moved = ranges != map.ranges && !map.ranges.is_empty();
        let map = Arc::new(Map { version: map.version + 1, ranges, owners });
        self.forget_others(&map);
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = map.clone();
        if let Some(watcher) = self.watcher.as_ref().filter(|_| moved) {
            watcher(Change::All);
        }
        map
    }

    /// Connections to servers that are none of the cluster any more end with their last use.
    fn forget_others(&self, map: &Map) {
        let kept =
            |address: &Address| self.seeds.contains(address) || map.ranges.iter().any(|range| range.owner == *address);
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).retain(|address, _| kept(address));
    }

    fn node(&self, address: &Address) -> Arc<Node> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Node::new(self.settings.clone(), Whereabouts::At(address.clone()), self.watcher.clone());
        nodes.entry(address.clone()).or_insert_with(|| Arc::new(make())).clone()
    }

    fn map(&self) -> Arc<Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn nowhere(&self, slot: u16) -> Error {
        self.problem(Problem::Refuses(format!("no node has slot {slot}")))
    }

    fn problem(&self, problem: Problem) -> Error {
        Error { place: self.settings.to_string(), problem }
    }
}

fn next(failure: &Failure) -> Next {
    let Some(cause) = &failure.cause else {
        return if failure.error.problem.passes() { Next::Look } else { Next::Stop };
    };
    let to = || cause.redirect_node().and_then(|(to, _)| Address::parse(to));
    match cause.kind() {
        ErrorKind::Server(ServerErrorKind::Moved) => Next::Follow(to()),
        ErrorKind::Server(ServerErrorKind::Ask) => to().map_or(Next::Wait, Next::Ask),
        ErrorKind::Server(
            ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly,
        ) => Next::Wait,
        _ if is_unreachable(cause) => Next::Look,
        _ => Next::Stop,
    }
}

/// A slow server is not asked a second time: it would take as long again.
fn is_unreachable(cause: &RedisError) -> bool {
    (cause.is_io_error() || cause.is_unrecoverable_error()) && !cause.is_timeout()
}
