//! Recommendations: items without candidates to begin with.
//!
//! No kind of recommender is trained in this version. Requests are checked as they will be, and answered with an empty
//! list that says why, as for any model that is not trained yet.

use crate::limits::{Excess, Limits};
use serde::{Deserialize, Serialize};

/// What is asked for. Unknown keys are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    /// How many items.
    count: u64,
    /// For whom; recommendations are not personal, it is accepted.
    #[allow(dead_code)]
    user: Option<String>,
    /// Items that the recommended ones should go with.
    #[serde(default)]
    items: Vec<String>,
}

/// A request that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Not what is expected.
    #[error("{0}")]
    Body(#[from] serde_json::Error),
    /// Nothing was asked for.
    #[error("invalid value: integer 0, expected at least 1")]
    NoCount,
    /// Too much.
    #[error(transparent)]
    Excess(#[from] Excess),
}

/// The answer's body.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    took: u64,
    items: [Recommended; 0],
    fallback: String,
}

#[derive(Debug, Serialize)]
struct Recommended {}

/// Answers a request to a recommender of this type.
pub(crate) fn recommend(limits: &Limits, name: &str, kind: &str, body: &[u8]) -> Result<Answer, Error> {
    let request: Request = serde_json::from_slice(body)?;
    if request.count == 0 {
        return Err(Error::NoCount);
    }
    limits.check_items("items", request.items.len())?;
    limits.check_items("count", usize::try_from(request.count).unwrap_or(usize::MAX))?;
    let fallback = format!("model {name} is not trained: models of type {kind} are not available in this version");
    Ok(Answer { took: 0, items: [], fallback })
}

impl Error {
    /// Where in the body the fault is.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Body(_) => "",
            Self::NoCount => "count",
            Self::Excess(excess) => excess.path(),
        }
    }
}
