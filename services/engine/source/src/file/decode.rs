//! From a block to its events.

use super::array::sign;
use super::block::Block;
use super::cut::{Element, Records, too_long};
use crate::{BadLine, Batch, Position};
use memchr::{memchr, memchr_iter};
use rankwright_event::{DecodeError, Event, Timestamp, json};
use std::sync::Arc;

/// Decodes a block. The result depends on nothing else, so that any thread may do it.
pub(super) fn decode(block: &Block) -> Batch {
    let cut = &block.cut;
    let events = Vec::with_capacity(likely(block));
    let mut decoded = Decoded { block, events, bad: Vec::new(), too_old: 0, unfinished: false };
    for bad in cut.bad.iter().filter(|bad| bad.record > block.skip) {
        decoded.leave_out(bad.line, bad.record, bad.reason.clone());
    }
    match &cut.records {
        Records::Lines => decoded.lines(&cut.text),
        Records::Elements(elements) => decoded.elements(elements),
    }
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
    fn lines(&mut self, text: &[u8]) {
        let (mut rest, mut number) = (text, self.block.cut.before);
        while !rest.is_empty() {
            let newline = memchr(b'\n', rest);
            let end = newline.unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            number += 1;
            if number > self.block.skip && !line.trim_ascii().is_empty() {
                self.unfinished = !self.line(line, number) && newline.is_none();
            }
        }
    }

    /// Whether the line holds an event.
    fn line(&mut self, line: &[u8], number: u64) -> bool {
        if line.len() > self.block.limits.line {
            self.leave_out(number, number, too_long(self.block.limits));
            return false;
        }
        match json::decode(line) {
            Ok(event) => {
                self.keep(event, number, number);
                true
            }
            Err(error) => {
                self.leave_out(number, number, format!("{} (column {})", located("", &error), error.column()));
                false
            }
        }
    }

    fn elements(&mut self, elements: &[Element]) {
        for element in elements.iter().filter(|element| element.record > self.block.skip) {
            let text = &self.block.cut.text[element.range.clone()];
            match json::decode(text) {
                Ok(event) => self.keep(event, element.line, element.record),
                Err(error) => {
                    let line = element.line + error.line() as u64 - 1;
                    let index = element.index.map_or_else(String::new, |index| format!("[{index}]"));
                    let column = element.behind.filter(|_| error.line() == 1).map(|before| before + error.column());
                    let column = column.map_or_else(String::new, |column| format!(" (column {column})"));
                    self.leave_out(line, element.record, located(&index, &error) + &column);
                    for (at, event) in sign::events(text, error.path()) {
                        let line = element.line + memchr_iter(b'\n', &text[..at]).count() as u64;
                        self.keep(event, line, element.record);
                    }
                }
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
        let bad = BadLine { file: Arc::clone(&self.block.file), line, reason, content: Box::default() };
        self.bad.push((record, bad));
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

/// What is wrong, with its path below `base`.
fn located(base: &str, error: &DecodeError) -> String {
    let dot = if base.is_empty() || error.path().is_empty() { "" } else { "." };
    let path = format!("{base}{dot}{}", error.path());
    if path.is_empty() { error.reason().to_owned() } else { format!("{path}: {}", error.reason()) }
}
