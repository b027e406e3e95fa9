//! The same for threads that may wait, such as those that train and load models.

use crate::slots::{Range, ranges, slot_of};
use crate::{Address, Error, Problem, Settings, Topology, node, sentinel};
use redis::{Connection, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value, cmd};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait before a server is asked again that is not ready.
const WAIT: Duration = Duration::from_millis(25);

/// Connections for threads that may wait, opened again when they break.
pub struct Blocking {
    settings: Settings,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    /// For one server, or one that sentinels name, there is at most one, under no address.
    connections: HashMap<Option<Address>, Connection>,
    /// Who has which keys of a cluster.
    ranges: Vec<Range>,
    /// Who had some when that was last known: they are asked before those of the settings, which may be gone by now.
    known: Vec<Address>,
}

/// What went wrong: the server's words, or ours.
enum Failure {
    Said(RedisError),
    Ours(Problem),
}

impl Blocking {
    /// A link to servers, which are not talked to yet.
    ///
    /// # Errors
    /// Where the certificates cannot be read.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let usable = settings.client(&settings.address());
        let place = settings.to_string();
        usable.map_err(|error| Error { place, problem: Problem::Tls(error.to_string()) })?;
        Ok(Self { settings, current: Mutex::default() })
    }

    /// Whether keys are shared out among servers.
    pub fn is_cluster(&self) -> bool {
        matches!(self.settings.topology, Topology::Cluster(_))
    }

    /// Sends commands to the server that has `key`; all their keys have to be in its slot. When the connection breaks under
    /// them, or the slot is on another server by now, they are sent once more, so they have to be such that being carried
    /// out twice does no harm.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer in time, or refuses.
    pub fn send<T>(&self, key: impl AsRef<[u8]>, work: impl Fn(&mut Connection) -> RedisResult<T>) -> Result<T, Error> {
        let (key, end) = (key.as_ref(), Instant::now() + self.settings.command);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let mut mended = false;
        loop {
            let failure = match self.attempt(&mut current, key, &work) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let again = match &failure {
                Failure::Said(error) if self.is_cluster() && is_elsewhere(error) => pause(end),
                Failure::Said(error) => node::is_broken(error) && !std::mem::replace(&mut mended, true),
                Failure::Ours(_) => false,
            };
            if !again {
                return Err(self.failure(failure));
            }
            current.ranges.clear();
        }
    }

    /// Sends them once, over the connection there is or a new one.
    fn attempt<T>(
        &self,
        current: &mut Current,
        key: &[u8],
        work: &impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> Result<T, Failure> {
        let place = self.place_of(current, key)?;
        let mut connection = match current.connections.remove(&place) {
            Some(connection) => connection,
            None => self.connect(place.as_ref())?,
        };
        let mut answer = work(&mut connection);
        if let Some(to) = answer.as_ref().err().and_then(asked_elsewhere) {
            let mut there = self.connect(Some(&to))?;
            answer = cmd("ASKING").query::<()>(&mut there).and_then(|()| work(&mut there));
        }
        match answer {
            Err(error) if node::is_broken(&error) => Err(Failure::Said(error)),
            answer => {
                current.connections.insert(place, connection);
                answer.map_err(Failure::Said)
            }
        }
    }

    /// The server of a cluster that has a key; `None` where there is no choice.
    fn place_of(&self, current: &mut Current, key: &[u8]) -> Result<Option<Address>, Failure> {
        let Topology::Cluster(seeds) = &self.settings.topology else { return Ok(None) };
        if current.ranges.is_empty() {
            current.ranges = self.slots(current.known.iter().chain(seeds))?;
            current.known = current.ranges.iter().map(|range| range.owner.clone()).collect();
            current.known.sort_unstable();
            current.known.dedup();
            current.connections.retain(|address, _| address.as_ref().is_some_and(|of| current.known.contains(of)));
        }
        let slot = slot_of(key);
        let range = current.ranges.iter().find(|range| (range.first..=range.last).contains(&slot));
        let nowhere = || Failure::Ours(Problem::Refuses(format!("no node has slot {slot}")));
        range.map(|range| Some(range.owner.clone())).ok_or_else(nowhere)
    }

    /// What the first server that answers says of who has what.
    fn slots<'a>(&self, seeds: impl Iterator<Item = &'a Address>) -> Result<Vec<Range>, Failure> {
        let mut last = Failure::Ours(Problem::Other("there is no node to ask".to_owned()));
        for seed in seeds {
            let answer = self.connect(Some(seed)).and_then(|mut connection| {
                cmd("CLUSTER").arg("SLOTS").query::<Value>(&mut connection).map_err(Failure::Said)
            });
            match answer.map(|answer| ranges(&answer, seed).filter(|ranges| !ranges.is_empty())) {
                Ok(Some(ranges)) => return Ok(ranges),
                Ok(None) => last = Failure::Ours(Problem::Refuses(format!("{seed} has joined no cluster with slots"))),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn connect(&self, address: Option<&Address>) -> Result<Connection, Failure> {
        let address = match (address, &self.settings.topology) {
            (Some(address), _) => address.clone(),
            (None, Topology::Sentinel(sentinels)) => {
                sentinel::master_blocking(&self.settings, sentinels).map_err(Failure::Ours)?
            }
            (None, _) => self.settings.address(),
        };
        let connected = || -> RedisResult<Connection> {
            let connection = self.settings.client(&address)?.get_connection_with_timeout(self.settings.connect)?;
            connection.set_read_timeout(Some(self.settings.command))?;
            connection.set_write_timeout(Some(self.settings.command))?;
            Ok(connection)
        };
        let mut connection = connected().map_err(Failure::Said)?;
        if let Topology::Sentinel(_) = &self.settings.topology {
            let asked = cmd("ROLE").query::<Vec<Value>>(&mut connection);
            let role = match asked {
                Ok(role) => sentinel::role(&role),
                Err(_) => {
                    let asked = cmd("INFO").arg("replication").query::<String>(&mut connection);
                    asked.ok().as_deref().and_then(sentinel::role_of_info)
                }
            };
            if let Some(problem) = sentinel::refusal(&address, role) {
                return Err(Failure::Ours(problem));
            }
        }
        Ok(connection)
    }

    fn failure(&self, failure: Failure) -> Error {
        let problem = match failure {
            Failure::Said(error) => Problem::of(&error, &self.settings),
            Failure::Ours(problem) => problem,
        };
        Error { place: self.settings.to_string(), problem }
    }
}

/// Where a slot that is on its way is to be asked for.
fn asked_elsewhere(error: &RedisError) -> Option<Address> {
    let ask = error.kind() == ErrorKind::Server(ServerErrorKind::Ask);
    error.redirect_node().filter(|_| ask).and_then(|(to, _)| Address::parse(to))
}

/// Whether another server, or the same one later, would have answered.
fn is_elsewhere(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    match error.kind() {
        ErrorKind::Server(kind) => {
            matches!(kind, Ask | BusyLoading | ClusterDown | MasterDown | Moved | ReadOnly | TryAgain)
        }
        _ => false,
    }
}

/// Waits a little; whether there was time for it.
fn pause(end: Instant) -> bool {
    let early = Instant::now() + WAIT < end;
    if early {
        std::thread::sleep(WAIT);
    }
    early
}
