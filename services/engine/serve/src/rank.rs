//! One rank request's way: read, fetch, compute, order, answer.
//!
//! Everything between the body and the answer's bytes is here, and this is the hot path. State is fetched in one round
//! trip for what the ranking names and a second one for what depends on it; most models need no second. A model that
//! is not there, or a store that does not answer, gives the incoming order with falling scores and says so: a search
//! page must not break because its re-ranker does.

mod answer;
mod ranked;

pub(crate) use ranked::Ranked;

use crate::app::App;
use crate::breaker::Unavailable;
use crate::limits::Excess;
use crate::metrics::{FallbackReason, ModelMetrics};
use crate::models::{Current, Slot, Unknown};
use crate::ranker::Ranker;
use answer::{Answer, Explained};
use rankwright_event::json::{DecodeError, decode_ranking_request};
use rankwright_event::{Ranking, Timestamp};
use rankwright_feature::{Encoded, Texts};
use rankwright_model::{Contributions, NoContributions, fallback_scores, rank_order};
use rankwright_state::{Fetched, Key, Rows};
use rankwright_trace::Span;
use std::collections::BTreeMap;
use std::time::Instant;
use tokio::task::spawn_blocking;

/// What an answer says of each item beside its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Explain {
    /// Nothing.
    #[default]
    Nothing,
    /// The values of features.
    Features,
    /// These, and how much of the score each feature brings.
    Contributions,
}

/// A request that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such model, or none that ranks.
    #[error(transparent)]
    Model(#[from] Unknown),
    /// Not a ranking.
    #[error(transparent)]
    Body(#[from] DecodeError),
    /// Too large a ranking.
    #[error(transparent)]
    Excess(#[from] Excess),
    /// Contributions of a version that does not hold what they are computed from.
    #[error("model {model}: {source}")]
    Unexplained {
        /// Name of the model.
        model: String,
        /// What is not there.
        source: NoContributions,
    },
}

impl App {
    /// Answers a request as `POST /rank/{model}` does: the JSON text.
    ///
    /// # Errors
    /// When there is no such model, or the request is none; a model or store that cannot be had is no error, but the
    /// incoming order.
    pub async fn rank(&self, model: &str, body: &[u8], explain: Explain) -> Result<Vec<u8>, Error> {
        rank(self, self.models().ranker(model)?, body, &Asked::now(explain)).await.map(|answered| answered.text)
    }
}

/// A request, apart from its ranking.
pub(crate) struct Asked {
    pub explain: Explain,
    /// When it arrived.
    pub began: Instant,
    /// Whether metrics count it.
    pub counts: bool,
    /// Where its steps are recorded.
    pub span: Span,
}

impl Asked {
    /// Nothing is recorded of it.
    fn now(explain: Explain) -> Self {
        Self { explain, began: Instant::now(), counts: true, span: Span::default() }
    }

    fn count(&self, slot: &Slot, count: impl FnOnce(&ModelMetrics)) {
        if self.counts {
            count(&slot.metrics);
        }
    }
}

/// An answer.
pub(crate) struct Answered {
    /// The JSON text.
    pub(crate) text: Vec<u8>,
    /// Of the request.
    pub(crate) items: usize,
    /// Why they kept their incoming order.
    pub(crate) fallback: Option<String>,
}

/// What a model made of a ranking.
struct Outcome<'r> {
    rows: Vec<f32>,
    scores: Vec<f64>,
    /// Where contributions are wanted: when the newest of what each feature read of each item was stored.
    newest: Vec<BTreeMap<&'r str, Timestamp>>,
    /// Texts that no model computed in time.
    absent: usize,
}

/// Answers a request: the items, best first.
pub(crate) async fn rank(app: &App, slot: &Slot, body: &[u8], asked: &Asked) -> Result<Answered, Error> {
    let ranking = asked.span.within("decode", || decode_ranking_request(body))?;
    asked.span.note("rankwright.model", slot.name());
    asked.span.note("rankwright.items", ranking.items.len());
    app.limits().check_ranking(&ranking)?;
    let answered = match slot.current() {
        Current::Loaded(loaded) => match loaded.model.ranker() {
            Some(ranker) => with_model(app, slot, ranker, &ranking, asked).await?,
            None => unordered(&ranking, "this model recommends", None, asked.began),
        },
        Current::Missing(reason) => {
            fell_back(slot, FallbackReason::Untrained, asked);
            without_model(app, slot, &ranking, &reason, asked).await
        }
    };
    asked.count(slot, |metrics| metrics.answered(Instant::now(), asked.began.elapsed()));
    Ok(answered)
}

/// Lets a version compute a ranking as a request would, and forgets the result; whether each score is a number.
pub(crate) async fn rehearse(app: &App, ranker: &dyn Ranker, ranking: &Ranking) -> Result<bool, Unavailable> {
    let asked = Asked::now(Explain::Features);
    let outcome = compute(app, ranker, ranking, &asked).await?;
    explained(ranker, ranking, &outcome, None, &asked);
    Ok(outcome.scores.iter().all(|score| score.is_finite()))
}

/// The rows of a request's items, and nothing more; a longer list is thinned out evenly to `most` items first. The error says
/// why they cannot be had.
pub(crate) async fn rows(app: &App, ranker: &dyn Ranker, body: &[u8], most: usize) -> Result<Vec<f32>, String> {
    let mut ranking = decode_ranking_request(body).map_err(|error| error.to_string())?;
    let (count, mut places) = (ranking.items.len(), 0..);
    ranking.items.retain(|_| count <= most || places.next().is_some_and(|place: usize| place * most % count < most));
    let outcome = compute(app, ranker, &ranking, &Asked::now(Explain::Features)).await;
    outcome.map(|outcome| outcome.rows).map_err(|error| error.to_string())
}

/// Takes note of an answer in the incoming order.
fn fell_back(slot: &Slot, reason: FallbackReason, asked: &Asked) {
    asked.count(slot, |metrics| metrics.fell_back(reason));
    asked.span.note("rankwright.fallback", reason.label());
}

async fn with_model(
    app: &App,
    slot: &Slot,
    ranker: &dyn Ranker,
    ranking: &Ranking,
    asked: &Asked,
) -> Result<Answered, Error> {
    match compute(app, ranker, ranking, asked).await {
        Ok(outcome) => {
            asked.count(slot, |metrics| metrics.lacked(outcome.absent));
            if ranker.fallback().is_some() {
                fell_back(slot, FallbackReason::Untrained, asked);
            }
            let brought = match asked.explain {
                Explain::Contributions if ranker.fallback().is_none() => {
                    asked.span.within("explain", || ranker.contributions(&outcome.rows))
                }
                _ => Ok(None),
            };
            let unexplained = |source| Error::Unexplained { model: slot.name().to_owned(), source };
            let brought = brought.map_err(unexplained)?;
            Ok(explained(ranker, ranking, &outcome, brought.as_ref(), asked))
        }
        Err(unavailable) => {
            fell_back(slot, FallbackReason::Store, asked);
            let explained = Explained::unknown(ranker.features(), asked.explain);
            Ok(unordered(ranking, &unavailable.to_string(), explained, asked.began))
        }
    }
}

/// The incoming order; where they are wanted, with the values that a version would have looked at.
async fn without_model(app: &App, slot: &Slot, ranking: &Ranking, reason: &str, asked: &Asked) -> Answered {
    let Asked { explain, began, .. } = *asked;
    let Some(ranker) = slot.bare().filter(|_| explain != Explain::Nothing) else {
        return unordered(ranking, reason, Explained::unknown(&[], explain), began);
    };
    let outcome = compute(app, ranker, ranking, asked).await;
    asked.count(slot, |metrics| metrics.lacked(outcome.as_ref().map_or(0, |outcome| outcome.absent)));
    let rows = outcome.map(|outcome| outcome.rows).unwrap_or_default();
    unordered(ranking, reason, Explained::new(ranker.features(), &rows, explain, None), began)
}

async fn compute<'r>(
    app: &App,
    ranker: &'r dyn Ranker,
    ranking: &Ranking,
    asked: &Asked,
) -> Result<Outcome<'r>, Unavailable> {
    let span = &asked.span;
    let mut fetched = Fetched::new(fetch(app, &ranker.reads(ranking), span).await?);
    let follow = ranker.follow(ranking, &fetched);
    let entities = fetch(app, &follow, span).await?;
    fetched.add(follow, entities);
    let encoded = encode(ranker.texts(ranking, &fetched), app.limits().texts_by(asked.began), span).await;
    let rows = span.within("rows", || ranker.rows(ranking, &fetched, &encoded));
    let scores = span.within("score", || ranker.scores(ranking, &rows));
    let newest = match asked.explain {
        Explain::Contributions => ranker.newest(ranking, &fetched),
        _ => Vec::new(),
    };
    Ok(Outcome { rows, scores, newest, absent: encoded.absent() })
}

