//! A version is tried before it answers: it has to compute the rankings that are stored with it.

use super::Candidate;
use crate::app::App;
use crate::models::{Current, Loaded, Refused, Slot};
use crate::rank::rehearse;
use rankwright_config as config;
use rankwright_event::Ranking;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A version that this server tries for others, which know it by this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial(pub String);

/// What became of a replay.
enum Replayed {
    /// Number of rankings that were computed in the time that there was.
    Well(usize),
    /// The state store did not answer: nothing is known of the version.
    Cut(usize),
    /// The version does not work.
    Badly(String),
}

impl App {
    /// Lets a version answer that works; one that does not is left, and what answers stays.
    pub(super) async fn serve_version(&self, slot: &Slot, candidate: Candidate) {
        let Candidate { loaded, samples, trial } = candidate;
        let (began, former) = (Instant::now(), slot.current());
        let version = loaded.version.id.clone().unwrap_or_default();
        let outcome = match worse(&former, &loaded) {
            Some(reason) => Replayed::Badly(reason),
            None => self.replay(&loaded, &samples, warm_up_time(&slot.definition)).await,
        };
        let replayed = match outcome {
            Replayed::Badly(reason) => {
                self.judge(trial, Some(Err(reason.clone()))).await;
                return self.refuse(slot, Refused { version, reason }).await;
            }
            Replayed::Cut(replayed) => {
                let waits = trial.is_some() && matches!(former, Current::Loaded(_));
                self.judge(trial, None).await;
                if waits {
                    return; // it is tried again when the store answers
                }
                replayed
            }
            Replayed::Well(replayed) => {
                self.judge(trial, Some(Ok(()))).await;
                replayed
            }
        };
        let elapsed_ms = began.elapsed().as_millis() as u64;
        slot.swap(Arc::new(loaded));
        tracing::info!(model = slot.name(), version, replayed, elapsed_ms, "serving a model version");
    }

    /// Leaves a version that did not work.
    pub(super) async fn refuse(&self, slot: &Slot, refused: Refused) {
        let Refused { version, reason } = &refused;
        let text = format!("version {version} of model {} did not work when it was tried: {reason}", slot.name());
        if slot.refuse(refused) {
            tracing::error!("{text}");
        }
        self.without_version(slot, text).await;
    }

    async fn judge(&self, trial: Option<Trial>, verdict: Option<Result<(), String>>) {
        let Some(trial) = trial else { return };
        if let Err(error) = self.loader().judge(trial, verdict).await {
            tracing::warn!(%error, "other servers were not told how a version works");
        }
    }

    /// Replays rankings for at most this time, and one however little there is. Nothing of it counts.
    async fn replay(&self, loaded: &Loaded, samples: &[Ranking], time: Duration) -> Replayed {
        let began = Instant::now();
        // a recommender computes nothing: its numbers were checked when it was read
        let Some(ranker) = loaded.model.ranker() else { return Replayed::Well(0) };
        for (replayed, ranking) in samples.iter().enumerate() {
            if replayed > 0 && began.elapsed() >= time {
                return Replayed::Well(replayed);
            }
            match rehearse(self, ranker, ranking).await {
                Ok(true) => {}
                Ok(false) => {
                    let id = &ranking.id;
                    return Replayed::Badly(format!(
                        "it gives items of ranking {id} of its warm-up scores that are no numbers"
                    ));
                }
                Err(_) => return Replayed::Cut(replayed),
            }
        }
        Replayed::Well(samples.len())
    }
}

/// Why a version is worse than what answers, before it has computed anything.
fn worse(former: &Current, loaded: &Loaded) -> Option<String> {
    let Current::Loaded(former) = former else { return None };
    fallback(loaded).filter(|_| fallback(former).is_none()).map(str::to_owned)
}

/// Why a version's scores say nothing, where they do not.
fn fallback(loaded: &Loaded) -> Option<&str> {
    loaded.model.ranker()?.fallback()
}

pub(super) fn warm_up_time(model: &config::Model) -> Duration {
    model.warmup().map_or(Duration::ZERO, |warmup| warmup.duration)
}
