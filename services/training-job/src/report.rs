//! What a training job tells when it ends.

use rankwright_assembly::now;
use rankwright_serve::Status;
use rankwright_train::{Decision, Quality};
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What became of a model, or of a whole job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Outcome {
    /// The new version is current.
    Published,
    /// The new version did not pass its gate; the running one stays.
    Kept,
    /// There is nothing to learn from yet.
    Nothing,
    /// It could not be trained, or not be stored.
    Failed,
}

/// All of a job.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub service: String,
    /// The worst of its models.
    pub outcome: Outcome,
    /// Why the job could not begin.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// As RFC 3339.
    pub started_at: String,
    pub models: Vec<ModelReport>,
    /// With which a job ends that failed.
    #[serde(skip)]
    code: u8,
}

/// One model.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelReport {
    pub model: String,
    pub outcome: Outcome,
    /// What was decided, and why.
    pub message: String,
    /// The version that was published.
    pub version: Option<String>,
    /// By what it was decided.
    pub decision: Option<Decision>,
    /// Rankings that were learned from, and tested on.
    pub rankings: Option<[usize; 2]>,
    pub trees: Option<usize>,
    /// Stretches of click-throughs that could not be read.
    pub left_out: u64,
    pub elapsed_ms: u64,
    /// With which a job would end that failed for this alone.
    #[serde(skip)]
    pub code: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quality: Vec<Quality>,
}

impl ModelReport {
    /// Of a model that nothing is known of.
    pub(crate) fn of(name: &str) -> Self {
        Self {
            model: name.to_owned(),
            outcome: Outcome::Failed,
            message: String::new(),
            version: None,
            decision: None,
            rankings: None,
            trees: None,
            left_out: 0,
            elapsed_ms: 0,
            code: 1,
            quality: Vec::new(),
        }
    }
}

impl Report {
    /// Of a job that begins.
    pub(crate) fn new(service: String) -> Self {
        let (message, models) = (String::new(), Vec::new());
        Self { service, outcome: Outcome::Published, message, started_at: now().to_string(), models, code: 1 }
    }

    /// Of a job that could not begin.
    pub(crate) fn failed(message: String, code: u8) -> Self {
        Self { outcome: Outcome::Failed, message, code, ..Self::new(rankwright_assembly::service()) }
    }

    fn add(&mut self, model: ModelReport) {
        self.outcome = self.outcome.max(model.outcome);
        self.models.push(model);
    }

    /// One line of JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|error| format!("{{\"outcome\":\"failed\",\"message\":\"{error}\"}}"))
    }

    /// 0 where each model was published or kept, 3 where the worst is that there is nothing to learn from, else what the
    /// failures make of it: one that does not go by counts.
    pub(crate) fn exit_code(&self) -> u8 {
        let mut failed = self.models.iter().filter(|model| model.outcome == Outcome::Failed).map(|model| model.code);
        match self.outcome {
            Outcome::Published | Outcome::Kept => 0,
            Outcome::Nothing => 3,
            Outcome::Failed => failed.clone().find(|code| *code == 1).or_else(|| failed.next()).unwrap_or(self.code),
        }
    }
}

/// A report that grows while `/status` shows it.
pub(crate) struct Shared {
    report: Mutex<Report>,
    publishing: Mutex<()>,
}

/// While it is there, a model may be published that is not in the report yet.
pub(crate) type Publishing<'a> = MutexGuard<'a, ()>;

impl Shared {
    pub(crate) fn new(report: Report) -> Self {
        Self { report: Mutex::new(report), publishing: Mutex::default() }
    }

    /// A model is about to be published.
    pub(crate) fn publishing(&self) -> Publishing<'_> {
        self.publishing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, model: ModelReport) {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).add(model);
    }

    /// Of a job that is told to stop before it has dealt with all these models; none where it has. What is being published is
    /// waited for.
    pub(crate) fn stopped(&self, names: &[String]) -> Option<Report> {
        let not_publishing = self.publishing();
        let mut report = self.whole();
        let left: Vec<&str> = names.iter().map(String::as_str).skip(report.models.len()).collect();
        report.message = format!("stopped before it finished {}", left.join(", "));
        report.outcome = Outcome::Failed;
        if left.is_empty() {
            return None;
        }
        std::mem::forget(not_publishing); // what is published from now on would not be told
        Some(report)
    }

    pub(crate) fn whole(&self) -> Report {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Status for Shared {
    fn status(&self) -> serde_json::Value {
        serde_json::to_value(self.whole()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: u8) -> ModelReport {
        ModelReport { code, ..ModelReport::of("m") }
    }

    #[test]
    fn a_job_may_be_tried_again_where_all_that_failed_may() {
        let of = |codes: &[u8]| {
            let mut report = Report::new("shop".to_owned());
            report.add(ModelReport { outcome: Outcome::Kept, ..ModelReport::of("k") });
            codes.iter().for_each(|code| report.add(failed(*code)));
            report.exit_code()
        };
        assert_eq!([of(&[]), of(&[75]), of(&[75, 75]), of(&[75, 1]), of(&[1, 75])], [0, 75, 75, 1, 1]);
    }

    #[test]
    fn what_is_being_published_when_a_job_is_told_to_stop_is_in_its_report() {
        let shared = Shared::new(Report::new("shop".to_owned()));
        let names = ["a".to_owned(), "b".to_owned()];
        let publishing = shared.publishing();
        let stopped = std::thread::scope(|scope| {
            let stopped = scope.spawn(|| shared.stopped(&names));
            std::thread::sleep(std::time::Duration::from_millis(20)); // it may be told before, or wait: it is the same
            shared.add(ModelReport { outcome: Outcome::Published, ..ModelReport::of("a") });
            drop(publishing);
            stopped.join()
        });
        let report = stopped.ok().flatten();
        assert_eq!(report.as_ref().map(|report| report.models.len()), Some(1));
        assert_eq!(report.map(|report| report.message).as_deref(), Some("stopped before it finished b"));
        assert!(shared.publishing.try_lock().is_err(), "nothing is published behind it");
    }
}
