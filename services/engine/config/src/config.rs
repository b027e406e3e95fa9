//! The whole configuration.

use crate::{Api, ClickthroughStore, Core, Feature, Inference, Model, SourceConfig, State};
use std::collections::BTreeMap;

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
