//! The file that events are written to, encoded and compressed on a thread of its own.

use anyhow::{Context, Result, anyhow};
use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_event::{Event, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// A file in the making. It gets its name when it is whole.
pub(crate) struct Output {
    unfinished: Unfinished,
    batch: Vec<Event>,
    batches: SyncSender<Vec<Event>>,
    writer: JoinHandle<Result<()>>,
}

/// Events that are handed over together.
const BATCH: usize = 1024;
/// Most batches that wait.
const WAITING: usize = 4;
/// Encoded bytes that are written together.
const CHUNK: usize = 1 << 20;

impl Output {
    /// Begins the file at `path`, with gzip if its name ends in `.gz`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let unfinished = Unfinished::of(path);
        let shown = unfinished.place().display();
        let file = File::create(unfinished.place()).with_context(|| format!("cannot create {shown}"))?;
        let (batches, received) = sync_channel(WAITING);
        let gzip = path.extension().is_some_and(|extension| extension == "gz");
        let writer =
            std::thread::spawn(move || if gzip { compress(file, received) } else { encode(file, received).map(drop) });
        Ok(Self { unfinished, batch: Vec::with_capacity(BATCH), batches, writer })
    }

    /// Writes one more event, sooner or later. False where the writer has failed; [`Output::finish`] says why.
    pub(crate) fn write(&mut self, event: Event) -> bool {
        self.batch.push(event);
        if self.batch.len() < BATCH {
            return true;
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.batches.send(batch).is_ok()
    }

    /// Writes what is left, and gives the file its name.
    pub(crate) fn finish(self) -> Result<PathBuf> {
        let Self { unfinished, batch, batches, writer } = self;
        let path = unfinished.path.display();
        let _ = batches.send(batch); // fails only if the writer has gone
        drop(batches);
        let written = writer.join().map_err(|_| anyhow!("the thread that writes {path} panicked"))?;
        written.with_context(|| format!("cannot write {path}"))?;
        unfinished.complete()
    }
}

/// A file under another name than its own, which goes with this.
pub(crate) struct Unfinished {
    /// Its name to be.
    path: PathBuf,
    unfinished: PathBuf,
}

impl Unfinished {
    pub(crate) fn of(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(".unfinished");
        Self { path: path.to_owned(), unfinished: name.into() }
    }

    /// Where it is to be written.
    pub(crate) fn place(&self) -> &Path {
        &self.unfinished
    }

    /// Gives it its name.
    pub(crate) fn complete(self) -> Result<PathBuf> {
        let path = self.path.clone();
        fs::rename(&self.unfinished, &path).with_context(|| format!("cannot name {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.unfinished); // one that is complete has gone
    }
}

fn compress(file: File, batches: Receiver<Vec<Event>>) -> Result<()> {
    let encoder = encode(GzEncoder::new(file, Compression::fast()), batches)?;
    Ok(encoder.finish()?.flush()?)
}

fn encode<W: Write>(mut to: W, batches: Receiver<Vec<Event>>) -> Result<W> {
    let mut chunk = Vec::with_capacity(CHUNK);
    for batch in batches {
        for event in &batch {
            json::write(event, &mut chunk)?;
        }
        if chunk.len() > CHUNK / 2 {
            to.write_all(&chunk)?;
            chunk.clear();
        }
    }
    to.write_all(&chunk)?;
    to.flush()?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use rankwright_event::{EventId, Tenant, Timestamp, UserId, UserUpdate};
    use std::io::Read;

    fn event(number: i64) -> Event {
        let (id, user) = (EventId::from(number.to_string()), UserId::from("u1"));
        let timestamp = Timestamp::from_millis(number);
        Event::User(UserUpdate { id, timestamp, tenant: Tenant::default(), user, fields: Vec::new() })
    }

    fn written(name: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(name);
        let mut output = Output::create(&path).expect("a file can be created");
        assert!((0..30_000).all(|number| output.write(event(number))));
        assert!(!path.exists(), "the name comes last");
        assert_eq!(output.finish().expect("the file can be written"), path);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        fs::read(&path).expect("the file is there")
    }

    #[test]
    fn the_same_lines_are_written_plain_and_compressed() {
        let (plain, compressed) = (written("a.jsonl"), written("a.jsonl.gz"));
        let mut unpacked = Vec::new();
        GzDecoder::new(&compressed[..]).read_to_end(&mut unpacked).expect("it is gzip");
        assert!(unpacked == plain && compressed.len() < plain.len() / 3);
        for (number, line) in plain.split(|&byte| byte == b'\n').take(30_000).enumerate() {
            assert_eq!(json::decode(line), Ok(event(number as i64)));
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_its_path() {
        let error = Output::create(Path::new("/no/such/folder/events.jsonl")).err().expect("it cannot be created");
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
