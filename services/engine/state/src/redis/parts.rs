//! Commits in a cluster, where a script touches the keys of one shard, or the row of one writer.
//!
//! 1. *Begin*: the batch becomes the redo record in the writer's row, and gets its number there. Numbers only rise, in all epochs.
//! 2. *Parts*: each shard gets what concerns it, and remembers the number in a marker beside the values. A shard that has the
//!    number, or a later one, is skipped. All shards are written at once, with two exceptions. The one with keys that have to
//!    be new comes first: it decides whether the batch takes place at all, and remembers a refusal in its marker. The one of
//!    watermarks comes last: who sees how far a writer has come sees all it did before.
//! 3. *Finish*: the position moves, and the record goes.
//!
//! A process that acquires a writer finds the record, if there is one, and does 2 and 3 first. Any number of processes may do so
//! at once, and continue from any step: see `docs/protocol.md`.

use super::change::{Change, Told};
use super::commit::{Verdict, bytes, is_not_new, verdict};
use super::layout::Stamp;
use super::meta::Answer;
use super::redo::Batch;
use super::scripts::{Call, INDEXES};
use super::shards::Shard;
use super::{Shared, failed};
use crate::{Commit, Error, Key, Lease, Outcome, Position, Space, Writer};
use futures_util::future::try_join_all;
use rankwright_redis::redis::{cmd, pipe};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most time that a batch is under way: of an older one the writer was killed, or is suspended.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// What became of a batch in its shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brought {
    /// All of it is there.
    Whole,
    /// None of it is, and none will be.
    Refused,
    /// Another process has brought it to its end, as a whole or not at all.
    Passed,
}

type Parts = BTreeMap<Shard, Vec<Change>>;

impl Shared {
    pub(super) async fn become_writer(&self, writer: Writer) -> Result<Lease, Error> {
        match self.link.is_cluster() {
            true => self.acquire_and_redo(writer).await,
            false => self.acquire(writer).await,
        }
    }

    /// Raises the epoch, and completes the batch that a previous holder has begun.
    async fn acquire_and_redo(&self, writer: Writer) -> Result<Lease, Error> {
        let name = self.names.writer(&writer);
        let raised = self.link.send(&name, |mut connection| {
            let mut script = self.scripts.acquire.prepare_invoke();
            script.key(&name).arg(self.names.first_epoch());
            async move { script.invoke_async::<(u64, String, u64, Vec<u8>)>(&mut connection).await }
        });
        let (epoch, position, number, redo) = raised.await.map_err(failed("acquire a lease"))?;
        self.numbers.note(&writer, epoch, number);
        let mut lease = Lease { writer, epoch, position: Position(position) };
        if !redo.is_empty() {
            let batch = Batch::decode(&lease.writer, &redo)?;
            let to = Position(batch.to.clone());
            if self.complete(&lease, number, batch).await? == Outcome::Applied {
                lease.position = to;
            }
        }
        Ok(lease)
    }

    pub(super) async fn apply_in_parts(&self, lease: &Lease, commit: Commit) -> Result<Outcome, Error> {
        let Commit { from, to, writes, absent, also, .. } = commit;
        if !also.is_empty() {
            let source = "the rows of several writers lie in several places of a cluster".into();
            return Err(Error::Failed { action: "commit", source });
        }
        let batch = Batch { to: to.0, writes, absent };
        match self.begin(lease, &from, &batch).await? {
            Some(number) => self.complete(lease, number, batch).await,
            None => Ok(Outcome::LostLease),
        }
    }

    /// The number of the batch, which is the redo record now; `None` where the lease is lost.
    pub(super) async fn begin(&self, lease: &Lease, from: &Position, batch: &Batch) -> Result<Option<u64>, Error> {
        self.deciding(batch)?;
        let Some(last) = self.last_number(lease).await? else { return Ok(None) };
        let (name, stamp) = (self.names.writer(&lease.writer), Stamp::random());
        let mut script = self.scripts.begin.prepare_invoke();
        script.key(&name).arg(lease.epoch).arg(&from.0).arg(last).arg(&stamp.0[..]).arg(batch.encode()?);
        let script = &script;
        let begun = self.link.send(&name, |mut connection| async move { script.invoke_async(&mut connection).await });
        let number: u64 = begun.await.map_err(failed("begin a commit"))?;
        if number == 0 {
            return Ok(None);
        }
        self.numbers.note(&lease.writer, lease.epoch, number);
        Ok(Some(number))
    }

    /// The number of the writer's last batch; `None` where the lease is lost.
    async fn last_number(&self, lease: &Lease) -> Result<Option<u64>, Error> {
        if let Some(number) = self.numbers.of(lease) {
            return Ok(Some(number));
        }
        let name = self.names.writer(&lease.writer);
        let asked = self.link.send(&name, |mut connection| {
            let mut asked = cmd("HMGET");
            asked.arg(&name).arg("epoch").arg("sequence");
            async move { asked.query_async::<(Option<u64>, Option<u64>)>(&mut connection).await }
        });
        let (epoch, number) = asked.await.map_err(failed("begin a commit"))?;
        Ok((epoch == Some(lease.epoch)).then(|| number.unwrap_or(0)))
    }

    /// Completes the batches whose writers are gone. In one server a commit is whole at any time.
    pub(super) async fn settle(&self) -> Result<(), Error> {
        if !self.link.is_cluster() {
            return Ok(());
        }
        let before = self.under_way().await?;
        if before.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(UNDER_WAY).await;
        for (writer, _) in self.under_way().await?.into_iter().filter(|one| before.contains(one)) {
            self.become_writer(writer).await?;
        }
        Ok(())
    }

