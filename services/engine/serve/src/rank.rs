//! One rank request's way: read, fetch, compute, order, answer.
//!
//! Everything between the body and the answer's bytes is here, and this is the hot path. State is fetched in one round
//! trip for what the ranking names and a second one for what depends on it; most models need no second. A model that
//! is not there, or a store that does not answer, gives the incoming order with falling scores and says so: a search
//! page must not break because its re-ranker does.

mod answer;

use crate::app::App;
use crate::breaker::Unavailable;
use crate::limits::Excess;
use crate::metrics::FallbackReason;
use crate::models::{Current, Served, Slot};
use crate::ranker::Ranker;
use answer::{Answer, Explained};
use rankwright_event::Ranking;
use rankwright_event::json::{DecodeError, decode_ranking_request};
use rankwright_feature::{Encoded, Texts};
use rankwright_model::{fallback_scores, rank_order};
use rankwright_state::{Fetched, Key, Rows};
use std::time::Instant;
use tokio::task::spawn_blocking;

/// A request that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Not a ranking.
    #[error(transparent)]
    Body(#[from] DecodeError),
    /// Too large a ranking.
    #[error(transparent)]
    Excess(#[from] Excess),
}

/// What a model made of a ranking.
struct Outcome {
    rows: Vec<f32>,
    scores: Vec<f64>,
    /// Texts that no model computed in time.
    absent: usize,
}

/// Answers a request: the JSON text of the items, best first. `began` is when it arrived.
pub(crate) async fn rank(app: &App, slot: &Slot, body: &[u8], explain: bool, began: Instant) -> Result<Vec<u8>, Error> {
    let ranking = decode_ranking_request(body)?;
    app.limits().check_ranking(&ranking)?;
    let text = match slot.current() {
        Current::Loaded(loaded) => match &loaded.model {
            Served::Ranker(ranker) => with_model(app, slot, &**ranker, &ranking, explain, began).await,
            Served::Recommender(_) => unordered(&ranking, "this model recommends", None, began),
        },
        Current::Missing(reason) => {
            slot.metrics.fell_back(FallbackReason::Untrained);
            without_model(app, slot, &ranking, &reason, explain, began).await
        }
    };
    slot.metrics.answered(Instant::now(), began.elapsed());
    Ok(text)
}

/// Lets a version compute a ranking as a request would, and forgets the result.
pub(crate) async fn rehearse(app: &App, ranker: &dyn Ranker, ranking: &Ranking) -> Result<(), Unavailable> {
    let outcome = compute(app, ranker, ranking, Instant::now()).await?;
    answer_of(ranker, ranking, &outcome, true, Instant::now());
    Ok(())
}

async fn with_model(
    app: &App,
    slot: &Slot,
    ranker: &dyn Ranker,
    ranking: &Ranking,
    explain: bool,
    began: Instant,
) -> Vec<u8> {
    match compute(app, ranker, ranking, began).await {
        Ok(outcome) => {
            slot.metrics.lacked(outcome.absent);
            if ranker.fallback().is_some() {
                slot.metrics.fell_back(FallbackReason::Untrained);
            }
            answer_of(ranker, ranking, &outcome, explain, began)
        }
        Err(unavailable) => {
            slot.metrics.fell_back(FallbackReason::Store);
            let explained = explain.then(|| Explained::unknown(ranker.features()));
            unordered(ranking, &unavailable.to_string(), explained, began)
        }
    }
}

/// The incoming order; where they are wanted, with the values that a version would have looked at.
async fn without_model(
    app: &App,
    slot: &Slot,
    ranking: &Ranking,
    reason: &str,
    explain: bool,
    began: Instant,
) -> Vec<u8> {
    let Some(ranker) = slot.bare().filter(|_| explain) else {
        return unordered(ranking, reason, explain.then(|| Explained::unknown(&[])), began);
    };
    let rows = compute(app, ranker, ranking, began).await.map(|outcome| outcome.rows).unwrap_or_default();
    unordered(ranking, reason, Some(Explained::new(ranker.features(), &rows)), began)
}

async fn compute(app: &App, ranker: &dyn Ranker, ranking: &Ranking, began: Instant) -> Result<Outcome, Unavailable> {
    let mut fetched = Fetched::new(fetch(app, &ranker.reads(ranking)).await?);
    let follow = ranker.follow(ranking, &fetched);
    let entities = fetch(app, &follow).await?;
    fetched.add(follow, entities);
    let encoded = encode(ranker.texts(ranking, &fetched), began + app.limits().api.request_timeout).await;
    let rows = ranker.rows(ranking, &fetched, &encoded);
    let scores = ranker.scores(ranking, &rows);
    Ok(Outcome { rows, scores, absent: encoded.absent() })
}

/// What models make of texts by the deadline. A text that they do not is a missing value, and no reason to fail.
async fn encode(texts: Texts, by: Instant) -> Encoded {
    if texts.is_empty() {
        return Encoded::default();
    }
    spawn_blocking(move || texts.encode(Some(by))).await.unwrap_or_default()
}

async fn fetch(app: &App, keys: &[Key]) -> Result<Rows, Unavailable> {
    if keys.is_empty() { Ok(Rows::new()) } else { app.state().read(keys).await }
}

fn answer_of(ranker: &dyn Ranker, ranking: &Ranking, outcome: &Outcome, explain: bool, began: Instant) -> Vec<u8> {
    let explained = explain.then(|| Explained::new(ranker.features(), &outcome.rows));
    if let Some(reason) = ranker.fallback() {
        return unordered(ranking, reason, explained, began);
    }
    let order = rank_order(&outcome.scores);
    Answer { ranking, scores: &outcome.scores, order: &order, explained, fallback: None }.write(began)
}

/// The incoming order, with scores from the number of items down to 1.
fn unordered(ranking: &Ranking, reason: &str, explained: Option<Explained<'_>>, began: Instant) -> Vec<u8> {
    let count = ranking.items.len();
    let scores = fallback_scores(count);
    let order: Vec<usize> = (0..count).collect();
    Answer { ranking, scores: &scores, order: &order, explained, fallback: Some(reason) }.write(began)
}
