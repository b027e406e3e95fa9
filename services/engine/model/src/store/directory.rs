//! Versions on disk: `<dir>/<model>/<version>.model`, and `<dir>/<model>/current`, which names one of them. `refused` beside
//! them says why a gate refused a version.
//!
//! What is published, selected or removed goes by what is current, so each of these holds a lock on the model's folder, and so
//! does all that writes there. Each file is written as `unfinished` beside its place, synced and renamed: a crash leaves the old
//! file or the new one, and an `unfinished` that the next write replaces.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Place, StoreError, VersionStore, decode, may_follow, noted, surplus};
use crate::version::{Refusal, Version, VersionId};

const EXTENSION: &str = "model";
const POINTER: &str = "current";
const REFUSED: &str = "refused";
const UNFINISHED: &str = "unfinished";

/// Keeps versions in a directory, which processes may share.
#[derive(Debug)]
pub struct Versions {
    dir: PathBuf,
}

impl Versions {
    /// Opens a directory, and creates it where there is none.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let dir = dir.into();
        fs::create_dir_all(&dir).map_err(failed("create", &dir))?;
        Ok(Self { dir })
    }

    fn folder(&self, model: &str) -> PathBuf {
        self.dir.join(file_name(model))
    }

    fn file(&self, model: &str, id: &VersionId) -> PathBuf {
        self.folder(model).join(format!("{id}.{EXTENSION}"))
    }

    fn point(&self, model: &str, id: &VersionId) -> Result<(), StoreError> {
        write(&self.folder(model).join(POINTER), format!("{id}\n").as_bytes())
    }

    /// Keeps other processes from changing a model as long as it is held; `None` where nothing of it is stored. A lock ends with
    /// its process.
    fn lock(&self, model: &str) -> Result<Option<File>, StoreError> {
        let folder = self.folder(model);
        let Some(file) = found(File::open(&folder)).map_err(failed("open", &folder))? else { return Ok(None) };
        file.lock().map_err(failed("lock", &folder))?;
        Ok(Some(file))
    }

    /// A model's folder, created where there is none, and its lock.
    fn locked_folder(&self, model: &str) -> Result<(PathBuf, Option<File>), StoreError> {
        let folder = self.folder(model);
        fs::create_dir_all(&folder).map_err(failed("create", &folder))?;
        let lock = self.lock(model)?;
        Ok((folder, lock))
    }
}

/// Writes a file of a folder whose lock is held.
fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let unfinished = path.with_file_name(UNFINISHED);
    let written = write_and_rename(&unfinished, path, bytes);
    if written.is_err() {
        let _ = fs::remove_file(&unfinished); // the first error is the one to report
    }
    written.map_err(failed("write", path))
}

fn write_and_rename(unfinished: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all()) // the rename itself
}

impl VersionStore for Versions {
    fn publish(&self, version: &Version, place: Place) -> Result<(), StoreError> {
        let model = &version.metadata().model;
        let _locked = self.locked_folder(model)?;
        if place == Place::Told {
            let is_stored = self.list(model)?.contains(version.id());
            may_follow(version, self.current(model)?.as_ref(), is_stored)?;
        }
        write(&self.file(model, version.id()), &version.encode()?)?;
        self.point(model, version.id())
    }

    fn add(&self, version: &Version) -> Result<(), StoreError> {
        let model = &version.metadata().model;
        let _locked = self.locked_folder(model)?;
        write(&self.file(model, version.id()), &version.encode()?)
    }

    fn list(&self, model: &str) -> Result<Vec<VersionId>, StoreError> {
        let folder = self.folder(model);
        let Some(entries) = found(fs::read_dir(&folder)).map_err(failed("list", &folder))? else {
            return Ok(Vec::new());
        };
        let names = entries.map(|entry| entry.map(|entry| PathBuf::from(entry.file_name())));
        let names = names.collect::<io::Result<Vec<_>>>().map_err(failed("list", &folder))?;
        let versions = names.iter().filter(|name| name.extension().is_some_and(|extension| extension == EXTENSION));
        let mut ids: Vec<VersionId> = versions.filter_map(|name| name.file_stem()?.to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn current(&self, model: &str) -> Result<Option<VersionId>, StoreError> {
        let path = self.folder(model).join(POINTER);
        let Some(text) = found(fs::read_to_string(&path)).map_err(failed("read", &path))? else { return Ok(None) };
        text.trim_end().parse().map(Some).map_err(|_| StoreError::Inconsistent { path })
    }

    fn select(&self, model: &str, id: &VersionId) -> Result<(), StoreError> {
        let _locked = self.lock(model)?;
        if !self.list(model)?.contains(id) {
            return Err(StoreError::unknown(model, id));
        }
        self.point(model, id)
    }

    fn load(&self, model: &str, id: Option<&VersionId>) -> Result<Option<Version>, StoreError> {
        let Some(id) = id.cloned().map_or_else(|| self.current(model), |id| Ok(Some(id)))? else { return Ok(None) };
        let path = self.file(model, &id);
        let bytes = found(fs::read(&path)).map_err(failed("read", &path))?;
        let version = decode(model, &id, &bytes.ok_or_else(|| StoreError::unknown(model, &id))?)?;
        if version.id() != &id || version.metadata().model != model {
            return Err(StoreError::Inconsistent { path });
        }
        Ok(Some(version))
    }

    fn keep(&self, model: &str, newest: usize, spared: &[VersionId]) -> Result<(), StoreError> {
        let _locked = self.lock(model)?;
        let current = self.current(model)?;
        for id in surplus(self.list(model)?, newest, current.as_ref(), spared) {
            let path = self.file(model, &id);
            found(fs::remove_file(&path)).map_err(failed("remove", &path))?; // another process may have been faster
        }
        Ok(())
    }

    fn refuse(&self, model: &str, refusal: &Refusal) -> Result<(), StoreError> {
        let (folder, _locked) = self.locked_folder(model)?;
        write(&folder.join(REFUSED), &noted(refusal))
    }

    fn refusal(&self, model: &str) -> Result<Option<Refusal>, StoreError> {
        let path = self.folder(model).join(REFUSED);
        let noted = found(fs::read(&path)).map_err(failed("read", &path))?;
        Ok(noted.and_then(|noted| serde_json::from_slice(&noted).ok()))
    }
}

/// A folder's name for any model's name: letters, digits, `_` and `-` stand for themselves, any other byte is `%` and
/// two digits, and no name at all is a `%`.
fn file_name(model: &str) -> String {
    if model.is_empty() {
        return "%".to_owned();
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    model.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }).collect()
}

/// Turns "there is no such file" into nothing found.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io { what, path: path.to_owned(), source }
}
