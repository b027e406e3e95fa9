//! A sorted part of the events on disk, compressed: of each record its time, its length and its line.

use super::chunk::Chunk;
use rankwright_event::Timestamp;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The fastest level that shrinks events to a fifth.
const LEVEL: i32 = 1;
const BUFFER: usize = 128 << 10;

/// A run that is written. Its file goes with this.
#[derive(Debug)]
pub(super) struct Run(PathBuf);

/// A run in the making.
pub(super) struct RunWriter {
    path: PathBuf,
    text: BufWriter<zstd::stream::write::Encoder<'static, File>>,
}

/// A run that is read, and its record that comes next.
pub(super) struct RunReader {
    text: BufReader<zstd::stream::read::Decoder<'static, BufReader<File>>>,
    pub(super) time: Timestamp,
    pub(super) line: Vec<u8>,
    _run: Run,
}

impl Run {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Its first record; `None` where it has none.
    pub(super) fn open(self) -> io::Result<Option<RunReader>> {
        let file = BufReader::with_capacity(BUFFER, File::open(&self.0)?);
        let text = BufReader::with_capacity(BUFFER, zstd::stream::read::Decoder::with_buffer(file)?);
        let mut reader = RunReader { text, time: Timestamp::MIN, line: Vec::new(), _run: self };
        Ok(reader.next()?.then_some(reader))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0); // the folder goes as well
    }
}

/// Writes a sorted chunk.
pub(super) fn write(chunk: &Chunk, path: &Path) -> io::Result<Run> {
    let mut writer = RunWriter::create(path)?;
    let written = chunk.each(|time, line| match writer.record(time, line) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    });
    match written {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => writer.finish(),
    }
}

impl RunWriter {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let encoder = zstd::stream::write::Encoder::new(File::create(path)?, LEVEL)?;
        Ok(Self { path: path.to_owned(), text: BufWriter::with_capacity(BUFFER, encoder) })
    }

    pub(super) fn record(&mut self, time: Timestamp, line: &[u8]) -> io::Result<()> {
        self.text.write_all(&time.millis().to_le_bytes())?;
        self.text.write_all(&(line.len() as u32).to_le_bytes())?; // a line is far shorter
        self.text.write_all(line)
    }

    pub(super) fn finish(self) -> io::Result<Run> {
        let encoder = self.text.into_inner().map_err(io::IntoInnerError::into_error)?;
        encoder.finish()?;
        Ok(Run(self.path))
    }
}

impl RunReader {
    /// Goes on to the next record; `false` at the end.
    pub(super) fn next(&mut self) -> io::Result<bool> {
        let mut head = [0; 12];
        match self.text.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        let (time, length) =
            (head.first_chunk().copied().unwrap_or_default(), head.last_chunk().copied().unwrap_or_default());
        self.time = Timestamp::from_millis(i64::from_le_bytes(time));
        self.line.resize(u32::from_le_bytes(length) as usize, 0);
        self.text.read_exact(&mut self.line)?;
        Ok(true)
    }
}
