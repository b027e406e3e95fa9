//! Reading, and writing by comparison.

use super::bugs::{Bug, forgotten};
use super::cache::{Asked, Known};
use super::layout::{Stamp, frame, unframe};
use super::meta::Answer;
use super::scripts::{APPLIED, INDEXES, LOST, MOVED, PASSED, REFUSED, SKIPPED};
use super::shards::Shard;
use super::{Shared, failed};
use crate::{Commit, Entity, Error, Key, Lease, Move, Outcome, Rows, Space};
use futures_util::future::try_join_all;
use hashbrown::HashMap;
use rankwright_redis::redis::{FromRedisValue, ScriptInvocation, cmd};
use rankwright_redis::slot_of;
use std::sync::Arc;

/// What becomes of one key.
pub(super) struct Change {
    key: Key,
    pub(super) name: Vec<u8>,
    write: Write,
    /// What it is merged into.
    base: Known,
    /// Whether anything is known of that: nothing may lie there, too. A guess will do, as the script compares.
    looked_up: bool,
    /// From before the base was asked for.
    asked: Asked,
    /// Nothing may lie there yet.
    pub(super) first: bool,
    /// What lies there afterwards.
    merged: Option<Arc<Entity>>,
}

enum Write {
    Absorb(Entity),
    Replace(Entity),
    Remove,
}

/// Spaces that have an index, in the order of the script's keys.
const INDEXED: [Space; 5] = [Space::Joins, Space::Outbox, Space::Seen, Space::Waiting, Space::Watermarks];

/// What the script says.
pub(super) enum Verdict {
    Applied,
    Lost,
    /// Places of keys that were changed by others, with what lies there now.
    Moved(Vec<(usize, Option<Vec<u8>>)>),
    /// A shard has this part already.
    Skipped,
    /// The batch was refused, as a key was not new.
    Refused,
    /// A later batch of the writer is there: this one was brought to its end by somebody else.
    Passed,
}

impl Shared {
    pub(super) async fn read(&self, keys: Vec<Key>) -> Result<Rows, Error> {
        let watched = self.reading.is_watching();
        let names: Vec<Vec<u8>> = keys.iter().map(|key| self.names.entity(key)).collect();
        let mut rows = Rows::with_capacity(keys.len());
        let (mut unknown, mut hits, mut misses) = (Vec::new(), 0, 0);
        for (place, (key, name)) in keys.iter().zip(&names).enumerate() {
            // Work is shared out by what is there this moment.
            let kept = key.scope.space() == Space::Values;
            match kept.then(|| self.cache.get(name, watched)).flatten() {
                Some(known) => {
                    hits += 1;
                    rows.push(known.map(|(_, entity)| entity));
                }
                None => {
                    misses += usize::from(kept);
                    unknown.push(place);
                    rows.push(None);
                }
            }
        }
        self.cache.count(hits, misses);
        let asked: Vec<(&Key, &Vec<u8>)> = unknown.iter().map(|&place| (&keys[place], &names[place])).collect();
        for (place, (known, _)) in unknown.iter().zip(self.fetch(&asked).await?) {
            rows[*place] = known.map(|(_, entity)| entity);
        }
        Ok(rows)
    }

