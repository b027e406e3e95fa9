//! `GET /models/{name}/features`: what the features of a model hold, in training and now.
//!
//! A version tells how values were spread when it was trained. Those of now are computed once more, from the state as it
//! stands, for the newest rank requests that are kept: rank requests themselves cost nothing for it.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::{Allowed, off};
use crate::http::rank::overloaded;
use crate::http::{Name, json, name};
use crate::models::{Current, Slot};
use crate::rank;
use crate::ranker::{FeatureColumns, Ranker};
use crate::sample::Sampled;
use crate::versions::Error;
use axum::extract::State;
use axum::response::Response;
use rankwright_model::{Bin, Metadata, Spread, StoreError, VersionId};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Rank requests that are looked at. A feature of visitors has one value for all items of a request, so a few would say little.
const REQUESTS: usize = 100;
/// Items of each at most, spread evenly over a longer list,
const ITEMS_EACH: usize = 50;
/// and items whose values are computed at most.
const ITEMS: usize = 100_000;
/// Columns at most: as many as a version records of its training.
const COLUMNS: usize = 256;
/// Values that are kept at most, and values that are computed at once: 2 MB of each.
const VALUES: usize = 1 << 19;

/// What the features of a model hold, in training and now.
#[derive(Serialize, JsonSchema)]
struct ModelFeatures {
    model: String,
    /// The version that answers.
    version: Option<String>,
    /// How many of the newest rank requests were looked at: of the model, or of all where it has none.
    requests: usize,
    /// Names of the models that these are for.
    #[serde(rename = "requestsOf")]
    requests_of: BTreeSet<String>,
    /// Their items that were looked at: of a long list at most 50, spread evenly.
    items: usize,
    /// Why no more were looked at, where the values of one could not be had.
    problem: Option<String>,
    /// In the order of the model.
    features: Vec<ModelFeature>,
}

#[derive(Serialize, JsonSchema)]
struct ModelFeature {
    name: String,
    columns: Vec<FeatureColumn>,
}

#[derive(Serialize, JsonSchema)]
struct FeatureColumn {
    name: String,
    /// Whether its numbers are categories, from 1 on; 0 is none of them.
    categorical: bool,
    /// Of all trees of the version.
    gain: Option<f64>,
    /// In the lists that the version learned from; null where the version does not tell.
    training: Option<ValueSpread>,
    /// In the newest rank requests, in the same bins; null where there are none, and of a column that training does not tell of.
    now: Option<ValueSpread>,
}

/// How values are spread.
#[derive(Serialize, JsonSchema)]
struct ValueSpread {
    /// Share of items without a value.
    missing: f64,
    /// Of amounts in rising order, of categories the most frequent first. Values outside of them are in none.
    bins: Vec<ValueBin>,
}

#[derive(Serialize, JsonSchema)]
struct ValueBin {
    /// The least value.
    from: f32,
    /// The greatest one.
    to: f32,
    /// Of the items with a value.
    share: f64,
}

/// Values of the newest rank requests.
#[derive(Default)]
struct Now {
    requests: usize,
    requests_of: BTreeSet<String>,
    items: usize,
    problem: Option<String>,
    /// By column.
    values: BTreeMap<usize, Vec<f32>>,
}

/// What is looked at of a row and of a request, so that memory has bounds whatever the width of a row.
struct Look {
    columns: Vec<usize>,
    /// Of each request.
    items: usize,
    /// Of each request, whose rows are computed.
    rows: usize,
}

impl Look {
    /// The columns that training tells of; where it tells of none, the first ones.
    fn of(width: usize, told: impl Fn(&usize) -> bool) -> Self {
        let mut columns: Vec<usize> = (0..width).filter(told).take(COLUMNS).collect();
        if columns.is_empty() {
            columns.extend(0..width.min(COLUMNS));
        }
        let items = (VALUES / REQUESTS / columns.len().max(1)).min(ITEMS_EACH);
        Self { columns, items, rows: (VALUES / width.max(1)).max(1) }
    }
}

pub(super) async fn get(_: Allowed, State(app): State<App>, path: Name) -> Result<Response, Failure> {
    let model = name(path)?;
    app.models().ranker(&model)?;
    let place = app.gate().enter().ok_or_else(|| overloaded(&app))?;
    let work = {
        let app = app.clone();
        async move {
            let _place = place;
            let slot = app.models().ranker(&model)?;
            let told = told(&app, slot).await?;
            serde_json::to_vec(&told).map(json).map_err(|error| Failure::internal(error.to_string()))
        }
    };
    app.pool().run(work).await?
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    let what = "What the features of a model hold: in training, and in the newest rank requests";
    Operation::new("modelFeatures", "models", what)
        .named("name", schemas.app().models().names(false))
        .for_the_page()
        .answers("The features", schemas.answered::<ModelFeatures>())
        .fails(&[Code::Internal, Code::Overloaded, Code::Unavailable])
}

/// What is known of the version that answers; nothing of a model without versions, or where it was removed.
async fn known(app: &App, slot: &Slot, version: Option<&str>) -> Result<Option<Metadata>, Failure> {
    let Some(id) = version.and_then(|id| id.parse::<VersionId>().ok()) else { return Ok(None) };
    let (store, model) = (app.page().ok_or_else(off)?.front.versions.clone(), slot.name().to_owned());
    match app.pool().block(move || store.load(&model, Some(&id))).await? {
        Ok(version) => Ok(version.map(|version| version.metadata().clone())),
        Err(StoreError::Unknown { .. }) => Ok(None),
        Err(error) => Err(Error::from(error).into()),
    }
}

