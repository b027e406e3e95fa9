//! Text cut at line ends.

use super::Limits;
use super::cut::{Bad, Cut, Records, broken_off, too_long};
use super::input::Input;
use memchr::{memchr, memchr_iter, memrchr};
use std::io;

/// Cuts a file behind the last line end of each block.
pub(super) struct Lines {
    pub(super) input: Input,
    limits: Limits,
    buffer: Vec<u8>,
    /// So much of the buffer has no line end.
    searched: usize,
    /// Lines before the buffer.
    lines: u64,
    bad: Vec<Bad>,
}

impl Lines {
    /// Goes on after `start`, which was read to see what the file is.
    pub(super) fn new(input: Input, start: Vec<u8>, limits: Limits) -> Self {
        Self { input, limits, buffer: start, searched: 0, lines: 0, bad: Vec::new() }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Cut>> {
        loop {
            if let Some(newline) = memrchr(b'\n', &self.buffer[self.searched..]) {
                return Ok(Some(self.cut(self.searched + newline + 1)));
            }
            self.searched = self.buffer.len();
            if self.input.has_ended() {
                return self.last();
            }
            if self.buffer.len() > self.limits.line {
                self.skip_line();
            } else {
                self.input.fill(&mut self.buffer, self.limits.block);
            }
        }
    }

    /// Takes the text up to `end`.
    fn cut(&mut self, end: usize) -> Cut {
        let rest = self.buffer.split_off(end);
        let text = std::mem::replace(&mut self.buffer, rest);
        self.searched = self.buffer.len();
        let before = self.lines;
        let unfinished = text.last().is_some_and(|&byte| byte != b'\n');
        self.lines += memchr_iter(b'\n', &text).count() as u64 + u64::from(unfinished);
        Cut { text, records: Records::Lines, bad: std::mem::take(&mut self.bad), before, after: self.lines }
    }

    /// The rest of the file: a line without an end, if any. Of a broken file that line is incomplete.
    fn last(&mut self) -> io::Result<Option<Cut>> {
        if let Some(reason) = broken_off(&mut self.input)? {
            self.buffer.clear();
            // not counted: it is read when the file is whole
            self.bad.push(Bad { record: self.lines + 1, line: self.lines + 1, reason });
        }
        let nothing = self.buffer.is_empty() && self.bad.is_empty();
        Ok((!nothing).then(|| self.cut(self.buffer.len())))
    }

    /// Reads to the end of a line that is too long, and forgets it.
    fn skip_line(&mut self) {
        self.leave_out(too_long(self.limits));
        let mut end = None;
        while end.is_none() && !self.input.has_ended() {
            self.buffer.clear();
            self.input.fill(&mut self.buffer, self.limits.block);
            end = memchr(b'\n', &self.buffer);
        }
        self.buffer.drain(..end.map_or(self.buffer.len(), |newline| newline + 1));
        self.searched = 0;
    }

    fn leave_out(&mut self, reason: String) {
        self.lines += 1;
        self.bad.push(Bad { record: self.lines, line: self.lines, reason });
    }
}
