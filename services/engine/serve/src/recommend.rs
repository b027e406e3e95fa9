//! Recommendations: items without candidates to begin with.
//!
//! A request is answered whatever it names: where no item of it is known, or no version is there, another recommender of
//! the configuration that needs no item answers in its place, and the answer says why. The same model adds the rest where a
//! model has fewer items than are wanted. Where the model leaves out what the visitor took already, the state is read first;
//! while it does not answer, nothing is left out, and the answer says that, too.

use crate::app::App;
use crate::limits::Excess;
use crate::metrics::FallbackReason;
use crate::models::{Current, Loaded, Slot};
use crate::object::Object;
use crate::whole::whole;
use rankwright_event::{Tenant, UserId};
use rankwright_feature::seen;
use rankwright_model::{Recommendation, Recommender};
use rankwright_state::{Entity, Key, Scope};
use rankwright_trace::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// What is asked for. Unknown keys are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "RecommendRequest")]
pub(crate) struct Request {
    /// How many items; above `maxItemsPerRequest` it counts as that.
    #[serde(deserialize_with = "whole")]
    #[schemars(with = "u64", range(min = 1, max = u64::MAX))]
    count: u64,
    /// For whom: `excludeSeen` of the model leaves out what this visitor took.
    user: Option<String>,
    /// Whose visitor it is.
    tenant: Option<String>,
    /// Items that the recommended ones should go with.
    #[schemars(extend("x-limit" = "maxItemsPerRequest"))]
    items: Option<Vec<String>>,
    /// Items that are not wanted.
    #[schemars(extend("x-limit" = "maxItemsPerRequest"))]
    exclude: Option<Vec<String>>,
}

/// What a visitor took already.
#[derive(Default)]
struct Taken {
    /// All that is stored of them, and where it stands in that; nothing of an unknown visitor.
    visitor: Option<(Arc<Entity>, rankwright_state::Slot)>,
    /// Why it is not known.
    unknown: Option<String>,
}

/// What is asked of a version.
struct Wanted<'r> {
    items: Vec<&'r str>,
    /// Items of the request, and those that the visitor took.
    exclude: HashSet<&'r str>,
    count: usize,
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
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RecommendAnswer")]
pub(crate) struct Recommendations<'a> {
    items: Vec<Recommended<'a>>,
    /// Why another model answers, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
    /// Milliseconds.
    took: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Recommended<'a> {
    item: &'a str,
    score: f32,
}

/// Answers a request: the JSON text of the items, best first. `began` is when it arrived, its steps are recorded in `span`.
pub(crate) async fn recommend(
    app: &App,
    slot: &Slot,
    body: &[u8],
    (began, span): (Instant, &Span),
) -> Result<Vec<u8>, Error> {
    let Object(request): Object<Request> = span.within("decode", || serde_json::from_slice(body))?;
    span.note("rankwright.model", slot.name());
    if request.count == 0 {
        return Err(Error::NoCount);
    }
    let limits = app.limits();
    limits.check_items("items", request.items.as_ref().map_or(0, Vec::len))?;
    limits.check_items("exclude", request.exclude.as_ref().map_or(0, Vec::len))?;
    let taken = taken(app, slot, &request, span).await;
    let wanted = Wanted::of(&request, &taken, limits.api.max_items_per_request);
    let text = match slot.current() {
        Current::Loaded(loaded) => match span.within("score", || wanted.ask(&loaded)) {
            Ok(found) if found.len() < wanted.count => few(app, slot, &wanted, &loaded, found, &taken, began)?,
            Ok(found) => Recommendations::new(found, taken.unknown.clone(), began).text()?,
            Err(reason) => {
                slot.metrics.fell_back(FallbackReason::Unknown);
                instead(app, slot, &wanted, &reason, &taken, began)?
            }
        },
        Current::Missing(reason) => {
            slot.metrics.fell_back(FallbackReason::Untrained);
            instead(app, slot, &wanted, &reason, &taken, began)?
        }
    };
    slot.metrics.answered(Instant::now(), began.elapsed());
    Ok(text)
}

