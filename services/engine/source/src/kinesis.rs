//! Events from a stream of Kinesis.
//!
//! The service has no groups of readers and keeps no positions. The loop that drives a reader keeps positions and leases of
//! shards in the same store. By the leases, each reader takes its share, and takes over the shards of a reader that is gone.
//! Two that believe to hold the same shard do no harm, because only one of them is its writer.
//!
//! A shard that is split or merged ends. Its end is a position like others; its children are read when it is committed.

mod aggregate;
mod begin;
mod client;
mod error;
mod fetch;
mod members;
mod place;
mod shards;
mod share;
mod steps;

pub use error::Error as KinesisError;

use crate::building::Building;
use crate::stream::{BoxFuture, Lag, Partition, Step, Stream, StreamSettings};
use crate::{Error, Leases, Position};
use aws_sdk_kinesis::Client;
use client::Trouble;
use fetch::Fetched;
use members::Members;
use place::Place;
use rankwright_config::{Offset, SourceConfig, SourceKind};
use rankwright_event::Timestamp;
use shards::Shards;
use share::Round;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

/// Most answers of the service that wait to be taken.
const WAITING: usize = 4;
/// How long a reader that leaves waits for requests under way.
const PATIENCE: Duration = Duration::from_secs(1);

/// A reader of a stream.
pub struct Kinesis {
    place: client::Place,
    client: Option<Client>,
    settings: StreamSettings,
    /// First record to read where no position is known; `None` is the oldest.
    since: Option<Timestamp>,
    /// That is now: what arrives from now on.
    latest: bool,
    /// How shards are shared out; `None` for a bounded reading, which reads all of them.
    leases: Option<Arc<dyn Leases>>,
    members: Members,
    /// The share of the shards that was found last.
    share: usize,
    shards: Shards,
    /// Shards that were read before this reader began, and what follows from them.
    known: BTreeSet<String>,
    /// The stream was read before: an unknown shard with children came and went meanwhile.
    resumes: bool,
    /// When the shards are listed again.
    list_at: Instant,
    /// When leases are renewed.
    renew_at: Instant,
    /// The round that is under way.
    rounds: JoinSet<Result<Round, KinesisError>>,
    ours: BTreeMap<String, Held>,
    /// Handed out as revoked or finished, and given up at the next call.
    left: Vec<String>,
    told: Sender<Fetched>,
    fetched: Receiver<Fetched>,
    /// The number of the last start.
    sessions: u64,
    building: Building<u64>,
    /// Found, and not handed out.
    steps: VecDeque<Step>,
    trouble: Trouble,
    /// Something was read at some time.
    worked: bool,
    /// When a bounded reading began.
    begun: SystemTime,
    /// Read to their ends, or to where they ended when a bounded reading began.
    done: u64,
}

/// A shard that this reader has.
struct Held {
    partition: Partition,
    /// Of the start that counts.
    session: Option<u64>,
    task: Option<AbortHandle>,
    /// For how long the next record has been there, as the service told last.
    behind: Option<Duration>,
}

impl Kinesis {
    /// A reader of the configured stream, who shares it with others by `leases`. Connects when it is first asked for a step.
    ///
    /// # Errors
    /// When the configuration asks for what cannot be.
    pub fn open(source: &SourceConfig, settings: StreamSettings, leases: Arc<dyn Leases>) -> Result<Self, Error> {
        Self::with(source, settings, Some(leases))
    }

    /// A reader of all shards that are there, each to where it ended when its reading started. No other reader shares them.
    ///
    /// # Errors
    /// When the configuration asks for what cannot be.
    pub fn bounded(source: &SourceConfig, settings: StreamSettings) -> Result<Self, Error> {
        Self::with(source, settings, None)
    }

