//! Letters as lines of JSON at the end of a file.

use super::{LettersLost, line};
use crate::{BadLine, Error};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    /// Opens a file for appending, and makes it where there is none.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(super) fn put(&mut self, letters: &[BadLine]) -> Result<(), LettersLost> {
        let text: String = letters.iter().map(|letter| format!("{}\n", line(letter))).collect();
        // one write for all: a crash leaves whole lines
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error: io::Error| LettersLost {
            count: letters.len(),
            place: self.path.display().to_string(),
            reason: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn letters_are_appended_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead.jsonl");
        let letter = |line| BadLine { file: "s".into(), line, reason: "r".into(), content: Box::default() };
        Lines::open(&path).unwrap().put(&[letter(1), letter(2)]).unwrap();
        Lines::open(&path).unwrap().put(&[letter(3)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let positions = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        assert_eq!(positions.map(|line| line["position"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named() {
        let error = Lines::open(Path::new("/nowhere/at/all")).err().unwrap().to_string();
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }
}
