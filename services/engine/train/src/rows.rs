//! Feature values between the click-throughs and a booster: in memory while they are few, else in a temporary file.
//!
//! They are written once, in the order of reading, and read back some lists at a time. The file has no name, so that
//! nothing is left of it however the process ends.

use crate::memory;
use std::fmt::{self, Debug, Formatter};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::{env, mem};

/// Rows of more values than this go to a file: 256 MiB of them.
pub const IN_MEMORY: usize = 64 << 20;

/// Values that are written to the file at once, and as bytes read from it at once.
const CHUNK: usize = 256 << 10;

/// Bytes of a value.
const VALUE: usize = size_of::<f32>();

/// XGBoost's bins of more values than this go to a file: as it keeps them, 2 bytes a value, or 5 where a value of any
/// row is missing.
pub const BINNED: usize = 128 << 20;

/// Where rows are kept while a model is trained.
#[derive(Debug, Clone)]
pub struct Room {
    /// The most values that stay in memory.
    pub in_memory: usize,
    /// The most values whose bins stay in memory, with XGBoost.
    pub binned: usize,
    /// Where files of more are made.
    pub folder: PathBuf,
    /// Bytes of memory that a training may take; `None` where that is not known.
    pub memory: Option<u64>,
}

impl Default for Room {
    /// [`IN_MEMORY`], [`BINNED`], the system's folder for temporary files (`TMPDIR`), and the memory of the machine or
    /// container.
    fn default() -> Self {
        Self { in_memory: IN_MEMORY, binned: BINNED, folder: env::temp_dir(), memory: memory::available() }
    }
}

impl Room {
    /// Fails where a file of this size has no room at present. (XGBoost ends the process when the disk is full.)
    pub(crate) fn check(&self, bytes: u64) -> Result<(), SpillError> {
        let reserved = tempfile::tempfile_in(&self.folder).and_then(|file| reserve(&file, bytes));
        reserved.map_err(|source| self.refusal(bytes, source))
    }

    fn refusal(&self, bytes: u64, source: io::Error) -> SpillError {
        SpillError { folder: self.folder.clone(), mebibytes: bytes.div_ceil(1 << 20), source }
    }
}

/// Takes room on the disk, where the file system can do so without writing.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
        reserved => Ok(reserved?),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// Rows, or their bins, could not be kept.
#[derive(Debug, thiserror::Error)]
#[error(
    "failed to keep {mebibytes} MiB of feature values or more in temporary files in {}: set TMPDIR to a folder that can be written to and has room for them",
    folder.display()
)]
pub struct SpillError {
    /// The folder.
    pub folder: PathBuf,
    /// How much there is to keep, as far as is known.
    pub mebibytes: u64,
    /// Why.
    pub source: io::Error,
}

/// Takes rows one after the other.
#[derive(Debug)]
pub struct RowsWriter {
    room: Room,
    width: usize,
    values: Vec<f32>,
    file: Option<File>,
    written: usize,
}

impl RowsWriter {
    /// No rows yet, of `width` values each.
    pub fn new(width: usize, room: Room) -> Self {
        Self { room, width, values: Vec::new(), file: None, written: 0 }
    }

    /// Number of values so far.
    pub fn len(&self) -> usize {
        self.written + self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds whole rows.
    pub fn push(&mut self, values: impl IntoIterator<Item = f32>) -> Result<(), SpillError> {
        self.values.extend(values);
        let room = if self.file.is_some() { CHUNK } else { self.room.in_memory };
        if self.values.len() > room { self.spill() } else { Ok(()) }
    }

    /// All rows, for reading.
    pub fn finish(mut self) -> Result<Rows, SpillError> {
        if self.file.is_some() {
            self.spill()?;
        }
        let kept = match self.file {
            Some(file) => Kept::File(Mutex::new(Spilled { file, bytes: Vec::new() })),
            None => Kept::Memory(self.values),
        };
        Ok(Rows { width: self.width, kept })
    }

    /// Writes what is in memory to the file.
    fn spill(&mut self) -> Result<(), SpillError> {
        let bytes = (self.len() * VALUE) as u64;
        let values = mem::take(&mut self.values);
        self.write(&values).map_err(|source| self.room.refusal(bytes, source))
    }

    fn write(&mut self, values: &[f32]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.room.folder)?),
        };
        let mut bytes = Vec::with_capacity(CHUNK.min(values.len()) * VALUE);
        for values in values.chunks(CHUNK) {
            bytes.resize(values.len() * VALUE, 0);
            for (bytes, value) in bytes.chunks_exact_mut(VALUE).zip(values) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
            file.write_all(&bytes)?;
            self.written += values.len();
        }
        Ok(())
    }
}

/// Rows of one width, wherever they are kept.
#[derive(Debug)]
pub struct Rows {
    width: usize,
    kept: Kept,
}

enum Kept {
    Memory(Vec<f32>),
    File(Mutex<Spilled>),
}

struct Spilled {
    file: File,
    bytes: Vec<u8>,
}

