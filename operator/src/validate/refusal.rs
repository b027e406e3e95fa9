//! Why a resource is not carried out.

use crate::resolve::{Kind, Rival};
use kube::ResourceExt;
use rankwright_crds::RankingService;

/// Why a resource is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Something that it names does not exist.
    #[error("{object} does not exist in namespace {namespace}: {field} names it")]
    Missing {
        /// Of what kind it is.
        kind: Kind,
        /// What it is.
        object: String,
        /// Where it should be.
        namespace: String,
        /// The field that names it.
        field: String,
    },
    /// Something that it names has not the key that it names.
    #[error("{object} has no key {key}: {field} names it")]
    MissingKey {
        /// Of what kind it is.
        kind: Kind,
        /// What it is.
        object: String,
        /// The key.
        key: String,
        /// The field that names it.
        field: String,
    },
    /// The engine's configuration has mistakes.
    #[error("{0}")]
    Configuration(String),
    /// The configuration says what the resource has fields for.
    #[error("configuration.{path}: {instead}")]
    Contradiction {
        /// Where.
        path: String,
        /// What to do.
        instead: String,
    },
    /// Another resource names the same state.
    #[error("{problem}")]
    StateTaken {
        /// Which one, and what to do.
        problem: String,
    },
    /// A version that is pinned does not exist.
    #[error("{problem}")]
    NoSuchVersion {
        /// Which one, and which there are.
        problem: String,
    },
    /// Two fields of the resource do not fit together.
    #[error("{field}: {problem}")]
    Unfit {
        /// The field.
        field: String,
        /// What is wrong, and what to do.
        problem: String,
    },
}

impl Refusal {
    /// Reason of the condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Missing { kind: Kind::Secret, .. } => "SecretMissing",
            Self::Missing { kind: Kind::ConfigMap, .. } => "ConfigMapMissing",
            Self::MissingKey { kind: Kind::Secret, .. } => "SecretKeyMissing",
            Self::MissingKey { kind: Kind::ConfigMap, .. } => "ConfigMapKeyMissing",
            Self::Configuration(_) => "ConfigurationInvalid",
            Self::Contradiction { .. } => "ConfigurationContradicts",
            Self::StateTaken { .. } => "StateTaken",
            Self::NoSuchVersion { .. } => "NoSuchVersion",
            Self::Unfit { .. } => "SpecInvalid",
        }
    }

    /// Whether it may end without a change of the resource: when what it names comes.
    pub fn waits(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::MissingKey { .. })
    }

    /// The state is that of an older resource.
    pub(crate) fn state_taken(service: &RankingService, rival: &Rival) -> Self {
        let problem = format!(
            "{} names the same state in the same Redis as {}, which was there before: give it another stateStore.service, or delete one of them; nothing of it is made or changed",
            named(service),
            rival.named()
        );
        Self::StateTaken { problem }
    }

    /// The data that are to be removed are those of another resource, too.
    pub(crate) fn state_shared(service: &RankingService, rival: &Rival) -> Self {
        let problem = format!(
            "{} has worked on the data of {} as well, which are to be removed: delete it first",
            rival.named(),
            named(service)
        );
        Self::StateTaken { problem }
    }

    /// A model is pinned to a version that is not among those that there are.
    pub(crate) fn no_such_version(field: &str, pinned: &str, versions: &[String]) -> Self {
        let there = if versions.is_empty() { "none yet".to_owned() } else { versions.join(", ") };
        let problem =
            format!("{field}: there is no version {pinned}; there are: {there}; nothing of the resource is changed");
        Self::NoSuchVersion { problem }
    }

    pub(crate) fn unfit(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Unfit { field: field.into(), problem: problem.into() }
    }
}

fn named(service: &RankingService) -> String {
    format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any())
}
