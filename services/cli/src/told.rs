//! Texts for people: names that come from outside, files that appear whole.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// A text from outside, on one line: what would move the cursor of a terminal is shown as an escape.
pub(crate) fn line(text: &str) -> String {
    let escaped = |sign: char| if sign.is_control() { sign.escape_default().collect() } else { sign.to_string() };
    text.chars().map(escaped).collect()
}

/// Writes a file beside its place, and renames it: another program sees it whole, or not at all.
///
/// # Errors
/// Says which folder is missing, and why it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    writable(path)?;
    let unfinished = unfinished(path);
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished); // the first error is the one to report
    }
    written.with_context(|| format!("failed to write {}", path.display()))
}

/// Whether a file can be written there, before long work begins.
///
/// # Errors
/// Where the folder is missing, or it is a folder itself.
pub(crate) fn writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        bail!("cannot write {}: it is a folder; name a file", path.display());
    }
    let folder = folder(path);
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder(path).join(format!(".{name}.{}.unfinished", process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_stays_on_its_line() {
        assert_eq!(line("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let path = folder.path().join("report.html");
        write(&path, b"one").expect("can be written");
        write(&path, b"two").expect("can be written again");
        assert_eq!(fs::read(&path).expect("is there"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 1);
        let error = write(&folder.path().join("none/report.html"), b"").expect_err("there is no folder").to_string();
        assert!(error.contains("there is no folder"), "{error}");
        let error = write(folder.path(), b"").expect_err("it is a folder").to_string();
        assert!(error.contains("it is a folder; name a file"), "{error}");
    }
}