impl Rows {
    /// Rows that are in memory already, of `width` values each.
    pub fn in_memory(width: usize, values: Vec<f32>) -> Self {
        Self { width, kept: Kept::Memory(values) }
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether they are in a file.
    pub fn is_spilled(&self) -> bool {
        matches!(self.kept, Kept::File(_))
    }

    /// Adds the values of these rows to `values`.
    pub fn read(&self, rows: Range<usize>, values: &mut Vec<f32>) -> io::Result<()> {
        let range = rows.start * self.width..rows.end * self.width;
        match &self.kept {
            Kept::Memory(all) => values.extend_from_slice(&all[range]),
            Kept::File(spilled) => spilled.lock().unwrap_or_else(PoisonError::into_inner).read(range, values)?,
        }
        Ok(())
    }
}

impl Spilled {
    fn read(&mut self, range: Range<usize>, values: &mut Vec<f32>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start((range.start * VALUE) as u64))?;
        let mut left = range.len();
        while left > 0 {
            let count = left.min(CHUNK);
            self.bytes.resize(count * VALUE, 0);
            self.file.read_exact(&mut self.bytes)?;
            let value = |bytes: &[u8; VALUE]| f32::from_ne_bytes(*bytes);
            values.extend(self.bytes.as_chunks().0.iter().map(value));
            left -= count;
        }
        Ok(())
    }
}

impl Debug for Kept {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(values) => write!(f, "{} values in memory", values.len()),
            Self::File(_) => f.write_str("in a file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{error::Error, fs};

    fn room(in_memory: usize, folder: &std::path::Path) -> Room {
        Room { in_memory, folder: folder.to_owned(), ..Room::default() }
    }

    /// Rows of three values, one pushed after the other.
    fn rows(count: usize, room: Room) -> Rows {
        let mut writer = RowsWriter::new(3, room);
        for row in 0..count {
            writer.push((0..3).map(|column| (row * 3 + column) as f32)).expect("there is room");
        }
        assert_eq!(writer.len(), count * 3);
        writer.finish().expect("there is room")
    }

    fn read(rows: &Rows, range: Range<usize>) -> Vec<f32> {
        let mut values = Vec::new();
        rows.read(range, &mut values).expect("rows that were written");
        values
    }

    #[test]
    fn rows_come_back_as_they_were_written_wherever_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = 2 * CHUNK / 3 + 5; // more than one chunk
        for (in_memory, spilled) in [(usize::MAX, false), (3 * count, false), (3 * count - 1, true), (0, true)] {
            let rows = rows(count, room(in_memory, folder.path()));
            assert_eq!(rows.is_spilled(), spilled, "{in_memory} values may stay in memory");
            assert!(read(&rows, 0..count).into_iter().eq((0..3 * count).map(|value| value as f32)));
            assert_eq!(read(&rows, count - 1..count), [0, 1, 2].map(|column| (3 * (count - 1) + column) as f32));
            assert_eq!(read(&rows, 7..8), [21.0, 22.0, 23.0]);
            assert!(read(&rows, 4..4).is_empty());
        }
    }

    #[test]
    fn missing_values_stay_what_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = RowsWriter::new(2, room(0, folder.path()));
        let values = [f32::NAN, -0.0, f32::INFINITY, f32::from_bits(0xffc0_0001)];
        writer.push(values).expect("there is room");
        let back = read(&writer.finish().expect("there is room"), 0..2);
        assert_eq!(back.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), values.map(f32::to_bits));
    }

    #[test]
    fn no_rows_need_no_file() {
        let nowhere = Room { in_memory: 0, folder: "/nowhere".into(), ..Room::default() };
        let writer = RowsWriter::new(3, nowhere);
        assert!(writer.is_empty() && !writer.finish().expect("nothing to write").is_spilled());
    }

    #[test]
    fn the_file_has_no_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(10, room(0, folder.path()));
        assert!(rows.is_spilled());
        assert_eq!(fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_named() {
        let folder = tempfile::tempdir().expect("a folder").path().join("gone");
        let mut writer = RowsWriter::new(3, room(2, &folder));
        let error = writer.push([1.0, 2.0, 3.0]).expect_err("the folder is gone");
        let message = error.to_string();
        assert!(message.contains(&folder.display().to_string()) && message.contains("set TMPDIR"), "{message}");
        assert!(error.source().is_some());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told() {
        let full = File::options().write(true).open("/dev/full").expect("a device that is full");
        let mut writer = RowsWriter::new(3, room(2, "/some/folder".as_ref()));
        writer.file = Some(full);
        writer.push([1.0; 3]).expect("less than a chunk");
        let error = writer.finish().expect_err("there is no room");
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("1 MiB of feature values or more in temporary files in /some/folder"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn room_that_is_not_there_is_told_before_it_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(room(0, folder.path()).check(1 << 20).is_ok());
        assert!(room(0, folder.path()).check(1 << 60).is_err(), "an exabyte");
        assert!(room(0, "/nowhere".as_ref()).check(1).is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
    }
}
