//! Models: what a rank server says that it serves, and what trainings have reported.

use super::Facts;
use crate::observe::{ModelReport, Report, Serving, Trained};
use crate::schedules;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use rankwright_crds::RankingServiceStatus;
use rankwright_crds::status::{ModelStatus, ModelTraining, TrainingStatus};

/// Clocks of nodes differ by less.
const CLOCKS: SignedDuration = SignedDuration::from_mins(1);

/// How long after a training servers that have not taken up its version are looked at often.
const AWAITED: SignedDuration = SignedDuration::from_mins(2);

/// The last training.
pub(super) struct Last<'a> {
    /// As it is told.
    pub(super) told: Option<TrainingStatus>,
    /// What it reported, while its pod is there.
    report: Option<&'a Report>,
}

/// The last training: the one that is seen now, unless the status has a later one, whose pod is gone since. One that has ended in
/// the future was on a node whose clock is wrong, and hides no other.
pub(super) fn last<'a>(seen: Option<&'a Trained>, before: Option<&TrainingStatus>, now: Timestamp) -> Last<'a> {
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let is_newest = |seen: &&Trained| {
        before.is_none_or(|before| {
            let told = time(&before.finished_at).filter(|told| *told <= now + CLOCKS);
            before.pod == seen.pod || told <= time(&seen.finished_at)
        })
    };
    match seen.filter(is_newest) {
        Some(seen) => Last { told: Some(self::training(seen)), report: seen.report.as_ref() },
        None => Last { told: before.cloned(), report: None },
    }
}

/// All models of the configuration; while that is refused, as the last status had them. What no server says now stays as it was.
pub(super) fn models(facts: &Facts<'_>, last: &Last<'_>, before: &[ModelStatus]) -> Vec<ModelStatus> {
    let report = last.report;
    let model = |name: &String| {
        let known = before.iter().find(|model| model.name == *name).cloned().unwrap_or_default();
        // what is refused is not pinned
        let pinned = match facts.plan {
            Some(plan) => plan.configuration.pins.get(name).cloned(),
            None => known.pinned.clone(),
        };
        let served = known.version.clone().or_else(|| known.lost.clone());
        let mut model = ModelStatus { name: name.clone(), pinned, ..known };
        match facts.observed.heard.serving(name, model.version.as_deref()) {
            Serving::Untold => {}
            Serving::Alike(said) => {
                model.version.clone_from(&said.version);
                model.trained_at.clone_from(&said.trained_at);
                model.problem.clone_from(&said.reason);
            }
            Serving::Differs(text) => (model.version, model.trained_at, model.problem) = (None, None, Some(text)),
        }
        if let Some(versions) = facts.observed.heard.versions(name) {
            let served = model.version.clone().or(served);
            model.lost = if versions.is_empty() { served } else { None };
        }
        let of_last = report.and_then(|report| Some(self::trained(report, of(report, name)?)));
        let known = model.last_training.as_ref();
        if let Some(trained) = of_last.or_else(|| by_schedule(facts, name).filter(|one| is_later(one, known))) {
            model.last_training = Some(trained);
        }
        model
    };
    match facts.plan {
        Some(plan) => plan.configuration.models.iter().map(model).collect(),
        None => before.iter().map(|known| model(&known.name)).collect(),
    }
}

/// What became of a model in the last training of its schedule, where there are several schedules: their trainings go on at the
/// same time, and the last of all may have been about other models.
fn by_schedule(facts: &Facts<'_>, name: &str) -> Option<ModelTraining> {
    let training = facts.service.spec.training.as_ref().filter(|training| !training.model_schedules.is_empty())?;
    let key = schedules::key_of(&facts.service.name_any(), training, name);
    let seen = facts.observed.trainings.get(&key)?;
    let Some(report) = &seen.report else {
        return schedules::is_meant(training, name).then(|| ModelTraining {
            outcome: "Failed".to_owned(),
            message: unreported(seen),
            time: seen.finished_at.as_ref().map(|time| time.0.to_string()),
            ..ModelTraining::default()
        });
    };
    of(report, name).map(|model| trained(report, model))
}

