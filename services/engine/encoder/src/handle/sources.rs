//! Models and dictionaries from elsewhere, fetched once into a cache folder.

use super::files::{OPTIONAL, told};
use super::{FileNames, Files, FilesError, Handle};
use rankwright_scratch::Scratch;
use std::env;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a [`Fetch`] fails with.
pub type FetchError = Box<dyn std::error::Error + Send + Sync>;

/// Reads a bucket or the web for this crate, which opens no sockets.
pub trait Fetch: Send + Sync {
    /// The objects whose address begins with this one: `s3://<bucket>/<prefix>`.
    ///
    /// # Errors
    /// When the place does not answer, or refuses.
    fn list(&self, address: &str) -> Result<Vec<Object>, FetchError>;

    /// Writes the content under an address, of a bucket (`s3://`) or the web (`https://`), and returns true; false where
    /// there is nothing under it (404).
    ///
    /// # Errors
    /// When the content did not come whole.
    fn get(&self, address: &str, to: &mut dyn Write) -> Result<bool, FetchError>;
}

/// An object in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its address, `s3://<bucket>/<key>`.
    pub address: String,
    /// Its length in bytes.
    pub size: u64,
}

/// What is said of what is not here, where nothing is fetched.
const UNABLE: &str = "this program does not fetch it";

/// How folders are called in which models arrive.
const NEW: &str = ".new-";

/// The file in a fetched folder that lists the others with their lengths.
const LENGTHS: &str = ".lengths.json";

/// Where to look for models.
pub struct Sources<'a> {
    /// The folder that holds models as `<namespace>/<model>/`.
    pub models: PathBuf,
    /// The folder that keeps what was fetched.
    pub cache: PathBuf,
    /// The hub, without a slash at the end; `None` where nothing is to be fetched from it. What was fetched before is used.
    pub hub: Option<String>,
    /// Reads what is elsewhere.
    pub fetch: Option<&'a dyn Fetch>,
}

impl<'a> Sources<'a> {
    /// As the environment says: models in `RANKWRIGHT_MODELS_DIR`, else in `models` in the cache folder; the Hugging Face
    /// hub, unless `RANKWRIGHT_OFFLINE` is 1 or true.
    pub fn from_env(cache: PathBuf, fetch: Option<&'a dyn Fetch>) -> Self {
        let models = env::var_os("RANKWRIGHT_MODELS_DIR").map_or_else(|| cache.join("models"), PathBuf::from);
        let offline = matches!(env::var("RANKWRIGHT_OFFLINE").as_deref(), Ok("1" | "true"));
        Self { models, cache, hub: (!offline).then(|| "https://huggingface.co".to_owned()), fetch }
    }

    /// Finds the files of a model and fetches those that are not here yet. Fetched files are kept, and fetched again only if one of them
    /// is missing or has another length. Put another model under another name, prefix or revision. Several processes may share the cache folder.
    ///
    /// # Errors
    /// When the model is missing, lacks a file, or cannot be fetched.
    pub fn locate(&self, handle: &Handle, names: &FileNames) -> Result<Files, FilesError> {
        names.check()?;
        match handle {
            Handle::Folder(folder) => self.folder(handle, folder, "", names),
            Handle::Bucket { bucket, prefix } => {
                let kept = place(&self.cache.join("fetched/s3").join(bucket).join(escaped(prefix)), names);
                if self.fetch.is_none() {
                    return self.folder(handle, &kept, &format!("; {UNABLE}"), names);
                }
                self.kept_model(&kept, names, |into| self.fetch_bucket(handle, names, into))
            }
            Handle::Named { namespace, model, revision } => {
                let folder = self.models.join(namespace).join(model);
                if folder.is_dir() {
                    return Files::of(&folder, names);
                }
                let kept = self.cache.join("fetched/hub").join(namespace).join(model).join(revision);
                let kept = place(&kept, names);
                match (&self.hub, self.fetch) {
                    (Some(hub), Some(_)) => {
                        let base = format!("{hub}/{namespace}/{model}/resolve/{revision}");
                        self.kept_model(&kept, names, |into| self.fetch_hub(&base, names, into))
                    }
                    _ if kept.is_dir() => Files::of(&kept, names),
                    (None, _) => self.folder(handle, &folder, "; RANKWRIGHT_OFFLINE=1 forbids fetching it", names),
                    (Some(_), None) => self.folder(handle, &folder, &format!("; {UNABLE}"), names),
                }
            }
        }
    }

