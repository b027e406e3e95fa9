//! Files that are not part of this repository: real data and recorded answers.

use std::path::PathBuf;

/// The folder that `RANKWRIGHT_SHARED` names, else `shared` beside the repository.
pub fn folder() -> PathBuf {
    let beside = || std::path::absolute("../../shared").expect("there is a working folder");
    std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from)
}

/// A file or folder in there; `None`, after a line that says so, when it is missing.
///
/// # Panics
/// When it is missing and `RANKWRIGHT_REQUIRE_ALL` is 1.
pub fn path(name: &str) -> Option<PathBuf> {
    let path = folder().join(name);
    if path.exists() {
        return Some(path);
    }
    let why = format!("{} is not there", path.display());
    assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{why}");
    eprintln!("SKIPPED: {why}");
    None
}
