//! Text cut between the elements of an array.
//!
//! Only brackets, strings and commas are looked at; whether an element is JSON is for the decoder to say. Several
//! arrays may follow each other, as in a file that was put together from compressed parts; so may lines.
//!
//! An element that cannot end any more (a text that ends with its line, or is followed by what follows no text, a bracket
//! that closes another kind, a value in place of a key, the end of the file) is left out alone: reading goes on with the next
//! sign of an element behind its beginning. That is an object whose first key is `event` (but no value of a key), or one behind
//! a comma or a bracket that has this key; and a line that begins with an object which is broken, perhaps behind a comma or
//! the bracket of another array, and is indented no further. What the end of the file cuts off, or is too long, is left out for the sake of a
//! whole event in it and of nothing less: the rest may be still to come, and is no record before.

mod place;
mod recovery;
pub(super) mod sign;

use super::Limits;
use super::cut::{Bad, Cut, Element, Records, broken_off, too_long};
use super::input::Input;
use memchr::memchr3;
use place::Place;
use recovery::Stopped;
use std::collections::VecDeque;
use std::io;

/// Most brackets that are remembered, 16 bytes each; no event has a thousandth of them.
const DEEPEST: usize = 1 << 20;

/// Most reports that are held, where nothing else is to be handed out.
const MOST_BAD: usize = 1000;

/// Cuts a file behind the last whole element of each block.
pub(super) struct Array {
    pub(super) input: Input,
    limits: Limits,
    buffer: Vec<u8>,
    /// Bytes that were taken from the buffer before the one that is looked at next.
    base: usize,
    place: Place,
    /// The brackets that are open; one between elements.
    open: VecDeque<Open>,
    /// What is skipped, until a line begins with an element that is indented no further than this.
    lost: Option<usize>,
    /// How far an element was read that was left out.
    stopped: Option<Stopped>,
    /// Where a whole event stands, in bytes of the file.
    event: Option<usize>,
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
    /// Those of this array.
    index: u64,
    /// Elements before the buffer.
    before: u64,
    bad: Vec<Bad>,
    ended: bool,
}

/// A bracket that is open.
#[derive(Clone, Copy)]
struct Open {
    byte: u8,
    /// Bytes of the file before it.
    at: usize,
}

/// The element being read.
#[derive(Clone, Copy)]
struct Start {
    at: usize,
    line: u64,
    column: usize,
    /// Line and column of the byte at `at`, others where the beginning is forgotten.
    kept: (u64, usize),
    /// The first of its array.
    first: bool,
    /// The first on its line.
    leads: bool,
    /// Nothing but blanks so far.
    blank: bool,
    too_long: bool,
}

impl Start {
    fn at(place: &Place, first: bool) -> Self {
        let Place { at, line, column, fresh, .. } = *place;
        Self { at, line, column, kept: (line, column), first, leads: fresh, blank: true, too_long: false }
    }
}

