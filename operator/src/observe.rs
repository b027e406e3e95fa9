//! Reads how the parts of a service are: pods, what rank servers say, what trainings have reported.

mod jobs;
mod report;
mod servers;

pub use report::{ModelReport, Report};
pub(crate) use servers::Listened;
pub use servers::{Heard, Serving, changed};

use crate::ask::HTTPS;
use crate::labels::{self, CONFIGURATION_DIGEST, Component, ENCRYPTED};
use crate::reconcile::{Context, locked};
use crate::status::Reason;
use crate::{Error, Result};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use rankwright_crds::RankingService;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A cluster makes a node within this time, where it makes any.
const NODE_PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// How long a pod may wait for its place before the status tells it.
const PLACE_PATIENCE: SignedDuration = SignedDuration::from_secs(15);

/// How long the node of a pod may set up its volumes and network before the status tells it.
const SETUP_PATIENCE: SignedDuration = SignedDuration::from_secs(30);

/// Of what a program said last, in bytes.
const LONGEST_LINE: usize = 300;

/// How the parts of a service are.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// What rank servers say.
    pub heard: Heard,
    /// The last training that has ended.
    pub training: Option<Trained>,
    /// The last one of each schedule, by what tells them apart (`schedules::key_of`).
    pub trainings: BTreeMap<String, Trained>,
    /// Why pods of the parts do not run.
    pub troubles: Vec<Trouble>,
    /// Whether a pod waits for its node, or is being set up there, too short a time for the status to tell it.
    pub begins: bool,
    /// Parts of which a pod runs.
    pub running: Vec<Component>,
    /// Jobs of imports, of this service or of a namesake before it.
    pub imports: Vec<Job>,
}

impl Observed {
    /// Whether no pod of a part runs, for a reason that is known.
    pub fn is_stuck(&self, component: Component) -> bool {
        self.trouble(component).is_some() && !self.running.contains(&component)
    }

    /// Why a pod of a part does not run, where that is known.
    pub fn trouble(&self, component: Component) -> Option<&Trouble> {
        self.troubles.iter().find(|trouble| trouble.part == component)
    }

    /// A rank server that runs and is not ready says why, where nothing keeps another one from running.
    fn tell_waiting(&mut self) {
        let known = self.trouble(Component::Rank).is_some();
        let Some((pod, why)) = self.heard.waiting.first().filter(|_| !known) else { return };
        let text = format!("pod {pod} is not ready: {why}");
        self.troubles.push(Trouble { part: Component::Rank, reason: Reason::WouldServeLess, text });
    }

    /// Whether rank servers say that the state store does not answer them.
    pub fn lacks_store(&self) -> bool {
        self.heard.lacking().next().is_some()
    }
}

/// Why a pod of a part does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The part.
    pub part: Component,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub text: String,
}

/// A training that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// Its pod, or its Job where that took the pod with it.
    pub pod: String,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// What it reported; nothing where it could not even do that.
    pub report: Option<Report>,
    /// Why it ended, in words.
    pub end: String,
}

/// Looks at the pods of a service, and asks its rank servers.
///
/// # Errors
/// When the pods cannot be listed.
pub async fn service(ctx: &Context, service: &RankingService) -> Result<Observed> {
    let pods = pods(ctx, service).await?;
    let mut observed = of_pods(&pods, Timestamp::now());
    let jobs = jobs::jobs(ctx, service).await?;
    {
        let mut podless = locked(&ctx.podless);
        jobs::tell(&mut observed, &jobs, &pods, podless.entry(service.uid().unwrap_or_default()).or_default());
    }
    observed.imports = jobs.into_iter().filter(|job| labels::is_of(job, Component::Import)).collect();
    observed.heard = servers::ask(ctx, service, &pods).await;
    observed.tell_waiting();
    Ok(observed)
}

/// What rank servers say now.
///
/// # Errors
/// When the pods cannot be listed.
pub async fn heard(ctx: &Context, service: &RankingService) -> Result<Heard> {
    Ok(servers::once(ctx, &pods(ctx, service).await?).await)
}

/// Digests of the configurations that rank servers have started with.
///
/// # Errors
/// When the pods cannot be listed.
pub async fn started(ctx: &Context, service: &RankingService) -> Result<BTreeSet<String>> {
    let pods = pods(ctx, service).await?;
    Ok(pods.iter().filter_map(|pod| started_with(pod)).map(str::to_owned).collect())
}