/// What models make of texts by the deadline. A text that they do not is a missing value, and no reason to fail. What they
/// know already is taken without another thread.
async fn encode(mut texts: Texts, by: Instant, span: &Span) -> Encoded {
    let known = texts.recall();
    let count = texts.len();
    if count == 0 {
        return known;
    }
    let encoding = span.child("encode");
    encoding.note("rankwright.texts", count);
    let computed = spawn_blocking(move || texts.encode(Some(by))).await;
    known.and(computed.unwrap_or_else(|error| Encoded::without(count, error.to_string())))
}

async fn fetch(app: &App, keys: &[Key], span: &Span) -> Result<Rows, Unavailable> {
    if keys.is_empty() {
        return Ok(Rows::new());
    }
    let reading = span.child("read");
    reading.note("rankwright.keys", keys.len());
    app.state().read(keys).await.inspect_err(|error| reading.fail(error))
}

/// The answer with what it says of items.
fn explained(
    ranker: &dyn Ranker,
    ranking: &Ranking,
    outcome: &Outcome<'_>,
    brought: Option<&Contributions>,
    asked: &Asked,
) -> Answered {
    let Asked { explain, began, .. } = *asked;
    if let Some(reason) = ranker.fallback() {
        return unordered(ranking, reason, Explained::new(ranker.features(), &outcome.rows, explain, None), began);
    }
    let explained = Explained::new(ranker.features(), &outcome.rows, explain, brought);
    let explained = explained.map(|explained| explained.with_newest(&outcome.newest));
    let order = rank_order(&outcome.scores);
    let text = Answer { ranking, scores: &outcome.scores, order: &order, explained, fallback: None }.write(began);
    Answered { text, items: ranking.items.len(), fallback: None }
}

/// The incoming order, with scores from the number of items down to 1.
fn unordered(ranking: &Ranking, reason: &str, explained: Option<Explained<'_>>, began: Instant) -> Answered {
    let count = ranking.items.len();
    let scores = fallback_scores(count);
    let order: Vec<usize> = (0..count).collect();
    let text = Answer { ranking, scores: &scores, order: &order, explained, fallback: Some(reason) }.write(began);
    Answered { text, items: count, fallback: Some(reason.to_owned()) }
}
