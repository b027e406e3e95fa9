//! Recommenders: fitted to which visitor did what with which item, measured by what they did last.

use crate::ahead;
use crate::booster::{Iteration, mebibytes};
use crate::dataset::Reading;
use crate::error::Error;
use crate::memory::{self, Excess, Verdict};
use crate::quality::{Candidate, Measured, Running};
use crate::report::{Answer, Quality, Trained};
use crate::selector::{accepts, looks_at_items};
use crate::settings::{self, Settings};
use crate::train::Progress;
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Kind as RecordKind};
use rankwright_config::model::{Als, Learning, Trending};
use rankwright_event::Timestamp;
use rankwright_model::{Kind, Metadata, Recommender, TrainedOn, Version};
use rankwright_recommend::{Build, HeldOut, Interactions, Similar, Weight, als};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::time::Duration;

/// Number of recommendations that are looked at.
const LOOKED_AT: usize = 10;
/// Held-out visitors from which on a share says something: one visitor is at most a hundredth.
const ENOUGH: usize = 100;
/// The most interactions that are learned from: 2.4 GB of them.
pub(crate) const MOST: usize = 100_000_000;
/// Below this number of visitors the last item of every second one is held out, else of every tenth.
const FEW_VISITORS: usize = 5_000;

/// A recommender to be trained.
pub(crate) struct Recommending<'a> {
    pub(crate) name: &'a str,
    pub(crate) learning: &'a Learning,
    pub(crate) by: &'a dyn Fit,
    pub(crate) now: Timestamp,
    /// Interactions that there is memory for: [`MOST`], but for tests.
    pub(crate) most: usize,
}

/// How a type of recommender learns.
pub(crate) trait Fit {
    /// What versions of it are versions of.
    fn kind(&self) -> Kind;

    /// Types of interaction that it learns from, by the numbers that [`Interactions`] has for them; `None` where it learns from
    /// something else, and interactions of all types measure it.
    fn interactions(&self) -> Option<Vec<&str>>;

    /// Age from which on interactions say nothing; `None` where all are learned from.
    fn window(&self) -> Option<Duration> {
        None
    }

    /// Whether an interaction without a visitor says nothing.
    fn needs_visitors(&self) -> bool;

    /// Learns from interactions, but for what is held out. Errors name the model.
    fn fit(
        &self,
        model: &str,
        all: &Interactions,
        without: &HeldOut,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Recommender, Error>;

    /// Whether it is to learn once more from all, after it was measured.
    fn is_quick(&self) -> bool;

    /// What versions tell of their training.
    fn settings(&self) -> Settings;
}

impl Fit for Als {
    fn kind(&self) -> Kind {
        Kind::Als
    }

    fn interactions(&self) -> Option<Vec<&str>> {
        Some(self.interactions.iter().map(String::as_str).collect())
    }

    fn needs_visitors(&self) -> bool {
        true
    }

    fn fit(
        &self,
        model: &str,
        all: &Interactions,
        without: &HeldOut,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Recommender, Error> {
        let matrix = all.matrix(without).map_err(|source| full(model, source))?;
        check_memory(model, self, all.len(), [matrix.users.len(), matrix.items.len()], memory::available())?;
        let settings = als::Settings {
            factors: self.factors,
            iterations: self.iterations,
            user_regularization: self.user_reg as f32,
            item_regularization: self.item_reg as f32,
            seed: self.seed,
            ..als::Settings::default()
        };
        let told = |step: als::Progress| {
            let millis = (step.seconds * 1000.0) as u64;
            let iteration = Iteration { id: step.iteration - 1, millis, test_metric: f64::NAN, train_metric: f64::NAN };
            progress(Progress::Fitting { iteration: &iteration, limit: self.iterations });
            ControlFlow::Continue(())
        };
        let factors = als::fit(&matrix, &settings, told).expect("nothing cancels it");
        let build = Build { seed: self.seed, ..Build::default() };
        let similar = Similar::from_vectors(matrix.items, factors.items, &build);
        Ok(Recommender::Similar(similar.expect("a matrix has each item once, and a row of factors for it")))
    }

    fn is_quick(&self) -> bool {
        false
    }

    fn settings(&self) -> Settings {
        settings::of_als(self)
    }
}

impl Fit for Trending {
    fn kind(&self) -> Kind {
        Kind::Trending
    }

