//! Which shards are ours: leases that are renewed, taken and given back.

use super::{Held, Kinesis};
use crate::{Error, Leases, Step};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// A shard whose reader is gone is free after so long.
const LEASE: Duration = Duration::from_secs(10);
/// Leases are renewed, and free shards looked for, so often.
const RENEW: Duration = Duration::from_secs(2);
/// Shards are listed so often; at once where one has ended.
const LIST: Duration = Duration::from_secs(30);

impl Kinesis {
    /// Renews what is ours, and takes what is free, up to our share.
    pub(super) async fn renew(&mut self) -> Result<(), Error> {
        let Some(leases) = self.leases.clone() else { return self.take_all().await };
        self.renew_at = Instant::now() + RENEW;
        if self.list_at <= Instant::now() {
            self.list().await?;
            self.list_at = Instant::now() + LIST;
        }
        if let Err(reason) = self.share_out(&*leases).await {
            // nobody commits anything meanwhile
            tracing::warn!(stream = %self.place.stream, reason, "shards are not shared out: the state store does not answer");
        }
        Ok(())
    }

    async fn share_out(&mut self, leases: &dyn Leases) -> Result<(), String> {
        let held: Vec<String> = self.ours.keys().cloned().collect();
        for shard in held {
            if !leases.hold(&self.task(&shard), LEASE).await? {
                tracing::warn!(stream = %self.place.stream, shard, "somebody else has taken a shard over");
                self.lose(&shard);
            }
        }
        let members = self.members.count(leases, LEASE).await?;
        let ready: Vec<String> = self.shards.ready().map(str::to_owned).collect();
        let share = ready.len().div_ceil(members);
        for shard in ready.into_iter().filter(|shard| !self.ours.contains_key(shard)).collect::<Vec<_>>() {
            if self.ours.len() < share && leases.hold(&self.task(&shard), LEASE).await? {
                self.gain(&shard);
            }
        }
        self.give_up_beyond(share);
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

    /// A bounded reading takes everything that can be read.
    async fn take_all(&mut self) -> Result<(), Error> {
        self.renew_at = Instant::now() + RENEW;
        self.list().await?;
        self.begun = SystemTime::now();
        self.take_ready();
        Ok(())
    }

    /// Takes what can be read, and is not.
    pub(super) fn take_ready(&mut self) {
        let ready: Vec<String> = self.shards.ready().map(str::to_owned).collect();
        for shard in ready.into_iter().filter(|shard| !self.ours.contains_key(shard)).collect::<Vec<_>>() {
            self.gain(&shard);
        }
    }

    fn gain(&mut self, shard: &str) {
        let partition = self.partition(shard);
        self.steps.push_back(Step::Assigned(vec![partition.clone()]));
        self.ours.insert(shard.to_owned(), Held { partition, session: None, task: None });
    }

    fn lose(&mut self, shard: &str) {
        let Some(held) = self.ours.remove(shard) else { return };
        self.forget(&held);
        self.steps.push_back(Step::Revoked(vec![held.partition.clone()]));
    }

    /// Forgets what was read of a shard and not handed out.
    fn forget(&mut self, held: &Held) {
        held.session.and_then(|session| self.building.take(session));
        let of = &held.partition;
        self.steps.retain(
            |step| !matches!(step, Step::Batch { partition, .. } | Step::CaughtUp(partition) if partition == of),
        );
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
        while let Some(shard) = self.left.pop() {
            if !self.ours.contains_key(&shard) {
                // it becomes free by itself, a little later
                leases.hold(&self.task(&shard), Duration::ZERO).await.unwrap_or_default();
            }
        }
    }

    fn task(&self, shard: &str) -> String {
        self.partition(shard).as_str().to_owned()
    }
}