    /// Finds a file of another kind, `s3://<bucket>/<key>`, and fetches it if it is not here yet. It is kept as files of models are, if
    /// `check` takes what came.
    ///
    /// # Errors
    /// When it is missing, or of no use, or cannot be fetched.
    pub fn file(
        &self,
        address: &str,
        check: impl FnOnce(&Path) -> Result<(), FetchError>,
    ) -> Result<PathBuf, FilesError> {
        let missing = || FilesError::NoFile { address: address.to_owned() };
        let parts = address.strip_prefix("s3://").and_then(|place| place.split_once('/'));
        let (bucket, key) = parts.filter(|(bucket, _)| !bucket.is_empty()).ok_or_else(missing)?;
        let name = key.rsplit('/').next().filter(|name| !["", ".", ".."].contains(name)).ok_or_else(missing)?;
        let kept = self.cache.join("fetched/s3").join(bucket).join(escaped(key));
        let useless = |source| FilesError::Useless { address: address.to_owned(), source };
        let check = |folder: &Path| check(&folder.join(name)).map_err(useless);
        self.kept(&kept, check, |into| match self.get(address, &into.join(name))? {
            Some(_) => Ok(()),
            None => Err(missing()),
        })?;
        Ok(kept.join(name))
    }

    fn folder(&self, handle: &Handle, folder: &Path, hint: &str, names: &FileNames) -> Result<Files, FilesError> {
        if folder.is_dir() {
            return Files::of(folder, names);
        }
        Err(FilesError::NoFolder { handle: handle.to_string(), folder: folder.to_owned(), hint: hint.to_owned() })
    }

    fn kept_model(
        &self,
        kept: &Path,
        names: &FileNames,
        fill: impl FnOnce(&Path) -> Result<(), FilesError>,
    ) -> Result<Files, FilesError> {
        self.kept(kept, |folder| Files::of(folder, names)?.check(), fill)?;
        Files::of(kept, names)
    }

    /// Fills a folder unless it is there. It appears whole or not at all, and only if what came passes the check. A folder that is not
    /// whole was damaged here, and is replaced.
    fn kept(
        &self,
        kept: &Path,
        check: impl FnOnce(&Path) -> Result<(), FilesError>,
        fill: impl FnOnce(&Path) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        let parent = kept.parent().unwrap_or(&self.cache);
        let io = |source| FilesError::Io { path: parent.to_owned(), source };
        if is_whole(kept) {
            return Ok(());
        }
        fs::create_dir_all(parent).map_err(io)?;
        let scratch = Scratch::within(parent, NEW).map_err(io)?;
        let new = scratch.path().join("model");
        fs::create_dir(&new).map_err(io)?;
        fill(&new)?;
        check(&new)?;
        note_lengths(&new).map_err(io)?;
        if kept.is_dir() && !is_whole(kept) {
            let _ = fs::remove_dir_all(kept); // another process may have begun to
        }
        match fs::rename(&new, kept) {
            Ok(()) => {}
            Err(_) if kept.is_dir() => {} // another process was faster
            Err(source) => return Err(FilesError::Io { path: kept.to_owned(), source }),
        }
        Ok(())
    }

    fn list(&self, address: &str) -> Result<Vec<Object>, FilesError> {
        let objects = self.fetch.ok_or_else(|| UNABLE.into()).and_then(|fetch| fetch.list(address));
        objects.map_err(|source| FilesError::Fetch { address: address.to_owned(), source })
    }

    fn fetch_bucket(&self, handle: &Handle, names: &FileNames, into: &Path) -> Result<(), FilesError> {
        let place = handle.to_string();
        let objects = self.list(&place)?;
        let named: Vec<(String, &Object)> = objects
            .iter()
            .filter_map(|object| Some((object.address.strip_prefix(&place)?.to_owned(), object)))
            .collect();
        let present: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
        let find = |name: &str| named.iter().find(|(found, _)| found == name);
        let lacks = |missing: String| FilesError::Lacks { folder: place.clone(), missing, present: told(&present) };
        let graphs = names.graphs();
        let graph = graphs.iter().find(|name| find(name).is_some()).ok_or_else(|| lacks(graphs.join(" or ")))?;
        find(names.tokenizer()).ok_or_else(|| lacks(names.tokenizer().to_owned()))?;
        let weights = format!("{graph}_data");
        for name in [*graph, names.tokenizer(), &weights].into_iter().chain(OPTIONAL) {
            if let Some((name, object)) = find(name) {
                self.get_whole(object, &into.join(name))?;
            }
        }
        Ok(())
    }

