//! How far a part is on its way to what is wanted, and what that means for all of a service.

use super::conditions::{Holds, Verdict};
use super::parts::counts;
use super::state::is_here;
use super::{Facts, Reason};
use crate::Error;
use crate::deletion::Cleaning;
use crate::labels::Component;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};
use rankwright_crds::status::StateStatus;

/// How far a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// What is wanted runs and answers, and nothing else.
    Whole,
    /// It is on its way.
    Moving,
    /// It does not get on by itself.
    Stuck,
    /// Something is missing, though nothing is on its way.
    Short,
}

/// How a part is.
pub(super) struct Part {
    pub(super) verdict: Verdict,
    pub(super) course: Course,
    /// Why pods of it do not run, in a word.
    pub(super) cause: Option<Reason>,
}

impl Part {
    /// Why it is not what is wanted, where it is not: with the cause in the place of what follows from it.
    pub(super) fn missing(&self) -> Option<Verdict> {
        let follows = matches!(self.verdict.reason, Reason::RollingOut | Reason::Degraded | Reason::NoneReady);
        let reason = self.cause.filter(|_| follows).unwrap_or(self.verdict.reason);
        (self.course != Course::Whole).then(|| Verdict::no(reason, self.verdict.message.clone()))
    }
}

/// How the pods of a part are.
pub(super) fn part(facts: &Facts<'_>, component: Component, deployment: Option<&Deployment>) -> Part {
    let what = if component == Component::Rank { "rank servers" } else { "ingest workers" };
    let Some(deployment) = deployment else { return absent(facts, component, what) };
    let trouble = facts.observed.trouble(component);
    let unmade = unmade(deployment);
    let cause = trouble.map(|trouble| trouble.reason).or(unmade.as_ref().map(|_| Reason::PodsRefused));
    let why = trouble.map(|trouble| trouble.text.clone()).or(unmade).map(|why| format!(": {why}")).unwrap_or_default();
    let (wanted, there, ready) = counts(deployment);
    let status = deployment.status.clone().unwrap_or_default();
    let (updated, available) = (status.updated_replicas.unwrap_or(0), status.available_replicas.unwrap_or(0));
    let progress = condition(deployment, "Progressing").and_then(|condition| condition.reason.as_deref());
    let seen = status.observed_generation >= deployment.metadata.generation;
    // until it was complete once, a Deployment says so
    let begins = progress.is_some_and(|reason| reason != "NewReplicaSetAvailable");
    let changing = !seen || updated < wanted || there > updated || available < ready.min(wanted);
    // those that are not updated may be the ready ones; and what the numbers are about is not known before they are
    let right = if seen { (ready - (there - updated)).clamp(0, updated) } else { 0 };
    let run = format!("{right} of {wanted} {what} run what they should");
    let (verdict, course) = match (wanted, ready) {
        (0, _) => (Verdict::no(Reason::ScaledToZero, format!("no {what} are wanted")), Course::Short),
        _ if seen && progress == Some("ProgressDeadlineExceeded") => {
            (Verdict::no(Reason::RolloutStuck, format!("{run}, {ready} answer{why}")), Course::Stuck)
        }
        (_, 0) => {
            let course = if changing || begins { Course::Moving } else { Course::Short };
            (Verdict::no(Reason::NoneReady, format!("none of {wanted} {what} is ready{why}")), course)
        }
        _ if changing => (Verdict::yes(Reason::RollingOut, format!("{run}{why}")), Course::Moving),
        _ if ready < wanted => {
            let course = if begins { Course::Moving } else { Course::Short };
            (Verdict::yes(Reason::Degraded, format!("{ready} of {wanted} {what} are ready{why}")), course)
        }
        _ => (Verdict::yes(Reason::Available, format!("{ready} of {wanted} {what} are ready")), Course::Whole),
    };
    Part { verdict, course, cause }
}

fn absent(facts: &Facts<'_>, component: Component, what: &str) -> Part {
    let name = format!("Deployment {}", component.of(&kube::ResourceExt::name_any(facts.service)));
    let mut conflicts = facts.applied.iter().flat_map(|applied| &applied.conflicts);
    let (verdict, course) = match conflicts.find(|conflict| conflict.starts_with(&format!("{name} "))) {
        Some(conflict) => (Verdict::no(Reason::NameTaken, conflict.clone()), Course::Stuck),
        None => (Verdict::no(Reason::NotCreated, format!("there are no {what} yet")), Course::Moving),
    };
    Part { verdict, course, cause: None }
}

/// Why a Deployment cannot make pods, in the words of who refuses them.
fn unmade(deployment: &Deployment) -> Option<String> {
    let failure = condition(deployment, "ReplicaFailure").filter(|failure| failure.status == "True");
    failure.and_then(|failure| failure.message.as_deref()).map(|message| format!("no pod can be made: {message}"))
}

fn condition<'a>(deployment: &'a Deployment, kind: &str) -> Option<&'a DeploymentCondition> {
    deployment.status.as_ref()?.conditions.iter().flatten().find(|condition| condition.type_ == kind)
}

/// Whether a rank server answers requests.
pub(super) fn available(rank: &Part, deployment: Option<&Deployment>) -> Verdict {
    let ready = deployment.map_or(0, |deployment| counts(deployment).2);
    match rank.verdict.reason {
        _ if ready > 0 => Verdict::yes(Reason::RequestsAnswered, "rank servers answer requests"),
        reason @ (Reason::ScaledToZero | Reason::NotCreated | Reason::NameTaken) => {
            Verdict::no(reason, rank.verdict.message.clone())
        }
        _ => Verdict::no(Reason::NoneReady, rank.verdict.message.clone()),
    }
}

/// `Reconciling` or `Stalled`, in the sense of kstatus: what is wanted is on its way, or a person has to act. Neither, where
/// the operator can only wait, as while the state store is away.
pub(super) fn progress(
    facts: &Facts<'_>,
    state: Option<&StateStatus>,
    ready: &Verdict,
    parts: [&Part; 2],
) -> Option<(&'static str, Verdict)> {
    if ready.holds == Holds::True {
        return None;
    }
    let any = |course: Course| parts.iter().any(|part| part.course == course);
    let (stalled, moving) = match (facts.failure, facts.cleaning) {
        (Some(Error::Refused(refusal)), _) => (!refusal.waits(), refusal.waits()),
        (Some(_), _) => (false, true), // it is tried again
        (None, Some(cleaning)) => {
            let failed = matches!(cleaning, Cleaning::PurgeFailed(_));
            (failed, !failed)
        }
        (None, None) => {
            let conflict = facts.applied.is_some_and(|applied| !applied.conflicts.is_empty());
            let held = facts.plan.is_some_and(|plan| plan.held.is_some());
            // a person has acted where the service moves away from it
            let lost = ready.reason == Reason::StateLost && state.is_some_and(|state| is_here(facts.service, state));
            (conflict || lost || any(Course::Stuck), any(Course::Moving) || held)
        }
    };
    let told = || Verdict::yes(ready.reason, ready.message.clone());
    match (stalled, moving) {
        (true, _) => Some(("Stalled", told())),
        (false, true) => Some(("Reconciling", told())),
        (false, false) => None,
    }
}
