//! Closed click-throughs on their way to the click-through store.
//!
//! A courier, a thread of its own, packs them and brings them there. With a durable state, a record stays in it until
//! the part that holds its click-through is durable as well.

use crate::record::Closed;
use parking_lot::Mutex;
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Error, Mark};
use rankwright_state::Key;
use std::collections::{HashSet, VecDeque};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Records that are not durable yet.
pub(crate) struct Outbox {
    store: Arc<dyn ClickthroughStore>,
    unsent: Bag,
    courier: Option<Courier>,
    /// Taken by the store, and durable from a mark on.
    sent: VecDeque<(Mark, Vec<Key>)>,
}

/// Records, and the keys under which the state holds them.
#[derive(Default)]
struct Bag {
    records: Vec<Closed>,
    keys: Vec<Key>,
    /// About so many bytes are the records.
    bytes: usize,
}

/// What a courier is sent for.
enum Errand {
    /// To bring these to the store.
    Bring(Vec<Closed>),
    /// To have all durable that it has brought there.
    Keep,
}

/// What the store said; on an error, with the records that it did not take.
type Receipt = Result<Mark, (Error, Vec<Clickthrough>)>;

/// Brings records to the store, on a thread of its own.
struct Courier {
    errands: Option<SyncSender<Errand>>,
    receipts: Mutex<Receiver<Receipt>>,
    thread: Option<JoinHandle<()>>,
    carried: Option<Carried>,
}

/// What a courier has on it.
#[derive(Default)]
struct Carried {
    keys: Vec<Key>,
    records: usize,
    bytes: usize,
}

/// Keys of records that the store has taken, and from which mark on each of them is durable.
#[derive(Default)]
pub struct Taken(VecDeque<(Mark, Vec<Key>)>);

impl Taken {
    /// Leaves out what these do not have.
    pub(crate) fn retain(&mut self, known: &HashSet<Key>) {
        self.0.iter_mut().for_each(|(_, keys)| keys.retain(|key| known.contains(key)));
    }

    /// Leaves these out.
    pub(crate) fn leave_out(&mut self, again: &HashSet<Key>) {
        self.0.iter_mut().for_each(|(_, keys)| keys.retain(|key| !again.contains(key)));
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.iter().flat_map(|(_, keys)| keys)
    }
}

/// So many records may wait for a store that does not take them; nothing closes then, or ingest pauses.
const LIMIT: usize = 100_000;
/// About so many bytes of them may.
const LIMIT_BYTES: usize = 256 << 20;
/// So long others wait for a store; then it goes on beside them.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does what waits for a store; what else an asynchronous runtime of many threads has to do goes on meanwhile.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Brings records to the store. One that it will never take is left out, so that the others have their way.
fn append(store: &dyn ClickthroughStore, mut records: Vec<Clickthrough>) -> Receipt {
    loop {
        let error = match store.append(&records) {
            Ok(mark) => return Ok(mark),
            Err(error) => error,
        };
        let (Error::Shape { ranking, .. } | Error::TooLarge { ranking, .. }) = &error else {
            return Err((error, records));
        };
        let before = records.len();
        records.retain(|record| record.ranking.as_str() != ranking);
        if records.len() == before {
            return Err((error, records));
        }
        tracing::error!(%error, "a click-through is lost: its store cannot hold it");
    }
}

impl Courier {
    fn hire(store: Arc<dyn ClickthroughStore>) -> Self {
        let (errands, incoming) = sync_channel(1);
        let (outgoing, receipts) = sync_channel(1);
        let deliver = move |errand| match errand {
            Errand::Bring(records) => append(&*store, records.into_iter().map(Closed::into_clickthrough).collect()),
            Errand::Keep => store.flush().map_err(|error| (error, Vec::new())),
        };
        let work = move || incoming.iter().map(deliver).try_for_each(|receipt| outgoing.send(receipt)).unwrap_or(());
        let thread = thread::Builder::new().name("clickthroughs".into()).spawn(work);
        let thread = Some(thread.expect("the system has room for a thread"));
        Self { errands: Some(errands), receipts: Mutex::new(receipts), thread, carried: None }
    }

    fn bring(&mut self, bag: Bag) {
        let carried = Carried { keys: bag.keys, records: bag.records.len(), bytes: bag.bytes };
        self.send(Errand::Bring(bag.records), carried);
    }

    fn send(&mut self, errand: Errand, carried: Carried) {
        self.carried = Some(carried);
        let gone = self.errands.as_ref().and_then(|errands| errands.send(errand).err());
        if gone.is_some() {
            self.dismiss(); // it panicked
        }
    }

