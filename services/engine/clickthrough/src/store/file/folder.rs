//! The files of a folder of parts.
//!
//! A closed part is `<sequence>-<records>-<digest of its bytes>.bin` (or `.json`), an open one
//! `<sequence>.bin.open`. Sequence numbers give the order of reading.

use super::owner;
use crate::digest::Digest;
use crate::part::Format;
use crate::{Error, Result};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What the name of a part ends with that is not there to its end.
const UNFINISHED: &str = ".new";

/// A folder of parts.
pub(super) struct Folder {
    path: PathBuf,
}

/// The name of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) sequence: u64,
    pub(super) format: Format,
    /// Number of records and digest of the bytes, of a closed part.
    pub(super) closed: Option<(u64, u128)>,
}

impl Folder {
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        let folder = Self { path };
        fs::create_dir_all(&folder.path).map_err(|source| folder.failed("create the folder", source))?;
        Ok(folder)
    }

    /// All parts, in order; other files are left alone.
    pub(super) fn list(&self) -> Result<Vec<Name>> {
        let list = || -> io::Result<Vec<Name>> {
            let names: io::Result<Vec<_>> =
                fs::read_dir(&self.path)?.map(|entry| entry.map(|e| e.file_name())).collect();
            Ok(names?.iter().filter_map(|name| Name::parse(name.to_str()?)).collect())
        };
        let mut names = list().map_err(|source| self.failed("list the folder", source))?;
        names.sort_by_key(|name| (name.sequence, name.closed));
        Ok(names)
    }

    /// Opens a part for reading, also when it was closed since it was listed.
    pub(super) fn read(&self, name: &Name) -> Result<(File, Name)> {
        match File::open(self.path_of(name)) {
            Ok(file) => Ok((file, *name)),
            Err(error) if error.kind() == ErrorKind::NotFound && name.closed.is_none() => {
                let same = |other: &Name| other.sequence == name.sequence && other.format == name.format;
                let renamed = self.list()?.into_iter().find(|other| same(other) && other.closed.is_some());
                let renamed = renamed.ok_or_else(|| self.failed_at(name, "open", error))?;
                File::open(self.path_of(&renamed))
                    .map(|file| (file, renamed))
                    .map_err(|error| self.failed_at(&renamed, "open", error))
            }
            Err(error) => Err(self.failed_at(name, "open", error)),
        }
    }

    /// Creates the next open part.
    pub(super) fn create(&self, format: Format) -> Result<(File, Name)> {
        loop {
            let last = self.list()?.last().map_or(0, |name| name.sequence);
            let name = Name { sequence: last.saturating_add(1), format, closed: None };
            match File::create_new(self.path_of(&name)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {} // another process was faster
                Err(error) => return Err(self.failed_at(&name, "create", error)),
                Ok(file) => {
                    // others see that it is being written; where the file system has no locks, they do not
                    let _locked = file.try_lock();
                    return self.sync().map(|()| (file, name));
                }
            }
        }
    }

    /// Removes unfinished parts of a [`Folder::replace`] that was killed, and returns how many. No process may replace parts
    /// meanwhile.
    pub(super) fn sweep(&self) -> Result<u64> {
        let mut count = 0;
        let entries = fs::read_dir(&self.path).map_err(|source| self.failed("list the folder", source))?;
        for entry in entries {
            let name = entry.map_err(|source| self.failed("list the folder", source))?.file_name();
            let part = name.to_str().and_then(|name| name.strip_suffix(UNFINISHED)).and_then(Name::parse);
            if let Some(part) = part {
                let gone = removed(&self.path.join(&name)); // it is gone where its writer goes on
                let gone = gone.map_err(|error| self.failed_at(&part, "remove what was not put of", error))?;
                count += u64::from(gone);
            }
        }
        Ok(count)
    }

    /// Replaces a part by a closed one, or removes it where that has no records; false where another process writes the part.
    pub(super) fn replace(&self, name: &Name, bytes: &[u8], records: u64) -> Result<bool> {
        let old = self.path_of(name);
        if name.closed.is_none() {
            let file = File::open(&old).map_err(|error| self.failed_at(name, "open", error))?;
            if file.try_lock().is_err() {
                return Ok(false);
            }
        }
        if records > 0 {
            let mut digest = Digest::new();
            digest.update(bytes);
            let new = Name { closed: Some((records, digest.value())), ..*name };
            let unfinished = self.path.join(format!("{new}{UNFINISHED}"));
            let mut private = OpenOptions::new();
            private.write(true).create_new(true).mode(0o600); // nor through a link that another user has put there
            let written = removed(&unfinished).and_then(|_| private.open(&unfinished)).and_then(|mut file| {
                file.write_all(bytes)?;
                owner::hand_over(&file, &fs::symlink_metadata(&old)?, &self.path_of(&new))?;
                file.sync_all()
            });
            let written = written.and_then(|()| fs::rename(&unfinished, self.path_of(&new)));
            if let Err(error) = written {
                let _removed = fs::remove_file(&unfinished); // or the next one who forgets does it
                return Err(self.failed_at(&new, "write", error));
            }
            self.sync()?;
        }
        fs::remove_file(&old).map_err(|error| self.failed_at(name, "remove", error))?;
        self.sync().map(|()| true)
    }

    /// Gives an open part, all of which is on disk, its final name.
    pub(super) fn close(&self, open: &Name, closed: &Name) -> Result<()> {
        fs::rename(self.path_of(open), self.path_of(closed)).map_err(|error| self.failed_at(open, "rename", error))?;
        self.sync()
    }

    /// Makes names durable.
    fn sync(&self) -> Result<()> {
        let synced = File::open(&self.path).and_then(|folder| folder.sync_all());
        synced.map_err(|source| self.failed("sync the folder", source))
    }

    /// What messages call a part.
    pub(super) fn place(&self, name: &Name) -> String {
        self.path_of(name).display().to_string()
    }

    fn path_of(&self, name: &Name) -> PathBuf {
        self.path.join(name.to_string())
    }

    fn failed(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io { place: self.path.display().to_string(), action, source }
    }

    pub(super) fn failed_at(&self, name: &Name, action: &'static str, source: io::Error) -> Error {
        Error::Io { place: self.place(name), action, source }
    }
}