    fn interactions(&self) -> Option<Vec<&str>> {
        Some(self.weights.iter().map(|part| part.interaction.as_str()).collect())
    }

    fn window(&self) -> Option<Duration> {
        self.weights.iter().map(|part| part.window).max()
    }

    fn needs_visitors(&self) -> bool {
        false
    }

    fn fit(
        &self,
        _: &str,
        all: &Interactions,
        without: &HeldOut,
        _: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Recommender, Error> {
        let weight = |part: &rankwright_config::model::TrendingWeight| Weight {
            decay: part.decay,
            weight: part.weight,
            window: part.window,
        };
        let weights: Vec<Weight> = self.weights.iter().map(weight).collect();
        Ok(Recommender::Trending(all.trending(&weights, without)))
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn settings(&self) -> Settings {
        settings::of_trending(self)
    }
}

impl Recommending<'_> {
    /// As [`Training::candidate`](crate::Training::candidate).
    pub(crate) fn candidate(
        &self,
        store: &dyn ClickthroughStore,
        running: Option<Running>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Candidate, Error> {
        let (all, reading, span) = self.read(store, progress)?;
        let one_in = if all.visitors() < FEW_VISITORS { 2 } else { 10 };
        let held_out = all.hold_out(one_in, 2);
        let mut iterations = Vec::new();
        let mut fitted = self.fit(&all, &held_out, &mut iterations, progress)?;
        let mut quality = self.quality(&fitted, &all, &held_out);
        let running = running.map(|running| self.running(running, &all, &held_out));
        if self.by.is_quick() {
            fitted = self.fit(&all, &HeldOut::default(), &mut Vec::new(), progress)?;
            // the running version has learned from what is held out, too: this one is compared with it as it will be served
            quality.served = Some(self.quality(&fitted, &all, &held_out).reranked);
        }
        let few = (held_out.len() < ENOUGH)
            .then(|| format!("the last items of only {} visitors could be held out", held_out.len()));
        let metadata = Metadata {
            model: self.name.to_owned(),
            kind: self.by.kind(),
            created_at: self.now,
            columns: Vec::new(),
            metrics: metrics(&quality, &fitted),
            iterations: iterations.len(),
            weights: Vec::new(),
            trained_on: Some(TrainedOn {
                rankings: reading.selected as usize,
                items: fitted.items(),
                first: span.map(|(first, _)| first),
                last: span.map(|(_, last)| last),
                tested: Some(held_out.len()),
            }),
            settings: self.by.settings(),
            replaced: None,
            record: Default::default(),
        };
        let body = fitted.to_bytes();
        let size_bytes = body.len();
        let version = Version::new(metadata, Vec::new(), body);
        let version = version.map_err(|error| Error::Publish { model: self.name.to_owned(), source: error.into() })?;
        // one that learns from no interactions says what it says, however popular other items are
        let learns = self.by.interactions().is_some();
        let warnings = warning(&quality, held_out.len()).into_iter().filter(|_| learns).chain(slow(&fitted)).collect();
        let trained = Trained {
            trees: iterations.len(),
            answer: Answer { features: Vec::new(), iterations, size_bytes, warnings },
            quality: vec![quality],
            version,
            train: reading.interactions,
            test: held_out.len(),
            reading,
            learned_nothing: false,
            few,
            unweighted: None,
        };
        Ok(Candidate { trained, running })
    }

    /// Reads what there is to learn from.
    fn read(
        &self,
        store: &dyn ClickthroughStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<(Interactions, Reading, Span), Error> {
        let (mut all, mut reading, mut span) = (Interactions::default(), Reading::default(), None);
        let kinds = self.by.interactions();
        let records = match looks_at_items(&self.learning.selector) {
            true => store.read()?.without_rows(),
            false => store.read()?.without_items(),
        };
        let losses = ahead::each(records, |record| {
            match record.kind {
                RecordKind::Ranking => reading.rankings += 1,
                RecordKind::Interaction => reading.alone += 1,
            }
            if reading.rankings.is_multiple_of(1024) {
                progress(Progress::Reading { rankings: reading.rankings });
            }
            let times = record.interactions.iter().map(|click| click.timestamp);
            times.chain([record.timestamp]).for_each(|at| all.saw(at.millis()));
            if !accepts(&self.learning.selector, 0, &record) {
                return Ok(ControlFlow::Continue(()));
            }
            reading.selected += 1;
            if record.interactions.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let visitor = visitor(&record);
            for click in &record.interactions {
                let (item, at, before) = (click.item.as_str(), click.timestamp.millis(), all.len());
                // a type that stands twice in `weights` has two parts of the score
                for kind in numbers(kinds.as_deref(), &click.kind) {
                    all.add(visitor.as_deref(), item, kind, at).map_err(|source| full(self.name, source))?;
                    span = Some(widened(span, click.timestamp));
                }
                reading.interactions += usize::from(all.len() > before);
            }
            if all.len() <= self.most {
                return Ok(ControlFlow::Continue(()));
            }
            if kinds.is_none() {
                return Ok(ControlFlow::Break(())); // there is enough to measure by
            }
            self.by.window().into_iter().for_each(|window| all.forget_older(window));
            if all.len() > self.most / 10 * 9 {
                return Err(Error::TooManyInteractions { model: self.name.to_owned(), most: self.most }); // or soon would
            }
            Ok(ControlFlow::Continue(()))
        })?;
        reading.losses = losses;
        match self.nothing(&all, &reading) {
            Some(error) => Err(error),
            None => Ok((all, reading, span)),
        }
    }

    /// Why there is nothing to learn from, if so.
    fn nothing(&self, all: &Interactions, reading: &Reading) -> Option<Error> {
        let model = || self.name.to_owned();
        let read = reading.rankings + reading.alone;
        let kinds = self.by.interactions()?;
        let interactions = || kinds.iter().map(|kind| (*kind).to_owned()).collect();
        Some(match (read, reading.selected) {
            (0, _) if !reading.losses.is_empty() => {
                Error::Damaged { model: model(), damaged: reading.losses.cut + reading.losses.damaged }
            }
            (0, _) => Error::Empty { model: model() },
            (rankings, 0) => Error::NoneSelected { model: model(), rankings },
            _ if reading.interactions == 0 => {
                Error::NoInteractions { model: model(), records: read, interactions: interactions() }
            }
            _ if self.by.needs_visitors() && all.visitors() == 0 => Error::NoVisitors { model: model() },
            _ => return None,
        })
    }

    fn fit(
        &self,
        all: &Interactions,
        without: &HeldOut,
        iterations: &mut Vec<Iteration>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Recommender, Error> {
        let mut told = |step: Progress<'_>| {
            progress(step);
            if let Progress::Fitting { iteration, .. } = step {
                iterations.push(*iteration);
            }
        };
        self.by.fit(self.name, all, without, &mut told)
    }

    /// How often a recommender names what was held out.
    fn quality(&self, model: &Recommender, all: &Interactions, held_out: &HeldOut) -> Quality {
        let recommend = |context: &str, seen: &HashSet<&str>| {
            let found = model.recommend(&[context], seen, LOOKED_AT).unwrap_or_default();
            found.into_iter().map(|(item, _)| item.to_owned()).collect()
        };
        let rate = all.hit_rate(held_out, LOOKED_AT, recommend);
        let metric = format!("HIT@{LOOKED_AT}");
        Quality {
            metric,
            shown: rate.of_popular,
            random: rate.of_random,
            reranked: rate.of_model,
            served: None,
            weighted: None,
        }
    }

    fn running(&self, running: Running, all: &Interactions, held_out: &HeldOut) -> Measured {
        let unreadable = |error: &dyn std::fmt::Display| Measured::Incomparable {
            reason: format!("the running version cannot be read: {error}"),
        };
        match running {
            Running::Unreadable(error) => unreadable(&error),
            Running::Version(version) => match Recommender::load(&version) {
                Err(error) => unreadable(&error),
                Ok(model) => {
                    let quality = vec![self.quality(&model, all, held_out)];
                    Measured::Quality { version: version.id().clone(), quality }
                }
            },
        }
    }
}

/// Time of the first and the last interaction.
type Span = Option<(Timestamp, Timestamp)>;

fn widened(span: Span, at: Timestamp) -> (Timestamp, Timestamp) {
    span.map_or((at, at), |(first, last)| (first.min(at), last.max(at)))
}

/// Refuses what takes more memory than there is, unless the configuration allows that.
fn check_memory(
    model: &str,
    als: &Als,
    interactions: usize,
    sides: [usize; 2],
    available: Option<u64>,
) -> Result<(), Error> {
    let needed = memory::of_factors(interactions as u64, sides.map(|vectors| vectors as u64), als.factors as u64);
    match Verdict::of(needed, available) {
        Verdict::Fits => Ok(()),
        Verdict::Exceeds(Excess { needed, available }) if !als.over_memory => {
            let (model, vectors, factors) = (model.to_owned(), sides.iter().sum(), als.factors);
            Err(Error::OverMemory { model, needed, available, vectors, factors })
        }
        Verdict::Tight(Excess { needed, available }) | Verdict::Exceeds(Excess { needed, available }) => {
            let (needed, available, factors) = (mebibytes(needed), mebibytes(available), als.factors);
            tracing::warn!(
                model,
                needed,
                available,
                factors,
                "training takes more than half of the memory of this machine or container"
            );
            Ok(())
        }
    }
}

fn full(model: &str, source: rankwright_recommend::Full) -> Error {
    Error::TooMany { model: model.to_owned(), source }
}

/// What the sender of events saw shown, which is no choice of a visitor.
const IMPRESSION: &str = "impression";

/// The numbers of an interaction's type: 0 where types make no difference.
fn numbers<'k>(kinds: Option<&'k [&'k str]>, kind: &'k str) -> impl Iterator<Item = u16> + 'k {
    let any = (kinds.is_none() && kind != IMPRESSION).then_some(0);
    let same = kinds.unwrap_or_default().iter().enumerate().filter(move |(_, of)| **of == kind);
    any.into_iter().chain(same.map(|(number, _)| number as u16))
}

/// Metrics of a version: its hits, and how many of the nearest items an approximate search finds.
fn metrics(quality: &Quality, model: &Recommender) -> BTreeMap<String, f64> {
    let recall = model.recall().map(|recall| ("RECALL@10".to_owned(), f64::from(recall)));
    std::iter::once((quality.metric.clone(), quality.reranked)).chain(recall).collect()
}

/// Who a record is of: the visitor, else the visit.
fn visitor(record: &Clickthrough) -> Option<String> {
    let tenant = record.tenant.as_str();
    match (&record.user, &record.session) {
        (Some(user), _) => Some(format!("{tenant}/u/{}", user.as_str())),
        (None, Some(session)) => Some(format!("{tenant}/s/{}", session.as_str())),
        (None, None) => None,
    }
}

/// What to say of a model that is worse than naming what is popular, by more than chance: two standard errors of a share.
fn warning(quality: &Quality, visitors: usize) -> Option<String> {
    let Quality { metric, shown, reranked, .. } = quality;
    let error = (shown * (1.0 - shown) / visitors as f64).sqrt();
    (visitors >= ENOUGH && reranked + 2.0 * error < *shown).then(|| {
        format!(
            "{metric} {reranked:.4} is below {shown:.4} of the most popular items: there may be too few interactions per \
             item; see docs/recommendations.md, \"Quality and the gate\""
        )
    })
}

/// What to say of a model of many items whose nearest no index finds, so that a search looks at all.
fn slow(model: &Recommender) -> Option<String> {
    let Recommender::Similar(similar) = model else { return None };
    let (items, build) = (similar.ids().len(), Build::default());
    (items > build.exact && similar.neighbours().approximate().is_none()).then(|| {
        format!(
            "half of an index has less than {} of the items nearest to another: each request compares all {items}, which \
             takes longer; see docs/recommendations.md, \"Quality and the gate\"",
            build.least
        )
    })
}

#[cfg(test)]
pub(crate) mod tests;
