//! Text cut between the elements of an array.
//!
//! Only brackets, strings and commas are looked at; whether an element is JSON is for the decoder to say. Several
//! arrays may follow each other, as in a file that was put together from compressed parts.

use super::Limits;
use super::cut::{Bad, Cut, Element, Records, broken_off, too_long};
use super::input::Input;
use memchr::memchr3;
use std::io;

/// Cuts a file behind the last whole element of each block.
pub(super) struct Array {
    pub(super) input: Input,
    limits: Limits,
    buffer: Vec<u8>,
    /// Byte of the buffer that is looked at next.
    at: usize,
    /// Line of that byte, from 1.
    line: u64,
    /// How many brackets are open; 1 between elements.
    depth: usize,
    in_string: bool,
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
    /// The first of its array.
    first: bool,
    /// Nothing but blanks so far.
    blank: bool,
    too_long: bool,
}

impl Array {
    /// Goes on after `start`, which was read to see what the file is.
    pub(super) fn new(input: Input, start: Vec<u8>, limits: Limits) -> Self {
        let element = Start { at: 0, line: 1, first: true, blank: true, too_long: false };
        Self {
            input,
            limits,
            buffer: start,
            at: 0,
            line: 1,
            depth: 0,
            in_string: false,
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
        while let Some(&byte) = self.buffer.get(self.at).filter(|_| !self.ended) {
            if self.in_string {
                self.scan_string();
                continue;
            }
            self.begin_text(byte);
            self.at += 1;
            match (byte, self.depth) {
                (b'\n', _) => self.line += 1,
                (b' ' | b'\t' | b'\r', _) => {}
                (b'[', 0) => self.begin(true),
                (_, 0) => {
                    self.leave_out(self.line, "expected `[` or the end of the file after an array".to_owned(), true)
                }
                (b'"', _) => self.in_string = true,
                (b'[' | b'{', _) => self.depth += 1,
                (b']', 1) => self.end(true),
                (b',', 1) => self.end(false),
                (b']' | b'}', 2..) => self.depth -= 1,
                _ => {}
            }
        }
    }

    fn scan_string(&mut self) {
        let rest = &self.buffer[self.at..];
        let found = memchr3(b'"', b'\\', b'\n', rest);
        match found.map(|offset| rest[offset]) {
            Some(b'\\') => self.at += 1, // and one more: what is escaped ends no string
            Some(b'"') => self.in_string = false,
            Some(_) => self.line += 1,
            None => {}
        }
        self.at += found.map_or(rest.len(), |offset| offset + 1);
    }

    /// Begins an element behind the bracket or comma that was just read.
    fn begin(&mut self, first: bool) {
        self.depth = 1;
        self.element = Start { at: self.at, line: self.line, first, blank: true, too_long: false };
    }

    /// Notes where the text of the element begins, after the blanks before it: at `byte`, if it is no blank.
    fn begin_text(&mut self, byte: u8) {
        let is_text = !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']');
        if self.element.blank && is_text {
            self.element = Start { at: self.at, line: self.line, blank: false, ..self.element };
        }
    }

    /// Ends the element before the byte that was just read, and with it the array if it is the last.
    fn end(&mut self, last: bool) {
        self.take_element(self.at - 1, last);
        self.begin(false);
        self.depth = usize::from(!last);
    }

    fn take_element(&mut self, end: usize, last: bool) {
        let Start { at, line, first, blank, too_long: is_too_long } = self.element;
        if is_too_long || end - at > self.limits.line {
            self.leave_out(line, too_long(self.limits), false);
        } else if !(first && last && blank) {
            self.count += 1;
            self.elements.push(Element { range: at..end, line, record: self.count });
        }
    }

    /// Keeps nothing of an element that is too long, nor of blanks around elements.
    fn forget(&mut self) {
        let kept = self.buffer.len();
        self.element.too_long |= !self.element.blank && kept - self.element.at > self.limits.line;
        if self.element.too_long || self.element.blank {
            self.buffer.truncate(self.element.at);
            self.at -= kept - self.element.at;
        }
    }

    /// What the end of the file leaves open.
    fn last(&mut self) -> io::Result<()> {
        let (line, whole) = (self.element.line, self.depth == 1 && !self.in_string);
        if let Some(reason) = broken_off(&mut self.input)? {
            self.break_off(self.line, reason);
        } else if self.depth > 0 {
            if whole && !self.element.blank {
                self.take_element(self.buffer.len(), false);
            }
            let line = if whole { self.line } else { line };
            self.break_off(line, "the array is not closed: expected `]`, found the end of the file".to_owned());
        }
        self.ended = true;
        Ok(())
    }

    /// What is missing is not counted: it is read when the file is whole.
    fn break_off(&mut self, line: u64, reason: String) {
        self.bad.push(Bad { record: self.count + 1, line, reason });
    }

    fn leave_out(&mut self, line: u64, reason: String, ended: bool) {
        self.count += 1;
        self.bad.push(Bad { record: self.count, line, reason });
        self.ended |= ended;
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
