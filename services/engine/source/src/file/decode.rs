//! From a block to its events.

use super::array::sign;
use super::block::Block;
use super::cut::too_long;
use super::records::Record;
use crate::{BadLine, Batch, Position, format};
use memchr::memchr_iter;
use rankwright_config::EventFormat;
use rankwright_event::{Event, Timestamp};

/// Decodes a block. The result depends on nothing else, so that any thread may do it.
pub(super) fn decode(block: &Block) -> Batch {
    let events = Vec::with_capacity(likely(block));
    let mut decoded = Decoded { block, events, bad: Vec::new(), too_old: 0, unfinished: false };
    for bad in block.left_out() {
        decoded.leave_out(bad.line, bad.record, bad.reason.clone());
    }
    block.each(|record| decoded.record(&record));
    decoded.batch()
}

/// How many events to expect: one for each record, but no event is shorter than 50 bytes.
fn likely(block: &Block) -> usize {
    let records = usize::try_from(block.cut.after - block.cut.before).unwrap_or(usize::MAX);
    records.min(block.cut.text.len() / 50)
}

struct Decoded<'a> {
    block: &'a Block,
    events: Vec<Event>,
    /// With their records.
    bad: Vec<(u64, BadLine)>,
    too_old: u64,
    /// Whether the file ends within a line, which may still be written.
    unfinished: bool,
}

impl Decoded<'_> {
    fn record(&mut self, record: &Record<'_>) {
        let is_line = record.element.is_none();
        if is_line && record.is_too_long() {
            self.unfinished = record.unended;
            return self.leave_out(record.line, record.number, too_long(self.block.limits));
        }
        let error = match format::decode(self.block.format, record.text) {
            Ok(event) => {
                self.unfinished = false;
                return event.into_iter().for_each(|event| self.keep(event, record.line, record.number));
            }
            Err(error) => error,
        };
        self.unfinished = is_line && record.unended;
        let (line, reason) = record.reason(&error);
        self.leave_out(line, record.number, reason);
        if let Some(element) = record.element.filter(|_| self.block.format == EventFormat::Json) {
            for (at, event) in sign::events(record.text, error.path()) {
                let line = element.line + memchr_iter(b'\n', &record.text[..at]).count() as u64;
                self.keep(event, line, record.number);
            }
        }
    }

    fn keep(&mut self, event: Event, line: u64, record: u64) {
        let (kind, at) = (event.kind(), event.timestamp());
        if at > self.block.until {
            return self.leave_out(
                line,
                record,
                format!(
                    "the {kind} event's timestamp {at} lies further in the future than core.ingest.maxAhead allows"
                ),
            );
        }
        if self.block.since == Timestamp::MIN || at >= self.block.since {
            self.events.push(event);
        } else {
            self.too_old += 1;
        }
    }

    fn leave_out(&mut self, line: u64, record: u64, reason: String) {
        self.bad.push((record, self.block.bad_line(line, reason)));
    }

    fn batch(mut self) -> Batch {
        self.bad.sort_by_key(|(record, bad)| (bad.line, *record));
        Batch {
            events: self.events,
            bad: self.bad.into_iter().map(|(_, bad)| bad).collect(),
            before_offset: self.too_old,
            position: Position::new(&*self.block.file, self.block.cut.after - u64::from(self.unfinished)),
            progress: self.block.progress,
            bytes: 0,
            cuts: Vec::new(),
        }
    }
}
