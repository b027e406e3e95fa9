//! A connection that is made anew when it breaks.

use crate::watch::Pushes;
use crate::{Error, Problem, Settings, Watcher};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, RedisResult};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// A server that did not answer is left alone for so long: those who ask meanwhile are told at once.
const PAUSE: Duration = Duration::from_millis(200);

/// A connection to a server, shared by all who use it, and made anew when it breaks.
pub struct Link {
    settings: Settings,
    client: Client,
    watcher: Option<Watcher>,
    current: Mutex<Current>,
    watching: AtomicBool,
    /// Said once.
    told: AtomicBool,
}

#[derive(Default)]
struct Current {
    /// Which connection this is.
    number: u64,
    connection: Option<MultiplexedConnection>,
    failed: Option<(Instant, String)>,
}

impl Link {
    /// A link to a server, which is not talked to yet. `watcher` is told when keys change that were read through it,
    /// where the server can do that.
    ///
    /// # Errors
    /// Where the certificates cannot be read.
    pub fn new(settings: Settings, watcher: Option<Watcher>) -> Result<Self, Error> {
        let place = settings.to_string();
        let client = settings.client().map_err(|error| Error { place, problem: Problem::Tls(error.to_string()) })?;
        let (watching, told) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { settings, client, watcher, current: Mutex::default(), watching, told })
    }

    /// Host, port and database.
    pub fn place(&self) -> String {
        self.settings.to_string()
    }

    /// Whether the server tells of changes to keys that were read.
    pub fn is_watching(&self) -> bool {
        self.watching.load(Ordering::Acquire)
    }

    /// Sends commands. When the connection breaks under them they are sent once more over a new one, so they have to be
    /// such that being carried out twice does no harm.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer in time, or refuses.
    pub async fn send<T, F, W>(&self, work: W) -> Result<T, Error>
    where
        W: Fn(MultiplexedConnection) -> F + Send + Sync,
        F: Future<Output = RedisResult<T>> + Send,
        T: Send,
    {
        let (number, connection) = self.connection().await?;
        let error = match work(connection).await {
            Ok(answer) => return Ok(answer),
            Err(error) if !is_broken(&error) => return Err(self.failure(&error)),
            Err(error) => error,
        };
        self.drop_connection(number).await;
        if error.is_timeout() {
            return Err(self.failure(&error)); // a second try would take as long again
        }
        let (number, connection) = self.connection().await?;
        match work(connection).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                if is_broken(&error) {
                    self.drop_connection(number).await;
                }
                Err(self.failure(&error))
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
            return Err(Error { place: self.place(), problem: Problem::Unreachable(reason.clone()) });
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

    async fn connect(&self) -> Result<MultiplexedConnection, Error> {
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.settings.connect))
            .set_response_timeout(Some(self.settings.command));
        if let Some(watcher) = &self.watcher {
            config = config.set_push_sender(Pushes(watcher.clone()));
        }
        let connected = self.client.get_multiplexed_async_connection_with_config(&config).await;
        let mut connection = connected.map_err(|error| self.failure(&error))?;
        self.refuse_old(&mut connection).await?;
        let watching = self.watcher.is_some() && self.watch(&mut connection).await;
        self.watching.store(watching, Ordering::Release);
        Ok(connection)
    }

    /// Servers before 6.0 lack much of what is used here.
    async fn refuse_old(&self, connection: &mut MultiplexedConnection) -> Result<(), Error> {
        let about: RedisResult<String> = redis::cmd("INFO").arg("server").query_async(connection).await;
        let Ok(about) = about else { return Ok(()) }; // managed servers may refuse to tell
        let version = about.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("6").trim();
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_some_and(|major| major < 6) {
            return Err(Error { place: self.place(), problem: Problem::Old { found: version.to_owned() } });
        }
        Ok(())
    }

    /// Asks for news of the keys that are read; whether the server agrees.
    async fn watch(&self, connection: &mut MultiplexedConnection) -> bool {
        let mut tracking = redis::cmd("CLIENT");
        let agreed: RedisResult<()> = tracking.arg("TRACKING").arg("ON").query_async(connection).await;
        if let Err(error) = &agreed
            && !self.told.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(server = self.place(), %error, "the server offers no client tracking, it is used without");
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

    fn failure(&self, error: &RedisError) -> Error {
        Error { place: self.place(), problem: Problem::of(error, self.settings.tls.is_some()) }
    }
}

/// Whether the connection is of no use any more: it broke, or leads to a server that has lost its role.
fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_timeout() || error.is_unrecoverable_error() || error.code() == Some("READONLY")
}
