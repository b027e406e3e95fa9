//! Recommendations: items without candidates to begin with.
//!
//! A request is answered whatever it names: where no item of it is known, or no version is there, another recommender of
//! the configuration that needs no item answers in its place, and the answer says why.

use crate::app::App;
use crate::limits::Excess;
use crate::metrics::FallbackReason;
use crate::models::{Current, Loaded, Served, Slot};
use rankwright_model::Recommendation;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// What is asked for. Unknown keys are ignored.
#[derive(Debug, Deserialize)]
struct Request {
    /// How many items.
    count: u64,
    /// For whom; recommendations are not personal, it is accepted.
    #[allow(dead_code)]
    user: Option<String>,
    /// Items that the recommended ones should go with.
    #[serde(default)]
    items: Vec<String>,
    /// Items that are not wanted.
    #[serde(default)]
    exclude: Vec<String>,
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
struct Answer<'a> {
    items: Vec<Recommended<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
    took: u64,
}

#[derive(Debug, Serialize)]
struct Recommended<'a> {
    item: &'a str,
    score: f32,
}

/// Answers a request: the JSON text of the items, best first. `began` is when it arrived.
pub(crate) fn recommend(app: &App, slot: &Slot, body: &[u8], began: Instant) -> Result<Vec<u8>, Error> {
    let request: Request = serde_json::from_slice(body)?;
    if request.count == 0 {
        return Err(Error::NoCount);
    }
    let limits = app.limits();
    limits.check_items("items", request.items.len())?;
    limits.check_items("exclude", request.exclude.len())?;
    limits.check_items("count", usize::try_from(request.count).unwrap_or(usize::MAX))?;
    let text = match slot.current() {
        Current::Loaded(loaded) => match request.ask(&loaded) {
            Ok(found) => Answer::new(found, None, began).text()?,
            Err(reason) => {
                slot.metrics.fell_back(FallbackReason::Unknown);
                instead(app, slot, &request, &reason, began)?
            }
        },
        Current::Missing(reason) => {
            slot.metrics.fell_back(FallbackReason::Untrained);
            instead(app, slot, &request, &reason, began)?
        }
    };
    slot.metrics.answered(Instant::now(), began.elapsed());
    Ok(text)
}

/// What a recommender that needs no items says, or nothing, with the reason.
fn instead(app: &App, slot: &Slot, request: &Request, reason: &str, began: Instant) -> Result<Vec<u8>, Error> {
    let popular = app.models().all().filter(|other| other.name() != slot.name()).find_map(|other| {
        let loaded = popular(other)?;
        Some((other.name(), loaded))
    });
    let Some((name, loaded)) = popular else {
        return Ok(Answer::new(Vec::new(), Some(reason.to_owned()), began).text()?);
    };
    let found = request.ask(&loaded).unwrap_or_default();
    Ok(Answer::new(found, Some(format!("{reason}; model {name} answers in its place")), began).text()?)
}

/// The version of a recommender that needs no items.
fn popular(slot: &Slot) -> Option<Arc<Loaded>> {
    match slot.current() {
        Current::Loaded(loaded) if matches!(&loaded.model, Served::Recommender(model) if !model.needs_items()) => {
            Some(loaded)
        }
        _ => None,
    }
}

impl Request {
    /// What a version recommends, or why it can recommend nothing.
    fn ask<'a>(&self, loaded: &'a Loaded) -> Result<Vec<Recommendation<'a>>, String> {
        let Served::Recommender(model) = &loaded.model else { return Err("this model ranks".to_owned()) };
        let items: Vec<&str> = self.items.iter().map(String::as_str).collect();
        let exclude: HashSet<&str> = self.exclude.iter().map(String::as_str).collect();
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        model.recommend(&items, &exclude, count).map_err(|reason| reason.to_string())
    }
}

impl<'a> Answer<'a> {
    fn new(found: Vec<Recommendation<'a>>, fallback: Option<String>, began: Instant) -> Self {
        let items = found.into_iter().map(|(item, score)| Recommended { item, score }).collect();
        Self { items, fallback, took: began.elapsed().as_millis() as u64 }
    }

    fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
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