impl Array {
    /// Goes on after `start`, which was read to see what the file is.
    pub(super) fn new(input: Input, start: Vec<u8>, limits: Limits) -> Self {
        let place = Place::new(0, 1, 0);
        Self {
            input,
            limits,
            buffer: start,
            base: 0,
            place,
            open: VecDeque::new(),
            lost: None,
            stopped: None,
            event: None,
            passed: b'[',
            again: 0,
            loose: false,
            told: false,
            element: Start::at(&place, true),
            elements: Vec::new(),
            count: 0,
            index: 0,
            before: 0,
            bad: Vec::new(),
            ended: false,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Cut>> {
        while self.has_more() && self.bad.len() < MOST_BAD && !self.ended {
            self.scan();
            if self.input.has_ended() {
                self.last()?;
            } else if !self.forget() {
                self.input.fill(&mut self.buffer, self.limits.block);
            }
        }
        let nothing = self.elements.is_empty() && self.bad.is_empty();
        Ok((!nothing).then(|| self.cut()))
    }

    /// Whether there is nothing to hand out yet, or a little of what the buffer holds that is to be looked at again.
    fn has_more(&self) -> bool {
        self.elements.is_empty() || self.place.at < self.buffer.len() && self.element.at < self.limits.block
    }

    /// Goes on to the end of the buffer.
    fn scan(&mut self) {
        while let Some(&byte) = self.buffer.get(self.place.at) {
            if let Some(column) = self.lost {
                if !self.seek(byte, column) {
                    break;
                }
            } else if self.place.in_string {
                self.scan_string();
            } else if let Some((reason, column)) = self.fault(byte) {
                self.lose(reason, column);
            } else {
                self.scan_byte(byte);
            }
        }
    }

    /// Why the element cannot end, and how far at most the next one is indented.
    fn fault(&self, byte: u8) -> Option<(&'static str, usize)> {
        let Place { wants_key, behind_text, .. } = self.place;
        let column = self.element.column;
        Some(match (byte, self.open.back().map(|open| open.byte)) {
            (b' ' | b'\t' | b'\r' | b'\n', _) | (b'[' | b'{', None) => return None,
            (_, None) => ("expected `[`, `{` or the end of the file after an array", usize::MAX),
            (b'{' | b'[', _) if self.open.len() >= DEEPEST => ("the element is nested too deeply", column),
            (byte, _) if behind_text && !self.may_follow_text(byte) => {
                ("the element has a text that is not closed, or a quote within one", column)
            }
            (b'{' | b'[', Some(b'{')) if wants_key => ("the element has a value in place of a key", column),
            (b'}', Some(b'[')) if self.stands_behind_whole() => return None,
            (b'}', Some(b'[')) | (b']', Some(b'{')) => ("the element has a bracket that closes another one", column),
            _ => return None,
        })
    }

    /// Texts lie between commas, colons and brackets; between elements a comma may be missing.
    fn may_follow_text(&self, byte: u8) -> bool {
        match byte {
            b',' | b']' | b'"' => true,
            b':' | b'}' => self.open.len() > 1,
            b'{' | b'[' => self.open.len() == 1,
            _ => false,
        }
    }

    fn scan_byte(&mut self, byte: u8) {
        let Some(inside) = self.open.back().map(|open| open.byte) else {
            return self.begin_beside(byte);
        };
        let (between, begun) = (self.open.len() == 1, !self.element.blank);
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return self.place.step(byte),
            b'[' if between && self.loose && self.place.fresh => return self.tighten(begun),
            b'{' | b'[' | b'"' if between && begun => return self.divide(),
            b'[' if between => {
                // no event, and perhaps a bracket too many before one
                return self.lose("expected an event: an object, found an array", usize::MAX);
            }
            b'{' if between && self.resume() => return,
            b'}' if self.stands_behind_whole() => return self.pass_stray(),
            b',' | b']' | b'}' => {}
            _ if self.stands_behind_whole() => return self.divide(),
            _ => {}
        }
        self.begin_text(byte);
        self.place.behind_text = false;
        self.place.wants_key = byte == b'{' || byte == b',' && inside == b'{';
        match byte {
            b'"' => self.place.in_string = true,
            b'{' | b'[' => self.open.push_back(Open { byte, at: self.base + self.place.at }),
            _ => {}
        }
        self.place.step(byte);
        match byte {
            b',' | b']' if between => self.end(byte == b']'),
            b'}' | b']' => drop(self.open.pop_back()),
            _ => {}
        }
    }

    /// Whether the element is an object that has ended, which nothing but a comma or the end of the array may follow.
    fn stands_behind_whole(&self) -> bool {
        let Start { at, blank, too_long, .. } = self.element;
        self.open.len() == 1 && !blank && !too_long && self.buffer.get(at) == Some(&b'{')
    }

    fn scan_string(&mut self) {
        let rest = &self.buffer[self.place.at..];
        if std::mem::take(&mut self.place.escaped) && rest[0] != b'\n' {
            return self.place.pass(1);
        }
        let found = memchr3(b'"', b'\\', b'\n', rest);
        let (what, read) = (found.map(|offset| rest[offset]), found.unwrap_or(rest.len()));
        self.place.pass(read);
        match what {
            Some(b'\\') => {
                self.place.pass(1);
                self.place.escaped = true; // what comes next ends no string
            }
            Some(b'"') => {
                (self.place.in_string, self.place.behind_text) = (false, true);
                self.place.step(b'"');
            }
            Some(_) => self.lose("the element has a text that ends with its line", self.element.column),
            None => {}
        }
    }

    /// Begins an array, or lines after one.
    fn begin_beside(&mut self, byte: u8) {
        match byte {
            b'[' => self.begin_array(),
            b'{' => self.begin_loose(),
            _ => self.place.step(byte),
        }
    }

    fn begin_array(&mut self) {
        self.open_array();
        self.place.step(b'[');
        (self.told, self.loose, self.index) = (false, false, 0);
        self.begin(true);
    }

    /// Lines after an array are as an array without brackets and commas.
    fn begin_loose(&mut self) {
        self.open_array();
        (self.told, self.loose) = (true, true);
        self.begin(true);
    }

    fn open_array(&mut self) {
        self.open.push_back(Open { byte: b'[', at: self.base + self.place.at });
    }

    /// An array follows lines.
    fn tighten(&mut self, begun: bool) {
        if begun {
            self.take_element(self.place.at, false);
        }
        self.open.clear();
        self.begin_array();
    }

    /// Ends an element before the next one, without a comma.
    fn divide(&mut self) {
        self.take_element(self.place.at, false);
        if !std::mem::replace(&mut self.told, true) {
            self.leave_out(self.place.line, "expected `,` between this element and the one before".to_owned());
        }
        self.begin(false);
    }

    /// Ends an element before a bracket that closes nothing.
    fn pass_stray(&mut self) {
        let column = self.element.column;
        self.take_element(self.place.at, false);
        self.begin(false);
        self.lose("expected `,` or `]` behind the element, found `}`", column);
    }

    /// Begins an element here.
    fn begin(&mut self, first: bool) {
        self.element = Start::at(&self.place, first);
    }

    /// Notes where the text of the element begins, after the blanks before it: at `byte`, if it is no blank.
    fn begin_text(&mut self, byte: u8) {
        let is_text = !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']');
        if self.element.blank && is_text {
            let first = self.element.first;
            self.begin(first);
            self.element.blank = false;
        }
    }

