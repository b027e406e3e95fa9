//! The records of a block, one by one: lines, or elements of an array.

use super::block::Block;
use super::cut::{self, Element, too_long};
use crate::{BadLine, Position, Progress, format};
use memchr::memchr;
use rankwright_event::{DecodeError, Timestamp};
use std::sync::Arc;

/// Some records of one file that follow each other, not decoded yet: what [`Files::read_records`](crate::Files::read_records)
/// delivers.
pub struct Records(Block);

/// One record.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// Its bytes. Of a line, without the line end; of an element, with line ends that lie in it.
    pub text: &'a [u8],
    /// Line of the file in which it begins, from 1.
    pub line: u64,
    /// Its number in the file, from 1.
    pub(super) number: u64,
    pub(super) element: Option<&'a Element>,
    /// Whether the file ends within it.
    pub(super) unended: bool,
    block: &'a Block,
}

impl Records {
    pub(super) fn of(block: Block) -> Self {
        Self(block)
    }

    /// The records, in order. Blank lines are left out.
    pub fn each(&self, take: impl FnMut(Record<'_>)) {
        self.0.each(take);
    }

    /// What lies between them and was left out: records that are too long, the rest of a damaged file.
    pub fn bad(&self) -> impl Iterator<Item = BadLine> + '_ {
        self.0.left_out().map(|bad| self.0.bad_line(bad.line, bad.reason.clone()))
    }

    /// Where reading goes on after them.
    pub fn position(&self) -> Position {
        Position::new(&*self.0.file, self.0.cut.after)
    }

    /// How much is read, these included.
    pub fn progress(&self) -> Progress {
        self.0.progress
    }
}

impl Record<'_> {
    /// When its event happened; nothing where it is an enriched event of Snowplow that holds none of ours.
    ///
    /// # Errors
    /// It is no event. Of JSON, `event` and `timestamp` alone are looked at.
    pub fn time(&self) -> Result<Option<Timestamp>, DecodeError> {
        format::time(self.block.format, self.text)
    }

    /// This record as one that is no event, for this reason.
    pub fn bad(&self, error: &DecodeError) -> BadLine {
        let (line, reason) = self.reason(error);
        self.block.bad_line(line, reason)
    }

    /// The line of the file in which something is wrong, and what.
    pub(super) fn reason(&self, error: &DecodeError) -> (u64, String) {
        let Some(element) = self.element else {
            return (self.line, format!("{} (column {})", located("", error), error.column()));
        };
        let line = element.line + error.line() as u64 - 1;
        let index = element.index.map_or_else(String::new, |index| format!("[{index}]"));
        let column = element.behind.filter(|_| error.line() == 1).map(|before| before + error.column());
        let column = column.map_or_else(String::new, |column| format!(" (column {column})"));
        (line, located(&index, error) + &column)
    }

    /// Why it is not read whatever it holds, if so.
    pub fn too_long(&self) -> Option<BadLine> {
        self.is_too_long().then(|| self.block.bad_line(self.line, too_long(self.block.limits)))
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.text.len() > self.block.limits.line
    }
}

impl Block {
    /// What was left out on the way, of what is not skipped.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &cut::Bad> + '_ {
        self.cut.bad.iter().filter(|bad| bad.record > self.skip)
    }

    pub(super) fn bad_line(&self, line: u64, reason: String) -> BadLine {
        BadLine { file: Arc::clone(&self.file), line, reason, content: Box::default() }
    }

    /// The records that are not skipped, in order. Blank lines are left out.
    pub(super) fn each(&self, mut take: impl FnMut(Record<'_>)) {
        let text = &self.cut.text;
        match &self.cut.records {
            cut::Records::Lines => self.lines(text, take),
            cut::Records::Elements(elements) => {
                for element in elements.iter().filter(|element| element.record > self.skip) {
                    take(Record {
                        text: text[element.range.clone()].trim_ascii_end(),
                        line: element.line,
                        number: element.record,
                        element: Some(element),
                        unended: false,
                        block: self,
                    });
                }
            }
        }
    }

    fn lines(&self, text: &[u8], mut take: impl FnMut(Record<'_>)) {
        let (mut rest, mut number) = (text, self.cut.before);
        while !rest.is_empty() {
            let newline = memchr(b'\n', rest);
            let end = newline.unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            number += 1;
            if number > self.skip && !line.trim_ascii().is_empty() {
                let unended = newline.is_none();
                take(Record { text: line, line: number, number, element: None, unended, block: self });
            }
        }
    }
}

/// What is wrong, with its path below `base`.
fn located(base: &str, error: &DecodeError) -> String {
    let dot = if base.is_empty() || error.path().is_empty() { "" } else { "." };
    let path = format!("{base}{dot}{}", error.path());
    if path.is_empty() { error.reason().to_owned() } else { format!("{path}: {}", error.reason()) }
}