    /// What lies under keys in the server, each with the state of its news from before.
    async fn fetch(&self, wanted: &[(&Key, &Vec<u8>)]) -> Result<Vec<(Known, Asked)>, Error> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<Asked> = wanted.iter().map(|(_, name)| self.cache.ask(name)).collect();
        let values = self.values(wanted.iter().map(|(_, name)| name.as_slice())).await?;
        let mut found = Vec::with_capacity(wanted.len());
        for (((key, name), asked), value) in wanted.iter().zip(asked).zip(values) {
            let known = value.map(|value| known(key, &value)).transpose()?;
            self.cache.keep((*name).clone(), known.clone(), asked);
            found.push((known, asked));
        }
        Ok(found)
    }

    /// The bytes under names; those of a slot are asked for together, and all slots at once.
    pub(super) async fn values<'n>(
        &self,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let names: Vec<&[u8]> = names.collect();
        if !self.reading.is_cluster() {
            return self.together(&names).await;
        }
        let mut slots: HashMap<u16, Vec<usize>, foldhash::fast::RandomState> = HashMap::default();
        for (place, name) in names.iter().enumerate() {
            slots.entry(slot_of(name)).or_default().push(place);
        }
        let ask = |places: Vec<usize>| {
            let some: Vec<&[u8]> = places.iter().map(|&place| names[place]).collect();
            async move { self.together(&some).await.map(|values| (places, values)) }
        };
        let mut found = vec![None; names.len()];
        for (places, values) in try_join_all(slots.into_values().map(ask)).await? {
            places.into_iter().zip(values).for_each(|(place, value)| found[place] = value);
        }
        Ok(found)
    }

    /// The bytes under names of one slot.
    async fn together(&self, names: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let Some(first) = names.first() else { return Ok(Vec::new()) };
        let mut command = cmd("MGET");
        command.arg(names);
        let command = &command;
        let read = self.reading.send(first, |mut connection| async move { command.query_async(&mut connection).await });
        read.await.map_err(failed("read"))
    }

    pub(super) async fn apply(&self, lease: &Lease, commit: Commit) -> Result<Outcome, Error> {
        let commit = if Bug::NoMemory.is_in() { forgotten(commit) } else { commit };
        match self.link.is_cluster() {
            true => self.apply_in_parts(lease, commit).await,
            false => self.apply_at_once(lease, commit).await,
        }
    }

    async fn apply_at_once(&self, lease: &Lease, commit: Commit) -> Result<Outcome, Error> {
        let mut moves = commit.moves(lease);
        let _turn = self.turn.lock().await;
        let mut changes = self.changes(commit.writes).await?;
        for change in &mut changes {
            change.first = commit.absent.contains(&change.key);
        }
        let stamp = Stamp::random();
        if Bug::PositionFirst.is_in() {
            self.try_commit(&moves, Stamp::random(), &[]).await?;
            moves.iter_mut().for_each(|part| part.from.clone_from(&part.to));
            tokio::time::sleep(std::time::Duration::from_millis(10)).await; // for what happens between the two
        }
        loop {
            changes.iter_mut().for_each(Change::merge);
            match self.try_commit(&moves, stamp, &changes).await? {
                Verdict::Moved(moved) if is_not_new(&changes, &moved) => return Ok(Outcome::Exists),
                Verdict::Moved(moved) => self.take_up(&mut changes, moved)?,
                Verdict::Applied => {
                    self.wrote(changes, stamp);
                    return Ok(Outcome::Applied);
                }
                Verdict::Lost | Verdict::Skipped | Verdict::Refused | Verdict::Passed => return Ok(Outcome::LostLease),
            }
        }
    }

    /// Keeps what a commit has written.
    pub(super) fn wrote(&self, changes: Vec<Change>, stamp: Stamp) {
        let known = |merged: Option<Arc<Entity>>| merged.map(|entity| (stamp, entity));
        let written = changes.into_iter().map(|change| (change.name, known(change.merged), change.asked));
        self.cache.wrote(written.collect());
    }

    /// One change for each key, with what is known to lie there.
    pub(super) async fn changes(&self, writes: Vec<(Key, Option<Entity>)>) -> Result<Vec<Change>, Error> {
        let mut changes: Vec<Change> = Vec::with_capacity(writes.len());
        let mut places: HashMap<Key, usize, foldhash::fast::RandomState> = HashMap::default();
        for (key, write) in writes {
            match places.get(&key) {
                Some(&place) => changes[place].write.then(write),
                None => {
                    places.insert(key.clone(), changes.len());
                    changes.push(self.change(key, write));
                }
            }
        }
        let needs_base = |change: &&mut Change| matches!(change.write, Write::Absorb(_)) && !change.looked_up;
        let mut unknown: Vec<&mut Change> = changes.iter_mut().filter(needs_base).collect();
        let wanted: Vec<(&Key, &Vec<u8>)> = unknown.iter().map(|change| (&change.key, &change.name)).collect();
        let bases = self.fetch(&wanted).await?;
        for (change, (base, asked)) in unknown.iter_mut().zip(bases) {
            (change.base, change.asked) = (base, asked);
        }
        Ok(changes)
    }

    fn change(&self, key: Key, write: Option<Entity>) -> Change {
        let name = self.names.entity(&key);
        let asked = self.cache.ask(&name);
        let write = write.map_or(Write::Remove, Write::Absorb);
        let guess = self.cache.guess(&name);
        let (looked_up, base) = (guess.is_some(), guess.flatten());
        Change { key, name, write, base, looked_up, asked, first: false, merged: None }
    }

    async fn try_commit(&self, moves: &[Move], stamp: Stamp, changes: &[Change]) -> Result<Verdict, Error> {
        let mut script = self.scripts.commit.prepare_invoke();
        let meta = self.names.meta();
        script.key(&meta).arg(moves.len()).arg(&stamp.0[..]).arg(self.names.generation());
        for Move { lease, from, to } in moves {
            script.key(self.names.writer(&lease.writer)).arg(lease.epoch).arg(&from.0).arg(&to.0);
        }
        self.put(&mut script, Shard::WHOLE, stamp, changes)?;
        let script = &script;
        let said =
            self.link.send(meta.as_bytes(), |mut connection| async move { script.invoke_async(&mut connection).await });
        verdict(said.await.map_err(failed("commit"))?)
    }

    /// What a commit has after its own keys and arguments: indexes, times to live, changes.
    pub(super) fn put(
        &self,
        script: &mut ScriptInvocation<'_>,
        shard: Shard,
        stamp: Stamp,
        changes: &[Change],
    ) -> Result<(), Error> {
        for space in INDEXED {
            script.key(self.names.index(space, shard));
        }
        script.arg(self.options.retention.as_millis() as u64).arg(self.options.seen.as_millis() as u64);
        for change in changes {
            script.key(&change.name).arg(change.wanted()).arg(self.value(change, stamp)?);
            script.arg(index_number(change.key.scope.space())).arg(change.newest());
        }
        Ok(())
    }

    fn value(&self, change: &Change, stamp: Stamp) -> Result<Vec<u8>, Error> {
        change.merged.as_ref().map_or(Ok(Vec::new()), |entity| {
            let values = change.key.scope.space() == Space::Values;
            let format = if values { self.format } else { self.format.packed() };
            frame(stamp, entity, format)
        })
    }

    /// Takes what lies under keys now in place of what they were thought to hold.
    pub(super) fn take_up(&self, changes: &mut [Change], moved: Vec<(usize, Option<Vec<u8>>)>) -> Result<(), Error> {
        for (place, value) in moved {
            let Some(change) = changes.get_mut(place) else { continue };
            change.base = value.map(|value| known(&change.key, &value)).transpose()?;
        }
        for change in changes {
            change.asked = self.cache.ask(&change.name);
        }
        Ok(())
    }
}

