//! The files of a model in a folder.

use super::FilesError;
use serde::de::IgnoredAny;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// What the files of a model are called, where not as everywhere: paths in its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileNames {
    /// The graph; `model.onnx`, else `onnx/model.onnx`.
    pub model: Option<String>,
    /// The tokenizer; `tokenizer.json`.
    pub tokenizer: Option<String>,
}

/// Where the files of one model are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The folder that holds them.
    pub folder: PathBuf,
    /// The graph.
    pub model: PathBuf,
    /// The tokenizer.
    pub tokenizer: PathBuf,
}

/// Names of the graph, in the order in which they are looked for.
const GRAPHS: [&str; 2] = ["model.onnx", "onnx/model.onnx"];
const TOKENIZER: &str = "tokenizer.json";
/// Settings that are read where they are there.
pub(super) const OPTIONAL: [&str; 4] =
    ["config.json", "sentence_bert_config.json", "modules.json", "1_Pooling/config.json"];

impl FileNames {
    pub(super) fn graphs(&self) -> Vec<&str> {
        self.model.as_deref().map_or(GRAPHS.to_vec(), |model| vec![model])
    }

    pub(super) fn tokenizer(&self) -> &str {
        self.tokenizer.as_deref().unwrap_or(TOKENIZER)
    }

    /// Refuses names that would lead out of a folder.
    pub(super) fn check(&self) -> Result<(), FilesError> {
        let leads_out = |name: &&String| {
            name.is_empty() || Path::new(name).components().any(|part| !matches!(part, std::path::Component::Normal(_)))
        };
        match self.model.iter().chain(&self.tokenizer).find(leads_out) {
            Some(name) => Err(FilesError::Name { name: name.clone() }),
            None => Ok(()),
        }
    }
}

impl Files {
    /// The files of the model in a folder.
    ///
    /// # Errors
    /// Where the folder lacks one; the error names it, and what is there.
    pub fn of(folder: &Path, names: &FileNames) -> Result<Self, FilesError> {
        names.check()?;
        let lacks = |missing: String| FilesError::Lacks {
            folder: folder.display().to_string(),
            missing,
            present: listed(folder),
        };
        let graphs = names.graphs();
        let model = graphs.iter().map(|name| folder.join(name)).find(|path| path.is_file());
        let tokenizer = folder.join(names.tokenizer());
        match model {
            None => Err(lacks(graphs.join(" or "))),
            Some(_) if !tokenizer.is_file() => Err(lacks(names.tokenizer().to_owned())),
            Some(model) => Ok(Self { folder: folder.to_owned(), model, tokenizer }),
        }
    }

    /// A digest of graph and tokenizer, not finished.
    pub(crate) fn digest(&self) -> io::Result<Sha256> {
        let mut digest = Sha256::new();
        let weights = weights(&self.model).filter(|weights| weights.is_file());
        for path in [&self.model, &self.tokenizer].into_iter().chain(&weights) {
            digest.update(fs::metadata(path)?.len().to_le_bytes());
            let mut file = BufReader::with_capacity(1 << 18, File::open(path)?);
            loop {
                let block = file.fill_buf()?;
                if block.is_empty() {
                    break;
                }
                digest.update(block);
                let read = block.len();
                file.consume(read);
            }
        }
        Ok(digest)
    }

    /// Refuses what came in a file's stead: a page that reports an error, or a pointer to a file that is kept elsewhere.
    pub(super) fn check(&self) -> Result<(), FilesError> {
        let io = |path: &Path, source| FilesError::Io { path: path.to_owned(), source };
        let mut start = Vec::new();
        let file = File::open(&self.model).map_err(|source| io(&self.model, source))?;
        file.take(64).read_to_end(&mut start).map_err(|source| io(&self.model, source))?;
        let found = match start.as_slice() {
            b"" => Some("empty"),
            start if start.starts_with(b"version https://git-lfs") => Some("a pointer of Git LFS, not the file itself"),
            start if start.starts_with(b"<") || start.starts_with(b"{") => Some("a text"),
            _ => None,
        };
        if let Some(found) = found {
            return Err(FilesError::Content { name: name(&self.model), found });
        }
        let tokenizer = fs::read(&self.tokenizer).map_err(|source| io(&self.tokenizer, source))?;
        match serde_json::from_slice::<IgnoredAny>(&tokenizer) {
            Ok(_) => Ok(()),
            Err(_) => Err(FilesError::Content { name: name(&self.tokenizer), found: "no JSON" }),
        }
    }

    /// An optional file of settings; null where it is not there or is no JSON.
    pub(crate) fn settings(&self, name: &str) -> Value {
        fs::read(self.folder.join(name)).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Where large graphs keep their weights.
fn weights(model: &Path) -> Option<PathBuf> {
    Some(model.with_file_name(format!("{}_data", model.file_name()?.to_str()?)))
}

/// What a folder holds, for a message.
fn listed(folder: &Path) -> String {
    let mut names: Vec<String> = folder
        .read_dir()
        .map(|entries| {
            entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect()
        })
        .unwrap_or_default();
    names.sort();
    told(&names)
}

/// Names for a message: a few of them.
pub(super) fn told(names: &[String]) -> String {
    const SHOWN: usize = 12;
    match names.len() {
        0 => "nothing".to_owned(),
        1..=SHOWN => names.join(", "),
        more => format!("{} and {} more", names[..SHOWN].join(", "), more - SHOWN),
    }
}
