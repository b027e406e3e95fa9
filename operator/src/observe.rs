//! Reads how the parts of a service are: pods, what rank servers say, what trainings have reported.

mod report;

pub use report::{ModelReport, Report};

use crate::ask::{Ask, Said};
use crate::labels::{self, Component};
use crate::{Error, Result};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use rankwright_crds::RankingService;

/// How the parts of a service are.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// What a rank server says; nothing where none answers.
    pub said: Option<Said>,
    /// The last training that has ended.
    pub training: Option<Trained>,
    /// Why pods of the parts do not run, in words.
    pub troubles: Vec<(Component, String)>,
}

/// A training that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// Its pod.
    pub pod: String,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// What it reported; nothing where it could not even do that.
    pub report: Option<Report>,
    /// Why it ended, in words.
    pub end: String,
}

/// Looks at the pods of a service, and asks one rank server.
///
/// # Errors
/// When the pods cannot be listed.
pub async fn service(client: &Client, ask: &dyn Ask, service: &RankingService) -> Result<Observed> {
    let namespace = service.namespace().unwrap_or_default();
    let selected = ListParams::default().labels(&labels::text(&labels::common(&service.name_any())));
    let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let pods = api.list(&selected).await.map_err(Error::reading("the pods of the service"))?.items;
    let mut observed = of_pods(&pods);
    for address in
        pods.iter().filter(|pod| labels::is_of(*pod, Component::Rank) && is_ready(pod)).filter_map(address).take(2)
    {
        observed.said = ask.ask(&address).await;
        if observed.said.is_some() {
            break;
        }
    }
    Ok(observed)
}

/// What pods tell by themselves.
pub fn of_pods(pods: &[Pod]) -> Observed {
    let trainings = pods.iter().filter(|pod| labels::is_of(*pod, Component::Training));
    let mut trained: Vec<Trained> = trainings.filter_map(trained).collect();
    trained.sort_by_key(|training| training.finished_at.as_ref().map(|time| time.0));
    let parts = [Component::Rank, Component::Ingest, Component::Training, Component::Import, Component::Purge];
    let troubled = |component: Component| {
        let trouble = pods.iter().filter(|pod| labels::is_of(*pod, component)).find_map(trouble);
        trouble.map(|trouble| (component, trouble))
    };
    Observed { said: None, training: trained.pop(), troubles: parts.into_iter().filter_map(troubled).collect() }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn address(pod: &Pod) -> Option<String> {
    pod.status.as_ref()?.pod_ip.clone()
}

fn trained(pod: &Pod) -> Option<Trained> {
    let ended = terminated(pod)?;
    let report = ended.message.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let end = match ended.reason.as_deref().unwrap_or("Error") {
        "Completed" => "it ended well".to_owned(),
        reason => format!("it ended with {reason}, exit code {}", ended.exit_code),
    };
    Some(Trained { pod: pod.name_any(), finished_at: ended.finished_at.clone(), report, end })
}

fn terminated(pod: &Pod) -> Option<&ContainerStateTerminated> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.first()?.state.as_ref()?.terminated.as_ref()
}

/// Why a pod does not run, in words.
fn trouble(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let name = pod.name_any();
    let conditions = status.conditions.iter().flatten();
    let unplaced =
        conditions.into_iter().find(|condition| condition.type_ == "PodScheduled" && condition.status == "False");
    if let Some(unplaced) = unplaced {
        return Some(format!("pod {name} finds no node: {}", unplaced.message.as_deref().unwrap_or("no reason given")));
    }
    let container = status.container_statuses.as_ref()?.first()?;
    let waiting = container.state.as_ref().and_then(|state| state.waiting.as_ref());
    let reason =
        waiting.and_then(|waiting| waiting.reason.as_deref()).filter(|reason| *reason != "ContainerCreating")?;
    let ended = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let last = ended.map(|ended| format!(", last exit code {}", ended.exit_code)).unwrap_or_default();
    let said =
        waiting.and_then(|waiting| waiting.message.as_deref()).map(|text| format!(": {text}")).unwrap_or_default();
    // the message of a restarting container names a growing time, which is no news
    let said = if reason == "CrashLoopBackOff" { String::new() } else { said };
    Some(format!("pod {name} waits with {reason}{last}{said}"))
}

#[cfg(test)]
mod tests;