/// Any sight of them will do: the news of a later one brings us back.
async fn pods(ctx: &Context, service: &RankingService) -> Result<Vec<Arc<Pod>>> {
    let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
    if let Some(pods) = ctx.cache(&namespace).pods(&namespace, &name) {
        return Ok(pods);
    }
    let selected = ListParams::default().match_any().labels(&labels::text(&labels::common(&name)));
    let api: Api<Pod> = Api::namespaced(ctx.client.clone(), &namespace);
    let pods = api.list(&selected).await.map_err(Error::reading("the pods of the service"))?;
    let seen = |mut pod: Pod| {
        prune(&mut pod);
        Arc::new(pod)
    };
    Ok(pods.items.into_iter().map(seen).collect())
}

/// What pods tell by themselves.
pub fn of_pods(pods: &[Arc<Pod>], now: Timestamp) -> Observed {
    let part = |component: Component| pods.iter().map(|pod| &**pod).filter(move |pod| labels::is_of(*pod, component));
    // in the order in which the API server has seen them: clocks of nodes may differ
    let begun = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let ended = |pod: &Pod| terminated(pod).and_then(|ended| ended.finished_at.as_ref().map(|time| time.0));
    let mut by_schedule = BTreeMap::<String, &Pod>::new();
    for pod in part(Component::Training).filter(|pod| trained(pod).is_some()) {
        let last = by_schedule.entry(labels::schedule_of(pod).to_owned()).or_insert(pod);
        if (begun(pod), ended(pod)) >= (begun(last), ended(last)) {
            *last = pod;
        }
    }
    // those of several schedules go on at the same time
    let last = by_schedule.values().copied().max_by_key(|pod| (ended(pod), begun(pod)));
    let parts = [Component::Rank, Component::Ingest, Component::Training, Component::Import, Component::Purge];
    // of trainings there are several, one after the other: those that have ended are told by how they did
    let runs =
        |pod: &&Pod| !labels::is_of(*pod, Component::Training) || (terminated(pod).is_none() && !awaits_node(pod, now));
    let troubled = |component: Component| {
        let (reason, text) = part(component).filter(runs).find_map(|pod| trouble(pod, now))?;
        Some(Trouble { part: component, reason, text })
    };
    Observed {
        heard: Heard::default(),
        training: last.and_then(trained),
        trainings: by_schedule.iter().filter_map(|(key, pod)| Some((key.clone(), trained(pod)?))).collect(),
        troubles: parts.into_iter().filter_map(troubled).collect(),
        begins: pods.iter().any(|pod| begins(pod, now)),
        running: parts.into_iter().filter(|component| part(*component).any(is_running)).collect(),
        imports: Vec::new(),
    }
}

fn is_running(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}

/// Removes what the operator does not use: most of a pod.
pub fn prune(pod: &mut Pod) {
    pod.spec = None;
    pod.metadata.managed_fields = None;
    pod.metadata.annotations.iter_mut().for_each(|told| told.retain(|key, _| key == CONFIGURATION_DIGEST));
    pod.metadata.owner_references = None;
    let Some(status) = &mut pod.status else { return };
    status.conditions.iter_mut().for_each(|conditions| {
        conditions.retain(|condition| matches!(condition.type_.as_str(), "Ready" | "PodScheduled" | SET_UP));
    });
    // a mesh adds containers of its own; ours has the name of its part, and comes first
    let is_ours =
        |container: &ContainerStatus| labels::component_of(&pod.metadata).is_none_or(|part| container.name == part);
    status.container_statuses.iter_mut().for_each(|containers| {
        containers.sort_by_key(|container| !is_ours(container));
        containers.retain(|container| is_ours(container) || fails(container));
    });
    status.ephemeral_container_statuses = None;
    (status.pod_ips, status.host_ips) = (None, None);
}

/// The condition of a pod whose node has set up its volumes and network.
const SET_UP: &str = "PodReadyToStartContainers";

