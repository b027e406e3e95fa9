//! What can be wrong with the bytes of a booster's model.

/// Why a booster's model cannot be used. Every message carries the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not of the format.
    #[error("malformed {format} model at byte {at}: {reason}")]
    Malformed {
        /// The format that was expected.
        format: &'static str,
        /// Offset into the bytes.
        at: usize,
        /// What was found.
        reason: String,
    },
    /// The bytes are of the format, but do not describe trees.
    #[error("invalid {format} model, {place}: {reason}")]
    Invalid {
        /// The format.
        format: &'static str,
        /// The tree, key or node.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// A model of a kind which is not a ranker's.
    #[error("unsupported {format} model: {what}")]
    Unsupported {
        /// The format.
        format: &'static str,
        /// What it asks for.
        what: String,
    },
}

impl ReadError {
    pub(crate) fn malformed(format: &'static str, at: usize, reason: impl Into<String>) -> Self {
        Self::Malformed { format, at, reason: reason.into() }
    }

    pub(crate) fn invalid(format: &'static str, place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { format, place: place.into(), reason: reason.into() }
    }

    /// The same error, with the place around its place.
    pub(crate) fn within(self, outer: &str) -> Self {
        match self {
            Self::Invalid { format, place, reason } => {
                Self::Invalid { format, place: format!("{outer}, {place}"), reason }
            }
            other => other,
        }
    }

    pub(crate) fn unsupported(format: &'static str, what: impl Into<String>) -> Self {
        Self::Unsupported { format, what: what.into() }
    }
}
