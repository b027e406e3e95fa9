//! Click-throughs in parts at a place that processes share: a bucket, a Redis.
//!
//! Records are collected in memory. A part that is large or old enough gets its name (`name`) and is put where nothing
//! of that name is; nothing is ever written twice. Until then its records are not durable, and the caller keeps them.
//! Several processes may share a place.
//!
//! Calls wait for the network on the calling thread. A thread of an asynchronous runtime may make them, and keeps its
//! other tasks waiting meanwhile: `append` when parts are completed faster than the place takes them, `flush` and `read`
//! always; `flush_due`, `durable` and `status` never.

mod forget;
mod name;
mod open;
mod queue;
mod reading;

use crate::part::packing::Compression;
use crate::part::{Format, Header};
use crate::{Clickthrough, ClickthroughStore, Error, Forgotten, Mark, Records, Result, Status, Subject};
pub(super) use name::Name;
use open::Open;
use parking_lot::{Condvar, Mutex, MutexGuard};
use queue::{Phase, Queue, Queued};
use rankwright_object::{Bytes, Runner};
use reading::{Parts, Source};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where parts are put.
pub trait Place: Clone + Send + Sync + 'static {
    /// What messages call a part.
    fn name(&self, name: &Name) -> String;

    /// All parts with their sizes, in order.
    fn list(&self) -> impl Future<Output = Result<Vec<(Name, u64)>>> + Send;

    /// Puts a part. One that is there already has the same bytes, by its name: an answer got lost.
    fn put(&self, name: &Name, bytes: Bytes) -> impl Future<Output = Result<()>> + Send;

    /// A part that was listed with this number of bytes; `None` where it is gone.
    fn get(&self, name: &Name, bytes: u64) -> impl Future<Output = Result<Option<Bytes>>> + Send;

    /// Removes a part that was listed with this number of bytes.
    fn remove(&self, name: &Name, bytes: u64) -> impl Future<Output = Result<()>> + Send;

    /// Parts that are there and are not listed: as a put or a removal leaves them that was killed, and a put that is under way.
    fn unlisted(&self) -> impl Future<Output = Result<Vec<Name>>> + Send {
        async { Ok(Vec::new()) } // whatever is there is listed
    }

    /// Replaces a part that was listed with this number of bytes. The new one expires when the old one would have.
    fn replace(&self, old: (&Name, u64), new: &Name, bytes: Bytes) -> impl Future<Output = Result<()>> + Send {
        async move {
            self.put(new, bytes).await?;
            self.remove(old.0, old.1).await
        }
    }
}

/// How parts are written, and when one is complete.
pub(super) struct Cut {
    pub(super) format: Format,
    pub(super) packing: Compression,
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) age: Duration,
    pub(super) block_bytes: usize,
}

/// Keeps records at a place.
pub struct RemoteStore<P: Place> {
    pub(super) runner: Arc<Runner>,
    pub(super) place: P,
    shared: Arc<Shared>,
    /// Digests of the parts that were there when this store was opened.
    known: HashSet<u128>,
    pub(super) service: String,
}

struct Shared {
    state: Mutex<State>,
    /// A part has arrived, or has not.
    changed: Condvar,
}

struct State {
    open: Open,
    queue: Queue,
    taken: u64,
    /// Records up to this mark are durable, or were given up.
    given_up: u64,
    /// What was there when this store was opened.
    found: Status,
    /// Time in the newest name.
    newest: i64,
}

impl<P: Place> RemoteStore<P> {
    /// Opens a place, for records with the columns of `header`.
    pub(super) fn begin<F>(cut: Cut, header: Header, place: F) -> Result<Self>
    where
        F: Future<Output = Result<P>> + Send + 'static,
    {
        let service = header.service.clone();
        let open = Open::new(cut, header)?;
        let failed = |source| Error::Io { place: "click-throughs".into(), action: "start a thread", source };
        let runner = Arc::new(Runner::start().map_err(failed)?);
        let (place, parts) = runner.wait(async move {
            let place = place.await?;
            let parts = place.list().await?;
            Ok::<_, Error>((place, parts))
        })?;
        let found = counted(&parts);
        let newest = parts.iter().map(|(name, _)| name.completed).max().unwrap_or(0);
        let state = State { open, queue: Queue::default(), taken: 0, given_up: 0, found, newest };
        Ok(Self {
            runner,
            place,
            shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }),
            known: parts.iter().map(|(name, _)| name.digest).collect(),
            service,
        })
    }

    /// Ends the open part, and has all that wait put.
    fn complete(&self, state: &mut State) -> Result<()> {
        if let Some(part) = state.open.complete()? {
            let name = part.name(now(), state.newest);
            state.newest = name.completed;
            // a process that ended before it knew that the part had arrived is told to write it again
            let phase = if self.known.contains(&name.digest) { Phase::Arrived } else { Phase::Waiting };
            state.queue.push(Queued { name, bytes: part.bytes, mark: state.taken, phase, failed: false, task: None });
        }
        self.put(state);
        Ok(())
    }

    /// Has all parts put that wait for it.
    fn put(&self, state: &mut State) {
        while let Some(part) = state.queue.next() {
            let (place, shared) = (self.place.clone(), self.shared.clone());
            let (name, bytes) = (part.name, part.bytes.clone());
            part.task = self.runner.spawn(async move {
                let outcome = place.put(&name, bytes).await;
                shared.state.lock().queue.arrived(&name, outcome);
                shared.changed.notify_all();
            });
        }
    }

    /// Lets others in until it is `enough`, or a part failed.
    fn wait(&self, state: &mut MutexGuard<'_, State>, enough: impl Fn(&State) -> bool) -> Result<()> {
        while !enough(state) {
            if let Some(error) = state.queue.failure() {
                return Err(error);
            }
            self.shared.changed.wait(state);
        }
        Ok(())
    }

    /// Ends the open part as soon as there is room for it in the queue.
    fn make_way(&self, state: &mut MutexGuard<'_, State>) -> Result<()> {
        self.wait(state, |state| state.queue.has_room())?;
        self.complete(state)
    }

    /// Tries parts again that failed before, so that they cannot pile up.
    fn catch_up(&self, state: &mut MutexGuard<'_, State>) -> Result<()> {
        if !state.queue.is_stuck() {
            return Ok(());
        }
        while let Some(error) = state.queue.failure() {
            tracing::warn!(%error, "puts a part of the click-throughs again");
        }
        self.put(state);
        let until = state.taken - state.open.records();
        self.wait(state, |state| state.queue.durable().max(state.given_up) >= until)
    }
}

