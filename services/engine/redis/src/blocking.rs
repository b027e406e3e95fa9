//! The same for threads that may wait, such as those that train and load models.

use crate::{Error, Problem, Settings};
use redis::{Client, Connection, RedisError, RedisResult};
use std::sync::{Mutex, PoisonError};

/// A connection for threads that may wait, made anew when it breaks.
pub struct Blocking {
    settings: Settings,
    client: Client,
    current: Mutex<Option<Connection>>,
}

impl Blocking {
    /// A link to a server, which is not talked to yet.
    ///
    /// # Errors
    /// Where the certificates cannot be read.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let place = settings.to_string();
        let client = settings.client().map_err(|error| Error { place, problem: Problem::Tls(error.to_string()) })?;
        Ok(Self { settings, client, current: Mutex::default() })
    }

    /// Sends commands. When the connection breaks under them they are sent once more over a new one, so they have to be
    /// such that being carried out twice does no harm.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer in time, or refuses.
    pub fn send<T>(&self, work: impl Fn(&mut Connection) -> RedisResult<T>) -> Result<T, Error> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = current.as_mut() {
            match work(connection) {
                Err(error) if error.is_io_error() || error.is_unrecoverable_error() => *current = None,
                other => return other.map_err(|error| self.failure(&error)),
            }
        }
        let mut connection = self.connect().map_err(|error| self.failure(&error))?;
        let answer = work(&mut connection).map_err(|error| self.failure(&error))?;
        *current = Some(connection);
        Ok(answer)
    }

    fn connect(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(self.settings.connect)?;
        connection.set_read_timeout(Some(self.settings.command))?;
        connection.set_write_timeout(Some(self.settings.command))?;
        Ok(connection)
    }

    fn failure(&self, error: &RedisError) -> Error {
        Error { place: self.settings.to_string(), problem: Problem::of(error, self.settings.tls.is_some()) }
    }
}