fn is_later(training: &ModelTraining, known: Option<&ModelTraining>) -> bool {
    let time = |training: &ModelTraining| training.time.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
    known.is_none_or(|known| time(training) > time(known))
}

/// A model whose last training failed, of those that are trained by several schedules: the last training of all may be that of another
/// model.
pub(super) fn failed<'a>(facts: &Facts<'_>, models: &[&'a ModelStatus]) -> Option<&'a ModelStatus> {
    facts.service.spec.training.as_ref().filter(|training| !training.model_schedules.is_empty())?;
    let failed = |model: &ModelStatus| model.last_training.as_ref().is_some_and(|last| last.outcome == "Failed");
    models.iter().find(|model| failed(model)).copied()
}

fn unreported(training: &Trained) -> String {
    format!("it did not report: {}", training.end)
}

fn of<'a>(report: &'a Report, name: &str) -> Option<&'a ModelReport> {
    report.models.iter().find(|model| model.model == name)
}

fn trained(report: &Report, model: &ModelReport) -> ModelTraining {
    let decision = model.decision.as_ref();
    let number = |number: f64| format!("{number:.4}");
    ModelTraining {
        outcome: outcome(&model.outcome),
        message: model.message.clone(),
        version: model.version.clone(),
        time: (!report.started_at.is_empty()).then(|| report.started_at.clone()),
        metric: decision.map(|decision| decision.metric.clone()).filter(|metric| !metric.is_empty()),
        candidate: decision.and_then(|decision| decision.candidate).map(number),
        running: decision.and_then(|decision| decision.running).map(number),
        reason: decision.map(|decision| decision.reason.clone()).filter(|reason| !reason.is_empty()),
    }
}

/// A whole training. One that could not report is told by how it ended.
fn training(training: &Trained) -> TrainingStatus {
    let report = training.report.as_ref();
    let said = report.map(|report| report.message.clone()).filter(|message| !message.is_empty());
    let worst = report.and_then(|report| report.models.iter().find(|model| model.outcome == report.outcome));
    let failed = report.is_none_or(|report| !matches!(report.outcome.as_str(), "published" | "kept"));
    let message = said.or_else(|| worst.map(|model| format!("{}: {}", model.model, model.message)));
    TrainingStatus {
        pod: training.pod.clone(),
        outcome: report.map_or_else(|| "Failed".to_owned(), |report| outcome(&report.outcome)),
        finished_at: training.finished_at.clone(),
        message: failed.then(|| message.unwrap_or_else(|| unreported(training))),
    }
}

/// As Kubernetes writes such words: with a capital.
fn outcome(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Whether a version was published a moment ago, and is not told to be served yet: servers take it up within seconds.
pub fn awaits_servers(status: &RankingServiceStatus, now: Timestamp) -> bool {
    let ended = status.training.as_ref().and_then(|training| training.finished_at.as_ref());
    let lately = ended.is_some_and(|ended| now.duration_since(ended.0) < AWAITED);
    let published = |model: &ModelStatus| {
        let version = model.last_training.as_ref().and_then(|last| last.version.as_ref());
        version.is_some() && version != model.version.as_ref() && model.pinned.is_none()
    };
    lately && status.models.iter().any(published)
}

/// Whether something of a service is on its way.
pub fn is_moving(status: &RankingServiceStatus) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == "Reconciling" && condition.status == "True")
}

/// Models that are served, in one line.
pub(super) fn summary(models: &[ModelStatus]) -> Option<String> {
    let served = models.iter().filter_map(|model| Some(format!("{}@{}", model.name, model.version.as_ref()?)));
    let served: Vec<String> = served.collect();
    (!served.is_empty()).then(|| served.join(","))
}
