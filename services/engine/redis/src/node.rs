//! One server: a connection that is made anew when it breaks.
//!
//! Which server that is may change: where sentinels name it, they are asked again for each connection. So a failover is a
//! broken connection like any other: one that leads to a server which lost its role is of no use.

use crate::watch::Pushes;
use crate::{Address, Error, Problem, Sentinels, Settings, Watcher, sentinel};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisError, RedisResult};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How connections are called in the server's list of clients.
pub(crate) const LIBRARY: &str = "rankwright";
/// A server that did not answer is left alone for so long: those who ask meanwhile are told at once.
const PAUSE: Duration = Duration::from_millis(200);

/// How a server is found.
#[derive(Clone)]
pub(crate) enum Whereabouts {
    /// It is always this one.
    At(Address),
    /// Sentinels name it.
    Named(Sentinels),
}

/// A server, with a connection that is shared by all who use it, and made anew when it breaks.
pub(crate) struct Node {
    settings: Arc<Settings>,
    whereabouts: Whereabouts,
    place: String,
    watcher: Option<Watcher>,
    current: Mutex<Current>,
    watching: AtomicBool,
}

#[derive(Default)]
struct Current {
    /// Which connection this is.
    number: u64,
    connection: Option<MultiplexedConnection>,
    failed: Option<(Instant, String)>,
}

/// What went wrong: in words, and as the server said it, where it said something.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) cause: Option<RedisError>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, cause: None }
    }
}

impl Node {
    /// A server, which is not talked to yet. `watcher` is told when keys change that were read from it, where it can do that.
    pub(crate) fn new(settings: Arc<Settings>, whereabouts: Whereabouts, watcher: Option<Watcher>) -> Self {
        let place = match (&settings.topology, &whereabouts) {
            (crate::Topology::Cluster(_), Whereabouts::At(address)) => format!("{address} (a node of {settings})"),
            _ => settings.to_string(),
        };
        let watching = AtomicBool::new(false);
        Self { settings, whereabouts, place, watcher, current: Mutex::default(), watching }
    }

    /// How it is called in messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Whether the server tells of changes to keys that were read.
    pub(crate) fn is_watching(&self) -> bool {
        self.watching.load(Ordering::Acquire)
    }

    /// Sends commands. When the connection breaks under them they are sent once more over a new one, so they have to be
    /// such that being carried out twice does no harm.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer in time, or refuses.
    pub(crate) async fn send<T, F, W>(&self, work: &W) -> Result<T, Failure>
    where
        W: Fn(MultiplexedConnection) -> F + Send + Sync,
        F: Future<Output = RedisResult<T>> + Send,
        T: Send,
    {
        let (number, connection) = self.connection().await?;
        let error = match work(connection).await {
            Ok(answer) => return Ok(answer),
            Err(error) if !is_broken(&error) => return Err(self.failed(error)),
            Err(error) => error,
        };
        self.drop_connection(number).await;
        if error.is_timeout() {
            return Err(self.failed(error)); // a second try would take as long again
        }
        let (number, connection) = self.connection().await?;
        match work(connection).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                if is_broken(&error) {
                    self.drop_connection(number).await;
                }
                Err(self.failed(error))
            }
        }
    }

    async fn connection(&self) -> Result<(u64, MultiplexedConnection), Error> {
        let mut current = self.current.lock().await;
        if let Some(connection) = &current.connection {
            return Ok((current.number, connection.clone()));
        }
        if let Some((at, reason)) = &current.failed
            && at.elapsed() < PAUSE
        {
            return Err(Error { place: self.place.clone(), problem: Problem::Unreachable(reason.clone()) });
        }
        match self.connect().await {
            Ok(connection) => {
                current.failed = None;
                current.number += 1;
                current.connection = Some(connection.clone());
                Ok((current.number, connection))
            }
            Err(error) => {
                if error.problem.passes() {
                    current.failed = Some((Instant::now(), error.problem.to_string()));
                }
                Err(error)
            }
        }
    }

    /// A connection of its own, without news of keys.
    pub(crate) async fn separate(&self) -> Result<MultiplexedConnection, Error> {
        let address = self.address().await?;
        self.connect_to(&address, None).await
    }

    async fn connect(&self) -> Result<MultiplexedConnection, Error> {
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
        let role: RedisResult<Vec<redis::Value>> = redis::cmd("ROLE").query_async(connection).await;
        let Some(role) = role.ok().and_then(|role| sentinel::role(&role)) else { return Ok(()) }; // it may refuse to tell
        match role.as_str() {
            "master" => Ok(()),
            _ => {
                let problem = Problem::Refuses(format!("{address}, which the sentinels name, is a {role}"));
                Err(Error { place: self.place.clone(), problem })
            }
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

    /// Every connection says who it is, which the server shows in its list of clients. Nobody hears whether it takes that, so
    /// the first one of the process asks.
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

    async fn drop_connection(&self, number: u64) {
        let mut current = self.current.lock().await;
        if current.number == number && current.connection.take().is_some() {
            self.watching.store(false, Ordering::Release);
            if let Some(watcher) = &self.watcher {
                watcher(crate::Change::All);
            }
        }
    }

    pub(crate) fn failed(&self, error: RedisError) -> Failure {
        Failure { error: self.failure(&error), cause: Some(error) }
    }

    fn failure(&self, error: &RedisError) -> Error {
        Error { place: self.place.clone(), problem: Problem::of(error, &self.settings) }
    }
}

/// Whether the connection is of no use any more: it broke, or leads to a server that has lost its role.
pub(crate) fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_timeout() || error.is_unrecoverable_error() || is_replica(error)
}

/// A script's error has the code inside where the server is older than 7.0.
fn is_replica(error: &RedisError) -> bool {
    error.code() == Some("READONLY") || error.detail().is_some_and(|detail| detail.contains("-READONLY "))
}