    /// Writers whose last batch has begun and is not finished, each with its number.
    async fn under_way(&self) -> Result<Vec<(Writer, u64)>, Error> {
        let mut found = Vec::new();
        for writer in self.rows_of_writers().await? {
            let name = self.names.writer(&writer);
            let asked = self.link.send(&name, |mut connection| {
                let mut asked = pipe();
                asked.hget(&name, "sequence").hexists(&name, "redo");
                async move { asked.query_async::<(Option<u64>, bool)>(&mut connection).await }
            });
            let (number, begun) = asked.await.map_err(failed("look for what was begun"))?;
            found.extend(number.filter(|_| begun).map(|number| (writer, number)));
        }
        Ok(found)
    }

    /// Brings a batch that has begun to its end.
    pub(super) async fn complete(&self, lease: &Lease, number: u64, batch: Batch) -> Result<Outcome, Error> {
        let to = batch.to.clone();
        let (moves, outcome) = match self.bring(&lease.writer, number, batch).await? {
            Brought::Whole => (true, Outcome::Applied),
            Brought::Refused => (false, Outcome::Exists),
            Brought::Passed => return Ok(Outcome::LostLease),
        };
        Ok(if self.finish(lease, number, &to, moves).await? { outcome } else { Outcome::LostLease })
    }

    /// Brings a batch to its shards.
    pub(super) async fn bring(&self, writer: &Writer, number: u64, batch: Batch) -> Result<Brought, Error> {
        let deciding = self.deciding(&batch)?;
        let mut parts = self.parts(batch).await?;
        if let Some((shard, part)) = deciding.and_then(|shard| parts.remove_entry(&shard)) {
            match self.bring_part(writer, number, shard, part).await? {
                Brought::Whole => {}
                other => return Ok(other),
            }
        }
        let (last, others): (Parts, Parts) = parts.into_iter().partition(|(_, part)| is_last(part));
        for parts in [others, last] {
            try_join_all(parts.into_iter().map(|(shard, part)| self.bring_part(writer, number, shard, part))).await?;
        }
        Ok(Brought::Whole)
    }

    /// What a batch does to each shard.
    async fn parts(&self, batch: Batch) -> Result<Parts, Error> {
        let mut parts = Parts::new();
        let told = Told { absent: &batch.absent, ..Told::default() };
        for change in self.changes(batch.writes, told).await? {
            parts.entry(self.names.shard(change.key())).or_default().push(change);
        }
        Ok(parts)
    }

    /// The shard of the keys that have to be new.
    fn deciding(&self, batch: &Batch) -> Result<Option<Shard>, Error> {
        let mut shards = batch.absent.iter().map(|key| self.names.shard(key));
        let first = shards.next();
        match shards.any(|shard| Some(shard) != first) {
            true => {
                Err(Error::Failed { action: "commit", source: "keys that have to be new lie in several shards".into() })
            }
            false => Ok(first),
        }
    }

    async fn bring_part(
        &self,
        writer: &Writer,
        number: u64,
        shard: Shard,
        mut part: Vec<Change>,
    ) -> Result<Brought, Error> {
        loop {
            self.encode(&mut part)?;
            let verdict = match self.try_part(writer, number, shard, &part).await? {
                Verdict::Moved(moved) if !is_not_new(&part, &moved) => {
                    Self::take_up(&mut part, moved)?;
                    continue;
                }
                Verdict::Moved(_) => self.refuse(writer, number, shard).await?,
                verdict => verdict,
            };
            if let Verdict::Applied { .. } = verdict {
                self.wrote(part);
                return Ok(Brought::Whole);
            }
            part.iter().for_each(|change| self.cache.remove(&change.name)); // another process wrote it
            return match verdict {
                Verdict::Skipped => Ok(Brought::Whole),
                Verdict::Refused => Ok(Brought::Refused),
                _ => Ok(Brought::Passed),
            };
        }
    }

    async fn try_part(&self, writer: &Writer, number: u64, shard: Shard, part: &[Change]) -> Result<Verdict, Error> {
        let marker = self.names.marker(shard, writer);
        let mut call = Call::of(&self.scripts.part, 1 + INDEXES + part.len(), bytes(part));
        call.add(&marker);
        self.add_keys(&mut call, shard, part);
        call.add(number);
        self.add_changes(&mut call, part);
        let call = &call;
        let said = self.link.send(&marker, |connection| call.invoke(connection));
        verdict(said.await.map_err(failed("commit"))?)
    }

    /// Decides that a batch does not take place, unless it is decided otherwise already.
    async fn refuse(&self, writer: &Writer, number: u64, shard: Shard) -> Result<Verdict, Error> {
        let marker = self.names.marker(shard, writer);
        let said = self.link.send(&marker, |mut connection| {
            let mut script = self.scripts.refuse.prepare_invoke();
            script.key(&marker).arg(number);
            async move { script.invoke_async::<Vec<Answer>>(&mut connection).await }
        });
        verdict(said.await.map_err(failed("commit"))?)
    }

    /// Ends a batch: its record goes, and the position moves where it took place; whether the lease still held.
    pub(super) async fn finish(&self, lease: &Lease, number: u64, to: &str, moves: bool) -> Result<bool, Error> {
        let name = self.names.writer(&lease.writer);
        let finished = self.link.send(&name, |mut connection| {
            let mut script = self.scripts.finish.prepare_invoke();
            script.key(&name).arg(lease.epoch).arg(number).arg(to).arg(u8::from(moves));
            async move { script.invoke_async::<bool>(&mut connection).await }
        });
        finished.await.map_err(failed("finish a commit"))
    }
}

fn is_last(part: &[Change]) -> bool {
    part.iter().any(|change: &Change| watermark(change.key()))
}

fn watermark(key: &Key) -> bool {
    key.scope.space() == Space::Watermarks
}
