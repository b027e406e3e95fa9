//! Files in the making: they lie in a folder of their own, and get their names when all of them are whole.

use super::Error;
use rankwright_scratch::Scratch;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What the folder of unfinished files is called, in the one that they are for.
const UNFINISHED: &str = ".rankwright-export-";
/// Bytes that are written together.
const CHUNK: usize = 1 << 20;

/// Files that are written together.
pub(super) struct Files {
    scratch: Scratch,
    folder: PathBuf,
    /// In the order of writing.
    names: Vec<String>,
    /// Names that an earlier export may have used and this one does not.
    unused: Vec<String>,
    _made: Option<Made>,
}

/// A folder that was made for the files, and goes if none of them is written.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0); // fails where it holds files
    }
}

impl Files {
    /// Begins, in a folder that is made where it is not there.
    pub(super) fn within(folder: &Path) -> Result<Self, Error> {
        if folder.exists() && !folder.is_dir() {
            return Err(Error::NoFolder { path: folder.to_owned() });
        }
        let failed = |source| Error::Write { path: folder.to_owned(), source };
        let made = (!folder.exists()).then(|| Made(folder.to_owned()));
        fs::create_dir_all(folder).map_err(failed)?;
        let scratch = Scratch::within(folder, UNFINISHED).map_err(failed)?;
        Ok(Self { scratch, folder: folder.to_owned(), names: Vec::new(), unused: Vec::new(), _made: made })
    }

    /// Begins a file.
    pub(super) fn create(&mut self, name: &str) -> Result<File, Error> {
        let path = self.folder.join(name);
        let file = fs::File::create(self.scratch.path().join(name));
        let file = file.map_err(|source| Error::Write { path: path.clone(), source })?;
        self.names.push(name.to_owned());
        Ok(File { path, to: BufWriter::with_capacity(CHUNK, file) })
    }

    /// Says that there is no such file; one of an earlier export goes.
    pub(super) fn none(&mut self, name: &str) {
        self.unused.push(name.to_owned());
    }

    /// Gives all files their names. The last one is the sign that they belong together: an earlier one goes first.
    pub(super) fn finish(self) -> Result<Vec<PathBuf>, Error> {
        let path = |name: &String| self.folder.join(name);
        for name in self.names.last().into_iter().chain(&self.unused) {
            match fs::remove_file(path(name)) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::Write { path: path(name), source });
                }
                _ => {}
            }
        }
        for name in &self.names {
            let named = fs::rename(self.scratch.path().join(name), path(name));
            named.map_err(|source| Error::Write { path: path(name), source })?;
        }
        Ok(self.names.iter().map(path).collect())
    }
}

/// A file in the making.
pub(super) struct File {
    path: PathBuf,
    to: BufWriter<fs::File>,
}

impl File {
    /// Writes bytes, sooner or later.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Self { path, to } = self;
        to.write_all(bytes).map_err(|source| Error::Write { path: path.clone(), source })
    }

    /// Brings everything to the disk.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Self { path, to } = self;
        let file = to.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(|source| Error::Write { path, source })
    }

    /// The path, and what writes there.
    pub(super) fn into_parts(self) -> (PathBuf, BufWriter<fs::File>) {
        (self.path, self.to)
    }
}
