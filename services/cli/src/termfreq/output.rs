//! The file of a dictionary. It gets its name when it is whole.

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file in the making, which goes away with this unless it is finished.
pub(super) struct Output {
    path: PathBuf,
    unfinished: PathBuf,
    writer: Writer,
}

enum Writer {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Output {
    /// Begins the file at `path`, which must not be among the events that are read from `data`.
    pub(super) fn create(path: &Path, data: &Path) -> Result<Self> {
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            bail!("--out: {} is a folder: name a file, such as tf.json", path.display());
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = parent.canonicalize().with_context(|| format!("--out: cannot write to {}", parent.display()))?;
        if data.canonicalize().is_ok_and(|data| data == folder || data == folder.join(name)) {
            bail!("--out: {} is among the events of --data: the dictionary has to lie elsewhere", path.display());
        }
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let file =
            File::create(&unfinished).with_context(|| format!("--out: cannot create {}", unfinished.display()))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
        let writer = if is_gzip {
            Writer::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            Writer::Plain(file)
        };
        Ok(Self { path: path.to_owned(), unfinished, writer })
    }

    /// Writes what is left, and gives the file its name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let file = match &mut self.writer {
            Writer::Plain(file) => file,
            Writer::Gzip(encoder) => {
                encoder.try_finish()?;
                encoder.get_mut()
            }
        };
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&self.unfinished, &self.path)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Plain(file) => file.write(bytes),
            Writer::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // the end flushes
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.unfinished); // not there any more when it is finished
    }
}
