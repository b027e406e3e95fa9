//! The file that a tool writes: sorted events, or another text. It gets its name when it is whole.
//!
//! Text is compressed block by block on threads of its own. Each block is a gzip member, or a zstd frame, of its own: every
//! reader of the two formats takes them as one text.

use flate2::write::GzEncoder;
use rankwright_scratch::Scratch;
use rankwright_source::{Compression, shown};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes of text that are compressed and written together.
pub(crate) const BLOCK: usize = 1 << 20;
/// Blocks that wait for each thread.
const WAITING: usize = 1;
/// How long to wait before asking again whether it takes more.
const WAIT: Duration = Duration::from_micros(200);
/// What the folder of an unfinished file is called, beside the file that it is to be.
const UNFINISHED: &str = ".rankwright-unfinished-";
/// Levels at which both compress faster than events are merged.
const GZIP_LEVEL: u32 = 3;
const ZSTD_LEVEL: i32 = 3;

/// Where a text goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Standard output: `-`.
    Stdout,
    /// A pipe or a device, which is written to as it is.
    Direct(PathBuf),
    /// A file, which is replaced when the new one is whole. Links are resolved.
    File(PathBuf),
}

/// Why nothing can be written there.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A folder.
    #[error("{} is a folder: name a file in it", shown(path))]
    Folder {
        /// Its path.
        path: PathBuf,
    },
    /// No folder to make the file in.
    #[error("cannot write to {}: {source}", shown(folder))]
    Parent {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A URL, such as one of a bucket.
    #[error("cannot write to {}: name a file on this machine", shown(path))]
    Remote {
        /// The URL.
        path: PathBuf,
    },
    /// One of the files that are read, or a file beside them that the next import of the folder would read as well.
    #[error("{} is among the events that are read: the output has to lie elsewhere", shown(path))]
    Input {
        /// Its path.
        path: PathBuf,
    },
}

impl TargetError {
    /// Of a folder that is not there, with what is there.
    fn parent(folder: &Path, source: io::Error) -> Self {
        let source = match source.kind() {
            io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::NotFound, rankwright_source::missing(folder)),
            _ => source,
        };
        Self::Parent { folder: folder.to_owned(), source }
    }
}

impl Target {
    /// What `path` names, for events that are read from `data`.
    ///
    /// # Errors
    /// It is a folder, lies in none, or is among the events.
    pub fn of(path: &Path, data: &Path) -> Result<Self, TargetError> {
        let target = Self::new(path)?;
        if let Self::File(file) = &target
            && data.canonicalize().is_ok_and(|data| Some(&*data) == file.parent() || data == *file)
        {
            return Err(TargetError::Input { path: file.clone() });
        }
        Ok(target)
    }

    /// What `path` names.
    ///
    /// # Errors
    /// It is a folder or a URL, or lies in no folder that there is.
    pub fn new(path: &Path) -> Result<Self, TargetError> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        if path.to_string_lossy().contains("://") {
            return Err(TargetError::Remote { path: path.to_owned() });
        }
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(TargetError::Folder { path });
        };
        if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Ok(Self::Direct(path));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = parent.canonicalize().map_err(|source| TargetError::parent(parent, source))?;
        Ok(Self::File(folder.join(name)))
    }

    /// The folder in which temporary files lie, so that the last of them can be renamed.
    pub fn folder(&self) -> PathBuf {
        match self {
            Self::File(path) => path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned),
            _ => std::env::temp_dir(),
        }
    }

    /// How messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::Direct(path) | Self::File(path) => shown(path),
        }
    }

    /// The folder of an unfinished file; a pipe, a device and standard output need none.
    fn unfinished(&self) -> io::Result<Option<Scratch>> {
        match self {
            Self::File(_) => Scratch::within(&self.folder(), UNFINISHED).map(Some),
            Self::Stdout | Self::Direct(_) => Ok(None),
        }
    }

    fn compression(&self) -> Compression {
        match self {
            Self::Stdout => Compression::None,
            Self::Direct(path) | Self::File(path) => Compression::of(path),
        }
    }
}

/// A text in the making. Where it is a file, it is left in the scratch folder unless it is finished.
pub struct Output {
    block: Vec<u8>,
    inlets: Vec<SyncSender<Vec<u8>>>,
    next: usize,
    writer: JoinHandle<io::Result<Box<dyn Sink>>>,
    /// The unfinished file, and its name to be.
    names: Option<(PathBuf, PathBuf)>,
}

/// What bytes end in.
trait Sink: Write + Send {
    /// Brings everything to the disk, where there is one.
    fn settle(&mut self) -> io::Result<()>;
}

