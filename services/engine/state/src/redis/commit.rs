//! Writing by comparison.

use super::bugs::{Bug, forgotten};
use super::change::{Change, INDEXED, Moved, Told};
use super::layout::Stamp;
use super::meta::Answer;
use super::scripts::{APPLIED, Call, INDEXES, LOST, MOVED, PASSED, REFUSED, SKIPPED};
use super::shards::Shard;
use super::{Shared, failed};
use crate::{Commit, Error, Lease, Move, Outcome};
use rankwright_redis::redis::{FromRedisValue, cmd};
use std::time::{Duration, Instant};
use tokio::sync::oneshot::Receiver;

/// After this many refusals, a batch makes others wait for it.
const PATIENCE: u64 = 2;
/// How long they wait at most, and how often they look.
const GIVES_WAY: Duration = Duration::from_millis(200);
const LOOKS: Duration = Duration::from_millis(5);

/// What the script says.
pub(super) enum Verdict {
    Applied {
        /// Whether another batch waits that was refused again and again.
        others_wait: bool,
    },
    Lost,
    Moved(Moved),
    /// A shard has this part already.
    Skipped,
    /// The batch was refused, as a key was not new.
    Refused,
    /// A later batch of the writer is there: another process has completed this one.
    Passed,
}

impl Shared {
    /// Commits when it is `due`, if it is not so yet.
    pub(super) async fn apply(
        &self,
        lease: &Lease,
        commit: Commit,
        due: Option<Receiver<()>>,
    ) -> Result<Outcome, Error> {
        let commit = if Bug::NoMemory.is_in() { forgotten(commit) } else { commit };
        if !self.link.is_cluster() {
            return self.apply_at_once(lease, commit, due).await;
        }
        match is_due(due).await {
            true => self.apply_in_parts(lease, commit).await,
            false => Ok(Outcome::LostLease),
        }
    }

    async fn apply_at_once(&self, lease: &Lease, commit: Commit, due: Option<Receiver<()>>) -> Result<Outcome, Error> {
        let (mut moves, stamp) = (commit.moves(lease), Stamp::random());
        let end = self.line.end().await;
        let told = Told { absent: &commit.absent, fresh: &commit.fresh, moved: &commit.moved };
        let mut changes = self.changes(commit.writes, told).await?;
        let mut place = end.join(&changes);
        self.encode(&mut changes)?;
        place.is_next(&mut changes).await;
        self.encode(&mut changes)?; // what was merged again
        if !is_due(due).await {
            return Ok(Outcome::LostLease);
        }
        if Bug::PositionFirst.is_in() {
            self.try_commit(&moves, Stamp::random(), &[], 0).await?;
            moves.iter_mut().for_each(|part| part.from.clone_from(&part.to));
            tokio::time::sleep(std::time::Duration::from_millis(10)).await; // for what happens between the two
        }
        let mut refused = 0;
        loop {
            match self.try_commit(&moves, stamp, &changes, refused).await? {
                Verdict::Moved(moved) if is_not_new(&changes, &moved) => return Ok(Outcome::Exists),
                Verdict::Moved(moved) => {
                    let places: Vec<usize> = moved.iter().map(|(place, _)| *place).collect();
                    Self::take_up(&mut changes, moved)?;
                    place.renew(places.into_iter().filter_map(|place| changes.get(place)));
                    self.encode(&mut changes)?;
                    refused += 1;
                }
                Verdict::Applied { others_wait } => {
                    self.wrote(changes);
                    if others_wait {
                        self.give_way().await;
                    }
                    return Ok(Outcome::Applied);
                }
                Verdict::Lost | Verdict::Skipped | Verdict::Refused | Verdict::Passed => return Ok(Outcome::LostLease),
            }
        }
    }

    /// Lets a batch of another process pass that was refused again and again: what comes next here would be faster each time.
    async fn give_way(&self) {
        let name = self.names.waits();
        let until = Instant::now() + GIVES_WAY;
        loop {
            tokio::time::sleep(LOOKS).await;
            let asked = self.link.send(&name, |mut connection| {
                let mut asked = cmd("EXISTS");
                asked.arg(&name);
                async move { asked.query_async::<bool>(&mut connection).await }
            });
            if !asked.await.unwrap_or(false) || Instant::now() >= until {
                return;
            }
        }
    }