/// What the visitor took, where the model leaves that out.
async fn taken(app: &App, slot: &Slot, request: &Request, span: &Span) -> Taken {
    let (Some(user), Some(seen)) = (&request.user, slot.seen()) else { return Taken::default() };
    let tenant = request.tenant.as_ref().map_or_else(Tenant::default, Tenant::from);
    let key = [Key::new(&tenant, Scope::User(UserId::from(user)))];
    let reading = span.child("read");
    match app.state().read(&key).await {
        Ok(mut rows) => Taken { visitor: rows.pop().flatten().map(|entity| (entity, seen)), unknown: None },
        Err(unavailable) => {
            reading.fail(&unavailable);
            slot.metrics.fell_back(FallbackReason::Store);
            Taken { unknown: Some(format!("{unavailable}: what the visitor took is not left out")), ..Taken::default() }
        }
    }
}

/// What a recommender that needs no items says, or nothing, with the reason.
fn instead(
    app: &App,
    slot: &Slot,
    wanted: &Wanted<'_>,
    reason: &str,
    taken: &Taken,
    began: Instant,
) -> Result<Vec<u8>, Error> {
    let mut told: Vec<String> = taken.unknown.iter().cloned().collect();
    told.push(reason.to_owned());
    let other = popular(app, slot);
    let found = other.as_ref().and_then(|(_, loaded)| wanted.ask(loaded).ok()).unwrap_or_default();
    told.extend(other.as_ref().map(|(name, _)| format!("model {name} answers in its place")));
    Ok(Recommendations::new(found, Some(told.join("; ")), began).text()?)
}

/// What a model found, which is less than wanted; behind it what a recommender that needs no items has, if the model does.
fn few(
    app: &App,
    slot: &Slot,
    wanted: &Wanted<'_>,
    loaded: &Loaded,
    found: Vec<Recommendation<'_>>,
    taken: &Taken,
    began: Instant,
) -> Result<Vec<u8>, Error> {
    slot.metrics.fell_back(FallbackReason::Few);
    let mut told: Vec<String> = taken.unknown.iter().cloned().collect();
    told.push(format!("the model has only {} of {} items", found.len(), wanted.count));
    let other = if needs_items(loaded) { popular(app, slot) } else { None };
    let mut found: Vec<Recommendation<'_>> = found; // for as long as the other version is held
    if let Some((name, other)) = &other {
        let more = wanted.beside(&found).ask(other).unwrap_or_default();
        told.extend((!more.is_empty()).then(|| format!("model {name} adds {}", more.len())));
        found.extend(more);
    }
    Ok(Recommendations::new(found, Some(told.join("; ")), began).text()?)
}

/// Another recommender that needs no items: its name and version.
fn popular<'a>(app: &'a App, slot: &Slot) -> Option<(&'a str, Arc<Loaded>)> {
    let others = app.models().all().filter(|other| other.name() != slot.name());
    others.into_iter().find_map(|other| match other.current() {
        Current::Loaded(loaded) if !needs_items(&loaded) => Some((other.name(), loaded)),
        _ => None,
    })
}

/// Whether a version answers only to items; one that ranks does not answer at all.
fn needs_items(loaded: &Loaded) -> bool {
    loaded.model.recommender().is_none_or(Recommender::needs_items)
}

impl<'r> Wanted<'r> {
    /// What a request asks for: at most this many items.
    fn of(request: &'r Request, taken: &'r Taken, most: usize) -> Self {
        let items = request.items.iter().flatten().map(String::as_str).collect();
        let mut exclude: HashSet<&str> = request.exclude.iter().flatten().map(String::as_str).collect();
        exclude.extend(taken.visitor.iter().flat_map(|(visitor, slot)| seen::items(visitor, *slot)));
        Self { items, exclude, count: usize::try_from(request.count).map_or(most, |count| count.min(most)) }
    }

    /// What is still wanted beside items that were found.
    fn beside<'f>(&self, found: &[Recommendation<'f>]) -> Wanted<'f>
    where
        'r: 'f,
    {
        let known = found.iter().map(|(item, _)| *item);
        let (items, exclude) = (self.items.clone(), self.exclude.iter().copied().chain(known).collect());
        Wanted { items, exclude, count: self.count - found.len() }
    }

    /// What a version recommends, or why it can recommend nothing.
    fn ask<'a>(&self, loaded: &'a Loaded) -> Result<Vec<Recommendation<'a>>, String> {
        let Some(model) = loaded.model.recommender() else { return Err("this model ranks".to_owned()) };
        model.recommend(&self.items, &self.exclude, self.count).map_err(|reason| reason.to_string())
    }
}

impl<'a> Recommendations<'a> {
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
