//! Lists the files that a path means.

use super::{Compression, File, name, unavailable};
use crate::error::{Error, shown};
use crate::format::names;
use crate::marks::Head;
use rankwright_config::EventFormat;
use std::fs;
use std::io;
use std::path::Path;
use tracing::info;

/// Most files that a message names.
const NAMED: usize = 20;

/// The file, or those in the folder that look like events; at least one, in no particular order.
pub(super) fn list(path: &Path, format: EventFormat) -> Result<Vec<File>, Error> {
    let path = local(path)?;
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => folder(path, format),
        Ok(found) => file(path, &found).map(|file| vec![file]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(path)),
        Err(source) => Err(Error::Open { path: path.to_owned(), source }),
    }
}

/// A path on this machine: without `file://`, and with no other scheme.
fn local(path: &Path) -> Result<&Path, Error> {
    match path.to_str().and_then(|text| text.split_once("://")) {
        None => Ok(path),
        Some(("file", path)) => Ok(Path::new(path)),
        Some((scheme, _)) => Err(unavailable(&format!("{} (reading from {scheme})", shown(path)))),
    }
}

fn folder(folder: &Path, format: EventFormat) -> Result<Vec<File>, Error> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let entries = entries.map_err(|source| Error::Open { path: folder.to_owned(), source })?;
    let mut files = Vec::new();
    for path in entries.into_iter().map(|entry| entry.path()) {
        let found = fs::metadata(&path);
        match (skipped(&path, found.as_ref().ok(), format), found) {
            (Some(reason), _) => info!(path = %path.display(), reason, "left out"),
            (None, Ok(found)) => files.push(file(&path, &found)?),
            (None, Err(source)) => return Err(Error::Open { path, source }),
        }
    }
    let nothing = || Error::Empty { folder: folder.to_owned(), names: names(format), found: contents(folder) };
    if files.is_empty() { Err(nothing()) } else { Ok(files) }
}

/// Why an entry of a folder is not read, if so.
fn skipped(path: &Path, found: Option<&fs::Metadata>, format: EventFormat) -> Option<String> {
    match () {
        () if found.is_some_and(fs::Metadata::is_dir) => Some("a folder within the folder".to_owned()),
        () if name::is_hidden(path) => Some("hidden".to_owned()),
        () if !name::is_events(path, format) => {
            Some(format!("not named {}, plain or with .gz, .zst, .zstd", names(format)))
        }
        () if found.is_some_and(|found| !found.is_file()) => Some("no file, but a pipe or a device".to_owned()),
        () => None,
    }
}

/// Opens the file once, so that one without permission fails now and not after an hour.
fn file(path: &Path, found: &fs::Metadata) -> Result<File, Error> {
    if !found.is_file() {
        // it is opened more than once: what a pipe has given is gone
        return Err(Error::NoFile { path: path.to_owned() });
    }
    let modified = found.modified().map_err(|source| Error::Open { path: path.to_owned(), source })?;
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    let compression = Compression::of(path);
    let head = Head::of(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
    Ok(File { path: path.to_owned(), name: name.as_ref().into(), bytes: found.len(), modified, compression, head })
}

/// There is no such path; the message says what lies in the nearest folder that there is.
pub fn missing(path: &Path) -> Error {
    let folders = path.ancestors().skip(1).map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    let nearest = folders.into_iter().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    Error::Missing { path: path.to_owned(), nearest: contents(nearest) }
}

/// What lies in a folder, in words.
fn contents(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| described(&entry.path())).collect();
    names.sort();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    match (names.as_slice(), more) {
        ([], _) => format!("{} is empty", shown(folder)),
        (names, 0) => format!("{} holds {}", shown(folder), names.join(", ")),
        (names, more) => format!("{} holds {} and {more} more", shown(folder), names.join(", ")),
    }
}

fn described(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() { shown(format!("{name}/")) } else { shown(&*name) }
}
