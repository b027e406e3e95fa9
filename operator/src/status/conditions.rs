//! The conditions: each with a reason, a message that says what to do, and the generation that it is about.

use super::parts::counts;
use super::{Facts, Reason};
use crate::Error;
use crate::deletion::Cleaning;
use crate::labels::Component;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use rankwright_crds::status::{ModelStatus, TrainingStatus};

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    True,
    False,
    Unknown,
}

/// What is told of a condition.
struct Verdict {
    holds: Holds,
    reason: Reason,
    message: String,
}

impl Verdict {
    fn new(holds: Holds, reason: Reason, message: impl Into<String>) -> Self {
        Self { holds, reason, message: message.into() }
    }

    fn yes(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Holds::True, reason, message)
    }

    fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Holds::False, reason, message)
    }
}

pub(super) fn conditions(
    facts: &Facts<'_>,
    models: &[ModelStatus],
    training: Option<&TrainingStatus>,
    before: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let configuration = configuration(facts, before);
    let rank = workload(facts, Component::Rank, facts.workloads.rank.as_ref());
    let ingest = workload(facts, Component::Ingest, facts.workloads.ingest.as_ref());
    let store = store(facts);
    let trained = trained(facts, models, training);
    let ready = ready(facts, [&configuration, &rank, &ingest], &store);
    let all = [
        ("Ready", ready),
        ("RankServerReady", rank),
        ("IngestReady", ingest),
        ("ModelTrained", trained),
        ("StateStoreReachable", store),
        ("ConfigurationValid", configuration),
    ];
    all.into_iter().map(|(kind, verdict)| condition(facts, kind, verdict, before, now)).collect()
}

/// A condition; the time of its last change stays while it holds as before.
fn condition(facts: &Facts<'_>, kind: &str, verdict: Verdict, before: &[Condition], now: Timestamp) -> Condition {
    let status = match verdict.holds {
        Holds::True => "True",
        Holds::False => "False",
        Holds::Unknown => "Unknown",
    };
    let same = before.iter().find(|condition| condition.type_ == kind && condition.status == status);
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now); // the API server keeps seconds
    // what could not be looked at is known of an earlier generation
    let looked_at =
        kind != "ConfigurationValid" || facts.plan.is_some() || matches!(facts.failure, Some(Error::Refused(_)));
    let observed_generation = match looked_at {
        true => facts.service.metadata.generation,
        false => before.iter().find(|condition| condition.type_ == kind).and_then(|known| known.observed_generation),
    };
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: verdict.reason.to_string(),
        message: verdict.message,
        observed_generation,
        last_transition_time: same.map_or(Time(now), |condition| condition.last_transition_time.clone()),
    }
}

fn configuration(facts: &Facts<'_>, before: &[Condition]) -> Verdict {
    if let Some(Error::Refused(refusal)) = facts.failure {
        return Verdict::no(Reason::Failed(refusal.reason()), refusal.to_string());
    }
    if let Some(refusal) = facts.plan.and_then(|plan| plan.outdated.as_ref()) {
        let message = format!("{refusal}; data are removed by the configuration of before");
        return Verdict::no(Reason::Failed(refusal.reason()), message);
    }
    if facts.plan.is_some() {
        let goes = facts.service.metadata.deletion_timestamp.is_some();
        let message = match goes {
            true => "the configuration is right, and what the removal of data needs is there",
            false => "the configuration is right, and all that it names is there",
        };
        return Verdict::yes(Reason::Valid, message);
    }
    // it could not be looked at: what is known of it stays
    let known = before.iter().find(|condition| condition.type_ == "ConfigurationValid" && condition.status == "True");
    match known {
        Some(known) => Verdict::yes(Reason::Valid, known.message.clone()),
        None => Verdict::new(Holds::Unknown, Reason::NotCreated, "the configuration was not looked at yet"),
    }
}