/// Whether a container waits for more than its turn, or has ended badly.
fn fails(container: &ContainerStatus) -> bool {
    let ended = |state: &Option<ContainerState>| {
        state.as_ref().and_then(|state| state.terminated.as_ref()).is_some_and(|ended| ended.exit_code != 0)
    };
    let waiting = container.state.as_ref().and_then(|state| state.waiting.as_ref());
    let why = waiting.and_then(|waiting| waiting.reason.as_deref());
    why.is_some_and(|why| !is_turn(why)) || ended(&container.state) || ended(&container.last_state)
}

/// Whether a container waits for its turn alone.
fn is_turn(reason: &str) -> bool {
    matches!(reason, "ContainerCreating" | "PodInitializing")
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The configuration of a rank server that has started: its program answers, ready or not.
fn started_with(pod: &Pod) -> Option<&str> {
    let mut containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let is_program = |container: &ContainerStatus| labels::component_of(&pod.metadata) == Some(container.name.as_str());
    let started = is_ready(pod) || containers.any(|one| is_program(one) && one.started == Some(true));
    let digest = pod.annotations().get(CONFIGURATION_DIGEST)?;
    (started && labels::is_of(pod, Component::Rank)).then_some(digest.as_str())
}

fn address(pod: &Pod) -> Option<String> {
    let address = pod.status.as_ref()?.pod_ip.as_ref()?;
    // by the pod, not by the resource: servers of before a change may run beside new ones
    Some(match pod.labels().contains_key(ENCRYPTED) {
        true => format!("{HTTPS}{address}"),
        false => address.clone(),
    })
}

fn trained(pod: &Pod) -> Option<Trained> {
    let ended = terminated(pod)?;
    let report = ended.message.as_deref().and_then(|text| serde_json::from_str(text).ok());
    if pod.metadata.deletion_timestamp.is_some() && report.is_none() {
        return None; // it was ended: with its Job, which tells, or for another pod to take its place
    }
    let end = format!("it ended with {}", end(ended));
    Some(Trained { pod: pod.name_any(), finished_at: ended.finished_at.clone(), report, end })
}

fn terminated(pod: &Pod) -> Option<&ContainerStateTerminated> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.first()?.state.as_ref()?.terminated.as_ref()
}

/// Whether it has no node yet, and may get one that is being made.
fn awaits_node(pod: &Pod, now: Timestamp) -> bool {
    let since = unplaced(pod).and_then(|unplaced| unplaced.last_transition_time.as_ref());
    since.is_some_and(|since| now.duration_since(since.0) < NODE_PATIENCE)
}

/// What says that it has no node, where it has none.
fn unplaced(pod: &Pod) -> Option<&PodCondition> {
    let status = pod.status.as_ref()?;
    if status.container_statuses.iter().flatten().next().is_some() {
        return None; // a node has begun with it
    }
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
}

/// Why a pod does not run, in a word and in words. What changes from one attempt to the next is left out: it is no news.
fn trouble(pod: &Pod, now: Timestamp) -> Option<(Reason, String)> {
    let (status, name) = (pod.status.as_ref()?, pod.name_any());
    if pod.metadata.deletion_timestamp.is_some() && is_of_deployment(pod) {
        return None; // another one takes its place
    }
    if let Some(ended) = terminated(pod) {
        return (ended.exit_code != 0).then(|| (Reason::PodEnds, format!("pod {name} ended with {}", end(ended))));
    }
    if let Some(unplaced) = unplaced(pod) {
        let why = unplaced.message.as_deref().unwrap_or("no reason given");
        return (!looks_for_place(pod, now))
            .then(|| (Reason::PodWithoutNode, format!("pod {name} finds no node: {why}")));
    }
    let containers = [&status.init_container_statuses, &status.container_statuses].into_iter().flatten().flatten();
    containers.clone().find_map(|container| trouble_of(pod, container)).or_else(|| {
        let began = |container: &ContainerStatus| {
            container.state.as_ref().is_some_and(|state| state.running.is_some() || state.terminated.is_some())
        };
        let waits = is_being_set_up(pod, now) && containers.clone().next().is_some() && !containers.clone().any(began);
        let text = format!(
            "pod {name} does not begin: its node has set up neither its volumes nor its network; kubectl describe pod {name} says why, such as a Secret that is missing"
        );
        waits.then_some((Reason::PodWaits, text))
    })
}

/// Whether the node of a pod has worked on its volumes and network for too long.
fn is_being_set_up(pod: &Pod, now: Timestamp) -> bool {
    set_up_for(pod, now).is_some_and(|time| time >= SETUP_PATIENCE)
}

