//! Records in memory, and their way to runs.

use super::run::{self, Run};
use crate::output::Broken;
use rankwright_event::Timestamp;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Some records, each a line with its end.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    text: Vec<u8>,
    index: Vec<Entry>,
}

/// Where a record lies. A chunk holds less than 4 GiB.
#[derive(Debug, Clone, Copy)]
struct Entry {
    time: Timestamp,
    at: u32,
    length: u32,
}

impl Chunk {
    /// Takes a record, as one line: line ends within an element of an array become blanks, which they cannot be in texts.
    pub(super) fn push(&mut self, time: Timestamp, record: &[u8]) {
        let at = self.text.len();
        self.text.extend_from_slice(record);
        self.text[at..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        self.text.push(b'\n');
        self.index.push(Entry { time, at: at as u32, length: (self.text.len() - at) as u32 });
    }

    fn append(&mut self, other: &Self) {
        let before = self.text.len() as u32;
        self.text.extend_from_slice(&other.text);
        self.index.extend(other.index.iter().map(|entry| Entry { at: before + entry.at, ..*entry }));
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Memory that it takes.
    fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.index[..])
    }

    pub(super) fn times(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.index.iter().map(|entry| entry.time)
    }

    fn sort(&mut self) {
        self.index.sort_unstable_by_key(|entry| (entry.time, entry.at)); // places grow in the order of the input
    }

    /// All records, in the order of the index.
    pub(super) fn each<B>(&self, mut take: impl FnMut(Timestamp, &[u8]) -> ControlFlow<B>) -> ControlFlow<B> {
        for entry in &self.index {
            let at = entry.at as usize;
            take(entry.time, &self.text[at..at + entry.length as usize])?;
        }
        ControlFlow::Continue(())
    }

    fn clear(&mut self) {
        self.text.clear();
        self.index.clear();
    }
}

/// Fills chunks; a thread of its own sorts full ones and writes them to runs.
pub(super) struct Spiller {
    size: usize,
    filling: Chunk,
    full: SyncSender<Chunk>,
    /// Chunks to be filled again.
    empty: Receiver<Chunk>,
    writer: JoinHandle<io::Result<Vec<Run>>>,
}

impl Spiller {
    /// Two chunks of `size` bytes; runs go to this folder.
    pub(super) fn new(folder: &Path, size: usize) -> Self {
        let (full, received) = sync_channel::<Chunk>(0);
        let (give_back, empty) = sync_channel::<Chunk>(1);
        let folder: PathBuf = folder.to_owned();
        let writer = thread::spawn(move || {
            let mut runs = Vec::new();
            let mut spare = Some(Chunk::default());
            for mut chunk in received {
                if let Some(spare) = spare.take() {
                    drop(give_back.send(spare)); // the second one
                }
                chunk.sort();
                runs.push(run::write(&chunk, &folder.join(format!("run-{:06}", runs.len())))?);
                chunk.clear();
                drop(give_back.send(chunk)); // at the end no thread fills it
            }
            Ok(runs)
        });
        Self { size, filling: Chunk::default(), full, empty, writer }
    }

    /// Takes some records.
    pub(super) fn take(&mut self, piece: &Chunk) -> Result<(), Broken> {
        if self.filling.len() > 0 && self.filling.bytes() + piece.bytes() > self.size {
            let full = std::mem::take(&mut self.filling);
            self.full.send(full).map_err(|_| Broken)?;
            self.filling = self.empty.recv().map_err(|_| Broken)?;
        }
        // doubling would hold it twice
        if self.filling.text.capacity() - self.filling.text.len() < piece.text.len() {
            let left = self.size.saturating_sub(self.filling.text.len());
            self.filling.text.reserve_exact(left.max(piece.text.len()));
        }
        self.filling.append(piece);
        Ok(())
    }

    /// Waits for the thread that writes, so that the folder can be removed.
    pub(super) fn abandon(self) {
        let Self { full, empty, writer, .. } = self;
        drop((full, empty));
        drop(writer.join());
    }

    /// What is in memory alone, sorted; or else all runs, where there are some.
    pub(super) fn finish(self) -> io::Result<(Chunk, Vec<Run>)> {
        let Self { mut filling, full, empty, writer, .. } = self;
        let mut last = Chunk::default();
        filling.sort();
        // whether there are runs is known to the writer alone, which has ended where it failed
        drop(full);
        drop(empty);
        let mut runs = writer.join().map_err(|_| io::Error::other("the thread that writes runs panicked"))??;
        match runs.first() {
            None => last = filling,
            Some(first) => {
                let path = first.path().with_file_name(format!("run-{:06}", runs.len()));
                runs.push(run::write(&filling, &path)?);
            }
        }
        Ok((last, runs))
    }
}
