//! The whole configuration.

use crate::model::Seen;
use crate::report::Report;
use crate::tree::Node;
use crate::value::Value;
use crate::{
    Api, ClickthroughStore, Core, Environment, Errors, Feature, Inference, LoadError, Model, SourceConfig, State,
    Warning, read, tree,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The whole configuration, checked, with every default filled in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Where feature values and models are kept; default memory.
    pub state: State,
    /// Where click-throughs are kept; absent, where the state is.
    pub train: Option<ClickthroughStore>,
    /// Features in the order of the text; names are unique.
    pub features: Vec<Feature>,
    /// Models by name; what they list in `features` exists.
    pub models: BTreeMap<String, Model>,
    /// Language models by name.
    pub inference: BTreeMap<String, Inference>,
    /// The HTTP interface.
    pub api: Api,
    /// Where events come from, besides the HTTP interface.
    pub source: Option<SourceConfig>,
    /// The engine itself.
    pub core: Core,
}

impl Config {
    /// Reads YAML or JSON. `place` is what messages call the text, such as a path. The environment is not looked at.
    ///
    /// # Errors
    /// All mistakes of the text, if there is any.
    pub fn parse(text: &str, place: &str) -> Result<(Self, Vec<Warning>), Errors> {
        let tree = tree::parse(text).map_err(|mistake| Errors::new(place, vec![mistake]))?;
        let (report, config) = read_whole(&tree);
        if let Some((others, places)) = tree::with_last(&tree) {
            report.adopt(read_whole(&others).0, &places);
        }
        report.verdict(place, config)
    }

    /// What models leave out of a visitor's recommendations, each once: ingest keeps the items of each.
    pub fn seen(&self) -> BTreeSet<&Seen> {
        self.models.values().filter_map(Model::exclude_seen).collect()
    }

    /// Where the configuration lies: `path`, or else what the environment names.
    ///
    /// # Errors
    /// Where neither says so.
    pub fn place(path: Option<&Path>, environment: &Environment) -> Result<String, LoadError> {
        let path = path.map(|path| path.display().to_string()).or_else(|| environment.config.clone());
        path.ok_or(LoadError::Unnamed)
    }

    /// Reads the file at `path`, or else the one that the environment names, and applies the environment to it.
    ///
    /// # Errors
    /// There is no such file, it is a URL, it cannot be read, or it has mistakes.
    pub fn load(path: Option<&Path>, environment: &Environment) -> Result<(Self, Vec<Warning>), LoadError> {
        let (text, place) = Self::text(path, environment)?;
        Self::of_text(&text, &place, environment)
    }

    /// The text of the file at `path`, or else of the one that the environment names, and its place.
    ///
    /// # Errors
    /// There is no such file, it is a URL, or it cannot be read.
    pub fn text(path: Option<&Path>, environment: &Environment) -> Result<(String, String), LoadError> {
        let place = Self::place(path, environment)?;
        let path = Path::new(place.strip_prefix("file://").unwrap_or(&place));
        let place = path.display().to_string();
        if place.contains("://") {
            return Err(LoadError::Remote { url: place });
        }
        let read = |source| LoadError::Read { path: path.to_owned(), source };
        Ok((std::fs::read_to_string(path).map_err(read)?, place))
    }

    /// Checks a text that was read from `place`, and applies the environment to it.
    ///
    /// # Errors
    /// It has mistakes.
    pub fn of_text(text: &str, place: &str, environment: &Environment) -> Result<(Self, Vec<Warning>), LoadError> {
        let (mut config, mut warnings) = Self::parse(text, place)?;
        warnings.extend(environment.apply(&mut config));
        Ok((config, warnings))
    }
}

/// Reads a tree, and once more with what misspelt keys are meant to be, until no more of them come to light.
pub(crate) fn read_whole(tree: &Node) -> (Report, Config) {
    let mut report = Report::default();
    let mut config = read::config(&Value::root(tree, &report));
    while let Some(again) = report.again() {
        report = again;
        config = read::config(&Value::root(tree, &report));
    }
    (report, config)
}
