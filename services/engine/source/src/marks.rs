//! How far files were read: kept with what was made of their events, so that none counts twice.

use crate::{Files, Position};
use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// How many bytes of a file's start tell it from another one of the same name.
const HEAD: u64 = 4096;

/// How far each of some files was read.
///
/// A file is known by its name and the bytes at its start. One that has grown is read on where reading ended; one that
/// holds something else than before is a new file; what became of other files makes no difference.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Older events were left out.
    since: Timestamp,
    files: BTreeMap<String, Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// How many lines lie behind, or elements of an array.
    line: u64,
    head: Head,
    /// How large the file was, on disk; absent in marks of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

/// The start of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    bytes: u64,
    digest: u64,
}

/// What a mark says of a file that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was not read before.
    No,
    /// This number of its lines was read.
    Up(u64),
    /// What was read was another file of the same name,
    Other,
    /// and that was larger.
    Larger,
}

impl Marks {
    /// Nothing is read yet.
    pub fn of(files: &Files) -> Self {
        Self { since: files.since(), files: BTreeMap::new() }
    }

    /// Everything up to a position in one of the files is read.
    pub fn reach(&mut self, files: &Files, position: &Position) {
        if let Some((head, size)) = files.known_by(&position.file) {
            self.files.insert(position.file.clone(), Mark { line: position.line, head, size: Some(size) });
        }
    }

    /// Forgets files that are gone.
    pub fn retain(&mut self, files: &Files) {
        self.files.retain(|name, _| files.known_by(name).is_some());
    }

    /// Older events were left out.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// What is known of a file.
    pub(crate) fn known(&self, name: &str, path: &Path, size: u64) -> io::Result<Known> {
        let Some(mark) = self.files.get(name) else { return Ok(Known::No) };
        Ok(match Head::read(path, mark.head.bytes)? == mark.head {
            true => Known::Up(mark.line),
            false if mark.size.is_some_and(|before| size < before) => Known::Larger,
            false => Known::Other,
        })
    }
}

impl Head {
    /// Reads the start of a file.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let start = start(path, 2 * HEAD)?;
        let is_whole = (start.len() as u64) < 2 * HEAD;
        let kept = if is_whole { before_end(&start) } else { &start };
        Ok(Self::over(&kept[..kept.len().min(HEAD as usize)]))
    }

    fn read(path: &Path, most: u64) -> io::Result<Self> {
        Ok(Self::over(&start(path, most)?))
    }

    fn over(start: &[u8]) -> Self {
        Self { bytes: start.len() as u64, digest: digest(start) }
    }
}

fn start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut start)?;
    Ok(start)
}

/// What of a file stays when more follows: all; of an array, all before its last bracket, which a writer replaces.
fn before_end(text: &[u8]) -> &[u8] {
    match text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii() {
        [b'[', .., b']'] => text.trim_ascii_end().strip_suffix(b"]").unwrap_or(text).trim_ascii_end(),
        _ => text,
    }
}

/// FNV-1a (Fowler, Noll and Vo), 64 bits: the same in every version.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
