//! One server: a connection that is opened again when it breaks.
//!
//! Which server that is may change: where sentinels name it, they are asked again for each connection. So a failover is a
//! broken connection like any other: one that leads to a server which lost its role is of no use.

use crate::dial::Dial;
use crate::{Error, Problem, Settings, Watcher};
use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

pub(crate) use crate::dial::Whereabouts;

/// A server that did not answer is left alone for this time: callers get its failure at once meanwhile.
const PAUSE: Duration = Duration::from_millis(200);

/// A server, with a connection that is shared by all its users, and opened again when it breaks.
pub(crate) struct Node {
    dial: Arc<Dial>,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    /// Which connection this is.
    number: u64,
    connection: Option<MultiplexedConnection>,
    /// One that is being made: who waits for it may not be able to wait as long as that takes.
    coming: Option<JoinHandle<(Instant, Result<MultiplexedConnection, Error>)>>,
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
        Self { dial: Arc::new(Dial::new(settings, whereabouts, watcher)), current: Mutex::default() }
    }

    /// How it is called in messages.
    pub(crate) fn place(&self) -> &str {
        self.dial.place()
    }

    /// Whether the server tells of changes to keys that were read.
    pub(crate) fn is_watching(&self) -> bool {
        self.dial.watching.load(Ordering::Acquire)
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
            return Err(Error { place: self.place().to_owned(), problem: Problem::Unreachable(reason.clone()) });
        }
        let connected = loop {
            let is_new = current.coming.is_none();
            let dial = self.dial.clone();
            let connect = async move {
                let connected = dial.connect().await;
                (Instant::now(), connected)
            };
            let ended = current.coming.get_or_insert_with(|| tokio::spawn(connect)).await;
            current.coming = None;
            match ended {
                Ok((at, Err(_))) if !is_new && at.elapsed() > PAUSE => {} // no caller was there to hear of it
                Ok((_, connected)) => break connected,
                Err(error) => {
                    let problem = Problem::Unreachable(format!("connecting was given up ({error})"));
                    break Err(Error { place: self.place().to_owned(), problem });
                }
            }
        };
        match connected {
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
        self.dial.separate().await
    }

    async fn drop_connection(&self, number: u64) {
        let mut current = self.current.lock().await;
        if current.number == number && current.connection.take().is_some() {
            self.dial.watching.store(false, Ordering::Release);
            if let Some(watcher) = &self.dial.watcher {
                watcher(crate::Change::All);
            }
        }
    }

    pub(crate) fn failed(&self, error: RedisError) -> Failure {
        Failure { error: self.dial.failure(&error), cause: Some(error) }
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