    /// Fetches an object, all of it.
    fn get_whole(&self, object: &Object, path: &Path) -> Result<(), FilesError> {
        let found = self.get(&object.address, path)?.unwrap_or(0);
        if found == object.size {
            return Ok(());
        }
        Err(FilesError::CutOff { address: object.address.clone(), expected: object.size, found })
    }

    fn fetch_hub(&self, base: &str, names: &FileNames, into: &Path) -> Result<(), FilesError> {
        let get = |name: &str| self.get(&format!("{base}/{name}"), &into.join(name));
        let lacks = |missing: String| {
            let present = "none of that name, or is not open to everyone".to_owned();
            FilesError::Lacks { folder: base.to_owned(), missing, present }
        };
        let graphs = names.graphs();
        let mut graph = None;
        for name in &graphs {
            if get(name)?.is_some() {
                graph = Some(*name);
                break;
            }
        }
        let graph = graph.ok_or_else(|| lacks(graphs.join(" or ")))?;
        get(names.tokenizer())?.ok_or_else(|| lacks(names.tokenizer().to_owned()))?;
        let weights = format!("{graph}_data");
        for name in OPTIONAL.into_iter().chain([weights.as_str()]) {
            get(name)?;
        }
        Ok(())
    }

    /// Fetches one file and returns its length; `None` where there is none.
    fn get(&self, address: &str, path: &Path) -> Result<Option<u64>, FilesError> {
        let io = |source| FilesError::Io { path: path.to_owned(), source };
        fs::create_dir_all(path.parent().unwrap_or(path)).map_err(io)?;
        let mut file = Counted { to: BufWriter::new(fs::File::create(path).map_err(io)?), bytes: 0 };
        let fetch = self.fetch.ok_or_else(|| UNABLE.into());
        let found = fetch.and_then(|fetch| fetch.get(address, &mut file));
        let found = found.map_err(|source| FilesError::Fetch { address: address.to_owned(), source })?;
        if !found {
            fs::remove_file(path).map_err(io)?;
            return Ok(None);
        }
        file.to.into_inner().map_err(|error| io(error.into_error()))?.sync_all().map_err(io)?;
        Ok(Some(file.bytes))
    }
}

/// Whether a fetched folder is there, and each of its files has the length that came.
fn is_whole(folder: &Path) -> bool {
    let list = fs::read(folder.join(LENGTHS)).ok();
    let files: Option<Vec<(PathBuf, u64)>> = list.and_then(|list| serde_json::from_slice(&list).ok());
    let has = |path: &Path, length| fs::metadata(folder.join(path)).is_ok_and(|file| file.len() == length);
    files.is_some_and(|files| files.iter().all(|(path, length)| has(path, *length)))
}

/// Lists the files of a folder that was just fetched.
fn note_lengths(folder: &Path) -> io::Result<()> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(within) = folders.pop() {
        for entry in fs::read_dir(folder.join(&within))? {
            let entry = entry?;
            let (path, found) = (within.join(entry.file_name()), entry.metadata()?);
            if found.is_dir() {
                folders.push(path);
            } else {
                files.push((path, found.len()));
            }
        }
    }
    let mut list = fs::File::create_new(folder.join(LENGTHS))?;
    list.write_all(&serde_json::to_vec(&files)?)?;
    list.sync_all()
}

/// Where a model is kept that was fetched with files of these names.
fn place(model: &Path, names: &FileNames) -> PathBuf {
    model.join(escaped(&[names.graphs().join(","), names.tokenizer().to_owned()].join(",")))
}

/// A prefix as the name of one folder.
fn escaped(prefix: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let escape = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
    format!("_{}", prefix.bytes().map(escape).collect::<String>())
}

struct Counted<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.to.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests;
