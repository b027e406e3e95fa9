//! Forces the journal to the disk about once a second, beside everything else.

use super::disk::failed;
use crate::Error;
use fjall::{Database, PersistMode};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(1);

/// A thread that flushes what was written, until this is dropped.
pub(super) struct Flusher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    db: Database,
    dirty: AtomicBool,
    stop: Mutex<bool>,
    stopped: Condvar,
}

impl Flusher {
    pub(super) fn start(db: Database) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            db,
            dirty: AtomicBool::new(true), // what opening wrote
            stop: Mutex::new(false),
            stopped: Condvar::new(),
        });
        let of_thread = shared.clone();
        let thread = thread::Builder::new().name("state-flush".to_owned()).spawn(move || of_thread.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Something was written that the disk may not have yet.
    pub(super) fn written(&self) {
        self.shared.dirty.store(true, Ordering::Release);
    }

    pub(super) fn sync(&self) -> Result<(), Error> {
        self.shared.dirty.store(false, Ordering::Release);
        self.shared.db.persist(PersistMode::SyncAll).map_err(failed("flush to the disk"))
    }
}

impl Shared {
    fn run(&self) {
        let mut stop = self.stop.lock();
        while !*stop {
            self.stopped.wait_for(&mut stop, PERIOD);
            if self.dirty.swap(false, Ordering::AcqRel) {
                // A failure closes the journal: the next commit fails and says so.
                let _closed = self.db.persist(PersistMode::SyncAll);
            }
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        *self.shared.stop.lock() = true;
        self.shared.stopped.notify_all();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
        let _closed = self.sync();
    }
}