    /// Waits for what became of the records that it has on it, if there are any: that long, or as long as it takes.
    fn receipt(&mut self, patience: Option<Duration>) -> Option<(Vec<Key>, Receipt)> {
        self.carried.as_ref()?;
        let receipts = self.receipts.get_mut();
        let receipt = aside(|| match patience {
            Some(patience) => receipts.recv_timeout(patience),
            None => receipts.recv().map_err(|_| RecvTimeoutError::Disconnected),
        });
        if matches!(receipt, Err(RecvTimeoutError::Timeout)) {
            return None;
        }
        let keys = self.carried.take()?.keys;
        receipt.map_err(|_| self.dismiss()).ok().map(|receipt| (keys, receipt))
    }

    /// Waits for the end of the thread. A panic that it ended with goes on here.
    fn dismiss(&mut self) {
        self.errands = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl Drop for Courier {
    /// The store is not used any more once this is gone.
    fn drop(&mut self) {
        self.dismiss();
    }
}

impl Outbox {
    pub(crate) fn new(store: Arc<dyn ClickthroughStore>) -> Self {
        Self { store, unsent: Bag::default(), courier: None, sent: VecDeque::new() }
    }

    /// One that goes on where another one of this process stopped.
    pub(crate) fn after(store: Arc<dyn ClickthroughStore>, taken: Taken) -> Self {
        Self { sent: taken.0, ..Self::new(store) }
    }

    /// Waits for the courier, and gives away what the store has taken; what it has not is left to the state.
    pub(crate) fn hand_over(mut self) -> Taken {
        let _ = self.arrive(None); // these were not taken
        let mut taken = Taken(std::mem::take(&mut self.sent));
        // what was taken of a key is not all that the state has under it, where more of it waits here
        taken.leave_out(&self.unsent.keys.drain(..).collect());
        taken
    }

    pub(crate) fn push(&mut self, key: Option<Key>, record: Closed) {
        self.unsent.bytes += record.bytes();
        self.unsent.records.push(record);
        self.unsent.keys.extend(key);
    }

    /// Number of records that are not durable.
    pub(crate) fn len(&self) -> usize {
        let carried = self.carried().map_or(0, |carried| carried.records);
        self.unsent.records.len() + carried + self.sent.iter().map(|(_, keys)| keys.len()).sum::<usize>()
    }

    pub(crate) fn is_full(&self) -> bool {
        let carried = self.carried().map_or(0, |carried| carried.bytes);
        self.len() > LIMIT || self.unsent.bytes + carried > LIMIT_BYTES
    }

    fn carried(&self) -> Option<&Carried> {
        self.courier.as_ref()?.carried.as_ref()
    }

    /// Has all records brought to the store, as soon as it has taken those before; those that it does not take stay here.
    ///
    /// # Errors
    /// That of the records sent before these.
    pub(crate) fn send(&mut self) -> Result<(), Error> {
        self.send_after(Some(PATIENCE))
    }

    fn send_after(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        self.arrive(patience)?;
        if !self.unsent.records.is_empty() && self.carried().is_none() {
            let bag = std::mem::take(&mut self.unsent);
            self.courier().bring(bag);
        }
        Ok(())
    }

    fn courier(&mut self) -> &mut Courier {
        self.courier.get_or_insert_with(|| Courier::hire(self.store.clone()))
    }

    /// Waits for the courier: that long, or as long as it takes.
    fn arrive(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        let Some((keys, receipt)) = self.courier.as_mut().and_then(|courier| courier.receipt(patience)) else {
            return Ok(());
        };
        match receipt {
            Ok(mark) => self.sent.extend((!keys.is_empty()).then_some((mark, keys))),
            Err((error, records)) => {
                let later = std::mem::take(&mut self.unsent);
                self.unsent.records = records.into_iter().map(Closed::Written).chain(later.records).collect();
                self.unsent.keys = keys.into_iter().chain(later.keys).collect();
                self.unsent.bytes = self.unsent.records.iter().map(Closed::bytes).sum();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Makes all records durable.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.send_after(None)?;
        self.arrive(None)?;
        aside(|| self.store.flush()).map(|_| ())
    }

    /// Has what the store has taken made durable, and waits for it a little.
    pub(crate) fn hurry(&mut self) -> Result<(), Error> {
        self.send()?;
        if self.carried().is_none() {
            self.courier().send(Errand::Keep, Carried::default());
        }
        self.arrive(Some(PATIENCE))
    }

    /// Has all records brought to the store, and made durable as far as they have waited long enough.
    pub(crate) fn flush_due(&mut self) -> Result<(), Error> {
        self.send()?;
        self.arrive(Some(PATIENCE))?;
        aside(|| self.store.flush_due()).map(|_| ())
    }

    /// Keys of records that have become durable, and may be forgotten.
    pub(crate) fn settled(&mut self) -> Taken {
        let durable = self.store.durable();
        let count = self.sent.iter().take_while(|(mark, _)| *mark <= durable).count();
        Taken(self.sent.drain(..count).collect())
    }

    /// They could not be forgotten.
    pub(crate) fn put_back(&mut self, settled: Taken) {
        settled.0.into_iter().rev().for_each(|taken| self.sent.push_front(taken));
    }
}