fn workload(facts: &Facts<'_>, component: Component, deployment: Option<&Deployment>) -> Verdict {
    let what = if component == Component::Rank { "rank servers" } else { "ingest workers" };
    let Some(deployment) = deployment else { return absent(facts, component, what) };
    let (wanted, there, ready) = counts(deployment);
    let status = deployment.status.clone().unwrap_or_default();
    let updated = status.updated_replicas.unwrap_or(0);
    let trouble = match trouble(facts, component) {
        none if none.is_empty() => unmade(deployment),
        trouble => trouble,
    };
    let stuck = status.conditions.iter().flatten().any(|condition| {
        condition.type_ == "Progressing" && condition.reason.as_deref() == Some("ProgressDeadlineExceeded")
    });
    let changing = status.observed_generation < deployment.metadata.generation || updated < wanted || there > updated;
    match (wanted, ready) {
        (0, _) => Verdict::no(Reason::ScaledToZero, format!("no {what} are wanted")),
        (_, 0) => Verdict::no(Reason::NoneReady, format!("none of {wanted} {what} is ready{trouble}")),
        _ if stuck => {
            let message = format!("{updated} of {wanted} {what} run what they should, {ready} answer{trouble}");
            Verdict::no(Reason::RolloutStuck, message)
        }
        _ if changing => {
            Verdict::yes(Reason::RollingOut, format!("{updated} of {wanted} {what} run what they should{trouble}"))
        }
        _ if ready < wanted => Verdict::yes(Reason::Degraded, format!("{ready} of {wanted} {what} are ready{trouble}")),
        _ => Verdict::yes(Reason::Available, format!("{ready} of {wanted} {what} are ready")),
    }
}

/// Why a pod of a part does not run, to be put behind what follows from it.
fn trouble(facts: &Facts<'_>, component: Component) -> String {
    let trouble = facts.observed.troubles.iter().find(|(part, _)| *part == component);
    trouble.map(|(_, trouble)| format!(": {trouble}")).unwrap_or_default()
}

