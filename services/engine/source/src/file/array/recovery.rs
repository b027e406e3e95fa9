//! Going on behind an element that cannot end.
//!
//! Its text is looked through again from right behind its beginning, and what follows it, until an element seems to begin
//! (see [`super`]). Where nothing but the brackets told elements apart, as in an array on one line whose events begin with
//! any key, each object behind a comma or an opening bracket is tried as an event.

use super::Array;
use memchr::{memchr_iter, memchr2_iter, memrchr};
use rankwright_event::json;
use serde::de::IgnoredAny;

/// So much of a file is looked at again, in bytes, for signs of elements in what turned out to be broken.
const AGAIN: usize = 1 << 30;

/// More bytes than an event has, as a rule: so many are waited for, to see whether one is whole.
const USUAL: usize = 1 << 20;

/// Whether something is whole, as far as one can see.
enum Whole {
    Yes,
    No,
    /// More of the file has to tell.
    Perhaps,
}

impl Array {
    /// Leaves out the element being read, which nobody can tell the end of, or what stands beside arrays.
    pub(super) fn lose(&mut self, reason: &str, column: usize) {
        let begun = !self.open.is_empty() && !self.element.blank && self.again < AGAIN;
        let from = begun.then_some(self.element.at + 1).filter(|from| *from < self.at.min(self.buffer.len()));
        self.lose_from(from, reason);
        self.lost = Some(column);
    }

    /// Leaves out what is too long, or does not end, and goes on with a whole event in it.
    pub(super) fn lose_to(&mut self, event: usize, reason: &str) {
        self.lose_from(Some(event), reason);
    }

    fn lose_from(&mut self, from: Option<usize>, reason: &str) {
        self.leave_out(if self.open.is_empty() { self.line } else { self.element.line }, reason.to_owned());
        self.open.truncate(1);
        (self.wants_key, self.in_string, self.escaped, self.behind_text) = (false, false, false, false);
        self.lost = None;
        if let Some(at) = from {
            self.again += self.at.saturating_sub(at);
            let passed = &self.buffer[self.element.at..at];
            self.line = self.element.line + memchr_iter(b'\n', passed).count() as u64;
            let within = |end: usize| passed.len() - end - 1;
            self.column = memrchr(b'\n', passed).map_or(self.element.column + passed.len(), within);
            (self.at, self.fresh, self.passed) = (at, false, b'{');
        }
        self.begin(false);
    }

    /// Looks for the next element, or the end of the array. False where more of the file has to tell.
    pub(super) fn seek(&mut self, byte: u8, column: usize) -> bool {
        let here = self.fresh && self.indent.unwrap_or(self.column) <= column;
        match byte {
            b'{' if here => self.find(),
            b'{' => match begins_event(&self.buffer[self.at..]) {
                Some(true) => self.find(),
                None if !self.input.has_ended() => return false,
                _ => return self.attempt(),
            },
            b'[' if here && self.open.is_empty() => self.lost = None,
            b']' if here && !self.bracket && !self.open.is_empty() => {
                self.lost = None;
                self.step(byte);
                self.open.clear();
                self.begin(false);
            }
            _ => self.pass(byte),
        }
        true
    }

    /// Takes an object for an element if it is an event.
    fn attempt(&mut self) -> bool {
        let may_be_one = matches!(self.passed, b',' | b'[') && self.again < AGAIN;
        let (whole, read) = if may_be_one { is_event(&self.buffer[self.at..]) } else { (Whole::No, 0) };
        self.again += read;
        match whole {
            Whole::Yes => self.find(),
            Whole::Perhaps if !self.input.has_ended() && self.buffer.len() - self.at < USUAL => return false,
            Whole::Perhaps | Whole::No => self.pass(b'{'),
        }
        true
    }

    fn find(&mut self) {
        self.lost = None;
        self.begin(false);
    }

    /// Goes on behind a byte of which nothing is kept.
    fn pass(&mut self, byte: u8) {
        if !byte.is_ascii_whitespace() {
            self.passed = byte;
        }
        self.step(byte);
        self.element.at = self.at;
    }

    /// Where a whole event stands within the element being read.
    pub(super) fn whole_event(&mut self) -> Option<usize> {
        let (mut looked, mut found) = (0, None);
        for at in self.signs() {
            let (whole, read) = is_event(&self.buffer[at..]);
            if matches!(whole, Whole::Yes) {
                found = Some(at);
                break;
            }
            looked += read;
            if self.again + looked >= AGAIN {
                break;
            }
        }
        self.again += looked;
        found
    }

    /// Where elements seem to begin within the one being read.
    fn signs(&self) -> impl Iterator<Item = usize> + use<'_> {
        let (from, to) = (self.element.at + 1, self.at.min(self.buffer.len()));
        let within = self.buffer.get(from..to).filter(|_| self.again < AGAIN).unwrap_or_default();
        let mut line = None;
        let begins = move |at: &usize| {
            if within[*at] == b'\n' {
                line = Some(at + 1);
                return false;
            }
            let before = &within[..*at];
            let leads = line.take().is_some_and(|line| before[line..].iter().all(|byte| super::is_lead(*byte)));
            let behind = before.iter().rev().find(|byte| !byte.is_ascii_whitespace());
            leads || behind.is_some_and(|byte| super::is_mark(*byte))
        };
        memchr2_iter(b'{', b'\n', within).filter(begins).map(move |at| from + at)
    }
}

/// Whether an event stands at the beginning of a text, and how much of that was read, in bytes.
fn is_event(text: &[u8]) -> (Whole, usize) {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let read = values.byte_offset();
            (if json::decode(&text[..read]).is_ok() { Whole::Yes } else { Whole::No }, read)
        }
        Some(Err(error)) if !error.is_eof() => {
            let line = error.line().checked_sub(2).and_then(|before| memchr_iter(b'\n', text).nth(before));
            (Whole::No, line.unwrap_or(0) + error.column())
        }
        _ => (Whole::Perhaps, text.len()),
    }
}

/// Whether an object has `event` for its first key, as far as one can see: within a text its quotes would be escaped.
fn begins_event(text: &[u8]) -> Option<bool> {
    const KEY: &[u8] = b"\"event\"";
    const FARTHEST: usize = 64;
    let rest = text.get(1..text.len().min(FARTHEST))?.trim_ascii_start();
    let seen = rest.len().min(KEY.len());
    match rest[..seen] == KEY[..seen] {
        true if seen == KEY.len() => Some(true),
        true => (text.len() >= FARTHEST).then_some(false),
        false => Some(false),
    }
}
