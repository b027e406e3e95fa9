//! The file that events are written to, compressed on a thread of its own.

use anyhow::{Context, Result, anyhow};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// A file in the making. It gets its name when it is whole.
pub(crate) struct Output {
    path: PathBuf,
    chunk: Vec<u8>,
    chunks: SyncSender<Vec<u8>>,
    writer: JoinHandle<Result<()>>,
}

/// Bytes that are handed over together.
const CHUNK: usize = 1 << 20;
/// So many chunks wait at most.
const WAITING: usize = 4;

impl Output {
    /// Begins the file at `path`, with gzip if its name ends in `.gz`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let unfinished = unfinished(path);
        let file = File::create(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
        let (chunks, received) = sync_channel(WAITING);
        let gzip = path.extension().is_some_and(|extension| extension == "gz");
        let writer = std::thread::spawn(move || if gzip { compress(file, received) } else { copy(file, received) });
        Ok(Self { path: path.to_owned(), chunk: Vec::with_capacity(CHUNK), chunks, writer })
    }

    /// Where the next bytes go; call [`Output::flush_full`] now and then.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.chunk
    }

    /// Hands the buffer over if it is nearly full.
    pub(crate) fn flush_full(&mut self) {
        if self.chunk.len() > CHUNK - CHUNK / 8 {
            let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
            // where the writer has gone, `finish` finds out why
            let _ = self.chunks.send(chunk);
        }
    }

    /// Writes what is left, and gives the file its name.
    pub(crate) fn finish(self) -> Result<PathBuf> {
        let Self { path, chunk, chunks, writer } = self;
        let _ = chunks.send(chunk);
        drop(chunks);
        let written = writer.join().map_err(|_| anyhow!("the thread that writes {} panicked", path.display()))?;
        written.with_context(|| format!("cannot write {}", path.display()))?;
        fs::rename(unfinished(&path), &path).with_context(|| format!("cannot name {}", path.display()))?;
        Ok(path)
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

fn compress(file: File, chunks: Receiver<Vec<u8>>) -> Result<()> {
    let mut encoder = GzEncoder::new(file, Compression::fast());
    chunks.iter().try_for_each(|chunk| encoder.write_all(&chunk))?;
    Ok(encoder.finish()?.flush()?)
}

fn copy(mut file: File, chunks: Receiver<Vec<u8>>) -> Result<()> {
    chunks.iter().try_for_each(|chunk| file.write_all(&chunk))?;
    Ok(file.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn written(name: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(name);
        let mut output = Output::create(&path).expect("a file can be created");
        for number in 0..300_000 {
            writeln!(output.buffer(), "line {number}").expect("memory can be written to");
            output.flush_full();
            assert!(number > 0 || !path.exists(), "the name comes last");
        }
        assert_eq!(output.finish().expect("the file can be written"), path);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        fs::read(&path).expect("the file is there")
    }

    #[test]
    fn the_same_lines_are_written_plain_and_compressed() {
        let (plain, compressed) = (written("a.jsonl"), written("a.jsonl.gz"));
        let mut unpacked = Vec::new();
        GzDecoder::new(&compressed[..]).read_to_end(&mut unpacked).expect("it is gzip");
        assert_eq!(plain.iter().filter(|&&byte| byte == b'\n').count(), 300_000);
        assert!(unpacked == plain && compressed.len() < plain.len() / 3);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_its_path() {
        let error = Output::create(Path::new("/no/such/folder/events.jsonl")).err().expect("it cannot be created");
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
