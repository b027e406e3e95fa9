//! Tells the linker where the boosters' libraries are, and dependents where their programs look for them;
//! `native/boosters.sh` fetches them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Below the folder, as their packages have them.
const LIBRARIES: [(&str, &str); 2] = [("lightgbm/lib", "lib_lightgbm.so"), ("xgboost/lib", "libxgboost.so.3")];

fn main() -> ExitCode {
    for variable in ["RANKWRIGHT_BOOSTERS_DIR", "RANKWRIGHT_CACHE", "XDG_CACHE_HOME", "HOME"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    println!("cargo:rerun-if-changed=native/boosters.txt");
    match libraries() {
        Ok(folder) => {
            println!("cargo:rerun-if-changed={}", folder.display());
            let folders = LIBRARIES.map(|(within, _)| folder.join(within).display().to_string());
            for folder in &folders {
                println!("cargo:rustc-link-search=native={folder}");
            }
            // an image has them beside its programs
            let beside = LIBRARIES.map(|(within, _)| format!("$ORIGIN/../lib/boosters/{within}"));
            let path = format!("-Wl,-rpath,{}:{}", beside.join(":"), folders.join(":"));
            println!("cargo:rustc-link-arg={path}");
            println!("cargo:rpath={path}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder that holds the libraries: the one named, else the one in the cache that was fetched for this list of them.
fn libraries() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("RANKWRIGHT_BOOSTERS_DIR") {
        let folder = PathBuf::from(named);
        return match missing(&folder) {
            Some(library) => Err(format!("RANKWRIGHT_BOOSTERS_DIR is {}, which has no {library}", folder.display())),
            None => Ok(folder),
        };
    }
    let native = cache()?.join("native");
    let mut folders = fs::read_dir(&native).into_iter().flatten().flatten().map(|entry| entry.path());
    let asked = fs::read("native/boosters.txt").map_err(|error| format!("native/boosters.txt: {error}"))?;
    let fetched = |path: &PathBuf| fs::read(path.join("boosters.txt")).is_ok_and(|list| list == asked);
    folders.find(|path| fetched(path) && missing(path).is_none()).ok_or_else(|| {
        format!("{} has not these boosters: run services/engine/train/native/boosters.sh once", native.display())
    })
}

/// The cache folder, as the script computes it.
fn cache() -> Result<PathBuf, String> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("RANKWRIGHT_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("rankwright")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/rankwright")))
        .ok_or_else(|| "none of RANKWRIGHT_CACHE, XDG_CACHE_HOME and HOME is set".to_owned())
}

/// A library that the folder lacks.
fn missing(folder: &Path) -> Option<&'static str> {
    LIBRARIES.iter().find(|(within, library)| !folder.join(within).join(library).is_file()).map(|&(_, library)| library)
}