/// Why a Deployment cannot make pods, in the words of who refuses them.
fn unmade(deployment: &Deployment) -> String {
    let mut conditions = deployment.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let failure = conditions.find(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True");
    let message = failure.and_then(|failure| failure.message.as_deref());
    message.map(|message| format!(": no pod can be made: {message}")).unwrap_or_default()
}

fn absent(facts: &Facts<'_>, component: Component, what: &str) -> Verdict {
    let name = format!("Deployment {}", component.of(&kube::ResourceExt::name_any(facts.service)));
    let mut conflicts = facts.applied.iter().flat_map(|applied| &applied.conflicts);
    match conflicts.find(|conflict| conflict.starts_with(&format!("{name} "))) {
        Some(conflict) => Verdict::no(Reason::NameTaken, conflict.clone()),
        None => Verdict::no(Reason::NotCreated, format!("there are no {what} yet")),
    }
}

fn store(facts: &Facts<'_>) -> Verdict {
    match &facts.observed.said {
        Some(said) if said.store.answers => Verdict::yes(Reason::Answers, "Redis answers the rank servers"),
        Some(said) => {
            let message = match &said.store.problem {
                Some(problem) => format!("the rank servers wait for Redis: {problem}"),
                None => "Redis does not answer the rank servers: requests get the incoming order; see that the server of spec.stateStore.redis runs, and is reached from the pods".to_owned(),
            };
            Verdict::no(Reason::DoesNotAnswer, message)
        }
        None => Verdict::new(Holds::Unknown, Reason::NobodyToAsk, "no rank server answers that could tell"),
    }
}

fn trained(facts: &Facts<'_>, models: &[ModelStatus], training: Option<&TrainingStatus>) -> Verdict {
    let learns = |model: &&ModelStatus| facts.plan.is_none_or(|plan| plan.configuration.trained.contains(&model.name));
    let learning: Vec<&ModelStatus> = models.iter().filter(learns).collect();
    if learning.is_empty() {
        return Verdict::yes(Reason::NothingToTrain, "the configuration has no model that is trained");
    }
    if let Some(message) = learning.iter().find_map(|model| unpinned(facts, model)) {
        return Verdict::no(Reason::PinNotServed, message);
    }
    if let Some((_, trouble)) = facts.observed.troubles.iter().find(|(part, _)| *part == Component::Training) {
        let message = format!("a training does not begin, and none takes its place while it waits: {trouble}");
        return Verdict::no(Reason::TrainingStuck, message);
    }
    // one that nobody wants any more is over, however it ended
    let training = training.filter(|_| facts.service.spec.training.is_some());
    if let Some(failed) = training.filter(|training| training.outcome == "Failed") {
        let why = failed.message.as_deref().unwrap_or_default();
        return Verdict::no(Reason::TrainingFailed, format!("training {} failed: {why}", failed.pod));
    }
    if let Some(model) = super::models::failed(facts, &learning) {
        let why = model.last_training.as_ref().map(|last| last.message.as_str()).unwrap_or_default();
        return Verdict::no(Reason::TrainingFailed, format!("the last training of {} failed: {why}", model.name));
    }
    let missing: Vec<&str> =
        learning.iter().filter(|model| model.version.is_none()).map(|model| model.name.as_str()).collect();
    if missing.is_empty() {
        let served = super::models::summary(models).unwrap_or_default();
        return Verdict::yes(Reason::Served, format!("served: {served}"));
    }
    let nothing =
        learning.iter().any(|model| model.last_training.as_ref().is_some_and(|last| last.outcome == "Nothing"));
    let names = missing.join(", ");
    if nothing {
        let message = format!(
            "there is nothing yet that {names} could learn from: rankings with interactions have to close first"
        );
        return Verdict::no(Reason::NothingToLearnFrom, message);
    }
    let when = match &facts.service.spec.training {
        Some(training) if training.suspend => "training is suspended".to_owned(),
        Some(training) => {
            let cron = crate::schedules::cron(training, missing[0]);
            format!("the schedule is {cron} in {}", training.time_zone)
        }
        None => "spec.training is not given".to_owned(),
    };
    Verdict::no(Reason::NotTrainedYet, format!("{names} has no version yet, requests get the incoming order; {when}"))
}

/// What is served in place of a version that is pinned. One without any version is told of once a rank server says so.
fn unpinned(facts: &Facts<'_>, model: &ModelStatus) -> Option<String> {
    let (name, pinned) = (&model.name, model.pinned.as_ref()?);
    match &model.version {
        Some(version) if version == pinned => None,
        Some(version) => Some(format!(
            "{name} serves {version}, and {pinned} is pinned: rank servers take it up, or there is no such version"
        )),
        None => facts.observed.said.as_ref().filter(|said| said.store.answers).map(|_| {
            format!(
                "{name} serves no version, requests get the incoming order, and {pinned} is pinned: rank servers take it up, or there is no such version"
            )
        }),
    }
}

/// What does not belong to a resource that stops, as after `kubectl delete --cascade=orphan`: nobody but its author can end that.
fn in_the_way(facts: &Facts<'_>, cleaning: &Cleaning) -> String {
    let conflicts = facts.applied.map(|applied| applied.conflicts.join("; ")).unwrap_or_default();
    match cleaning {
        Cleaning::Stopping { .. } if !conflicts.is_empty() => {
            format!(": {conflicts}; or set deletionPolicy to Retain to let the resource go, with its data left")
        }
        _ => String::new(),
    }
}

/// Whether all works; the first thing that does not tells why.
fn ready(facts: &Facts<'_>, parts: [&Verdict; 3], store: &Verdict) -> Verdict {
    if let Some(cleaning) = facts.cleaning {
        let (reason, message) = cleaning.told();
        return Verdict::no(reason, message + &in_the_way(facts, cleaning) + &trouble(facts, Component::Purge));
    }
    if let Some(failure) = facts.failure {
        // only with deletionPolicy Delete is there anything left to fail
        let goes = facts.service.metadata.deletion_timestamp.is_some();
        let help = if goes { ": set deletionPolicy to Retain to let the resource go, with its data left" } else { "" };
        return Verdict::no(Reason::from(failure), failure.chain() + help);
    }
    if let Some(conflict) = facts.applied.and_then(|applied| applied.conflicts.first()) {
        return Verdict::no(Reason::NameTaken, conflict.clone());
    }
    // without the store no part gets ready
    let broken = Some(store).filter(|store| store.holds == Holds::False);
    let broken = broken.or_else(|| parts.into_iter().find(|part| part.holds != Holds::True));
    match broken {
        Some(part) => Verdict::no(part.reason, part.message.clone()),
        None => Verdict::yes(Reason::AllPartsWork, "rank servers and ingest workers are ready"),
    }
}