impl<P: Place> ClickthroughStore for RemoteStore<P> {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark> {
        let state = &mut self.shared.state.lock();
        records.iter().try_for_each(|record| state.open.check(record))?;
        self.catch_up(state)?;
        for record in records {
            state.open.push(record, Instant::now())?;
            state.taken += 1;
            if state.open.is_full() {
                self.make_way(state)?;
            }
        }
        if state.open.is_due(Instant::now()) {
            self.make_way(state)?;
        }
        Ok(Mark(state.taken))
    }

    fn flush(&self) -> Result<Mark> {
        let state = &mut self.shared.state.lock();
        self.complete(state)?;
        let taken = state.taken;
        self.catch_up(state)?;
        self.wait(state, |state| state.queue.durable().max(state.given_up) >= taken)?;
        Ok(Mark(taken))
    }

    fn flush_due(&self) -> Result<Mark> {
        let state = &mut self.shared.state.lock();
        let failure = state.queue.failure();
        if state.open.is_due(Instant::now()) && state.queue.has_room() {
            self.complete(state)?;
        }
        self.put(state);
        failure.map_or_else(|| Ok(Mark(state.queue.durable())), Err)
    }

    fn durable(&self) -> Mark {
        Mark(self.shared.state.lock().queue.durable())
    }

    fn retries(&self) -> bool {
        self.shared.state.lock().queue.retries()
    }

    fn give_up(&self) {
        let state = &mut *self.shared.state.lock();
        state.open.give_up();
        state.queue.give_up();
        state.given_up = state.taken;
        self.shared.changed.notify_all();
    }

    /// Those of this store that are not there yet are read from memory.
    fn read(&self) -> Result<Records> {
        let (held, open) = {
            let state = &mut self.shared.state.lock();
            let open = state.open.so_far()?.map(|part| (part.name(now(), state.newest), part.bytes));
            (state.queue.held(), open)
        };
        let place = self.place.clone();
        let listed = self.runner.wait(async move { place.list().await })?;
        let there: HashSet<_> = listed.iter().map(|(name, _)| name.order()).collect();
        let held = held.into_iter().filter(|(name, _)| !there.contains(&name.order()));
        let mut parts: Vec<(Name, Source)> =
            listed.into_iter().map(|(name, size)| (name, Source::Place(size))).collect();
        parts.extend(held.map(|(name, bytes)| (name, Source::Memory(bytes))));
        parts.sort_by_key(|(name, _)| name.order());
        parts.extend(open.map(|(name, bytes)| (name, Source::Memory(bytes))));
        let (place, runner) = (self.place.clone(), self.runner.clone());
        Ok(Records::new(Parts { place, runner, left: parts.into_iter(), ahead: Default::default() }))
    }

    /// What this process holds goes to its place before.
    fn forget(&self, subject: &Subject) -> Result<Forgotten> {
        self.flush()?;
        let forgotten = self.forget_in_parts(subject)?;
        let place = self.place.clone();
        let there = counted(&self.runner.wait(async move { place.list().await })?);
        let state = &mut *self.shared.state.lock();
        state.found = there;
        state.queue.counts_anew();
        Ok(forgotten)
    }

    fn status(&self) -> Status {
        let state = self.shared.state.lock();
        let (found, queued, open) = (state.found, state.queue.status(), state.open.records());
        Status {
            records: found.records + queued.records + open,
            bytes: found.bytes + queued.bytes + state.open.bytes(),
            parts: found.parts + queued.parts + u64::from(open > 0),
        }
    }
}

impl<P: Place> Drop for RemoteStore<P> {
    /// Puts what it still holds.
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            tracing::error!(%error, "failed to put the last click-throughs");
        }
    }
}

fn counted(parts: &[(Name, u64)]) -> Status {
    let (records, bytes) = parts.iter().fold((0, 0), |(r, b), (name, bytes)| (r + name.records, b + bytes));
    Status { records, bytes, parts: parts.len() as u64 }
}

/// The wall clock, in milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
