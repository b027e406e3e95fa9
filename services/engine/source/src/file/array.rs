//! Text cut between the elements of an array.
//!
//! Only brackets, strings and commas are looked at; whether an element is JSON is for the decoder to say. Several
//! arrays may follow each other, as in a file that was put together from compressed parts; so may lines.
//!
//! An element that cannot end any more (a text that ends with its line, a bracket that closes another kind, a value in
//! place of a key, the end of the file) is left out alone: reading goes on with the next sign of an element behind its
//! beginning, which is a line that begins with `{`, perhaps behind a comma or the bracket of another array, and is indented
//! no further, or an object whose first key is `event`. In what the end of the file cuts off, or is too long, a sign is a whole event and nothing less:
//! the rest may be still to come, and is no record before.

use super::Limits;
use super::cut::{Bad, Cut, Element, Records, broken_off, too_long};
use super::input::Input;
use memchr::{memchr_iter, memchr2_iter, memchr3, memrchr};
use rankwright_event::json;
use serde::de::IgnoredAny;
use std::io;

/// So many brackets are remembered, a byte each; no event has a thousandth of them.
const DEEPEST: usize = 1 << 20;

/// So much of a file is looked at again, in bytes, for signs of elements in what turned out to be broken.
const AGAIN: usize = 1 << 30;

/// More bytes than an event has, as a rule.
const USUAL: usize = 1 << 16;

/// Cuts a file behind the last whole element of each block.
pub(super) struct Array {
    pub(super) input: Input,
    limits: Limits,
    buffer: Vec<u8>,
    /// Byte of the buffer that is looked at next.
    at: usize,
    /// Line of that byte, from 1.
    line: u64,
    /// The brackets that are open; one between elements.
    open: Vec<u8>,
    in_string: bool,
    /// Right behind a backslash.
    escaped: bool,
    /// In an object, before a key.
    wants_key: bool,
    /// Bytes of this line before the one that is looked at next, whether all of them are blanks, commas and brackets that
    /// open, and how many of them are blanks before the others.
    column: usize,
    fresh: bool,
    indent: Option<usize>,
    /// One of them is a bracket.
    bracket: bool,
    /// What is skipped, until a line begins with an element that is indented no further than this.
    lost: Option<usize>,
    /// Bytes that were looked at again.
    again: usize,
    /// Elements follow that are in no array, as lines are.
    loose: bool,
    /// It was told that a comma is missing in this array.
    told: bool,
    element: Start,
    elements: Vec<Element>,
    /// Elements up to here, those left out included.
    count: u64,
    /// Elements before the buffer.
    before: u64,
    bad: Vec<Bad>,
    ended: bool,
}

/// The element being read.
#[derive(Clone, Copy)]
struct Start {
    at: usize,
    line: u64,
    column: usize,
    /// The first of its array.
    first: bool,
    /// Nothing but blanks so far.
    blank: bool,
    too_long: bool,
}

