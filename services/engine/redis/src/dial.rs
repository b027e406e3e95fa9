//! Making a connection to a server: finding it, logging in, and seeing that it is one that can be used.

use crate::node::is_broken;
use crate::watch::Pushes;
use crate::{Address, Error, Problem, Sentinels, Settings, Watcher, sentinel};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisError, RedisResult};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How connections are called in the server's list of clients.
pub(crate) const LIBRARY: &str = "rankwright";

/// How a server is found.
#[derive(Clone)]
pub(crate) enum Whereabouts {
    /// It is always this one.
    At(Address),
    /// Sentinels name it.
    Named(Sentinels),
}

/// How a server is connected to.
pub(crate) struct Dial {
    settings: Arc<Settings>,
    whereabouts: Whereabouts,
    place: String,
    pub(crate) watcher: Option<Watcher>,
    /// Whether the server tells of changes to keys that were read.
    pub(crate) watching: AtomicBool,
}

impl Dial {
    pub(crate) fn new(settings: Arc<Settings>, whereabouts: Whereabouts, watcher: Option<Watcher>) -> Self {
        let place = match (&settings.topology, &whereabouts) {
            (crate::Topology::Cluster(_), Whereabouts::At(address)) => format!("{address} (a node of {settings})"),
            _ => settings.to_string(),
        };
        Self { settings, whereabouts, place, watcher, watching: AtomicBool::new(false) }
    }

    /// How the server is called in messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// A connection of its own, without news of keys.
    pub(crate) async fn separate(&self) -> Result<MultiplexedConnection, Error> {
        let address = self.address().await?;
        self.connect_to(&address, None).await
    }

    pub(crate) async fn connect(&self) -> Result<MultiplexedConnection, Error> {
        let address = self.address().await?;
        let mut connection = self.connect_to(&address, self.watcher.as_ref()).await?;
        self.refuse_old(&mut connection).await?;
        if let Whereabouts::Named(_) = &self.whereabouts {
            self.refuse_replica(&address, &mut connection).await?;
        }
        self.name_ourselves(&mut connection).await;
        let watching = self.watcher.is_some() && self.watch(&mut connection).await;
        self.watching.store(watching, Ordering::Release);
        Ok(connection)
    }

    async fn address(&self) -> Result<Address, Error> {
        match &self.whereabouts {
            Whereabouts::At(address) => Ok(address.clone()),
            Whereabouts::Named(sentinels) => {
                let named = sentinel::master(&self.settings, sentinels).await;
                named.map_err(|problem| Error { place: self.place.clone(), problem })
            }
        }
    }

    async fn connect_to(&self, address: &Address, watcher: Option<&Watcher>) -> Result<MultiplexedConnection, Error> {
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.settings.connect))
            .set_response_timeout(Some(self.settings.command));
        if let Some(watcher) = watcher {
            config = config.set_push_sender(Pushes(watcher.clone()));
        }
        let client = self.settings.client(address).map_err(|error| self.failure(&error))?;
        let connected = client.get_multiplexed_async_connection_with_config(&config).await;
        connected.map_err(|error| Error {
            place: self.place.clone(),
            problem: Problem::of_connecting(&error, &self.settings),
        })
    }

    /// Sentinels go on naming a server for a while that has lost its role.
    async fn refuse_replica(&self, address: &Address, connection: &mut MultiplexedConnection) -> Result<(), Error> {
        let asked: RedisResult<Vec<redis::Value>> = redis::cmd("ROLE").query_async(connection).await;
        let role = match asked {
            Ok(role) => sentinel::role(&role),
            Err(_) => {
                let asked: RedisResult<String> = redis::cmd("INFO").arg("replication").query_async(connection).await;
                asked.ok().as_deref().and_then(sentinel::role_of_info)
            }
        };
        match sentinel::refusal(address, role) {
            None => Ok(()),
            Some(problem) => Err(Error { place: self.place.clone(), problem }),
        }
    }

    /// Servers before 6.0 lack much of what is used here.
    async fn refuse_old(&self, connection: &mut MultiplexedConnection) -> Result<(), Error> {
        let about: RedisResult<String> = redis::cmd("INFO").arg("server").query_async(connection).await;
        let Ok(about) = about else { return Ok(()) }; // managed servers may refuse to tell
        let version = about.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("6").trim();
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_some_and(|major| major < 6) {
            return Err(Error { place: self.place.clone(), problem: Problem::Old { found: version.to_owned() } });
        }
        Ok(())
    }

    /// Every connection gives its name, which the server shows in its list of clients. The answer is not read, so the first
    /// connection of the process asks whether the server accepts names.
    async fn name_ourselves(&self, connection: &mut MultiplexedConnection) {
        static ASKED: AtomicBool = AtomicBool::new(false);
        if ASKED.load(Ordering::Relaxed) {
            return;
        }
        let mut name = redis::cmd("CLIENT");
        let named: RedisResult<()> = name.arg("SETINFO").arg("LIB-NAME").arg(LIBRARY).query_async(connection).await;
        if named.as_ref().is_err_and(is_broken) || ASKED.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = named {
            tracing::info!(server = self.place, %error, "the server takes no CLIENT SETINFO (new in 7.2), it is used without");
        }
    }

    /// Asks for news of the keys that are read; whether the server agrees.
    async fn watch(&self, connection: &mut MultiplexedConnection) -> bool {
        static TOLD: AtomicBool = AtomicBool::new(false); // once for all nodes of a cluster
        let mut tracking = redis::cmd("CLIENT");
        let agreed: RedisResult<()> = tracking.arg("TRACKING").arg("ON").query_async(connection).await;
        if let Err(error) = &agreed
            && !TOLD.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(server = self.place, %error, "the server offers no client tracking, it is used without");
        }
        agreed.is_ok()
    }

    pub(crate) fn failure(&self, error: &RedisError) -> Error {
        Error { place: self.place.clone(), problem: Problem::of(error, &self.settings) }
    }
}
