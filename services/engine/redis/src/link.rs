//! What the parts of the engine talk to: one server, one that sentinels name, or the servers of a cluster.

use crate::cluster::Cluster;
use crate::node::{Node, Whereabouts};
use crate::{Error, Problem, Settings, Topology, Watcher};
use redis::RedisResult;
use redis::aio::MultiplexedConnection;
use std::future::Future;
use std::sync::Arc;

/// Connections to one server or many, shared by all their users, and opened again when they break.
pub struct Link {
    place: String,
    servers: Servers,
}

enum Servers {
    One(Box<Node>),
    Many(Box<Cluster>),
}

impl Link {
    /// A link to servers, which are not talked to yet. `watcher` is told when keys change that were read through it, where
    /// the servers can do that.
    ///
    /// # Errors
    /// Where the certificates cannot be read.
    pub fn new(settings: Settings, watcher: Option<Watcher>) -> Result<Self, Error> {
        let place = settings.to_string();
        let usable = settings.client(&settings.address());
        usable.map_err(|error| Error { place: place.clone(), problem: Problem::Tls(error.to_string()) })?;
        let settings = Arc::new(settings);
        let one = |whereabouts, watcher| Servers::One(Box::new(Node::new(settings.clone(), whereabouts, watcher)));
        let servers = match &settings.topology {
            Topology::Standalone => one(Whereabouts::At(settings.address()), watcher),
            Topology::Sentinel(sentinels) => one(Whereabouts::Named(sentinels.clone()), watcher),
            Topology::Cluster(seeds) => Servers::Many(Box::new(Cluster::new(settings.clone(), seeds.clone(), watcher))),
        };
        Ok(Self { place, servers })
    }

    /// Host, port and database, or how the servers are found.
    pub fn place(&self) -> String {
        self.place.clone()
    }

    /// Whether keys are shared out among servers.
    pub fn is_cluster(&self) -> bool {
        matches!(self.servers, Servers::Many(_))
    }

    /// Whether the servers tell of changes to keys that were read.
    pub fn is_watching(&self) -> bool {
        match &self.servers {
            Servers::One(node) => node.is_watching(),
            Servers::Many(cluster) => cluster.is_watching(),
        }
    }

    /// Sends commands to the server that has `key`; all their keys have to be in its slot. When the connection breaks under
    /// them, or the slot is on another server by now, they are sent once more, so they have to be such that being carried
    /// out twice does no harm.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer in time, or refuses.
    pub async fn send<T, F, W>(&self, key: impl AsRef<[u8]>, work: W) -> Result<T, Error>
    where
        W: Fn(MultiplexedConnection) -> F + Send + Sync,
        F: Future<Output = RedisResult<T>> + Send,
        T: Send,
    {
        match &self.servers {
            Servers::One(node) => node.send(&work).await.map_err(|failure| failure.error),
            Servers::Many(cluster) => cluster.send(key.as_ref(), &work).await,
        }
    }

    /// Sends commands to every server that has keys; the answers in no particular order.
    ///
    /// # Errors
    /// As [`Link::send`].
    pub async fn each<T, F, W>(&self, work: W) -> Result<Vec<T>, Error>
    where
        W: Fn(MultiplexedConnection) -> F + Send + Sync,
        F: Future<Output = RedisResult<T>> + Send,
        T: Send,
    {
        match &self.servers {
            Servers::One(node) => node.send(&work).await.map(|answer| vec![answer]).map_err(|failure| failure.error),
            Servers::Many(cluster) => cluster.each(&work).await,
        }
    }
}
