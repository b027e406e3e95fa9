//! Language models by themselves: checked in the configuration, not served in this version.

use crate::models::unknown::listed;
use std::collections::BTreeSet;

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unanswered {
    /// Nobody configured it.
    #[error("no inference model named {name:?} is configured; there {}", listed(.known))]
    Unknown {
        /// As asked for.
        name: String,
        /// Configured names.
        known: Vec<String>,
    },
    /// It is configured.
    #[error("inference model {0:?} is configured, but inference is not available in this version")]
    Unavailable(String),
}

/// Why the model of this name gives no answer.
pub(crate) fn unanswered(configured: &BTreeSet<String>, name: &str) -> Unanswered {
    let name: String = name.chars().take(100).collect();
    if configured.contains(&name) {
        return Unanswered::Unavailable(name);
    }
    Unanswered::Unknown { name, known: configured.iter().cloned().collect() }
}
