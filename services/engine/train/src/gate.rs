//! Whether a newly trained model is published.
//!
//! It is compared with the version that runs, on the same lists, by one metric: as served, so with the constants that
//! serving puts into some columns. Where the two read different columns the running one cannot be measured on the new
//! rows, and the order as it was shown takes its place. A gate that is `weighted` compares metrics whose clicks are weighted by the
//! examination of their positions.

use crate::metric;
use crate::quality::{Candidate, Measured};
use crate::report::Quality;
use rankwright_config::model::Gate;
use rankwright_model::Verdict;
use serde::Serialize;

/// What was decided about a new version, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Whether it is to be published.
    pub publish: bool,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: String,
    /// What was compared, such as `NDCG@10`.
    pub metric: String,
    /// Of the new version; `null` where it could not be computed.
    pub candidate: f64,
    /// Of the running one, where it could be measured.
    pub running: Option<f64>,
    /// Of the order as it was shown.
    pub shown: f64,
}

/// Why a new version is published, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// No version runs yet.
    FirstVersion,
    /// It is not worse than the running one by more than the margin.
    NotWorse,
    /// It is.
    Worse,
    /// It cannot be compared with the running one, and beats the order as shown.
    BetterThanShown,
    /// It cannot be compared with the running one, and does not beat the order as shown.
    NotBetterThanShown,
    /// No tree of it splits: it scores all items the same.
    LearnedNothing,
    /// Its metric could not be computed.
    NotMeasured,
    /// Another version became current while it was trained: it was not compared with that one.
    Overtaken,
}

impl Decision {
    /// What is kept of it with the version, or beside the versions where that is refused.
    pub fn verdict(&self) -> Verdict {
        Verdict { reason: format!("{:?}", self.reason), message: self.message.clone() }
    }

    /// The same, where another version became current meanwhile.
    pub fn overtaken(self, current: Option<&str>) -> Self {
        let current = current.unwrap_or("none");
        let message = format!(
            "{}; but meanwhile another version became current ({current}), so it is not published: the next training is \
             compared with that one",
            self.message
        );
        Self { publish: false, reason: Reason::Overtaken, message, ..self }
    }
}

/// Decides about a candidate of a model.
pub fn decide(gate: &Gate, candidate: &Candidate) -> Decision {
    let Gate { metric, margin, weighting } = gate;
    let first = || candidate.trained.quality.first().map(|quality| quality.metric.clone());
    let named = metric.map(metric::name).or_else(first).unwrap_or_default();
    // of the model, and of the order as shown
    let of = |quality: &[Quality]| {
        let quality = quality.iter().find(|quality| quality.metric == named)?;
        match (weighting, quality.weighted) {
            (Some(_), Some(weighted)) => Some((weighted.served, weighted.shown)),
            (Some(_), None) => None,
            (None, _) => Some((quality.as_served(), quality.shown)),
        }
    };
    let (new, shown) = of(&candidate.trained.quality).unwrap_or((f64::NAN, f64::NAN));
    let running = match &candidate.running {
        Some(Measured::Quality { quality, .. }) => of(quality).map(|(served, _)| served),
        _ => None,
    };
    let wanted = if weighting.is_some() { format!("{named}, weighted,") } else { named.clone() };
    let (reason, message) = match candidate.trained.learned_nothing {
        true => (Reason::LearnedNothing, candidate.trained.version.metadata().learned_nothing()),
        false if let Some(why) = &candidate.trained.few => {
            let reason = if candidate.running.is_none() { Reason::FirstVersion } else { Reason::NotWorse };
            (reason, format!("{wanted} says nothing: {why}"))
        }
        false if let Some(why) = &candidate.trained.unweighted => {
            (Reason::NotMeasured, format!("{named} is not weighted: {why}"))
        }
        false => reason(&wanted, new, shown, running, *margin, candidate.running.as_ref()),
    };
    let publish = matches!(reason, Reason::FirstVersion | Reason::NotWorse | Reason::BetterThanShown);
    let metric = if weighting.is_some() { format!("{named} weighted") } else { named };
    Decision { publish, reason, message, metric, candidate: new, running, shown }
}

fn reason(
    metric: &str,
    new: f64,
    shown: f64,
    running: Option<f64>,
    margin: f64,
    measured: Option<&Measured>,
) -> (Reason, String) {
    match (measured, running) {
        _ if new.is_nan() => (Reason::NotMeasured, format!("{metric} could not be computed on the test split")),
        (None, _) => (Reason::FirstVersion, format!("no version runs yet; {metric} {new:.4}, as shown {shown:.4}")),
        (Some(Measured::Incomparable { reason }), _) if new > shown => {
            (Reason::BetterThanShown, format!("{reason}; {metric} {new:.4} beats {shown:.4} of the order as shown"))
        }
        (Some(Measured::Incomparable { reason }), _) => (
            Reason::NotBetterThanShown,
            format!("{reason}; {metric} {new:.4} does not beat {shown:.4} of the order as shown"),
        ),
        (_, Some(running)) if new < running - margin => (
            Reason::Worse,
            format!("{metric} {new:.4} is worse than {running:.4} of the running version by more than {margin}"),
        ),
        (_, running) => {
            let running = running.map_or_else(|| "unknown".to_owned(), |running| format!("{running:.4}"));
            (Reason::NotWorse, format!("{metric} {new:.4}, the running version {running}; margin {margin}"))
        }
    }
}

#[cfg(test)]
mod tests;
