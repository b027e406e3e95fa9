//! One connection: what it is doing, as a number that its own task sets and that the task which makes room reads.
//!
//! A request that has begun is never cut off to make room: [`Connection::begin`] and [`Connection::close`] compete for the
//! same number, and a connection that is closed begins no request.

use super::connections::{Connections, Held};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::task::AbortHandle;

/// The top byte of the number is what the connection does, in the order in which connections make room for new ones. The
/// rest is how many connections the server had accepted when that began: a clock that costs nothing.
const DOING: u64 = 0xff << 56;
/// Nothing has arrived yet.
const SILENT: u64 = 0;
/// The head of a request has arrived in part.
const HEAD: u64 = 1 << 56;
/// The last request is answered, and no other has begun.
const IDLE: u64 = 2 << 56;
/// The body of a request has arrived in part.
const BODY: u64 = 3 << 56;
/// An answer is being written.
const ANSWER: u64 = 4 << 56;
/// A request is being worked on. From here on nothing makes room.
pub(super) const BUSY: u64 = 5 << 56;
/// It makes room for another one.
const CLOSED: u64 = 6 << 56;

/// Whether nothing has arrived yet, by the number.
pub(super) fn is_silent(number: u64) -> bool {
    number & DOING == SILENT
}

/// Whether it waits for its client with this, by the number.
pub(super) fn waits_with(held: Held, number: u64) -> bool {
    number & DOING == if held == Held::Head { HEAD } else { ANSWER }
}

/// A connection.
pub(super) struct Connection {
    pub(super) id: u64,
    all: Arc<Connections>,
    doing: AtomicU64,
    /// Bytes that it holds while it waits for its client, by [`Held`].
    held: [AtomicUsize; Held::ALL.len()],
    /// Whether its client may still be sending what is not read.
    unread: AtomicBool,
    task: OnceLock<AbortHandle>,
}

impl Connection {
    pub(super) fn new(id: u64, all: Arc<Connections>) -> Self {
        let (unread, task) = (AtomicBool::new(false), OnceLock::new());
        Self { id, all, doing: AtomicU64::new(SILENT | id), held: Default::default(), unread, task }
    }

    /// Names the task that serves it; until then it cannot be closed.
    pub(super) fn served_by(&self, task: AbortHandle) {
        let _ = self.task.set(task); // it has one task
    }

    /// The number.
    pub(super) fn doing(&self) -> u64 {
        self.doing.load(Ordering::Acquire)
    }

    /// Bytes that it holds while it waits for its client.
    pub(super) fn held(&self, what: Held) -> usize {
        self.held[what as usize].load(Ordering::Relaxed)
    }

    /// Whether its client may still be sending what is not read.
    pub(super) fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Notes that the rest of a request is not read.
    pub(super) fn leave_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// A request's head is complete. False where the connection is closed: then the request must not begin.
    pub(super) fn begin(&self) -> bool {
        self.hold(Held::Head, 0);
        self.turn(|doing| doing < BUSY, BUSY)
    }

    /// The answer to the request is known, and its size.
    pub(super) fn answered(&self, bytes: usize) {
        if self.turn(|doing| doing == BUSY || doing == BODY, ANSWER) {
            self.hold(Held::Answer, bytes);
        }
    }

    /// All that was to be written is written; whether that ends a request.
    pub(super) fn flushed(&self) -> bool {
        let ends = self.doing() & DOING == ANSWER && self.turn(|doing| doing == ANSWER, IDLE);
        if ends {
            self.hold(Held::Answer, 0);
        }
        ends
    }

    /// Its client has to send more: of a body, or of a head of which `bytes` have arrived.
    pub(super) fn wait(&self, bytes: usize) {
        match self.doing() & DOING {
            BUSY => drop(self.turn(|doing| doing == BUSY, BODY)),
            SILENT | IDLE if bytes > 0 => {
                self.turn(|doing| doing < BODY, HEAD);
                self.hold(Held::Head, bytes);
            }
            HEAD => self.hold(Held::Head, bytes),
            _ => {}
        }
    }

    /// Its client has sent more.
    pub(super) fn resume(&self) {
        if self.doing() & DOING == BODY {
            self.turn(|doing| doing == BODY, BUSY);
        }
    }

    /// Closes it where it still does what the number says. Its task ends before it does anything else.
    pub(super) fn close(&self, number: u64) -> bool {
        let Some(task) = self.task.get() else { return false };
        let closed = self.doing.compare_exchange(number, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if closed {
            task.abort();
        }
        closed
    }

    /// Gives up what it counts for.
    pub(super) fn end(&self) {
        Held::ALL.into_iter().for_each(|what| self.hold(what, 0));
        self.all.leave(self.id);
    }

    fn hold(&self, what: Held, bytes: usize) {
        let before = self.held(what);
        if before != bytes {
            self.held[what as usize].store(bytes, Ordering::Relaxed);
            self.all.held_changed(what, before, bytes);
        }
    }

    fn turn(&self, may: impl Fn(u64) -> bool, to: u64) -> bool {
        let number = to | self.all.accepted();
        let change = |now: u64| may(now & DOING).then_some(number);
        self.doing.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).is_ok()
    }
}
