//! Files that features read: embeddings and scores that were computed elsewhere, dictionaries of terms.
//!
//! They may be large, and a process compiles a plan for ingest and one for each version of a model: a file that is held
//! already is not read again, unless it was written meanwhile.

use crate::plan::Error;
use parking_lot::Mutex;
use rankwright_encoder::{CacheFileError, Scores, Vectors};
use rankwright_text::{Dictionary, DictionaryError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

/// What a file holds.
pub(crate) struct Cache<T> {
    pub(crate) known: T,
    /// Equal for files that hold the same.
    pub(crate) digest: u64,
}

/// A file as it was when it was read, and the width that was asked for.
#[derive(PartialEq)]
struct Read {
    path: PathBuf,
    dim: usize,
    length: u64,
    modified: SystemTime,
}

/// Files that some plan holds.
type Held<T> = Mutex<Vec<(Read, Weak<T>)>>;

static VECTORS: Held<Cache<Vectors>> = Mutex::new(Vec::new());
static SCORES: Held<Cache<Scores>> = Mutex::new(Vec::new());
static DICTIONARIES: Held<Dictionary> = Mutex::new(Vec::new());

/// The embeddings of a feature's file.
pub(crate) fn vectors(path: &str, dim: usize, feature: &str) -> Result<Arc<Cache<Vectors>>, Error> {
    let read = |path: &Path| Vectors::open(path, dim).map(|known| Cache { digest: known.digest(), known });
    held(&VECTORS, path, dim, read, CacheFileError::Read).map_err(|source| error(path, feature, source))
}

/// The scores of a feature's file.
pub(crate) fn scores(path: &str, feature: &str) -> Result<Arc<Cache<Scores>>, Error> {
    let read = |path: &Path| Scores::open(path).map(|known| Cache { digest: known.digest(), known });
    held(&SCORES, path, 1, read, CacheFileError::Read).map_err(|source| error(path, feature, source))
}

/// The term dictionary under a path.
pub(crate) fn dictionary(path: &str) -> Result<Arc<Dictionary>, DictionaryError> {
    let unread = |source| DictionaryError::Read { path: path.into(), source };
    held(&DICTIONARIES, path, 0, Dictionary::open, unread)
}

/// Locked while a file is read: a second plan that asks for it waits.
fn held<T, E>(
    held: &Held<T>,
    path: &str,
    dim: usize,
    read: impl FnOnce(&Path) -> Result<T, E>,
    unread: impl Fn(io::Error) -> E,
) -> Result<Arc<T>, E> {
    let named = Path::new(path);
    let path = named.canonicalize().map_err(&unread)?;
    let file = path.metadata().map_err(&unread)?;
    let wanted = Read { dim, length: file.len(), modified: file.modified().map_err(&unread)?, path };
    let mut held = held.lock();
    held.retain(|(_, one)| one.strong_count() > 0);
    let known = held.iter().find(|(read, _)| *read == wanted).and_then(|(_, one)| one.upgrade());
    if let Some(known) = known {
        return Ok(known);
    }
    let one = Arc::new(read(named)?); // errors name it as the configuration does
    held.push((wanted, Arc::downgrade(&one)));
    Ok(one)
}

fn error(path: &str, feature: &str, source: CacheFileError) -> Error {
    Error::Cache { feature: feature.to_owned(), path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_is_read_once_while_it_is_held_and_again_when_it_was_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let open = || vectors(path, 2, "f").unwrap();
        std::fs::write(path, "a,1,2\n").unwrap();
        let first = open();
        assert!(Arc::ptr_eq(&first, &open()));
        assert!(vectors(path, 3, "f").is_err(), "of another width");
        std::fs::write(path, "a,1,2\nb,3,4\n").unwrap();
        assert_eq!((first.known.len(), open().known.len()), (1, 2));
    }

    #[test]
    fn features_share_a_dictionary() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let mut builder = rankwright_text::DictionaryBuilder::new(rankwright_text::Language::English);
        builder.add([["red shoes"]]);
        builder.write(&["title".to_owned()], &mut file.as_file()).unwrap();
        let open = || dictionary(path).unwrap();
        let first = open();
        assert!(Arc::ptr_eq(&first, &open()));
        assert!(dictionary("/no/such/terms.json").unwrap_err().to_string().contains("/no/such/terms.json"));
    }
}
