//! The records of all files, block by block.

use super::cut::{Cut, Cutter};
use super::{File, Files, Limits};
use crate::marks::{Known, Marks};
use crate::{Error, Position, Progress};
use rankwright_config::EventFormat;
use rankwright_event::Timestamp;
use std::io;
use std::sync::Arc;

/// Some records of one file, and all that is needed to decode them.
pub(super) struct Block {
    pub(super) cut: Cut,
    pub(super) file: Arc<str>,
    /// Records of the file up to this number were delivered before.
    pub(super) skip: u64,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
    pub(super) limits: Limits,
    pub(super) format: EventFormat,
    pub(super) progress: Progress,
}

/// All blocks of all files, in order. Nothing follows an error.
pub(super) struct Blocks {
    files: Files,
    next: usize,
    current: Option<Cutter>,
    /// For each file, how many of its records were read before.
    skips: Vec<u64>,
    /// Records of the current file that were cut.
    cut: u64,
    progress: Progress,
}

impl Blocks {
    /// From the start, or from where reading stopped.
    pub(super) fn new(files: Files, after: Option<&Marks>) -> Result<Self, Error> {
        let progress = Progress { read: 0, total: files.bytes() };
        if let Some(marks) = after.filter(|marks| files.since() < marks.since()) {
            return Err(Error::EarlierOffset { since: marks.since() });
        }
        let skips: Result<_, _> = files.files.iter().map(|file| read_before(file, after)).collect();
        Ok(Self { files, next: 0, current: None, skips: skips?, cut: 0, progress })
    }

    fn skipped(&self) -> u64 {
        self.skips.get(self.next).copied().unwrap_or(0)
    }

    fn cut(&mut self, file: &File) -> io::Result<Option<Cut>> {
        let cutter = match &mut self.current {
            Some(cutter) => cutter,
            none => none.insert(Cutter::open(file, self.files.limits)?),
        };
        cutter.next()
    }

    fn block(&self, file: &File, cut: Cut) -> Block {
        let read = self.progress.read + self.current.as_ref().map_or(0, Cutter::read_bytes);
        Block {
            cut,
            file: Arc::clone(&file.name),
            skip: self.skipped(),
            since: self.files.since,
            until: self.files.until,
            limits: self.files.limits,
            format: self.files.format,
            progress: Progress { read, ..self.progress },
        }
    }

    fn finish(&mut self, file: &File) {
        let (found, before) = (self.cut, self.skipped());
        if found < before {
            tracing::warn!(
                path = %file.path.display(),
                found,
                before,
                "became shorter since it was imported: lines are counted from its start, so new lines up to the previous \
                 number are not read; give a file that starts again another name"
            );
        }
        (self.current, self.cut) = (None, 0);
        self.progress.read += file.bytes;
        self.next += 1;
    }

    fn fail(&mut self, file: &File, source: io::Error) -> Error {
        let skip = self.skipped();
        self.next = usize::MAX;
        match self.current {
            None => Error::Open { path: file.path.clone(), source },
            Some(_) => {
                let position = Position::new(&*file.name, self.cut.max(skip));
                Error::Read { position, source }
            }
        }
    }
}

impl Iterator for Blocks {
    type Item = Result<Block, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let files = Arc::clone(&self.files.files);
        while let Some(file) = files.get(self.next) {
            match self.cut(file) {
                Ok(Some(cut)) => {
                    self.cut = cut.after;
                    let skipped = self.skipped();
                    if cut.after > skipped || cut.bad.iter().any(|bad| bad.record > skipped) {
                        return Some(Ok(self.block(file, cut)));
                    }
                }
                Ok(None) => self.finish(file),
                Err(error) => return Some(Err(self.fail(file, error))),
            }
        }
        None
    }
}

/// How many records of a file were read before.
fn read_before(file: &File, after: Option<&Marks>) -> Result<u64, Error> {
    let Some(marks) = after else { return Ok(0) };
    let known = marks.known(&file.name, &file.path, file.bytes);
    let known = known.map_err(|source| Error::Open { path: file.path.clone(), source })?;
    let path = file.path.display();
    match known {
        Known::No => Ok(0),
        Known::Up(line) => {
            tracing::info!(%path, line, "was read up to this line before; continuing after it");
            Ok(line)
        }
        Known::Other => {
            tracing::warn!(
                %path,
                "has other content than when it was read before: reading it from its start; events that it had then count again"
            );
            Ok(0)
        }
        Known::Larger => {
            tracing::warn!(
                %path,
                "became shorter since it was imported, and begins differently: reading it from its start; events that it had \
                 then count again, unless you build the state again with import --rebuild"
            );
            Ok(0)
        }
    }
}
