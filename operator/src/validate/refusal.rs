//! Why a resource is not carried out.

use crate::resolve::Kind;

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
            Self::Unfit { .. } => "SpecInvalid",
        }
    }

    /// Whether it may end without a change of the resource: when what it names comes.
    pub fn waits(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::MissingKey { .. })
    }

    pub(crate) fn unfit(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Unfit { field: field.into(), problem: problem.into() }
    }
}
