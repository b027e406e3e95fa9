//! All connections of a server: a bounded number, of which those that wait for their clients make room for new ones.
//!
//! Otherwise a client that opens connections and sends nothing would keep everyone else out, probes as well. First go those
//! that have sent nothing yet, then those with an unfinished head, then idle ones; of each kind the ones that have waited
//! longest. What they hold meanwhile is bounded as well ([`Held`]).

use super::connection::{BUSY, Connection, is_silent, waits_with};
use crate::metrics::{Closed, ConnectionMetrics};
use crate::seldom::Seldom;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a connection holds while it waits for its client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// An unfinished head of a request.
    Head,
    /// An answer that the client has not taken.
    Answer,
}

impl Held {
    pub(super) const ALL: [Self; 2] = [Self::Head, Self::Answer];

    /// How many bytes of it all connections hold together at most.
    fn most(self) -> usize {
        match self {
            Self::Head => 16 << 20,
            Self::Answer => 128 << 20,
        }
    }

    fn closed(self) -> Closed {
        match self {
            Self::Head => Closed::Heads,
            Self::Answer => Closed::Answers,
        }
    }
}

/// How often it is looked whether a connection has become idle, where requests of all are worked on.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// ENFILE and EMFILE: the system or the process has no file descriptors left.
const NO_FILES: [i32; 2] = [23, 24];
/// How many connections are closed then.
const AT_ONCE: usize = 64;

/// The connections of a server.
pub struct Connections {
    most: usize,
    accepted: AtomicU64,
    held: [AtomicUsize; Held::ALL.len()],
    open: Mutex<Open>,
    metrics: ConnectionMetrics,
    said: [Seldom; Closed::ALL.len()],
    not_accepted: Seldom,
}

#[derive(Default)]
struct Open {
    by_id: HashMap<u64, Arc<Connection>>,
    /// Those that make room next, the last one first, with what they did when they were chosen.
    next: Vec<(u64, Arc<Connection>)>,
}

/// A place among the connections; given back when dropped.
pub(super) struct Place(Arc<Connection>);

impl Connections {
    /// At most `most`.
    pub fn new(most: usize, metrics: ConnectionMetrics) -> Arc<Self> {
        Arc::new(Self {
            most,
            accepted: AtomicU64::new(0),
            held: Default::default(),
            open: Mutex::default(),
            metrics,
            said: Default::default(),
            not_accepted: Seldom::default(),
        })
    }

    /// A place for a new connection. It is there at once, unless requests of all others are being worked on.
    pub(super) async fn enter(self: &Arc<Self>) -> Place {
        while self.is_full() && self.close_waiting(1, Closed::Limit) == 0 {
            tokio::time::sleep(LOOKS_EVERY).await; // a request ends soon
        }
        let id = self.accepted.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection::new(id, self.clone()));
        self.open.lock().by_id.insert(id, connection.clone());
        self.metrics.open.inc();
        Place(connection)
    }

    fn is_full(&self) -> bool {
        self.open.lock().by_id.len() >= self.most
    }

    /// Closes up to `wanted` connections that wait for their clients; how many there were.
    pub(super) fn close_waiting(&self, wanted: usize, why: Closed) -> usize {
        let mut open = self.open.lock();
        let mut closed = open.close_next(wanted);
        if closed < wanted {
            open.choose(wanted, self.most / 16);
            closed += open.close_next(wanted - closed);
        }
        drop(open);
        self.note(closed, why);
        closed
    }

    /// Takes note of a connection that was not accepted; the time until another one may be.
    pub(super) fn not_accepted(&self, error: &std::io::Error) -> Duration {
        if let Some(times) = self.not_accepted.count(1, Instant::now()) {
            tracing::warn!(%error, times, "connections were not accepted");
        }
        let files = error.raw_os_error().is_some_and(|code| NO_FILES.contains(&code));
        match files && self.close_waiting(AT_ONCE, Closed::Files) > 0 {
            true => Duration::from_millis(1),   // for their tasks to end
            false => Duration::from_millis(50), // a connection that broke, or others may close meanwhile
        }
    }

    /// How many have been accepted so far.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Takes note of what a connection holds.
    pub(super) fn held_changed(&self, what: Held, before: usize, bytes: usize) {
        let held = &self.held[what as usize];
        held.fetch_sub(before, Ordering::Relaxed);
        if held.fetch_add(bytes, Ordering::Relaxed) + bytes > what.most() && bytes > before {
            self.close_holding(what);
        }
    }

    /// Takes a connection out that has ended.
    pub(super) fn leave(&self, id: u64) {
        self.open.lock().by_id.remove(&id);
        self.metrics.open.dec();
    }

    /// Closes those that have waited longest with it, until half of the room for it is free. The newest one stays: a single
    /// answer may be larger.
    fn close_holding(&self, what: Held) {
        let open = self.open.lock();
        let all = open.by_id.values().map(|connection| (connection.doing(), connection));
        let mut waiting: Vec<_> = all.filter(|&(doing, _)| waits_with(what, doing)).collect();
        waiting.sort_unstable_by_key(|&(doing, _)| std::cmp::Reverse(doing));
        let mut left: usize = waiting.iter().map(|(_, connection)| connection.held(what)).sum();
        let mut closed = 0;
        while left > what.most() / 2 && waiting.len() > 1 {
            let Some((doing, connection)) = waiting.pop() else { break };
            if connection.close(doing) {
                (left, closed) = (left.saturating_sub(connection.held(what)), closed + 1);
            }
        }
        drop(open);
        self.note(closed, what.closed());
    }

    fn note(&self, closed: usize, why: Closed) {
        if closed == 0 {
            return;
        }
        self.metrics.count(why, closed as u64);
        if let Some(closed) = self.said[why as usize].count(closed as u64, Instant::now()) {
            self.say_closed(closed, why);
        }
    }

    /// Says what has happened again within a minute, when that is over, or at last.
    pub(super) fn say_rest(&self, is_last: bool) {
        let now = Instant::now();
        if let Some(times) = self.not_accepted.rest(now, is_last) {
            tracing::warn!(times, "connections were not accepted");
        }
        for why in Closed::ALL {
            if let Some(closed) = self.said[why as usize].rest(now, is_last) {
                self.say_closed(closed, why);
            }
        }
    }

    fn say_closed(&self, closed: u64, why: Closed) {
        let open = self.metrics.open.get();
        tracing::warn!(
            closed,
            open,
            most = self.most,
            "connections that wait for their clients were closed: {}",
            why.reason()
        );
    }
}

