//! Lists the files of `dist`, which the program holds: names of assets change with what they hold.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("dist");
    println!("cargo::rerun-if-changed={}", root.display());
    let assets: String = files(&root.join("assets"))?.iter().map(|path| entry(path)).collect();
    let index = root.join("index.html").display().to_string();
    let text = format!(
        "pub(super) const INDEX: &[u8] = include_bytes!({index:?});\npub(super) const ASSETS: &[(&str, &[u8])] = &[\n{assets}];\n"
    );
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("dist.rs"), text)?;
    Ok(())
}

/// The files of a folder in the order of their names; none where there is no folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn entry(path: &Path) -> String {
    let (name, place) = (path.file_name().unwrap_or_default().to_string_lossy(), path.display().to_string());
    format!("    ({name:?}, include_bytes!({place:?})),\n")
}
