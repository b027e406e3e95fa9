//! CSV, record by record.

use super::CacheFileError;
use std::io::{self, BufRead};
use std::ops::Range;

/// Reads records into buffers of its own. An empty line is no record.
pub(super) struct Records<R> {
    from: R,
    raw: Vec<u8>,
    fields: Vec<Range<usize>>, // in `text`
    text: Vec<u8>,             // fields without their quotes
    line: u64,                 // of the record
    next: u64,
}

enum State {
    Start,  // of a field
    Plain,  // in a field without quotes
    Quoted, // in quotes
    Closed, // behind a quote, which ended the field or is half of one that belongs to it
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, raw: Vec::new(), fields: Vec::new(), text: Vec::new(), line: 0, next: 1 }
    }

    /// Goes to the next record; false at the end.
    pub(super) fn next(&mut self) -> Result<bool, CacheFileError> {
        loop {
            (self.line, self.raw) = (self.next, std::mem::take(&mut self.raw));
            self.raw.clear();
            if self.read_line()? == 0 {
                return Ok(false);
            }
            if self.line == 1 && self.raw.starts_with(b"\xEF\xBB\xBF") {
                self.raw.drain(..3);
            }
            if !self.raw.iter().all(|byte| b"\r\n".contains(byte)) {
                return self.split().map(|()| true);
            }
        }
    }

    /// The first line of the record.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn check_width(&self, expected: usize) -> Result<(), CacheFileError> {
        match self.fields.len() {
            found if found == expected => Ok(()),
            found => Err(CacheFileError::Width { line: self.line, expected, found }),
        }
    }

    pub(super) fn text(&self, field: usize) -> Result<&str, CacheFileError> {
        let bytes = &self.text[self.fields[field].clone()];
        std::str::from_utf8(bytes).map_err(|_| CacheFileError::Encoding { line: self.line })
    }

    pub(super) fn number(&self, field: usize) -> Result<f32, CacheFileError> {
        let text = self.text(field)?;
        let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| CacheFileError::Number {
            line: self.line,
            field: field + 1,
            found: text.chars().take(40).collect(),
        })
    }

    fn read_line(&mut self) -> io::Result<usize> {
        let read = self.from.read_until(b'\n', &mut self.raw)?;
        self.next += u64::from(read > 0);
        Ok(read)
    }

    fn split(&mut self) -> Result<(), CacheFileError> {
        self.fields.clear();
        self.text.clear();
        let (mut state, mut start, mut at) = (State::Start, 0, 0);
        loop {
            let Some(&byte) = self.raw.get(at) else {
                if matches!(state, State::Quoted) && self.read_line()? > 0 {
                    continue; // a line's end within quotes
                }
                break;
            };
            at += 1;
            let ends = byte == b'\n' || (byte == b'\r' && self.raw.get(at).is_none_or(|&next| next == b'\n'));
            match state {
                State::Quoted if byte == b'"' => state = State::Closed,
                State::Quoted => self.text.push(byte),
                State::Closed if byte == b'"' => {
                    self.text.push(b'"');
                    state = State::Quoted;
                }
                _ if ends => break,
                _ if byte == b',' => {
                    self.fields.push(start..self.text.len());
                    (start, state) = (self.text.len(), State::Start);
                }
                State::Start if byte == b'"' => state = State::Quoted,
                State::Closed => return Err(self.quote("text behind the closing quote of a field")),
                State::Plain | State::Start if byte == b'"' => {
                    return Err(self
                        .quote("a quote within a field: put the field in quotes and write each of its quotes twice"));
                }
                State::Plain | State::Start => {
                    self.text.push(byte);
                    state = State::Plain;
                }
            }
        }
        if matches!(state, State::Quoted) {
            return Err(self.quote("a quote that does not end"));
        }
        self.fields.push(start..self.text.len());
        Ok(())
    }

    fn quote(&self, what: &'static str) -> CacheFileError {
        CacheFileError::Quote { line: self.line, what }
    }
}
