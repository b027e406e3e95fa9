//! Closed click-throughs on their way to the click-through store.
//!
//! A thread of its own, the courier, packs them and takes them there. With a durable state, a record stays in it until the part
//! with its click-through is durable.

use crate::record::Closed;
use parking_lot::Mutex;
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Error, Mark};
use rankwright_state::Key;
use std::collections::{HashSet, VecDeque};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Records that are not durable yet.
pub(crate) struct Outbox {
    store: Arc<dyn ClickthroughStore>,
    limits: Limits,
    /// With the keys under which a durable state holds them.
    unsent: VecDeque<(Option<Key>, Closed)>,
    /// About how many bytes these have.
    unsent_bytes: usize,
    /// Keys of records that the store will never take; they are forgotten with those that it takes next.
    lost: Vec<Key>,
    courier: Option<Courier>,
    /// Taken by the store, and durable from a mark on.
    sent: VecDeque<(Mark, Vec<Key>)>,
}

/// How much may wait for a store, and how much of it is brought there at once.
#[derive(Clone, Copy)]
struct Limits {
    /// Most records, and about the most bytes, that may wait for a store that does not take them; beyond that no ranking
    /// closes, or ingest pauses.
    records: usize,
    bytes: usize,
    /// A courier takes no more with it: what a store takes in part is brought there again as a whole.
    bag: usize,
    bag_bytes: usize,
}

/// What a courier is sent for.
enum Errand {
    /// To bring these to the store.
    Bring(Vec<Closed>),
    /// To have all durable that it has brought there.
    Keep,
}

/// What the store said.
type Receipt = Result<Mark, Box<Refused>>;

/// An error of the store.
struct Refused {
    error: Error,
    /// What it did not take.
    records: Vec<Clickthrough>,
    /// The places that these had.
    places: Vec<usize>,
}

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
    /// Of each record.
    keys: Vec<Option<Key>>,
    lost: Vec<Key>,
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

