//! Folders for a test's files.

use std::path::{Path, PathBuf};

/// A folder of the test's own, which goes with it.
///
/// # Panics
/// When there is no room for temporary files.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for temporary files")
}

/// Writes a file into a folder; its path.
///
/// # Panics
/// When the folder cannot be written to.
pub fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder can be written to");
    path
}

/// Names of what lies in a folder, in order.
///
/// # Panics
/// When there is no such folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("is there").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