impl Open {
    /// Closes up to `wanted` of those that were chosen; how many still did what they did then.
    fn close_next(&mut self, wanted: usize) -> usize {
        let mut closed = 0;
        while closed < wanted
            && let Some((doing, connection)) = self.next.pop()
        {
            if connection.close(doing) {
                self.by_id.remove(&connection.id);
                closed += 1;
            }
        }
        closed
    }

    /// Chooses those that make room next. All have to be looked at, so `more` are chosen than wanted, but only silent ones:
    /// of the others, newer silent ones would have to go first.
    fn choose(&mut self, wanted: usize, more: usize) {
        let all = self.by_id.values().map(|connection| (connection.doing(), connection));
        let mut waiting: Vec<_> = all.filter(|&(doing, _)| doing < BUSY).collect();
        if waiting.len() > wanted + more {
            waiting.select_nth_unstable_by_key(wanted + more, |&(doing, _)| doing);
            waiting.truncate(wanted + more);
        }
        waiting.sort_unstable_by_key(|&(doing, _)| doing);
        let silent = waiting.partition_point(|&(doing, _)| is_silent(doing));
        waiting.truncate(silent.max(wanted));
        self.next = waiting.into_iter().rev().map(|(doing, connection)| (doing, connection.clone())).collect();
    }
}

impl Deref for Place {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A connection, whose task waits for ever.
    async fn entered(all: &Arc<Connections>) -> Place {
        let place = all.enter().await;
        place.served_by(tokio::spawn(std::future::pending::<()>()).abort_handle());
        place
    }

    fn answer(place: &Place) {
        assert!(place.begin());
        place.answered(0);
        assert!(place.flushed());
    }

    #[tokio::test]
    async fn silent_ones_go_before_idle_ones_however_late_they_came() {
        let all = Connections::new(64, ConnectionMetrics::new().unwrap());
        let mut idle = Vec::new();
        for _ in 0..62 {
            idle.push(entered(&all).await);
        }
        idle.iter().for_each(answer);
        let mut silent = Vec::new();
        for _ in 0..50 {
            silent.push(entered(&all).await);
        }
        assert!(idle[0].doing() < BUSY);
        idle[1..].iter().for_each(answer); // none is closed
        assert!(silent[..48].iter().all(|place| !place.begin()), "these are closed");
        assert!(silent[48..].iter().all(|place| place.begin()));
        // requests of two are worked on, so that idle ones make room, the one that has waited longest first
        let last = entered(&all).await;
        assert!(!idle[0].begin() && idle[1].begin() && last.begin());
    }

    #[tokio::test]
    async fn answers_that_clients_do_not_take_are_bounded_in_bytes() {
        let all = Connections::new(64, ConnectionMetrics::new().unwrap());
        let mut places = Vec::new();
        for _ in 0..40 {
            let place = entered(&all).await;
            assert!(place.begin());
            place.answered(4 << 20);
            places.push(place);
        }
        // 64 MiB stay, the newest ones
        let taken: Vec<bool> = places.iter().map(|place| place.flushed()).collect();
        assert_eq!(taken, [[false; 24].as_slice(), &[true; 16]].concat());
        drop(places);
        let large = entered(&all).await;
        assert!(large.begin());
        large.answered(200 << 20);
        assert!(large.flushed(), "there is no other one to close");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_one_waits_while_requests_of_all_others_are_worked_on() {
        let all = Connections::new(1, ConnectionMetrics::new().unwrap());
        let busy = entered(&all).await;
        assert!(busy.begin());
        let mut new = std::pin::pin!(all.enter());
        assert!(tokio::time::timeout(Duration::from_secs(60), &mut new).await.is_err());
        busy.answered(0);
        busy.flushed();
        let new = new.await;
        assert!(!busy.begin() && new.begin());
    }
}
