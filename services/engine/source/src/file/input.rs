//! The text of a file, decompressed.

use super::{Compression, File};
use crate::batch::MISNAMED;
use std::fs;
use std::io::{self, BufReader, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a compressed file that are read at once.
const CHUNK: usize = 64 << 10;
/// Bytes that tell whether a file is what its name says.
const START: u64 = 4;

/// The text of a file from its start.
pub(super) struct Input {
    text: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
    end: Option<io::Result<()>>,
}

impl Input {
    pub(super) fn open(file: &File) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let mut opened = fs::File::open(&file.path)?;
        let mut start = Vec::new();
        (&opened).take(START).read_to_end(&mut start)?;
        opened.rewind()?;
        let end =
            misnamed(&start, file.compression).map(|problem| Err(io::Error::other(format!("{MISNAMED}: {problem}"))));
        let raw = Counted { file: opened, read: Arc::clone(&read) };
        let text: Box<dyn Read + Send> = match file.compression {
            Compression::None => Box::new(raw),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(CHUNK, raw))),
            Compression::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(CHUNK, raw))?)
            }
        };
        Ok(Self { text, read, end })
    }

    /// Appends up to `count` bytes to `buffer`: fewer at the end of the file, or where it is broken.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>, count: usize) {
        if self.end.is_none() {
            match self.text.by_ref().take(count as u64).read_to_end(buffer) {
                Ok(read) if read == count => {}
                Ok(_) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
    }

    /// Whether there is nothing more to come.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether that is because the system could not read on.
    pub(super) fn has_failed(&self) -> bool {
        matches!(&self.end, Some(Err(error)) if error.raw_os_error().is_some())
    }

    /// Why there is nothing more to come, if that is not the end of the file. Asked once.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.end.replace(Ok(())).and_then(Result::err)
    }

    /// Bytes of the file that were read so far, compressed.
    pub(super) fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// Why a file that begins like this is not what its name says, if so.
fn misnamed(start: &[u8], compression: Compression) -> Option<&'static str> {
    let is_text = |start: &[u8]| start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    match (compression, start) {
        (Compression::None | Compression::Zstd, [0x1f, 0x8b, ..]) => {
            Some("it is compressed with gzip, so its name has to end in .gz")
        }
        (Compression::None | Compression::Gzip, [0x28, 0xb5, 0x2f, 0xfd, ..]) => {
            Some("it is compressed with zstd, so its name has to end in .zst")
        }
        (Compression::None, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) => Some("it is UTF-16: convert it to UTF-8"),
        (Compression::Gzip | Compression::Zstd, [_, _, _, _]) if is_text(start) => {
            Some("it is not compressed, so its name must not end in .gz, .zst or .zstd")
        }
        _ => None,
    }
}

struct Counted {
    file: fs::File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