/// Removes a file; whether there was one.
fn removed(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Name {
    fn parse(whole: &str) -> Option<Self> {
        let (name, open) = whole.strip_suffix(".open").map_or((whole, false), |name| (name, true));
        let (name, format) = match (name.strip_suffix(".bin"), name.strip_suffix(".json")) {
            (Some(name), _) => (name, Format::Binary),
            (_, Some(name)) => (name, Format::Json),
            _ => return None,
        };
        let parts: Vec<&str> = name.split('-').collect();
        let (sequence, closed) = match (&parts[..], open) {
            ([sequence], true) => (sequence, None),
            ([sequence, records, digest], false) => {
                (sequence, Some((records.parse().ok()?, u128::from_str_radix(digest, 16).ok()?)))
            }
            _ => return None,
        };
        let parsed = Self { sequence: sequence.parse().ok()?, format, closed };
        (parsed.to_string() == whole).then_some(parsed) // else it is another file's name than the one we would look for
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.format {
            Format::Binary => "bin",
            Format::Json => "json",
        };
        match self.closed {
            Some((records, digest)) => write!(f, "{:08}-{records}-{digest:032x}.{suffix}", self.sequence),
            None => write!(f, "{:08}.{suffix}.open", self.sequence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_was_made_of() {
        for closed in [None, Some((0, 0)), Some((8773, u128::MAX))] {
            for format in [Format::Binary, Format::Json] {
                let name = Name { sequence: 123_456_789, format, closed };
                assert_eq!(Name::parse(&name.to_string()), Some(name));
            }
        }
    }

    #[test]
    fn other_files_are_no_parts() {
        for name in [
            "",
            ".open",
            "1.bin",
            "x.bin.open",
            "1-2-3.txt",
            "00000001-1-g.bin",
            "1-1-1-1.json",
            "1-1-1.bin.open",
            "00000009-1-aa.bin",
        ] {
            assert_eq!(Name::parse(name), None, "{name}");
        }
    }
}
