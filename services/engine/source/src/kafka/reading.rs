//! How far one partition is read.

use super::context::End;
use super::offset::Range;
use crate::Partition;

/// A partition that is read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) partition: Partition,
    /// Where reading began.
    begin: i64,
    /// Offset of the next message.
    pub(super) next: i64,
    /// Offset behind the last one, where known.
    end: Option<i64>,
    /// Reading ends at this offset.
    until: Option<i64>,
    /// The end was reached, and nothing has come since.
    at_end: bool,
    /// All is read up to where reading ends.
    pub(super) done: bool,
    /// A message came that lies before the next one, and none that is to be read since.
    doubted: bool,
}

impl Reading {
    pub(super) fn new(partition: Partition, range: Range, bounded: bool) -> Self {
        let Range { begin, end } = range;
        let until = bounded.then_some(end);
        Self {
            partition,
            begin,
            next: begin,
            end: Some(end),
            until,
            at_end: false,
            done: bounded && begin >= end,
            doubted: false,
        }
    }

    /// Whether a message is to be read; messages come again after a seek, and go on after a bound.
    pub(super) fn wants(&self, offset: i64) -> bool {
        !self.done && offset >= self.next && self.until.is_none_or(|until| offset < until)
    }

    /// Goes on to a message. Offsets have gaps, where transactions end and where logs were compacted.
    pub(super) fn reach(&mut self, offset: i64) {
        (self.next, self.at_end, self.doubted) = (offset + 1, false, false);
    }

    /// Whether a message raises a doubt whether the broker has what was read: it comes again, or others are in its place.
    pub(super) fn doubts(&mut self, offset: i64) -> bool {
        !self.done && offset < self.next && !std::mem::replace(&mut self.doubted, true)
    }

    /// Whether nothing before the bound follows a message.
    pub(super) fn passes(&self, offset: i64) -> bool {
        self.until.is_some_and(|until| offset + 1 >= until)
    }

    /// Everything there is was read.
    pub(super) fn reach_end(&mut self) {
        self.at_end = true;
    }

    /// Takes the broker's word on the end; returns whether it confirms that nothing is left.
    pub(super) fn confirm(&mut self, end: End) -> bool {
        self.end = Some(end.offset);
        self.at_end && end.reached
    }

    /// How many messages are ahead; what lies between the last one and the end are no messages.
    pub(super) fn lag(&self) -> Option<u64> {
        let ahead = if self.at_end { 0 } else { self.end? - self.next };
        Some(u64::try_from(ahead).unwrap_or(0))
    }

    /// Of how many messages how many are read, up to the bound.
    pub(super) fn progress(&self) -> (u64, u64) {
        let Some(until) = self.until else { return (0, 0) };
        let read = if self.done { until } else { self.next.min(until) };
        let length = |to: i64| u64::try_from(to - self.begin).unwrap_or(0);
        (length(read), length(until))
    }
}