    pub(super) async fn try_commit(
        &self,
        moves: &[Move],
        stamp: Stamp,
        changes: &[Change],
        refused: u64,
    ) -> Result<Verdict, Error> {
        let meta = self.names.meta();
        let mut call = Call::of(&self.scripts.commit, 2 + moves.len() + INDEXES + changes.len(), bytes(changes));
        call.add(&meta).add(self.names.waits());
        for part in moves {
            call.add(self.names.writer(&part.lease.writer));
        }
        self.add_keys(&mut call, Shard::WHOLE, changes);
        call.add(moves.len()).add(&stamp.0[..]).add(self.names.generation());
        for Move { lease, from, to } in moves {
            call.add(lease.epoch).add(&from.0).add(&to.0);
        }
        call.add(u8::from(refused >= PATIENCE));
        self.add_changes(&mut call, changes);
        let call = &call;
        let said = self.link.send(meta.as_bytes(), |connection| call.invoke(connection));
        verdict(said.await.map_err(failed("commit"))?)
    }

    /// What a commit has after its own keys: indexes, and what changes.
    pub(super) fn add_keys(&self, call: &mut Call<'_>, shard: Shard, changes: &[Change]) {
        for space in INDEXED {
            call.add(self.names.index(space, shard));
        }
        for change in changes {
            call.add(&change.name);
        }
    }

    /// What a commit has after its own arguments: times to live, and what becomes of its keys. It is to be sent at once.
    pub(super) fn add_changes(&self, call: &mut Call<'_>, changes: &[Change]) {
        call.add(self.options.retention.as_millis() as u64).add(self.options.seen.as_millis() as u64);
        for change in changes {
            self.cache.sent(&change.name);
            call.add(change.wanted()).add(change.value()).add(change.index()).add(change.newest());
        }
    }
}

/// Waits until a commit is due; whether it ever is.
async fn is_due(due: Option<Receiver<()>>) -> bool {
    match due {
        Some(due) => due.await.is_ok(),
        None => true,
    }
}

/// About how many bytes changes take in a call.
pub(super) fn bytes(changes: &[Change]) -> usize {
    changes.iter().map(|change| 32 + change.name.len() + change.value().len()).sum()
}

/// Whether one of the keys that others changed should have been new.
pub(super) fn is_not_new(changes: &[Change], moved: &Moved) -> bool {
    moved.iter().any(|(place, _)| changes.get(*place).is_some_and(Change::is_first))
}

pub(super) fn verdict(said: Vec<Answer>) -> Result<Verdict, Error> {
    let strange = |reason: &str| Error::Failed { action: "commit", source: format!("strange answer: {reason}").into() };
    let mut said = said.into_iter();
    match said.next() {
        Some(Answer::Int(APPLIED)) => {
            return Ok(Verdict::Applied { others_wait: said.next() == Some(Answer::Int(1)) });
        }
        Some(Answer::Int(LOST)) => return Ok(Verdict::Lost),
        Some(Answer::Int(SKIPPED)) => return Ok(Verdict::Skipped),
        Some(Answer::Int(REFUSED)) => return Ok(Verdict::Refused),
        Some(Answer::Int(PASSED)) => return Ok(Verdict::Passed),
        Some(Answer::Int(MOVED)) => {}
        _ => return Err(strange("no number")),
    }
    let mut moved = Vec::new();
    while let (Some(place), Some(value)) = (said.next(), said.next()) {
        let Answer::Int(place) = place else { return Err(strange("no place")) };
        let value = Option::<Vec<u8>>::from_redis_value(value).map_err(|error| strange(&error.to_string()))?;
        moved.push((usize::try_from(place).map_err(|_| strange("a place below 0"))?, value));
    }
    Ok(Verdict::Moved(moved))
}

#[cfg(test)]
impl Shared {
    /// Sends one batch twice, as after a connection that broke before the answer; whether both were answered alike.
    pub(super) async fn sends_twice(
        &self,
        lease: &Lease,
        (from, to): (&str, &str),
        writes: Vec<(crate::Key, Option<crate::Entity>)>,
    ) -> bool {
        let mut changes = self.changes(writes, Told::default()).await.expect("reads");
        self.encode(&mut changes).expect("encodes");
        let stamp = Stamp::random();
        let (from, to) = (crate::Position(from.to_owned()), crate::Position(to.to_owned()));
        let moves = [Move { lease: lease.clone(), from, to }];
        for _ in 0..2 {
            let verdict = self.try_commit(&moves, stamp, &changes, 0).await.expect("answers");
            if !matches!(verdict, Verdict::Applied { .. }) {
                return false;
            }
        }
        true
    }
}
