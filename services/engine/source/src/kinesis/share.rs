//! Which shards this reader has: leases that it renews, takes and gives back.
//!
//! A round takes a while, and reading continues meanwhile. So the round runs on its own, with what was known when it began. Its
//! result is taken over when it is done.

use super::client::{self, Trouble};
use super::members::Members;
use super::shards::{self, Shards};
use super::{Held, Kinesis};
use crate::{Error, KinesisError, Leases, Step};
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::types::Shard as Listed;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep};

/// After this time a shard whose reader is gone is free.
const LEASE: Duration = Duration::from_secs(10);
/// How often leases are renewed, and free shards are looked for.
const RENEW: Duration = Duration::from_secs(2);
/// How often shards are listed; at once when one has ended.
const LIST: Duration = Duration::from_secs(30);
/// Between two attempts to ask a service that is away.
const PAUSE: Duration = Duration::from_millis(500);

/// A round: what it goes by, and what it found.
pub(super) struct Round {
    place: client::Place,
    client: Option<Client>,
    trouble: Trouble,
    leases: Option<Arc<dyn Leases>>,
    members: Members,
    shards: Shards,
    ours: Vec<String>,
    /// Shards are listed again.
    lists: bool,
    listed: Option<Vec<Listed>>,
    lost: Vec<String>,
    gained: Vec<String>,
    /// How many shards are our share, where that was found.
    share: Option<usize>,
}

impl Round {
    async fn run(mut self) -> Result<Self, KinesisError> {
        if self.lists {
            let listed = list(&mut self.client, &self.place, &mut self.trouble).await?;
            self.shards.update(&listed);
            self.listed = Some(listed);
        }
        if let Some(leases) = self.leases.clone()
            && let Err(reason) = self.share_out(&*leases).await
        {
            // nothing is committed meanwhile
            let stream = &self.place.stream;
            tracing::warn!(%stream, reason, "shards are not shared out: the state store does not answer");
        }
        Ok(self)
    }

    async fn share_out(&mut self, leases: &dyn Leases) -> Result<(), String> {
        for shard in std::mem::take(&mut self.ours) {
            match leases.hold(&self.place.partition(&shard), LEASE).await? {
                true => self.ours.push(shard),
                false => self.lost.push(shard),
            }
        }
        let members = self.members.count(leases, LEASE).await?;
        let ready: Vec<&str> = self.shards.ready().collect();
        let share = ready.len().div_ceil(members);
        for shard in ready.into_iter().filter(|shard| !self.ours.iter().any(|held| held == shard)) {
            let wants = self.ours.len() + self.gained.len() < share;
            if wants && leases.hold(&self.place.partition(shard), LEASE).await? {
                self.gained.push(shard.to_owned());
            }
        }
        self.share = Some(share);
        Ok(())
    }
}

/// Lists the shards, as often as it takes to get an answer.
pub(super) async fn list(
    kept: &mut Option<Client>,
    place: &client::Place,
    trouble: &mut Trouble,
) -> Result<Vec<Listed>, KinesisError> {
    loop {
        let client = match kept {
            Some(client) => client.clone(),
            None => kept.insert(client::client(place).await).clone(),
        };
        match shards::list(&client, &place.stream).await {
            Ok(listed) => {
                trouble.over();
                return Ok(listed);
            }
            Err(fault) => trouble.judge(fault)?,
        }
        sleep(PAUSE).await;
    }
}

impl Kinesis {
    /// Begins a round.
    pub(super) fn renew(&mut self) {
        let now = Instant::now();
        self.renew_at = now + RENEW;
        let lists = self.list_at <= now;
        if lists {
            self.list_at = now + LIST;
        }
        let round = Round {
            place: self.place.clone(),
            client: self.client.clone(),
            trouble: self.trouble.clone(),
            leases: self.leases.clone(),
            members: self.members.clone(),
            shards: self.shards.clone(),
            ours: self.ours.keys().cloned().collect(),
            lists,
            listed: None,
            lost: Vec::new(),
            gained: Vec::new(),
            share: None,
        };
        self.rounds.spawn(round.run());
    }

    /// Takes over what a round found.
    pub(super) fn settle(&mut self, round: Result<Round, KinesisError>) -> Result<(), Error> {
        let round = round?;
        (self.client, self.trouble, self.members) = (round.client, round.trouble, round.members);
        if let Some(listed) = round.listed {
            self.shards.update(&listed);
        }
        if self.bounded_reading() {
            self.begun = SystemTime::now();
            self.take_ready();
            return Ok(());
        }
        for shard in round.lost {
            tracing::warn!(stream = %self.place.stream, shard, "another worker has taken over a shard");
            self.lose(&shard);
        }
        for shard in round.ours.into_iter().filter(|shard| !self.ours.contains_key(shard)).collect::<Vec<_>>() {
            self.left.push(shard); // it was left meanwhile
        }
        for shard in round.gained {
            let wanted = self.shards.ready().any(|ready| ready == shard);
            if wanted { self.gain(&shard) } else { self.left.push(shard) }
        }
        if let Some(share) = round.share {
            self.give_up_beyond(share);
        }
        Ok(())
    }

    /// Gives up what is more than our share, if it was so the last time as well.
    fn give_up_beyond(&mut self, share: usize) {
        let most = std::mem::replace(&mut self.share, share).max(share);
        while self.ours.len() > most {
            let Some(shard) = self.ours.keys().next_back().cloned() else { return };
            self.lose(&shard);
            self.left.push(shard);
        }
    }

    /// Takes what can be read, and is not.
    pub(super) fn take_ready(&mut self) {
        let ready: Vec<String> = self.shards.ready().map(str::to_owned).collect();
        ready.iter().filter(|shard| !self.ours.contains_key(*shard)).collect::<Vec<_>>().into_iter().for_each(
            |shard| {
                self.gain(shard);
            },
        );
    }

    fn gain(&mut self, shard: &str) {
        let partition = self.partition(shard);
        self.steps.push_back(Step::Assigned(vec![partition.clone()]));
        self.ours.insert(shard.to_owned(), Held { partition, session: None, task: None, behind: None });
    }

    fn lose(&mut self, shard: &str) {
        let Some(held) = self.ours.remove(shard) else { return };
        held.session.and_then(|session| self.building.take(session));
        let of = &held.partition;
        // what was read of it and not handed out is for its next reader
        self.steps.retain(
            |step| !matches!(step, Step::Batch { partition, .. } | Step::CaughtUp { partition, .. } if partition == of),
        );
        self.steps.push_back(Step::Revoked(vec![held.partition.clone()]));
    }

    /// A shard is read to its end, and that is committed: its children may be read.
    pub(super) fn finish(&mut self, shard: &str) {
        self.shards.finish(shard);
        let Some(held) = self.ours.remove(shard) else { return };
        self.steps.push_back(Step::Finished(held.partition.clone()));
        self.left.push(shard.to_owned());
        let now = Instant::now();
        (self.list_at, self.renew_at) = (now, now);
    }

    /// Lets others have what we have left.
    pub(super) async fn give_back(&mut self) {
        let Some(leases) = self.leases.clone() else { return };
        while let Some(shard) = self.left.last() {
            if !self.ours.contains_key(shard) {
                // it becomes free by itself, a little later
                leases.hold(&self.place.partition(shard), Duration::ZERO).await.unwrap_or_default();
            }
            self.left.pop(); // not before: this call may be dropped
        }
    }
}
