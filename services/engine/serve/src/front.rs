//! What a program gives the page for browsers: its files, and what serving alone does not know.

use crate::plugin::{Evaluation, Forget};
use axum::Router;
use rankwright_config::Shown;
use rankwright_model::{MemoryVersions, VersionStore};
use rankwright_state::Slot;
use std::sync::Arc;

/// The page for browsers, as a program has it.
pub struct Front {
    /// Answers `GET /` and `GET /assets/{file}`.
    pub files: Router,
    /// The configuration as it was loaded, without what is secret.
    pub configuration: Shown,
    /// What was warned of when it was read.
    pub warnings: Vec<String>,
    /// Where versions of models are.
    pub versions: Arc<dyn VersionStore>,
    /// What is stored of items and visitors.
    pub stored: Vec<StoredAs>,
    /// Forgets items and visitors, where the program can.
    pub forget: Option<Arc<dyn Forget>>,
    /// Compares models, where the program can.
    pub evaluation: Option<Arc<dyn Evaluation>>,
}

/// What lies under a slot.
#[derive(Debug, Clone)]
pub struct StoredAs {
    /// Where.
    pub slot: Slot,
    /// What: `item.price`, `count "click" by item`.
    pub name: String,
    /// Who reads it: names of features, `models.<name>`, `api.page`.
    pub features: Vec<String>,
}

impl Front {
    /// One that knows of nothing but its files.
    pub fn new(files: Router) -> Self {
        let versions = Arc::new(MemoryVersions::default());
        let (configuration, warnings, stored) = (Shown::default(), Vec::new(), Vec::new());
        Self { files, configuration, warnings, versions, stored, forget: None, evaluation: None }
    }
}
