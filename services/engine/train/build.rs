//! Tells the linker where `libxgboost.a` is; `native/xgboost.sh` builds it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const VERSION: &str = "3.4.0";

fn main() -> ExitCode {
    for variable in ["RANKWRIGHT_XGBOOST_DIR", "RANKWRIGHT_CACHE", "XDG_CACHE_HOME", "HOME"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    match library() {
        Ok(folder) => {
            println!("cargo:rerun-if-changed={}", folder.display());
            println!("cargo:rustc-link-search=native={}", folder.display());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder that holds `libxgboost.a`: the one named, else the newest of this version in the cache.
fn library() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("RANKWRIGHT_XGBOOST_DIR") {
        let folder = PathBuf::from(named);
        let found = holds_library(&folder).then_some(folder.clone());
        return found
            .ok_or_else(|| format!("RANKWRIGHT_XGBOOST_DIR is {}, which holds no libxgboost.a", folder.display()));
    }
    let native = cache()?.join("native");
    let prefix = format!("xgboost-{VERSION}-");
    let folders = fs::read_dir(&native).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = folders.filter(|path| named_like(path, &prefix) && holds_library(path));
    ours.max_by_key(|path| fs::metadata(path.join("libxgboost.a")).and_then(|file| file.modified()).ok()).ok_or_else(
        || format!("no XGBoost library in {}: run services/engine/train/native/xgboost.sh once", native.display()),
    )
}

/// The cache folder, as the script computes it.
fn cache() -> Result<PathBuf, String> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("RANKWRIGHT_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("rankwright")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/rankwright")))
        .ok_or_else(|| "none of RANKWRIGHT_CACHE, XDG_CACHE_HOME and HOME is set".to_owned())
}

fn named_like(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

fn holds_library(folder: &Path) -> bool {
    folder.join("libxgboost.a").is_file()
}
