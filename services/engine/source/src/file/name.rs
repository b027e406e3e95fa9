//! What the name of a file says about its content.

use crate::format::endings;
use rankwright_config::EventFormat;
use std::ffi::OsStr;
use std::path::Path;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// `.gz`
    Gzip,
    /// `.zst` or `.zstd`
    Zstd,
}

impl Compression {
    /// By the last extension.
    pub fn of(path: &Path) -> Self {
        match extension(path).as_deref() {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// Whether a file in a folder is named as if it held events of this format: `.json`, `.jsonl`, `.ndjson`, or `.tsv`,
/// compressed or not, or with nothing but the extension of a compression.
pub(super) fn is_events(path: &Path, format: EventFormat) -> bool {
    let ends = |path: &Path| extension(path).is_some_and(|found| endings(format).contains(&found.as_str()));
    let stem = path.file_stem().map(Path::new);
    match (Compression::of(path), stem) {
        (Compression::None, _) | (_, None) => ends(path),
        (_, Some(stem)) => stem.extension().is_none() || ends(stem),
    }
}

/// Whether a file is hidden, as names that begin with a dot are.
pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_events_from_other_files() {
        for name in
            ["a.json", "a.jsonl", "A.NDJSON", "a.jsonl.gz", "a.b.json.zst", "a.json.zstd", "part-0.gz", "a.JSON.GZ"]
        {
            assert!(is_events(Path::new(name), EventFormat::Json), "{name}");
        }
        for name in ["a.csv", "a", "_SUCCESS", "a.csv.gz", "a.json.bz2", "a.json.tmp", "gz", "json"] {
            assert!(!is_events(Path::new(name), EventFormat::Json), "{name}");
        }
        let is_columns = |name: &str| is_events(Path::new(name), EventFormat::SnowplowTsv);
        assert_eq!(["a.tsv", "a.TSV.gz", "part-0.gz", "a.json", "a"].map(is_columns), [true, true, true, false, false]);
    }

    #[test]
    fn the_last_extension_names_the_compression() {
        for (name, compression) in [
            ("a.json", Compression::None),
            ("a.gz", Compression::Gzip),
            ("a.zst", Compression::Zstd),
            ("a.gz.zstd", Compression::Zstd),
        ] {
            assert_eq!(Compression::of(Path::new(name)), compression, "{name}");
        }
    }
}
