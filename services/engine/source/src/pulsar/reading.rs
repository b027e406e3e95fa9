//! How far one partition is read by one reader.

use super::commands;
use super::entry;
use super::place::{Begin, Place};
use pulsar::message::Payload;
use pulsar::message::proto::{BaseCommand, MessageIdData};
use rankwright_event::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// Nothing has come for this time: there is no more, as far as the broker tells of others,
const QUIET: Duration = Duration::from_secs(1);
/// or as far as anybody knows.
const SLOW: Duration = Duration::from_secs(10);

/// A reader of a partition.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) session: u64,
    /// Its number at the broker.
    pub(super) consumer: u64,
    /// Everything up to here was handed on, or left out; where messages come in no order, it was read by an import before.
    pub(super) after: Place,
    /// Older messages are left out: until the first one that is not, or wherever they come where they come in no order.
    since: Option<Timestamp>,
    /// The last message there is, as far as known.
    pub(super) last: Place,
    /// When the broker was asked for it.
    pub(super) looked: Instant,
    /// When the last message came.
    pub(super) heard: Instant,
    /// Messages that were taken, and for which no others were asked yet.
    taken: u32,
    /// Messages that came, and for which no others were asked yet.
    came: u32,
    queue: u32,
    /// Too many were not acknowledged as yet for the broker to send more, as it told last.
    pub(super) blocked: bool,
    /// Entries that came and are not acknowledged.
    unacknowledged: u64,
}

/// An entry of a topic.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: MessageIdData,
    /// How many messages it has.
    pub(super) count: u32,
    /// They, with their numbers.
    pub(super) messages: Result<Vec<(usize, Vec<u8>)>, Unreadable>,
}

/// What came in place of messages.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// Why they cannot be read, in words.
    pub(super) reason: String,
    pub(super) content: Vec<u8>,
}

impl Reading {
    pub(super) fn new(session: u64, consumer: u64, begin: Begin, last: Place, queue: u32) -> Self {
        let now = Instant::now();
        let Begin { after, since, .. } = begin;
        Self {
            session,
            consumer,
            after,
            since,
            last,
            looked: now,
            heard: now,
            taken: 0,
            came: 0,
            queue,
            blocked: false,
            unacknowledged: 0,
        }
    }

    /// Where another reader would go on.
    pub(super) fn begin(&self) -> Begin {
        Begin { since: self.since, ..Begin::after(self.after) }
    }

    /// Whether it is worth asking if there is more.
    pub(super) fn may_be_at_end(&self) -> bool {
        self.after >= self.last && self.looked <= self.heard
    }

    /// Takes an entry; one that is read already, too old or beyond the bound is dropped, and its messages are counted.
    pub(super) fn receive(
        &mut self,
        id: &MessageIdData,
        payload: &Payload,
        ordered: bool,
        until: Option<Place>,
    ) -> Result<Entry, u32> {
        self.heard = Instant::now();
        let permits = u32::try_from(payload.metadata.num_messages_in_batch()).unwrap_or(1);
        self.came += permits;
        let place = Place::behind(id);
        if place <= self.after || (ordered && until.is_some_and(|until| place > until)) {
            return Err(permits);
        }
        if ordered {
            self.after = place;
        }
        if self.since.is_some_and(|since| payload.metadata.publish_time < since.millis().max(0).cast_unsigned()) {
            return Err(permits);
        }
        if ordered {
            self.since = None;
        }
        self.unacknowledged += 1;
        let messages = entry::messages(&payload.metadata, &payload.data);
        let messages = messages.map_err(|reason| Unreadable { reason, content: payload.data.clone() });
        Ok(Entry { id: id.clone(), count: permits, messages })
    }

    /// Of what is dealt out: whether the broker has no more for us, which shows by nothing more coming. It may send more: it was
    /// asked for more than came, and waits for nothing. Where more is left than has come, others may have it, or it comes slowly.
    pub(super) fn is_at_end(&self, backlog: Option<u64>, heard: Duration) -> bool {
        let is_all_here = backlog.is_none_or(|backlog| backlog <= self.unacknowledged);
        let quiet = if is_all_here { QUIET } else { SLOW };
        self.came < self.queue && !self.blocked && heard >= quiet
    }

    /// Notes that this number of entries was acknowledged.
    pub(super) fn acknowledged(&mut self, entries: usize) {
        self.unacknowledged = self.unacknowledged.saturating_sub(entries as u64);
    }

    /// Asks for as many as came and are to come again.
    pub(super) fn once_more(&self) -> Option<BaseCommand> {
        (self.came > 0).then(|| commands::flow(self.consumer, self.came))
    }

    /// Asks for more when half of what was asked for is taken.
    pub(super) fn taken(&mut self, count: u32) -> Option<BaseCommand> {
        self.taken += count;
        let enough = self.taken >= self.queue.div_ceil(2);
        enough.then(|| {
            let more = std::mem::take(&mut self.taken);
            self.came = self.came.saturating_sub(more);
            commands::flow(self.consumer, more)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulsar::message::Metadata;

    /// A broker may be slow to send its first message, as from a ledger that lies elsewhere.
    #[test]
    fn a_quiet_broker_that_has_more_than_came_is_waited_for_longer() {
        let mut reading = Reading::new(1, 1, Begin::after(Place::START), Place::START, 2);
        let come = |reading: &mut Reading, entry_id| {
            let payload = Payload { metadata: Metadata::default(), data: b"{}".to_vec() };
            let id = MessageIdData { ledger_id: 7, entry_id, ..MessageIdData::default() };
            drop(reading.receive(&id, &payload, false, None));
        };
        assert!(reading.is_at_end(Some(0), QUIET) && reading.is_at_end(None, QUIET));
        assert!(!reading.is_at_end(Some(1), QUIET) && !reading.is_at_end(Some(0), QUIET / 2));
        assert!(reading.is_at_end(Some(1), SLOW), "others may have it");
        come(&mut reading, 1);
        assert!(reading.is_at_end(Some(1), QUIET) && !reading.is_at_end(Some(2), QUIET));
        reading.acknowledged(1);
        assert!(reading.is_at_end(Some(0), QUIET) && !reading.is_at_end(Some(1), QUIET));
        come(&mut reading, 2);
        assert!(!reading.is_at_end(Some(1), SLOW), "it was asked for no more than came");
        drop(reading.taken(2));
        assert!(reading.is_at_end(Some(1), QUIET));
        reading.blocked = true;
        assert!(!reading.is_at_end(Some(1), SLOW));
    }

    #[test]
    fn what_cannot_be_read_is_handed_on_as_it_came() {
        let place = Place::behind(&MessageIdData::default());
        let mut reading = Reading::new(1, 1, Begin::after(place), place, 100);
        let metadata = Metadata { num_chunks_from_msg: Some(2), ..Metadata::default() };
        let payload = Payload { metadata, data: b"half of it".to_vec() };
        let id = MessageIdData { ledger_id: 7, entry_id: 1, ..MessageIdData::default() };
        let entry = reading.receive(&id, &payload, true, None).expect("it is new");
        let Err(Unreadable { reason, content }) = entry.messages else { panic!("it is a chunk") };
        assert!(reason.contains("chunks") && content == b"half of it", "{reason}");
    }
}
