//! The records of all files, block by block.

use super::cut::{Cut, Cutter};
use super::{File, Files, Limits};
use crate::{Error, Position, Progress};
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
    pub(super) limits: Limits,
    pub(super) progress: Progress,
}

/// All blocks of all files, in order. Nothing follows an error.
pub(super) struct Blocks {
    files: Files,
    next: usize,
    current: Option<Cutter>,
    skip: u64,
    /// Records of the current file that were cut.
    cut: u64,
    progress: Progress,
}

impl Blocks {
    /// From the start, or from where reading stopped.
    pub(super) fn new(files: Files, after: Option<&Position>) -> Result<Self, Error> {
        let total = files.bytes();
        let mut blocks = Self { files, next: 0, current: None, skip: 0, cut: 0, progress: Progress { read: 0, total } };
        if let Some(position) = after {
            blocks.go_on(position)?;
        }
        Ok(blocks)
    }

    fn go_on(&mut self, position: &Position) -> Result<(), Error> {
        let file = self.files.names().position(|name| name == position.file);
        self.next = file.ok_or_else(|| Error::LostPosition { position: position.clone() })?;
        self.skip = position.line;
        self.progress.read = self.files.files[..self.next].iter().map(|file| file.bytes).sum();
        Ok(())
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
            skip: self.skip,
            since: self.files.since,
            limits: self.files.limits,
            progress: Progress { read, ..self.progress },
        }
    }

    fn finish(&mut self, file: &File) {
        (self.current, self.skip, self.cut) = (None, 0, 0);
        self.progress.read += file.bytes;
        self.next += 1;
    }

    fn fail(&mut self, file: &File, source: io::Error) -> Error {
        self.next = usize::MAX;
        match self.current {
            None => Error::Open { path: file.path.clone(), source },
            Some(_) => {
                let position = Position { file: file.name.to_string(), line: self.cut.max(self.skip) };
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
                    if cut.after > self.skip {
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