impl Array {
    /// Goes on after `start`, which was read to see what the file is.
    pub(super) fn new(input: Input, start: Vec<u8>, limits: Limits) -> Self {
        let element = Start { at: 0, line: 1, column: 0, first: true, blank: true, too_long: false };
        Self {
            input,
            limits,
            buffer: start,
            at: 0,
            line: 1,
            open: Vec::new(),
            in_string: false,
            escaped: false,
            wants_key: false,
            column: 0,
            fresh: true,
            indent: None,
            bracket: false,
            lost: None,
            again: 0,
            loose: false,
            told: false,
            element,
            elements: Vec::new(),
            count: 0,
            before: 0,
            bad: Vec::new(),
            ended: false,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Cut>> {
        while self.elements.is_empty() && !self.ended {
            self.scan();
            if self.input.has_ended() {
                self.last()?;
            } else if !self.ended {
                self.forget();
                self.input.fill(&mut self.buffer, self.limits.block);
            }
        }
        let nothing = self.elements.is_empty() && self.bad.is_empty();
        Ok((!nothing).then(|| self.cut()))
    }

    /// Goes on to the end of the buffer.
    fn scan(&mut self) {
        while let Some(&byte) = self.buffer.get(self.at) {
            if self.in_string {
                self.scan_string();
            } else if let Some(column) = self.lost {
                if !self.seek(byte, column) {
                    break;
                }
            } else {
                self.scan_byte(byte);
            }
        }
    }

    fn scan_byte(&mut self, byte: u8) {
        let inside = self.open.last().copied();
        let (between, begun) = (self.open.len() == 1, !self.element.blank);
        let wants_key = std::mem::take(&mut self.wants_key);
        match (byte, inside) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => self.wants_key = wants_key,
            (b'[', None) => return self.begin_array(),
            (b'{', None) => return self.begin_loose(),
            (_, None) => {
                return self.lose("expected `[`, `{` or the end of the file after an array", usize::MAX);
            }
            (b'{' | b'[', Some(_)) if self.open.len() >= DEEPEST => {
                return self.lose("the element is nested too deeply", self.element.column);
            }
            (b'{' | b'[', Some(b'{')) if wants_key => {
                return self.lose("the element has a value in place of a key", self.element.column);
            }
            (b'}', Some(b'[')) | (b']', Some(b'{')) => {
                return self.lose("the element has a bracket that closes another one", self.element.column);
            }
            (b'[', _) if between && self.loose && self.fresh => return self.tighten(begun),
            (b'{' | b'[' | b'"', _) if between && begun => return self.divide(),
            (b'[', _) if between => {
                // no event, and perhaps a bracket too many before one
                self.element.line = self.line;
                return self.lose("expected an event: an object, found an array", usize::MAX);
            }
            _ => {}
        }
        self.begin_text(byte);
        self.step(byte);
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.open.push(byte);
                self.wants_key = byte == b'{';
            }
            b',' | b']' if between => self.end(byte == b']'),
            b',' => self.wants_key = inside == Some(b'{'),
            b'}' | b']' => drop(self.open.pop()),
            _ => {}
        }
    }

    fn scan_string(&mut self) {
        let rest = &self.buffer[self.at..];
        if std::mem::take(&mut self.escaped) && rest[0] != b'\n' {
            (self.at, self.column) = (self.at + 1, self.column + 1);
            return;
        }
        let found = memchr3(b'"', b'\\', b'\n', rest);
        let (what, read) = (found.map(|offset| rest[offset]), found.unwrap_or(rest.len()));
        (self.at, self.column) = (self.at + read, self.column + read);
        match what {
            Some(b'\\') => {
                (self.at, self.column) = (self.at + 1, self.column + 1);
                self.escaped = true; // what comes next ends no string
            }
            Some(b'"') => {
                self.in_string = false;
                self.step(b'"');
            }
            Some(_) => {
                self.in_string = false;
                self.lose("the element has a text that ends with its line", self.element.column);
            }
            None => {}
        }
    }

    /// Goes on behind a byte.
    fn step(&mut self, byte: u8) {
        self.at += 1;
        match byte {
            b'\n' => {
                (self.line, self.column) = (self.line + 1, 0);
                (self.fresh, self.indent, self.bracket) = (true, None, false);
            }
            _ => {
                if self.fresh && is_mark(byte) {
                    self.indent = self.indent.or(Some(self.column));
                    self.bracket |= byte == b'[';
                }
                self.column += 1;
                self.fresh &= is_lead(byte);
            }
        }
    }

    /// Leaves out the element being read, which nobody can tell the end of, or what stands beside arrays.
    fn lose(&mut self, reason: &str, column: usize) {
        let sign = if self.open.is_empty() { None } else { self.sign(column) };
        self.lose_to(sign, reason, column);
    }

    /// Leaves it out, and goes on from a sign of the next one; looks for one in what follows, where there is none.
    fn lose_to(&mut self, sign: Option<usize>, reason: &str, column: usize) {
        self.leave_out(if self.open.is_empty() { self.line } else { self.element.line }, reason.to_owned());
        self.open.truncate(1);
        (self.wants_key, self.in_string, self.escaped) = (false, false, false);
        match sign {
            Some(at) => {
                self.again += self.at.saturating_sub(at);
                let passed = &self.buffer[self.element.at..at];
                self.line = self.element.line + memchr_iter(b'\n', passed).count() as u64;
                let column = |end: usize| passed.len() - end - 1;
                self.column = memrchr(b'\n', passed).map_or(self.element.column + passed.len(), column);
                (self.at, self.fresh) = (at, false);
            }
            None => self.lost = Some(column),
        }
        self.begin(false);
    }

    /// Where an element seems to begin within the one being read, or what was taken for it.
    fn sign(&self, column: usize) -> Option<usize> {
        self.signs(column).next()
    }

    fn signs(&self, column: usize) -> impl Iterator<Item = usize> + use<'_> {
        let (from, to) = (self.element.at + 1, self.at.min(self.buffer.len()));
        let within = self.buffer.get(from..to).filter(|_| self.again < AGAIN).unwrap_or_default();
        let mut line = None;
        let begins = move |at: &usize| {
            if within[*at] == b'\n' {
                line = Some(at + 1);
                return false;
            }
            let before =
                line.take().map(|line| &within[line..*at]).filter(|before| before.iter().all(|byte| is_lead(*byte)));
            let indent = |before: &[u8]| before.iter().position(|byte| is_mark(*byte)).unwrap_or(before.len());
            before.is_some_and(|before| indent(before) <= column)
                || begins_event(&self.buffer[from + at..]) == Some(true)
        };
        memchr2_iter(b'{', b'\n', within).filter(begins).map(move |at| from + at)
    }

    /// Where a whole event stands within the element being read.
    fn whole_event(&mut self) -> Option<usize> {
        let (mut looked, mut found) = (0, None);
        for at in self.signs(self.element.column) {
            let text = &self.buffer[at..];
            let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
            let (is_whole, read) = match values.next() {
                Some(Ok(_)) => (true, values.byte_offset()),
                Some(Err(error)) if !error.is_eof() => (false, text.len().min(USUAL)),
                _ => (false, text.len()),
            };
            if is_whole && json::decode(&text[..read]).is_ok() {
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

    /// Looks for the next element, or the end of the array. False where more of the file has to tell.
    fn seek(&mut self, byte: u8, column: usize) -> bool {
        let here = self.fresh && self.indent.unwrap_or(self.column) <= column;
        match byte {
            b'{' if here => self.find(),
            b'{' => match begins_event(&self.buffer[self.at..]) {
                Some(true) => self.find(),
                None if !self.input.has_ended() => return false,
                _ => self.pass(byte),
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

    fn find(&mut self) {
        self.lost = None;
        self.begin(false);
    }

    /// Goes on behind a byte of which nothing is kept.
    fn pass(&mut self, byte: u8) {
        self.step(byte);
        self.element.at = self.at;
    }

    fn begin_array(&mut self) {
        self.step(b'[');
        self.open.push(b'[');
        (self.told, self.loose) = (false, false);
        self.begin(true);
    }

    /// Lines after an array are as an array without brackets and commas.
    fn begin_loose(&mut self) {
        self.open.push(b'[');
        (self.told, self.loose) = (true, true);
        self.begin(true);
    }

    /// An array follows lines.
    fn tighten(&mut self, begun: bool) {
        if begun {
            self.take_element(self.at, false);
        }
        self.open.clear();
        self.begin_array();
    }

    /// Ends an element before the next one, without a comma.
    fn divide(&mut self) {
        self.take_element(self.at, false);
        if !std::mem::replace(&mut self.told, true) {
            self.leave_out(self.line, "expected `,` between this element and the one before".to_owned());
        }
        self.begin(false);
    }

    /// Begins an element here.
    fn begin(&mut self, first: bool) {
        let (at, line, column) = (self.at, self.line, self.column);
        self.element = Start { at, line, column, first, blank: true, too_long: false };
    }

    /// Notes where the text of the element begins, after the blanks before it: at `byte`, if it is no blank.
    fn begin_text(&mut self, byte: u8) {
        let is_text = !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']');
        if self.element.blank && is_text {
            let (at, line, column) = (self.at, self.line, self.column);
            self.element = Start { at, line, column, blank: false, ..self.element };
        }
    }

    /// Ends the element before the byte that was just read, and with it the array if it is the last.
    fn end(&mut self, last: bool) {
        self.take_element(self.at - 1, last);
        if last {
            self.open.clear();
        }
        self.begin(false);
    }

    fn take_element(&mut self, end: usize, last: bool) {
        let Start { at, line, first, blank, too_long: is_too_long, .. } = self.element;
        if is_too_long || end - at > self.limits.line {
            self.leave_out(line, too_long(self.limits));
        } else if !(first && last && blank) {
            self.count += 1;
            self.elements.push(Element { range: at..end, line, record: self.count });
        }
    }

    /// Keeps nothing of an element that is too long, nor of blanks around elements, nor of what is skipped.
    fn forget(&mut self) {
        if self.lost.is_some() {
            let kept = self.elements.last().map_or(0, |element| element.range.end);
            drop(self.buffer.drain(kept..self.element.at));
            (self.at, self.element.at) = (self.at + kept - self.element.at, kept);
            return;
        }
        let kept = self.buffer.len();
        let exceeds = !self.element.blank && !self.element.too_long && kept - self.element.at > self.limits.line;
        if exceeds && let Some(at) = self.whole_event() {
            return self.lose_to(Some(at), &too_long(self.limits), self.element.column);
        }
        self.element.too_long |= !self.element.blank && kept - self.element.at > self.limits.line;
        if self.element.too_long || self.element.blank {
            self.buffer.truncate(self.element.at);
            self.at -= kept - self.element.at;
        }
    }

    /// What the end of the file leaves open.
    fn last(&mut self) -> io::Result<()> {
        let (line, whole) = (self.element.line, self.open.len() == 1 && !self.in_string && self.lost.is_none());
        if let Some(reason) = broken_off(&mut self.input)? {
            self.break_off(self.line, reason);
        } else if self.open.len() > 1
            && let Some(at) = self.whole_event()
        {
            self.lose_to(Some(at), "the element does not end", self.element.column);
            return Ok(()); // there is more to read
        } else if !self.open.is_empty() {
            if whole && !self.element.blank {
                self.take_element(self.buffer.len(), false);
            }
            let line = if whole { self.line } else { line };
            match self.loose {
                true if whole => {}
                true => self.break_off(line, "the line is cut off".to_owned()),
                false => {
                    self.break_off(line, "the array is not closed: expected `]`, found the end of the file".to_owned());
                }
            }
        }
        self.ended = true;
        Ok(())
    }

    /// What is missing is not counted: it is read when the file is whole.
    fn break_off(&mut self, line: u64, reason: String) {
        self.bad.push(Bad { record: self.count + 1, line, reason });
    }

    fn leave_out(&mut self, line: u64, reason: String) {
        self.count += 1;
        self.bad.push(Bad { record: self.count, line, reason });
    }

    /// Takes the text up to the element being read.
    fn cut(&mut self) -> Cut {
        let end = if self.ended { self.buffer.len() } else { self.element.at };
        let rest = self.buffer.split_off(end);
        let text = std::mem::replace(&mut self.buffer, rest);
        self.at -= end.min(self.at);
        self.element.at = 0;
        let records = Records::Elements(std::mem::take(&mut self.elements));
        let before = std::mem::replace(&mut self.before, self.count);
        Cut { text, records, bad: std::mem::take(&mut self.bad), before, after: self.count }
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

/// What may stand before the first element of a line.
fn is_lead(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r') || is_mark(byte)
}

/// What may stand there beside blanks.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b',' | b'[')
}
