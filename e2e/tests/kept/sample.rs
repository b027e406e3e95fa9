//! What lies in the folder of a release.

use crate::going_on::Told;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sample of a release:
///
/// - `features.yml`, `events.jsonl.gz`, `terms.dict`: a configuration without its stores, what was imported with it, and its terms;
/// - `redis.txt`, `cluster.txt`, `state`, `bucket`: what the programs stored, in each place;
/// - `story.json`: events that came before the sample was taken and come after it, and what is asked;
/// - `redis.first.jsonl`, `redis.then.jsonl` and so on: answers before and after the latter;
/// - `told.json`: how many rankings there are to train on in the end, in a bucket after the import;
/// - `SHA256SUMS`: digests of all these.
pub(crate) struct Sample {
    pub(crate) folder: PathBuf,
}

/// Where a state lies.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Redis,
    Cluster,
    Folder,
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Cluster => "cluster",
            Self::Folder => "state",
        }
    }

    /// The file with the answers of a moment.
    pub(crate) fn answers(self, moment: &str) -> String {
        format!("{}.{moment}.jsonl", self.name())
    }
}

impl Sample {
    /// All there are.
    pub(crate) fn all() -> Vec<Self> {
        let listed = fs::read_dir(kept()).expect("is there").map(|entry| entry.expect("can be listed").path());
        let mut folders: Vec<PathBuf> = listed.filter(|path| path.is_dir()).collect();
        folders.sort();
        folders.into_iter().map(|folder| Self { folder }).collect()
    }

    /// The one of the version that is being tested.
    pub(crate) fn of_this_release() -> Self {
        let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
        Self::named(version)
    }

    /// One called like this.
    pub(crate) fn named(name: &str) -> Self {
        Self { folder: kept().join(name) }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let path = self.folder.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("can be written");
    }

    pub(crate) fn story(&self) -> Value {
        serde_json::from_str(&self.text("story.json")).expect("is JSON")
    }

    pub(crate) fn told(&self) -> Value {
        serde_json::from_str(&self.text("told.json")).expect("is JSON")
    }

    /// Writes down what is there.
    pub(crate) fn seal(&self) {
        self.shell("find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS");
    }

    /// Asserts that all is there as it was written down, and nothing else.
    pub(crate) fn assert_unchanged(&self) {
        self.shell(
            "sha256sum --check --quiet SHA256SUMS && [ $(find . -type f | wc -l) -eq $(($(wc -l <SHA256SUMS) + 1)) ]",
        );
    }

    fn shell(&self, line: &str) {
        let ended =
            Command::new("sh").args(["-euc", line]).current_dir(&self.folder).output().expect("there is a shell");
        let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{} is not as it was: {said}", self.folder.display());
    }

    /// Asserts that programs have told what those of the release did.
    pub(crate) fn assert_told(&self, place: Place, told: &Told) {
        for (moment, found) in [("first", &told.first), ("then", &told.then)] {
            let name = place.answers(moment);
            let (file, kept) = (self.folder.join(&name), self.text(&name));
            assert_eq!(found.len(), kept.lines().count(), "{}", file.display());
            for (found, kept) in found.iter().zip(kept.lines()) {
                let difference = difference(&items(found), &items(kept));
                assert!(difference.is_none(), "{}{}", file.display(), difference.unwrap_or_default());
            }
        }
        assert_eq!(told.trained, self.told()[place.name()], "{}: {}", self.folder.display(), place.name());
    }
}

/// Where all are.
fn kept() -> PathBuf {
    PathBuf::from("kept")
}

/// What an answer has beside the time it took.
fn items(answer: &str) -> Value {
    let mut answer: Value = serde_json::from_str(answer).expect("is JSON");
    assert!(answer["fallback"].is_null(), "{answer}");
    answer["items"].take()
}

/// The first place in which something is not as it was; what is new there does not count.
fn difference(found: &Value, kept: &Value) -> Option<String> {
    let parts: Vec<(String, Option<&Value>, &Value)> = match (found, kept) {
        (Value::Object(_), Value::Object(kept)) => {
            kept.iter().map(|(name, kept)| (name.clone(), found.get(name), kept)).collect()
        }
        (Value::Array(list), Value::Array(kept)) if list.len() == kept.len() => {
            kept.iter().enumerate().map(|(place, kept)| (place.to_string(), list.get(place), kept)).collect()
        }
        _ => return (found != kept).then(|| format!(": {found}, was {kept}")),
    };
    parts.into_iter().find_map(|(name, found, kept)| {
        let difference = difference(found.unwrap_or(&Value::Null), kept)?;
        Some(format!("/{name}{difference}"))
    })
}

/// Copies a file, or a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        return;
    }
    fs::create_dir_all(to).expect("can be made");
    for entry in fs::read_dir(from).expect("is there") {
        let entry = entry.expect("can be listed");
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}
