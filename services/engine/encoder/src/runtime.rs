//! Finds and opens ONNX Runtime, once per process.

use ort::environment::Environment;
use parking_lot::Mutex;
use std::env;
use std::path::{Path, PathBuf};

/// The version that this crate is tested with.
pub const PINNED: &str = "1.31.1";
/// Names the library, or the folder that holds it.
const VARIABLE: &str = "RANKWRIGHT_ONNXRUNTIME";
const LIBRARY: &str = "libonnxruntime.so";

/// ONNX Runtime, opened. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(crate) environment: Environment,
}

static OPEN: Mutex<Option<Runtime>> = Mutex::new(None);

/// Why ONNX Runtime was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The library is in none of the places.
    #[error(
        "ONNX Runtime is missing, models with an encoder need it: unpack {LIBRARY}.{PINNED} from onnxruntime/capi/ in the \
         PyPI wheel onnxruntime=={PINNED} and name its folder in {VARIABLE} (searched {searched}, and the system's library \
         folders: {system})"
    )]
    Missing {
        /// The folders that were searched.
        searched: String,
        /// What the system's loader says.
        system: String,
    },
    /// The named file or folder holds no library.
    #[error("{VARIABLE} names {path}, which holds no {LIBRARY}")]
    Named {
        /// What the variable holds.
        path: PathBuf,
    },
    /// The file is no library that runs here.
    #[error("failed to open ONNX Runtime from {path}: {cause}")]
    Open {
        /// The library.
        path: PathBuf,
        /// What the loader says.
        cause: String,
    },
    /// The library is of a version that does not have all that is called.
    #[error(
        "{path} is ONNX Runtime {found}, which is too old: it has to be 1.{} or newer, {PINNED} is tested",
        ort::MINOR_VERSION
    )]
    TooOld {
        /// The library.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// The library refused to start.
    #[error("ONNX Runtime did not start")]
    Start(#[source] ort::Error),
}

impl Runtime {
    /// Opens the library, or returns the one that this process has opened before. Looks in `RANKWRIGHT_ONNXRUNTIME` (a
    /// file or folder) alone where that is set; else in `../lib/onnxruntime` beside the program, in `onnxruntime` in
    /// `cache`, and where the system's loader looks.
    ///
    /// # Errors
    /// When the library is missing, does not load, or is too old. A later call tries again.
    pub fn open(cache: &Path) -> Result<Self, RuntimeError> {
        let mut open = OPEN.lock();
        if let Some(runtime) = &*open {
            return Ok(runtime.clone());
        }
        let runtime = match env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            Some(named) => {
                let path = PathBuf::from(named);
                start(&library(&path).ok_or(RuntimeError::Named { path })?)?
            }
            None => search(cache)?,
        };
        *open = Some(runtime.clone());
        Ok(runtime)
    }
}

impl Runtime {
    /// What a benchmark compares with: ONNX Runtime without this crate.
    #[doc(hidden)]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }
}

fn search(cache: &Path) -> Result<Runtime, RuntimeError> {
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent).and_then(Path::parent).map(|up| up.join("lib/onnxruntime"));
    let folders: Vec<PathBuf> = beside.into_iter().chain([cache.join("onnxruntime")]).collect();
    if let Some(found) = folders.iter().find_map(|folder| library(folder)) {
        return start(&found);
    }
    start(Path::new(LIBRARY)).map_err(|error| match error {
        RuntimeError::Open { cause, .. } => RuntimeError::Missing {
            searched: folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", "),
            system: cause,
        },
        other => other,
    })
}

/// A file as it is; of a folder the library in it, the newest by name where there are several.
fn library(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let mut found: Vec<PathBuf> = path
        .read_dir()
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(LIBRARY)))
        .collect();
    found.sort();
    found.pop()
}

fn start(path: &Path) -> Result<Runtime, RuntimeError> {
    let builder = ort::init_from(path).map_err(|error| match error {
        ort::LoadDynamicError::BadVersion { version_str, path } => RuntimeError::TooOld { path, found: version_str },
        ort::LoadDynamicError::Dlopen { error, path } => RuntimeError::Open { path, cause: error.to_string() },
        other => RuntimeError::Open { path: path.to_owned(), cause: other.to_string() },
    })?;
    let environment = builder.with_name("rankwright").with_telemetry(false).build().map_err(RuntimeError::Start)?;
    Ok(Runtime { environment })
}