impl Sink for File {
    fn settle(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// A pipe, a device or standard output.
struct Passing<W>(W);

impl<W: Write> Write for Passing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write + Send> Sink for Passing<W> {
    fn settle(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output {
    /// Begins, with `threads` that compress; a file is made in the folder `scratch`, which has to lie beside the target.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn create(target: &Target, scratch: &Path, threads: usize) -> io::Result<Self> {
        let unfinished = scratch.join("sorted");
        let (sink, names): (Box<dyn Sink>, _) = match target {
            Target::Stdout => (Box::new(Passing(io::stdout())), None),
            Target::Direct(path) => (Box::new(Passing(File::options().write(true).open(path)?)), None),
            Target::File(path) => (Box::new(File::create(&unfinished)?), Some((unfinished, path.clone()))),
        };
        let compression = target.compression();
        let threads = if compression == Compression::None { 1 } else { threads.max(1) };
        let (inlets, outlets): (Vec<_>, Vec<_>) = (0..threads).map(|_| compressor(compression)).unzip();
        let writer = thread::spawn(move || write_all(sink, &outlets));
        Ok(Self { block: Vec::with_capacity(BLOCK), inlets, next: 0, writer, names })
    }

    /// Takes a line with its end. Whether a block went on to be written with it.
    ///
    /// # Errors
    /// When blocks before it could not be written, which [`Output::finish`] explains, or when it was told to stop.
    pub fn line(&mut self, line: &[u8], stopped: &dyn Fn() -> bool) -> Result<bool, Broken> {
        self.block.extend_from_slice(line);
        if self.block.len() < BLOCK {
            return Ok(false);
        }
        self.pass_on(stopped).map(|()| true)
    }

    /// The reader of the output may take nothing for any time.
    fn pass_on(&mut self, stopped: &dyn Fn() -> bool) -> Result<(), Broken> {
        let mut block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
        loop {
            match self.inlets[self.next].try_send(block) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) if !stopped() => block = back,
                Err(_) => return Err(Broken),
            }
            thread::sleep(WAIT);
        }
        self.next = (self.next + 1) % self.inlets.len();
        Ok(())
    }

    /// Writes what is left and, where lines are `complete`, gives a file its name. Whether it did: not where it was told to stop.
    ///
    /// # Errors
    /// When anything could not be written.
    pub fn finish(mut self, complete: bool, stopped: &dyn Fn() -> bool) -> io::Result<bool> {
        let passed = self.pass_on(stopped); // the writer says why not
        drop(self.inlets);
        while !self.writer.is_finished() {
            if stopped() {
                return Ok(false);
            }
            thread::sleep(WAIT);
        }
        let written = self.writer.join().map_err(|_| io::Error::other("the thread that writes panicked"))?;
        written?.settle()?;
        if passed.is_err() || !complete {
            return Ok(false);
        }
        if let Some((unfinished, path)) = self.names {
            fs::rename(unfinished, path)?;
        }
        Ok(true)
    }
}

/// The writer has stopped, or was told to.
#[derive(Debug)]
pub struct Broken;

/// Writes the text that `fill` gives; false where it was told to stop, and a file does not get its name then.
///
/// # Errors
/// When it cannot be written, or `fill` fails.
pub fn write(
    target: &Target,
    stopped: &dyn Fn() -> bool,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    let scratch = target.unfinished()?;
    let mut output = Output::create(target, scratch.as_ref().map_or(Path::new(""), Scratch::path), 1)?;
    let filled = fill(&mut Filling { output: &mut output, stopped });
    let whole = output.finish(filled.is_ok(), stopped)?;
    match filled {
        Err(error) if !stopped() => Err(error),
        _ => Ok(whole),
    }
}

/// Takes a text in pieces of any size.
struct Filling<'a> {
    output: &'a mut Output,
    stopped: &'a dyn Fn() -> bool,
}

impl Write for Filling<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        match self.output.line(piece, self.stopped) {
            Ok(_) => Ok(piece.len()),
            Err(Broken) => Err(io::Error::other("it was told to stop")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // the end writes what is left
    }
}

/// Starts a thread that compresses: where text goes in, and where what is to be written comes out.
fn compressor(compression: Compression) -> (SyncSender<Vec<u8>>, Receiver<io::Result<Vec<u8>>>) {
    let (inlet, blocks) = sync_channel::<Vec<u8>>(WAITING);
    let (compressed, outlet) = sync_channel(WAITING);
    thread::spawn(move || {
        for block in blocks {
            if compressed.send(compress(block, compression)).is_err() {
                break; // the writer has stopped
            }
        }
    });
    (inlet, outlet)
}

fn compress(block: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
    match compression {
        Compression::None => Ok(block),
        Compression::Zstd => zstd::bulk::compress(&block, ZSTD_LEVEL),
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::with_capacity(block.len() / 4), flate2::Compression::new(GZIP_LEVEL));
            encoder.write_all(&block)?;
            encoder.finish()
        }
    }
}

/// Takes a block of each in turn; the first that has no more was the last.
fn write_all(mut sink: Box<dyn Sink>, outlets: &[Receiver<io::Result<Vec<u8>>>]) -> io::Result<Box<dyn Sink>> {
    for block in outlets.iter().cycle().map_while(|outlet| outlet.recv().ok()) {
        sink.write_all(&block?)?;
    }
    Ok(sink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_alone_needs_a_temporary_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let needed = |target: &Target| target.unfinished().expect("there is room").map(|made| made.path().to_owned());
        for target in [Target::Stdout, Target::Direct("/dev/null".into())] {
            assert_eq!(needed(&target), None);
            assert!(write(&target, &|| false, |_| Ok(())).expect("takes nothing"));
        }
        let made = needed(&Target::File(folder.path().join("a.txt"))).expect("it is made");
        assert_eq!(made.parent(), Some(folder.path()));
    }
}
