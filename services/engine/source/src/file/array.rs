//! Text cut between the elements of an array.
//!
//! Only brackets, strings and commas are looked at; whether an element is JSON is for the decoder to say. Several
//! arrays may follow each other, as in a file that was put together from compressed parts; so may lines.
//!
//! An element that cannot end any more (a text that ends with its line, or is followed by what follows no text, a bracket
//! that closes another kind, a value in place of a key, the end of the file) is left out alone: reading goes on with the next
//! sign of an element behind its beginning, which is a line that begins with `{`, perhaps behind a comma or the bracket of
//! another array, and is indented no further, or an object whose first key is `event`, or one behind a comma that is an event.
//! In what the end of the file cuts off, or is too long, a sign is a whole event and nothing less: the rest may be still to
//! come, and is no record before.

mod recovery;

use super::Limits;
use super::cut::{Bad, Cut, Element, Records, broken_off, too_long};
use super::input::Input;
use memchr::memchr3;
use std::io;

/// So many brackets are remembered, a byte each; no event has a thousandth of them.
const DEEPEST: usize = 1 << 20;

/// So many reports are held, where nothing else is to be handed out.
const MOST_BAD: usize = 1000;

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
    /// Behind a text, and perhaps blanks.
    behind_text: bool,
    /// Bytes of this line before the one that is looked at next, whether all of them are blanks, commas and brackets that
    /// open, and how many of them are blanks before the others.
    column: usize,
    fresh: bool,
    indent: Option<usize>,
    /// One of them is a bracket.
    bracket: bool,
    /// What is skipped, until a line begins with an element that is indented no further than this.
    lost: Option<usize>,
    /// The last byte that was skipped, blanks left out.
    passed: u8,
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
            behind_text: false,
            column: 0,
            fresh: true,
            indent: None,
            bracket: false,
            lost: None,
            passed: b'[',
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
        while self.elements.is_empty() && self.bad.len() < MOST_BAD && !self.ended {
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
        let behind_text = std::mem::take(&mut self.behind_text) && self.open.len() > 1;
        match (byte, inside) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => (self.wants_key, self.behind_text) = (wants_key, behind_text),
            (b'[', None) => return self.begin_array(),
            (b'{', None) => return self.begin_loose(),
            (_, None) => {
                return self.lose("expected `[`, `{` or the end of the file after an array", usize::MAX);
            }
            (b'{' | b'[', Some(_)) if self.open.len() >= DEEPEST => {
                return self.lose("the element is nested too deeply", self.element.column);
            }
            (byte, _) if behind_text && !matches!(byte, b',' | b':' | b'}' | b']' | b'"') => {
                return self
                    .lose("the element has a text that is not closed, or a quote within one", self.element.column);
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
                (self.in_string, self.behind_text) = (false, true);
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
            return self.lose_to(at, &too_long(self.limits));
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
            self.lose_to(at, "the element does not end");
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

/// What may stand before the first element of a line.
fn is_lead(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r') || is_mark(byte)
}

/// What may stand there beside blanks.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b',' | b'[')
}
