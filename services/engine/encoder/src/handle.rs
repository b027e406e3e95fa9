//! Names of models, and how their files come from a folder, a bucket or a hub.

mod error;
mod files;
mod sources;

pub use error::FilesError;
pub use files::{FileNames, Files};
pub use sources::{Fetch, FetchError, Object, Sources};

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Names a model: `<namespace>/<model>`, with `@<revision>` where not the main one is meant; `file:///<folder>`; or
/// `s3://<bucket>/<prefix>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Handle {
    /// A model in the folder of models, or of the hub.
    Named {
        /// Who publishes it.
        namespace: String,
        /// Its name.
        model: String,
        /// A branch, tag or commit of the hub.
        revision: String,
    },
    /// A folder.
    Folder(PathBuf),
    /// A prefix of a bucket; one that is not empty ends with a slash.
    Bucket {
        /// The bucket.
        bucket: String,
        /// What keys begin with.
        prefix: String,
    },
}

/// A text that names no model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{handle:?} names no model: write <namespace>/<model>, file:///<folder> or s3://<bucket>/<prefix>/")]
pub struct HandleError {
    /// The text.
    pub handle: String,
}

impl FromStr for Handle {
    type Err = HandleError;

    fn from_str(handle: &str) -> Result<Self, HandleError> {
        let parsed = if let Some(folder) = handle.strip_prefix("file://") {
            folder.starts_with('/').then(|| Self::Folder(PathBuf::from(folder)))
        } else if let Some(place) = handle.strip_prefix("s3://") {
            bucket(place)
        } else {
            named(handle)
        };
        parsed.ok_or_else(|| HandleError { handle: handle.to_owned() })
    }
}

fn bucket(place: &str) -> Option<Handle> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let prefix = prefix.trim_matches('/');
    let slash = if prefix.is_empty() { "" } else { "/" };
    (!bucket.is_empty()).then(|| Handle::Bucket { bucket: bucket.to_owned(), prefix: format!("{prefix}{slash}") })
}

fn named(handle: &str) -> Option<Handle> {
    let (path, revision) = handle.split_once('@').unwrap_or((handle, "main"));
    let (namespace, model) = path.split_once('/')?;
    // they become folders
    let fits = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && !["", ".", ".."].contains(&part)
    };
    [namespace, model, revision].into_iter().all(fits).then(|| Handle::Named {
        namespace: namespace.to_owned(),
        model: model.to_owned(),
        revision: revision.to_owned(),
    })
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named { namespace, model, revision } if revision == "main" => {
                write!(formatter, "{namespace}/{model}")
            }
            Self::Named { namespace, model, revision } => write!(formatter, "{namespace}/{model}@{revision}"),
            Self::Folder(folder) => write!(formatter, "file://{}", folder.display()),
            Self::Bucket { bucket, prefix } => write!(formatter, "s3://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_reads_as_it_is_written() {
        for text in ["acme/rank-s_1.5", "acme/rank@v2", "file:///models/x", "s3://models/rank/", "s3://models/"] {
            assert_eq!(text.parse::<Handle>().expect("is a handle").to_string(), text);
        }
        assert_eq!("s3://models/rank".parse::<Handle>(), "s3://models/rank/".parse());
    }

    #[test]
    fn what_names_no_model_is_refused() {
        for text in
            ["", "rank", "acme/", "/rank", "acme/rank/x", "../rank", "acme/..", "a b/c", "file://x", "s3://", "a/b@"]
        {
            let error = text.parse::<Handle>().expect_err(text);
            assert!(error.to_string().contains("<namespace>/<model>"), "{error}");
        }
    }
}
