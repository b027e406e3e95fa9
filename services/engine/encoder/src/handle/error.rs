//! What is said of files that are not there, or did not come.

use std::io;
use std::path::PathBuf;

/// Why a model has no files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// The folder is not there.
    #[error("the model {handle} is not in {folder}{hint}")]
    NoFolder {
        /// The model.
        handle: String,
        /// Where it would be.
        folder: PathBuf,
        /// What else could be done.
        hint: String,
    },
    /// A file that has to be there is not.
    #[error("{folder} holds no {missing}, a model needs it; it holds {present}")]
    Lacks {
        /// A folder, or a place to fetch from.
        folder: String,
        /// The file.
        missing: String,
        /// What is there.
        present: String,
    },
    /// A file is not in its bucket, or this names none.
    #[error("there is no file {address}")]
    NoFile {
        /// The file.
        address: String,
    },
    /// A file came whole, and is not what it should be.
    #[error("{address} cannot be used")]
    Useless {
        /// The file.
        address: String,
        /// Why.
        source: super::FetchError,
    },
    /// A file's name leads out of its folder.
    #[error("{name:?} is no name of a file in a model's folder")]
    Name {
        /// The name.
        name: String,
    },
    /// A file was not fetched.
    #[error("failed to fetch {address}")]
    Fetch {
        /// The file.
        address: String,
        /// What went wrong.
        source: super::FetchError,
    },
    /// A file came in another length than it has.
    #[error("{address} has {expected} bytes, but {found} came")]
    CutOff {
        /// The file.
        address: String,
        /// Its length.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// A fetched file is not what it should be.
    #[error("{name} was fetched and is {found}")]
    Content {
        /// The file.
        name: String,
        /// What came.
        found: &'static str,
    },
    /// A file was not read or written.
    #[error("failed to read or write {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}