    fn with(source: &SourceConfig, settings: StreamSettings, leases: Option<Arc<dyn Leases>>) -> Result<Self, Error> {
        let SourceKind::Kinesis { region, topic, endpoint } = &source.kind else {
            return Err(Error::Unavailable { what: "this source as a stream of Kinesis".to_owned() });
        };
        let place = client::Place {
            stream: topic.clone(),
            region: region.clone(),
            endpoint: endpoint.clone(),
            credentials: None,
        };
        let now = (settings.clock)();
        let since = match source.offset {
            Offset::Earliest => None,
            Offset::Latest => Some(now),
            Offset::At(time) => Some(time),
            Offset::Last(length) => Some(now.minus(length)),
        };
        let (told, fetched) = mpsc::channel(WAITING);
        Ok(Self {
            trouble: Trouble::new(&place),
            members: Members::new(topic),
            place,
            client: None,
            since,
            latest: source.offset == Offset::Latest,
            leases,
            share: 0,
            shards: Shards::default(),
            known: BTreeSet::new(),
            resumes: false,
            list_at: Instant::now(),
            renew_at: Instant::now(),
            rounds: JoinSet::new(),
            ours: BTreeMap::new(),
            left: Vec::new(),
            told,
            fetched,
            sessions: 0,
            building: Building::new(settings.limits, source.format),
            settings,
            steps: VecDeque::new(),
            worked: false,
            begun: SystemTime::now(),
            done: 0,
        })
    }

    /// The same reader with credentials of its own, which are used where the environment has none.
    pub fn with_credentials(mut self, key: &str, secret: &str) -> Self {
        self.place.credentials = Some((key.to_owned(), secret.to_owned()));
        self
    }

    fn bounded_reading(&self) -> bool {
        self.leases.is_none()
    }

    async fn client(&mut self) -> Client {
        match &self.client {
            Some(client) => client.clone(),
            None => self.client.insert(client::client(&self.place).await).clone(),
        }
    }

    fn partition(&self, shard: &str) -> Partition {
        Partition::new(self.place.partition(shard))
    }

    /// The shard of a partition of this stream.
    fn shard(&self, partition: &Partition) -> Option<String> {
        let (_, shard) = partition.as_str().rsplit_once('/')?;
        (self.partition(shard) == *partition).then(|| shard.to_owned())
    }
}

impl Stream for Kinesis {
    fn next(&mut self) -> BoxFuture<'_, Result<Step, Error>> {
        Box::pin(self.step())
    }

    fn all(&mut self) -> BoxFuture<'_, Result<Vec<Partition>, Error>> {
        Box::pin(async move {
            let listed = share::list(&mut self.client, &self.place, &mut self.trouble).await?;
            self.shards.update(&listed);
            Ok(self.shards.all().map(|shard| self.partition(shard)).collect())
        })
    }

    /// Shards that the service no longer has: their retention ended before they were read to their ends, or after.
    fn gone(&mut self, known: &[&str]) -> Vec<Partition> {
        let ours = known.iter().map(|name| Partition::new((*name).to_owned()));
        let ours: Vec<_> = ours.filter_map(|partition| Some((self.shard(&partition)?, partition))).collect();
        self.resumes |= !ours.is_empty();
        let gone = ours.into_iter().filter(|(shard, _)| !self.shards.has(shard)).collect::<Vec<_>>();
        self.known.extend(gone.iter().map(|(shard, _)| shard.clone()));
        gone.into_iter().map(|(_, partition)| partition).collect()
    }

    fn start<'a>(
        &'a mut self,
        partition: &'a Partition,
        from: Option<Position>,
    ) -> BoxFuture<'a, Result<Position, Error>> {
        Box::pin(self.begin(partition, from))
    }

    /// The service wants to know nothing; the end of a shard makes room for its children.
    fn note(&mut self, partition: &Partition, position: &Position) {
        let ends = position.at.as_deref() == Some(&*Place::End.to_string());
        let shard = self.shard(partition).filter(|shard| self.ours.contains_key(shard));
        if let (Some(shard), true, false) = (shard, ends, self.bounded_reading()) {
            self.finish(&shard);
        }
    }

    /// The service tells how old the next record is, and not how many there are.
    fn lag(&self) -> Vec<(Partition, Lag)> {
        let held = self.ours.values().filter(|held| held.behind.is_some());
        held.map(|held| (held.partition.clone(), Lag { events: None, age: held.behind })).collect()
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // what it gains is left as well
            let round = tokio::time::timeout(PATIENCE, self.rounds.join_next()).await;
            if let Ok(Some(Ok(Ok(round)))) = round {
                self.settle(Ok(round)).unwrap_or_default();
            }
            self.left.extend(std::mem::take(&mut self.ours).into_keys());
            self.give_back().await;
            if let Some(leases) = self.leases.clone() {
                self.members.leave(&*leases).await;
            }
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