impl Write {
    fn then(&mut self, next: Option<Entity>) {
        *self = match (std::mem::replace(self, Self::Remove), next) {
            (_, None) => Self::Remove,
            (Self::Remove, Some(entity)) => Self::Replace(entity),
            (Self::Absorb(mut entity), Some(next)) => {
                entity.absorb(&next);
                Self::Absorb(entity)
            }
            (Self::Replace(mut entity), Some(next)) => {
                entity.absorb(&next);
                Self::Replace(entity)
            }
        };
    }
}

impl Change {
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn merge(&mut self) {
        self.merged = match &self.write {
            Write::Remove => None,
            Write::Replace(entity) => Some(Arc::new(entity.clone())),
            Write::Absorb(entity) => {
                let mut merged = self.base.as_ref().map_or_else(Arc::default, |(_, base)| base.clone());
                Arc::make_mut(&mut merged).absorb(entity);
                Some(merged)
            }
        };
    }

    /// The stamp that the key must have.
    fn wanted(&self) -> &[u8] {
        if self.first {
            return b"";
        }
        match (&self.write, &self.base) {
            (Write::Absorb(_), Some((stamp, _))) => &stamp.0,
            (Write::Absorb(_), None) => b"",
            (Write::Replace(_) | Write::Remove, _) => b"*",
        }
    }

    /// Its place in an index.
    fn newest(&self) -> i64 {
        self.merged.as_ref().map_or(0, |entity| entity.newest().millis())
    }
}

fn known(key: &Key, value: &[u8]) -> Result<(Stamp, Arc<Entity>), Error> {
    unframe(key, value).map(|(stamp, entity)| (stamp, Arc::new(entity)))
}

/// Which of the indexes is that of a space, from 1 on; 0 where it has none.
pub(super) fn index_number(space: Space) -> usize {
    const _: () = assert!(INDEXES == INDEXED.len(), "scripts count on so many");
    INDEXED.iter().position(|indexed| *indexed == space).map_or(0, |place| place + 1)
}

/// Whether one of the keys that others changed should have been new.
pub(super) fn is_not_new(changes: &[Change], moved: &[(usize, Option<Vec<u8>>)]) -> bool {
    moved.iter().any(|(place, _)| changes.get(*place).is_some_and(|change| change.first))
}

pub(super) fn verdict(said: Vec<Answer>) -> Result<Verdict, Error> {
    let strange = |reason: &str| Error::Failed { action: "commit", source: format!("strange answer: {reason}").into() };
    let mut said = said.into_iter();
    match said.next() {
        Some(Answer::Int(APPLIED)) => return Ok(Verdict::Applied),
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
        writes: Vec<(Key, Option<Entity>)>,
    ) -> bool {
        let mut changes = self.changes(writes).await.expect("reads");
        changes.iter_mut().for_each(Change::merge);
        let stamp = Stamp::random();
        let (from, to) = (crate::Position(from.to_owned()), crate::Position(to.to_owned()));
        let moves = [Move { lease: lease.clone(), from, to }];
        for _ in 0..2 {
            let verdict = self.try_commit(&moves, stamp, &changes).await.expect("answers");
            if !matches!(verdict, Verdict::Applied) {
                return false;
            }
        }
        true
    }
}