    /// Ends the element before the byte that was just read, and with it the array if it is the last.
    fn end(&mut self, last: bool) {
        self.take_element(self.place.at - 1, last);
        if last {
            self.open.clear();
        }
        self.begin(false);
    }

    fn take_element(&mut self, end: usize, last: bool) {
        let Start { at, line, column, first, leads, blank, too_long: is_too_long, .. } = self.element;
        if last && blank {
            if !first {
                self.break_off(line, "expected an event behind `,`".to_owned()); // one may be put there
            }
            return;
        }
        if is_too_long || end - at > self.limits.line {
            self.leave_out(line, too_long(self.limits));
        } else {
            self.count += 1;
            let (index, behind) = ((!self.loose).then_some(self.index), if leads { None } else { Some(column) });
            self.elements.push(Element { range: at..end, line, behind, index, record: self.count });
        }
        self.index += 1;
    }

    /// Keeps nothing of an element that is too long, nor of blanks around elements, nor of what is skipped. Whether the buffer is
    /// to be looked at again.
    fn forget(&mut self) -> bool {
        if self.lost.is_some() {
            let kept = self.elements.last().map_or(0, |element| element.range.end);
            self.remove(kept, self.element.at);
            return false;
        }
        let Start { at, blank, too_long: is_too_long, .. } = self.element;
        let exceeds = !blank && !is_too_long && self.buffer.len() - at > self.limits.line;
        if exceeds && self.lose_unended() {
            return self.place.at < self.buffer.len();
        }
        self.element.too_long |= exceeds;
        if self.element.too_long || blank {
            self.remove(at, self.buffer.len());
            self.element.kept = (self.place.line, self.place.column);
        }
        false
    }

    /// Removes what was passed of the element, or before the next one.
    fn remove(&mut self, from: usize, to: usize) {
        drop(self.buffer.drain(from..to));
        self.element.at = from;
        self.place.at -= to - from;
        self.base += to - from;
    }

    /// What the end of the file leaves open.
    fn last(&mut self) -> io::Result<()> {
        let whole = self.open.len() == 1 && !self.place.in_string && self.lost.is_none();
        if self.open.len() > 1 && !self.input.has_failed() && self.lose_unended() {
            return Ok(()); // there is more to read
        }
        if let Some(reason) = broken_off(&mut self.input)? {
            if whole && self.stands_behind_whole() {
                self.take_element(self.buffer.len(), false);
            }
            self.break_off(self.place.line, reason);
        } else if !self.open.is_empty() && !self.seems_closed() {
            if whole && !self.element.blank {
                self.take_element(self.buffer.len(), false);
            }
            let line = if whole { self.place.line } else { self.element.line };
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

    /// Whether what was skipped up to the end of the file ends as arrays do.
    fn seems_closed(&self) -> bool {
        self.lost.is_some() && self.passed == b']' && self.place.at == self.buffer.len()
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
        self.place.at -= end.min(self.place.at);
        self.base += end;
        self.element.at = 0;
        let records = Records::Elements(std::mem::take(&mut self.elements));
        let before = std::mem::replace(&mut self.before, self.count);
        Cut { text, records, bad: std::mem::take(&mut self.bad), before, after: self.count }
    }
}
