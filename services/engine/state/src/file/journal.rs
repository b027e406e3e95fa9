//! What the store below drops when it is opened: it cuts a journal where it finds no whole commit, and does not say so.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Where the written part of each journal of a folder ends; room that is only reserved is all zeros.
#[derive(Debug, Default)]
pub(super) struct Ends(Vec<(PathBuf, u64)>);

/// The end of a journal that is gone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) journal: PathBuf,
    pub(super) bytes: u64,
}

impl Ends {
    /// Of a folder that nobody has opened yet. What cannot be read is left out: opening it will say why.
    pub(super) fn of(folder: &Path) -> Self {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let journals = entries.filter(|path| path.extension().is_some_and(|extension| extension == "jnl"));
        Self(journals.filter_map(|path| end(&path).ok().map(|end| (path, end))).collect())
    }

    /// What is missing since then. A journal that is gone is none: what it held lies in tables now.
    pub(super) fn cut(self) -> Vec<Cut> {
        let cut = |(journal, end): (PathBuf, u64)| {
            let bytes = end.checked_sub(journal.metadata().ok()?.len()).filter(|&bytes| bytes > 0)?;
            Some(Cut { journal, bytes })
        };
        self.0.into_iter().filter_map(cut).collect()
    }
}

fn end(path: &Path) -> io::Result<u64> {
    const STEP: usize = 1 << 16;
    let mut file = File::open(path)?;
    let (mut end, mut bytes) = (file.metadata()?.len(), vec![0; STEP]);
    while end > 0 {
        let begin = (end - 1) / STEP as u64 * STEP as u64;
        let step = &mut bytes[..(end - begin) as usize];
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(step)?;
        if let Some(last) = step.iter().rposition(|&byte| byte != 0) {
            return Ok(begin + last as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}