async fn told(app: &App, slot: &Slot) -> Result<ModelFeatures, Failure> {
    let current = slot.current(); // another version may take its place meanwhile
    let version = match &current {
        Current::Loaded(loaded) => loaded.version.id.clone(),
        Current::Missing(_) => None,
    };
    let known = known(app, slot, version.as_deref()).await?;
    let loaded = match &current {
        Current::Loaded(loaded) => loaded.model.ranker(),
        Current::Missing(_) => slot.bare(),
    };
    let (now, groups) = match loaded {
        Some(ranker) => (now(app, slot, ranker, known.as_ref()).await?, ranker.features()),
        None => (Now::default(), Default::default()),
    };
    let features = groups.iter().map(|group| feature(group, known.as_ref(), &now)).collect();
    let model = slot.name().to_owned();
    let Now { requests, requests_of, items, problem, .. } = now;
    Ok(ModelFeatures { model, version, requests, requests_of, items, problem, features })
}

/// Computes the rows of the newest requests that are kept of a model.
async fn now(app: &App, slot: &Slot, ranker: &dyn Ranker, known: Option<&Metadata>) -> Result<Now, Failure> {
    let (width, mut now) = (ranker.features().last().map_or(0, |last| last.columns.end), Now::default());
    if width == 0 {
        return Ok(now);
    }
    let training = |column: &usize| known.and_then(|known| known.record.values.get(&known.columns.get(*column)?.name));
    let look = Look::of(width, |column| training(column).is_some());
    let mut kept = app.page().ok_or_else(off)?.sample.all();
    kept.retain(|sampled| sampled.relevant.is_none()); // lists of an evaluation are old, and have no fields of items
    // requests for another model have values as well
    let own = |sampled: &Sampled| sampled.model == slot.name();
    let mut computed = 0;
    let has_own = kept.iter().any(|sampled| own(sampled));
    for sampled in kept.iter().filter(|sampled| !has_own || own(sampled)).take(REQUESTS) {
        if computed >= ITEMS {
            break;
        }
        match rank::rows(app, ranker, &sampled.body, look.rows).await {
            Ok(rows) => {
                let items = rows.len() / width;
                let taken = items.min(look.items);
                computed += items;
                (now.requests, now.items) = (now.requests + 1, now.items + taken);
                now.requests_of.insert(sampled.model.clone());
                for row in (0..taken).map(|place| place * items / taken) {
                    let row = &rows[row * width..][..width];
                    look.columns.iter().for_each(|column| now.values.entry(*column).or_default().push(row[*column]));
                }
            }
            Err(problem) => {
                now.problem = Some(problem);
                break;
            }
        }
    }
    Ok(now)
}

fn feature(group: &FeatureColumns, known: Option<&Metadata>, now: &Now) -> ModelFeature {
    let weights = known.and_then(|known| known.weights.iter().find(|weight| weight.name == group.name));
    let columns = group.columns.clone().enumerate().map(|(place, column)| {
        let gain = weights.and_then(|weights| weights.weights.get(place)).copied().filter(|gain| gain.is_finite());
        let trained = known.and_then(|known| known.columns.get(column));
        let (name, categorical) = match trained {
            Some(trained) => (trained.name.clone(), trained.categorical),
            None if group.columns.len() == 1 => (group.name.clone(), false),
            None => (format!("{} {}", group.name, place + 1), false),
        };
        let training = known.and_then(|known| known.record.values.get(&name));
        let now = now.values.get(&column).cloned().map(|values| match training {
            Some(training) => training.like(values),
            None => Spread::of(values, categorical),
        });
        FeatureColumn {
            name,
            categorical,
            gain,
            training: training.map(ValueSpread::of),
            now: now.as_ref().map(ValueSpread::of),
        }
    });
    ModelFeature { name: group.name.clone(), columns: columns.collect() }
}

impl ValueSpread {
    fn of(spread: &Spread) -> Self {
        let bin = |&Bin { from, to, share }: &Bin| ValueBin { from, to, share };
        Self { missing: spread.missing, bins: spread.bins.iter().map(bin).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_rows_take_two_megabytes_at_most_whatever_the_width() {
        for width in [1, 30, 256, 2_000, 100_000, 1_000_000] {
            for every in [1, 1_000, usize::MAX] {
                let Look { columns, items, rows } = Look::of(width, |column| *column > 0 && column % every == 0);
                assert!(!columns.is_empty() && items > 0 && rows > 0, "{width} columns");
                assert!(REQUESTS * items * columns.len() * size_of::<f32>() <= 2 << 20, "{width} columns");
                assert!(rows == 1 || rows * width * size_of::<f32>() <= 2 << 20, "{width} columns");
            }
        }
    }

    #[test]
    fn columns_are_those_of_training_and_of_few_all_items_are_looked_at() {
        let wide = Look::of(100_000, |column| column % 1_000 == 7);
        assert_eq!((wide.columns.len(), wide.columns[1], wide.rows), (100, 1_007, 5));
        let untold = Look::of(100_000, |_| false);
        assert_eq!((untold.columns.len(), untold.columns[255], untold.items), (256, 255, 20));
        let usual = Look::of(30, |_| true);
        assert_eq!((usual.columns.len(), usual.items), (30, ITEMS_EACH));
        assert!(usual.rows > 10_000, "the longest list that a service takes");
    }
}