/// For how long the node of a pod has worked on its volumes and network, where it has not done that yet.
fn set_up_for(pod: &Pod, now: Timestamp) -> Option<SignedDuration> {
    let condition = |kind: &str, status: &str| {
        let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.find(|condition| condition.type_ == kind && condition.status == status)
    };
    // once it has, images are fetched, which takes as long as it takes
    condition(SET_UP, "False")?;
    Some(now.duration_since(condition("PodScheduled", "True")?.last_transition_time.as_ref()?.0))
}

/// Whether a pod of a Deployment has had no node for a short time. Those of Jobs are told at once: nothing depends on them at a start.
fn looks_for_place(pod: &Pod, now: Timestamp) -> bool {
    let since = unplaced(pod).and_then(|unplaced| unplaced.last_transition_time.as_ref());
    is_of_deployment(pod) && since.is_some_and(|since| now.duration_since(since.0) < PLACE_PATIENCE)
}

/// Whether a pod may be in trouble soon, without any news of it.
fn begins(pod: &Pod, now: Timestamp) -> bool {
    looks_for_place(pod, now) || set_up_for(pod, now).is_some_and(|time| time < SETUP_PATIENCE)
}

fn is_of_deployment(pod: &Pod) -> bool {
    [Component::Rank, Component::Ingest].iter().any(|part| labels::is_of(pod, *part))
}

/// Why a container of a pod does not run: the program, or one that its author or a mesh has put beside it.
fn trouble_of(pod: &Pod, container: &ContainerStatus) -> Option<(Reason, String)> {
    let is_program = labels::component_of(&pod.metadata).is_none_or(|part| container.name == part);
    let name = match is_program {
        true => format!("pod {}", pod.name_any()),
        false => format!("container {} of pod {}", container.name, pod.name_any()),
    };
    let state = container.state.as_ref()?;
    if let Some(ended) = state.terminated.as_ref() {
        return (ended.exit_code != 0).then(|| (Reason::PodEnds, format!("{name} ended with {}", end(ended))));
    }
    let last = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let again = || {
        let last = last.map(|last| format!(", with {}", end(last))).unwrap_or_default();
        (Reason::PodEnds, format!("{name} ends again and again{last}"))
    };
    let Some(waiting) = state.waiting.as_ref() else {
        // it has begun once more, and may end as before
        let is_ready = if is_program { is_ready(pod) } else { container.ready };
        return (!is_ready && last.is_some_and(|last| last.exit_code != 0)).then(again);
    };
    match waiting.reason.as_deref()? {
        reason if is_turn(reason) => None,
        "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" => {
            let why = waiting.message.as_deref().and_then(not_pulled).map(|why| format!(": {why}"));
            let text = format!("{name} has no image: {} cannot be pulled{}", container.image, why.unwrap_or_default());
            Some((Reason::PodWithoutImage, text))
        }
        "CrashLoopBackOff" => Some(again()),
        reason => {
            let said = waiting.message.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            Some((Reason::PodWaits, format!("{name} waits with {reason}{said}")))
        }
    }
}

/// The last part of what a node says of an image that it did not get. What stands before it names the image again, and
/// changes from one attempt to the next.
fn not_pulled(said: &str) -> Option<&str> {
    let (_, why) = said.trim_end().rsplit_once(": ")?;
    Some(&why[..why.floor_char_boundary(LONGEST_LINE)])
}

/// How a container has ended, and the last line that tells why: the program's last error, else the last thing that it said. What
/// it said before it was killed for its memory has nothing to do with that.
fn end(ended: &ContainerStateTerminated) -> String {
    let said = || ended.message.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
    let killed = ended.reason.as_deref() == Some("OOMKilled");
    let last = said().rfind(|line| line.starts_with("error: ")).or_else(|| said().next_back()).filter(|_| !killed);
    let last = last.map(|line| format!(": {}", &line[..line.floor_char_boundary(LONGEST_LINE)])).unwrap_or_default();
    let reason = ended.reason.as_deref().filter(|reason| *reason != "Error").map(|reason| format!("{reason}, "));
    format!("{}exit code {}{last}", reason.unwrap_or_default(), ended.exit_code)
}

#[cfg(test)]
mod tests;