const LIMITS: Limits = Limits { records: 100_000, bytes: 128 << 20, bag: 2000, bag_bytes: 16 << 20 };
/// So long others wait for a store; then it goes on beside them.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does what waits for a store; what else an asynchronous runtime of many threads has to do goes on meanwhile.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Brings records to the store. One that it will never take is left out, so that the others have their way.
fn append(store: &dyn ClickthroughStore, mut records: Vec<Clickthrough>) -> Receipt {
    let mut places: Vec<usize> = (0..records.len()).collect();
    loop {
        let error = match store.append(&records) {
            Ok(mark) => return Ok(mark),
            Err(error) => error,
        };
        let (Error::Shape { ranking, .. } | Error::TooLarge { ranking, .. }) = &error else {
            return Err(Box::new(Refused { error, records, places }));
        };
        let before = records.len();
        let refused: Vec<bool> = records.iter().map(|record| record.ranking.as_str() == ranking).collect();
        let mut those = refused.iter();
        places.retain(|_| those.next() == Some(&false));
        let mut those = refused.iter();
        records.retain(|_| those.next() == Some(&false));
        if records.len() == before {
            return Err(Box::new(Refused { error, records, places }));
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
            Errand::Keep => store.flush().map_err(|error| {
                let (records, places) = Default::default();
                Box::new(Refused { error, records, places })
            }),
        };
        let work = move || incoming.iter().map(deliver).try_for_each(|receipt| outgoing.send(receipt)).unwrap_or(());
        let thread = thread::Builder::new().name("clickthroughs".into()).spawn(work);
        let thread = Some(thread.expect("the system has room for a thread"));
        Self { errands: Some(errands), receipts: Mutex::new(receipts), thread, carried: None }
    }

    fn send(&mut self, errand: Errand, carried: Carried) {
        self.carried = Some(carried);
        let gone = self.errands.as_ref().and_then(|errands| errands.send(errand).err());
        if gone.is_some() {
            self.dismiss(); // it panicked
        }
    }

    /// Waits for what became of the records that it has on it, if there are any: that long, or as long as it takes.
    fn receipt(&mut self, patience: Option<Duration>) -> Option<(Carried, Receipt)> {
        self.carried.as_ref()?;
        let receipts = self.receipts.get_mut();
        let receipt = aside(|| match patience {
            Some(patience) => receipts.recv_timeout(patience),
            None => receipts.recv().map_err(|_| RecvTimeoutError::Disconnected),
        });
        if matches!(receipt, Err(RecvTimeoutError::Timeout)) {
            return None;
        }
        let carried = self.carried.take()?;
        receipt.map_err(|_| self.dismiss()).ok().map(|receipt| (carried, receipt))
    }

    /// Waits for the end of the thread. A panic that it ended with goes on here.
    fn dismiss(&mut self) {
        self.errands = None;
        if let Some(Err(panic)) = self.thread.take().map(|thread| aside(|| thread.join()))
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
        let (unsent, lost, sent) = (VecDeque::new(), Vec::new(), VecDeque::new());
        Self { store, limits: LIMITS, unsent, unsent_bytes: 0, lost, courier: None, sent }
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
        taken.leave_out(&self.unsent.drain(..).filter_map(|(key, _)| key).collect());
        taken
    }

    pub(crate) fn push(&mut self, key: Option<Key>, record: Closed) {
        self.unsent_bytes += record.bytes();
        self.unsent.push_back((key, record));
    }

    /// Has room for `records` records, and brings `bag` of them at a time.
    #[cfg(test)]
    pub(crate) fn limit(&mut self, records: usize, bag: usize) {
        self.limits = Limits { records, bag, ..LIMITS };
    }

    /// Number of records that are not durable.
    pub(crate) fn len(&self) -> usize {
        let carried = self.carried().map_or(0, |carried| carried.keys.len());
        self.unsent.len() + carried + self.sent.iter().map(|(_, keys)| keys.len()).sum::<usize>()
    }

    /// Estimated bytes of memory of the records that the store has not taken.
    pub(crate) fn bytes(&self) -> usize {
        self.unsent_bytes + self.carried().map_or(0, |carried| carried.bytes)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() > self.limits.records || self.bytes() > self.limits.bytes
    }

    fn carried(&self) -> Option<&Carried> {
        self.courier.as_ref()?.carried.as_ref()
    }

    /// Has records brought to the store, as soon as it has taken those before; those that it does not take stay here.
    ///
    /// # Errors
    /// That of the records sent before these.
    pub(crate) fn send(&mut self) -> Result<(), Error> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            self.send_after(Some(left))?;
            // who closes waits, so that no more than one bag is in the way of the next one
            if self.unsent.len() < self.limits.bag && self.unsent_bytes < self.limits.bag_bytes || left.is_zero() {
                return Ok(());
            }
        }
    }

    fn send_after(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        self.arrive(patience)?;
        if !self.unsent.is_empty() && self.carried().is_none() {
            let mut carried = Carried { lost: std::mem::take(&mut self.lost), ..Carried::default() };
            let mut records = Vec::new();
            while records.len() < self.limits.bag && carried.bytes < self.limits.bag_bytes {
                let Some((key, record)) = self.unsent.pop_front() else { break };
                carried.bytes += record.bytes();
                carried.keys.push(key);
                records.push(record);
            }
            self.unsent_bytes -= carried.bytes;
            self.courier().send(Errand::Bring(records), carried);
        }
        Ok(())
    }

    /// Has all records brought to the store, or as many as it takes while others wait a little.
    fn send_all(&mut self) -> Result<(), Error> {
        let until = Instant::now() + PATIENCE;
        loop {
            self.send()?;
            self.arrive(Some(until.saturating_duration_since(Instant::now())))?;
            if self.unsent.is_empty() || Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn courier(&mut self) -> &mut Courier {
        self.courier.get_or_insert_with(|| Courier::hire(self.store.clone()))
    }

    /// Waits for the courier: that long, or as long as it takes.
    fn arrive(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        let Some((carried, receipt)) = self.courier.as_mut().and_then(|courier| courier.receipt(patience)) else {
            return Ok(());
        };
        let Carried { mut keys, mut lost, .. } = carried;
        let Refused { error, records, places } = match receipt {
            Ok(mark) => {
                lost.extend(keys.into_iter().flatten());
                self.sent.extend((!lost.is_empty()).then_some((mark, lost)));
                return Ok(());
            }
            Err(refused) => *refused,
        };
        for (place, record) in places.into_iter().zip(records).rev() {
            let record = Closed::Written(record);
            self.unsent_bytes += record.bytes();
            self.unsent.push_front((keys[place].take(), record));
        }
        lost.extend(keys.into_iter().flatten());
        self.lost.append(&mut lost);
        Err(error)
    }

    /// Makes all records durable.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        loop {
            self.send_after(None)?;
            self.arrive(None)?;
            if self.unsent.is_empty() {
                return aside(|| self.store.flush()).map(|_| ());
            }
        }
    }

    /// Has what the store has taken made durable, and waits for it a little.
    pub(crate) fn hurry(&mut self) -> Result<(), Error> {
        self.send_all()?;
        if self.carried().is_none() {
            self.courier().send(Errand::Keep, Carried::default());
        }
        self.arrive(Some(PATIENCE))
    }

    /// Has all records brought to the store, and made durable as far as they have waited long enough.
    pub(crate) fn flush_due(&mut self) -> Result<(), Error> {
        self.send_all()?;
        aside(|| self.store.flush_due()).map(|_| ())
    }

    /// Keys of records that have become durable, and may be forgotten; not those under which the state has more by now, which is
    /// still on its way.
    pub(crate) fn settled(&mut self) -> Taken {
        let durable = self.store.durable();
        let count = self.sent.iter().take_while(|(mark, _)| *mark <= durable).count();
        let mut taken = Taken(self.sent.drain(..count).collect());
        if taken.keys().next().is_some() {
            let carried = self.carried().into_iter().flat_map(|carried| carried.keys.iter().flatten());
            let unsent = self.unsent.iter().filter_map(|(key, _)| key.as_ref());
            let sent = self.sent.iter().flat_map(|(_, keys)| keys);
            let again: HashSet<Key> = unsent.chain(carried).chain(sent).cloned().collect();
            taken.leave_out(&again);
        }
        taken
    }

    /// They could not be forgotten.
    pub(crate) fn put_back(&mut self, settled: Taken) {
        settled.0.into_iter().rev().for_each(|taken| self.sent.push_front(taken));
    }
}

#[cfg(test)]
mod tests;
