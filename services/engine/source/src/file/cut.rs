//! Text cut where records end. A record is a line, or an element of an array.

use super::array::Array;
use super::input::Input;
use super::lines::Lines;
use super::{File, Limits};
use crate::batch::{DAMAGED, MISNAMED};
use std::io;
use std::ops::Range;

/// Some whole records of a file.
pub(super) struct Cut {
    pub(super) text: Vec<u8>,
    pub(super) records: Records,
    /// What was left out on the way.
    pub(super) bad: Vec<Bad>,
    /// Records of the file before those of `text`.
    pub(super) before: u64,
    /// Records of the file up to the end of this cut.
    pub(super) after: u64,
}

/// Where records begin and end in a text.
pub(super) enum Records {
    /// At each line.
    Lines,
    /// As listed.
    Elements(Vec<Element>),
}

/// One element of an array.
pub(super) struct Element {
    pub(super) range: Range<usize>,
    /// Its number in the file, from 1.
    pub(super) record: u64,
    /// Its place in its array, from 0; none outside of all.
    pub(super) index: Option<u64>,
    /// Line of the file in which the range begins, from 1.
    pub(super) line: u64,
    /// How many bytes of that line lie before it, where others of its kind do.
    pub(super) behind: Option<usize>,
}

/// A record that is not read.
pub(super) struct Bad {
    /// Its number, from 1.
    pub(super) record: u64,
    /// Line of the file, from 1.
    pub(super) line: u64,
    pub(super) reason: String,
}

/// Cuts a file, as lines or as an array: the first byte that is not blank decides.
pub(super) enum Cutter {
    Lines(Lines),
    Array(Box<Array>),
}

impl Cutter {
    pub(super) fn open(file: &File, limits: Limits) -> io::Result<Self> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        let (mut input, mut start) = (Input::open(file)?, Vec::new());
        input.fill(&mut start, limits.block.max(BYTE_ORDER_MARK.len()));
        if start.starts_with(BYTE_ORDER_MARK) {
            start.drain(..BYTE_ORDER_MARK.len());
        }
        while start.trim_ascii_start().is_empty() && start.len() < limits.line && !input.has_ended() {
            input.fill(&mut start, limits.block);
        }
        Ok(match start.trim_ascii_start() {
            [b'[', ..] => Self::Array(Box::new(Array::new(input, start, limits))),
            // of lines, even blank ones would be counted; what comes later may be an array
            [] if input.has_ended() => Self::Array(Box::new(Array::new(input, start, limits))),
            _ => Self::Lines(Lines::new(input, start, limits)),
        })
    }

    /// The next records; `None` at the end. An error is the system's: reading cannot go on.
    pub(super) fn next(&mut self) -> io::Result<Option<Cut>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Array(array) => array.next(),
        }
    }

    /// Bytes of the file that were read so far, compressed.
    pub(super) fn read_bytes(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.input.read_bytes(),
            Self::Array(array) => array.input.read_bytes(),
        }
    }
}

/// Why a file ended early: the system's errors go up, a broken file is a bad record at its end.
pub(super) fn broken_off(input: &mut Input) -> io::Result<Option<String>> {
    match input.take_error() {
        None => Ok(None),
        Some(error) if error.raw_os_error().is_some() => Err(error),
        Some(error) => match error.to_string() {
            problem if problem.starts_with(MISNAMED) => Ok(Some(problem)),
            problem => Ok(Some(format!("{DAMAGED}: {problem}"))),
        },
    }
}

/// The reason why a record is left out that is longer than the limit.
pub(super) fn too_long(limits: Limits) -> String {
    format!("longer than {} bytes", limits.line)
}
