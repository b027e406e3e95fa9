//! The conditions: each with a reason, a message that says what to do, and the generation that it is about.

use super::progress::{Part, available, part, progress};
use super::{Facts, Reason};
use crate::Error;
use crate::deletion::Cleaning;
use crate::labels::Component;
use crate::observe::Serving;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use rankwright_crds::status::{ModelStatus, StateStatus, TrainingStatus};

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    True,
    False,
    Unknown,
}

/// What a condition says.
pub(super) struct Verdict {
    pub(super) holds: Holds,
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Verdict {
    fn new(holds: Holds, reason: Reason, message: impl Into<String>) -> Self {
        Self { holds, reason, message: message.into() }
    }

    pub(super) fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Holds::Unknown, reason, message)
    }

    pub(super) fn yes(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Holds::True, reason, message)
    }

    pub(super) fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Holds::False, reason, message)
    }
}

/// What the rest of a status says.
pub(super) struct Told<'a> {
    pub(super) models: &'a [ModelStatus],
    pub(super) training: Option<&'a TrainingStatus>,
    pub(super) state: Option<&'a StateStatus>,
}

pub(super) fn conditions(facts: &Facts<'_>, told: &Told<'_>, before: &[Condition], now: Timestamp) -> Vec<Condition> {
    let configuration = configuration(facts, before);
    let workloads = facts.workloads;
    let rank = part(facts, Component::Rank, workloads.rank.as_ref());
    let ingest = part(facts, Component::Ingest, workloads.ingest.as_ref());
    let store = store(facts);
    let intact = super::state::intact(facts.service, told.state);
    let trained = trained(facts, told.models, told.training);
    let ready = ready(facts, &configuration, [&rank, &ingest], [&store, &intact]);
    let available = available(&rank, workloads.rank.as_ref());
    let progress = progress(facts, told.state, &ready, [&rank, &ingest]);
    let others = [
        ("RankServerReady", rank.verdict),
        ("IngestReady", ingest.verdict),
        ("ModelTrained", trained),
        ("StateStoreReachable", store),
        ("StateIntact", intact),
        ("ConfigurationValid", configuration),
    ];
    let all = [("Ready", ready), ("Available", available)].into_iter().chain(progress).chain(others);
    all.map(|(kind, verdict)| condition(facts, kind, verdict, before, now)).collect()
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

/// Why a pod of a part does not run, to be put behind what follows from it.
fn trouble(facts: &Facts<'_>, component: Component) -> String {
    facts.observed.trouble(component).map(|trouble| format!(": {}", trouble.text)).unwrap_or_default()
}

fn store(facts: &Facts<'_>) -> Verdict {
    let heard = &facts.observed.heard;
    let lacking: Vec<_> = heard.lacking().collect();
    if heard.said.is_empty() {
        return Verdict::new(Holds::Unknown, Reason::NobodyToAsk, "no rank server answers that could tell");
    }
    if lacking.is_empty() {
        return Verdict::yes(Reason::Answers, "Redis answers the rank servers");
    }
    let who = match heard.said.len() {
        all if all == lacking.len() => "the rank servers".to_owned(),
        all => format!("{} of {all} rank servers", lacking.len()),
    };
    let message = match lacking.iter().find_map(|said| said.store.problem.as_ref()) {
        Some(problem) => format!("{who} wait for Redis: {problem}"),
        None => format!(
            "Redis does not answer {who}: requests get the incoming order; see that the server of spec.stateStore.redis runs, and is reached from the pods"
        ),
    };
    Verdict::no(Reason::DoesNotAnswer, message)
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
    if let Some(message) = learning.iter().find_map(|model| lost(model)) {
        return Verdict::no(Reason::ModelLost, message);
    }
    if let Some(trouble) = facts.observed.trouble(Component::Training) {
        let message = format!("a training does not begin, and none takes its place while it waits: {}", trouble.text);
        return Verdict::no(Reason::TrainingStuck, message);
    }
    // one that is no longer wanted is over, however it ended
    let training = training.filter(|_| facts.service.spec.training.is_some());
    if let Some(failed) = training.filter(|training| training.outcome == "Failed") {
        let why = failed.message.as_deref().unwrap_or_default();
        return Verdict::no(Reason::TrainingFailed, format!("training {} failed: {why}", failed.pod));
    }
    if let Some(model) = super::models::failed(facts, &learning) {
        let why = model.last_training.as_ref().map(|last| last.message.as_str()).unwrap_or_default();
        return Verdict::no(Reason::TrainingFailed, format!("the last training of {} failed: {why}", model.name));
    }
    let differs = |model: &&&ModelStatus| differs(facts, model).is_some();
    if let Some(model) = learning.iter().find(differs) {
        let text = format!("{}: {}", model.name, model.problem.as_deref().unwrap_or_default());
        return Verdict::no(Reason::NotServedByAll, text + ", the others take it up or are replaced");
    }
    if let Some(message) = learning.iter().find_map(|model| refused(facts, model)) {
        return Verdict::no(Reason::VersionRefused, message);
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

/// Which version how many servers serve, where they differ.
fn differs(facts: &Facts<'_>, model: &ModelStatus) -> Option<String> {
    match facts.observed.heard.serving(&model.name, model.version.as_deref()) {
        Serving::Differs(text) => Some(text),
        Serving::Untold | Serving::Alike(_) => None,
    }
}

/// What becomes of a model whose versions are gone.
fn lost(model: &ModelStatus) -> Option<String> {
    let (name, lost) = (&model.name, model.lost.as_ref()?);
    let effect = match &model.version {
        Some(_) => "rank servers serve it from memory until they restart",
        None => "requests get the incoming order",
    };
    Some(format!(
        "{name}: version {lost} was served and is gone from Redis, with all others: {effect}; train again, or restore Redis"
    ))
}

/// A version that a rank server has tried, and that did not work.
fn refused(facts: &Facts<'_>, model: &ModelStatus) -> Option<String> {
    let refused = facts.observed.heard.refused(&model.name)?;
    let serves =
        model.version.as_ref().map_or("none is served".to_owned(), |version| format!("{version} is served on"));
    let (name, version, reason) = (&model.name, &refused.version, &refused.reason);
    Some(format!("{name}: version {version} did not work when a rank server tried it, so {serves}: {reason}"))
}

/// What is served in place of a version that is pinned. A missing version is reported once a rank server says so.
fn unpinned(facts: &Facts<'_>, model: &ModelStatus) -> Option<String> {
    let (name, pinned) = (&model.name, model.pinned.as_ref()?);
    if let Some(text) = differs(facts, model) {
        return Some(format!(
            "{name}: {text}, and {pinned} is pinned: rank servers take it up, or there is no such version"
        ));
    }
    match &model.version {
        Some(version) if version == pinned => None,
        Some(version) => Some(format!(
            "{name} serves {version}, and {pinned} is pinned: rank servers take it up, or there is no such version"
        )),
        None => facts.observed.heard.said.iter().find(|said| said.store.answers).map(|_| {
            format!(
                "{name} serves no version, requests get the incoming order, and {pinned} is pinned: rank servers take it up, or there is no such version"
            )
        }),
    }
}

/// Objects in the way of a resource that stops, as after `kubectl delete --cascade=orphan`: only its author can end that.
fn in_the_way(facts: &Facts<'_>, cleaning: &Cleaning) -> String {
    let conflicts = facts.applied.map(|applied| applied.conflicts.join("; ")).unwrap_or_default();
    match cleaning {
        Cleaning::Stopping { .. } if !conflicts.is_empty() => {
            format!(": {conflicts}; or set deletionPolicy to Retain to let the resource go, with its data left")
        }
        _ => String::new(),
    }
}

/// Whether what is wanted runs and answers; the first thing that does not tells why.
fn ready(facts: &Facts<'_>, configuration: &Verdict, parts: [&Part; 2], stores: [&Verdict; 2]) -> Verdict {
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
    if let Some(verdict) = stores.into_iter().chain([configuration]).find(|verdict| verdict.holds == Holds::False) {
        return Verdict::no(verdict.reason, verdict.message.clone());
    }
    if let Some(missing) = parts.into_iter().find_map(Part::missing) {
        return missing;
    }
    if let Some(held) = facts.plan.and_then(|plan| plan.held.as_ref()) {
        return Verdict::no(Reason::RollingOut, format!("ingest {held}"));
    }
    match configuration.holds {
        Holds::True => {
            Verdict::yes(Reason::AllPartsWork, "rank servers and ingest workers are ready, and run what they should")
        }
        _ => Verdict::no(configuration.reason, configuration.message.clone()),
    }
}
