//! What is told about a service. [`of`] is pure: it computes the status from what was done and seen; [`publish`] writes it
//! where it differs from what is there.

mod conditions;
mod models;
mod parts;
mod progress;
mod reason;
mod state;

pub use models::{awaits_servers, is_moving};
pub(crate) use parts::{condition as job_condition, ended_at as job_ended_at};
pub use reason::Reason;
pub(crate) use state::place;

use crate::apply::Applied;
use crate::deletion::Cleaning;
use crate::labels::FIELD_MANAGER;
use crate::observe::Observed;
use crate::validate::Plan;
use crate::{Error, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use rankwright_crds::{RankingService, RankingServiceStatus};
use serde_json::{Value, json};

/// Everything that a status is computed from.
pub struct Facts<'a> {
    /// The resource.
    pub service: &'a RankingService,
    /// What was planned; nothing where that was refused.
    pub plan: Option<&'a Plan>,
    /// What was applied; nothing where that did not succeed.
    pub applied: Option<&'a Applied>,
    /// Why not.
    pub failure: Option<&'a Error>,
    /// How far the removal of a deleted service is.
    pub cleaning: Option<&'a Cleaning>,
    /// How the parts are.
    pub observed: &'a Observed,
    /// The main objects.
    pub workloads: &'a Workloads,
}

/// The main objects of a service, as far as they are there and belong to it.
#[derive(Debug, Clone, Default)]
pub struct Workloads {
    /// The rank servers.
    pub rank: Option<Deployment>,
    /// The ingest workers.
    pub ingest: Option<Deployment>,
    /// The import that the resource asks for.
    pub import: Option<Job>,
    /// What decides on the number of rank servers, where that is a part of its own.
    pub scaler: Option<HorizontalPodAutoscaler>,
}

/// An autoscaler has its first figures within this time, and bridges gaps that are shorter.
const SCALER_PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// The status that follows from the facts and from what was told before.
pub fn of(facts: &Facts<'_>, now: Timestamp) -> RankingServiceStatus {
    let before = facts.service.status.clone().unwrap_or_default();
    let training = models::last(facts.observed.training.as_ref(), before.training.as_ref(), now);
    let models = models::models(facts, &training, &before.models);
    let mut warnings = facts.plan.map(|plan| plan.warnings.clone()).unwrap_or_default();
    warnings.extend(facts.plan.and_then(|plan| plan.held.as_ref()).map(|held| format!("ingest {held}")));
    warnings.extend(facts.workloads.scaler.as_ref().and_then(|scaler| parts::blind(scaler, now)));
    let state = state::state(facts, before.state.as_ref());
    let import = state::import(facts, parts::import(facts, before.import.as_ref()), state.as_ref());
    let told = conditions::Told { models: &models, training: training.told.as_ref(), state: state.as_ref() };
    RankingServiceStatus {
        observed_generation: facts.service.metadata.generation,
        conditions: conditions::conditions(facts, &told, &before.conditions, now),
        rank: parts::rank(facts, before.rank),
        ingest: parts::ingest(facts, before.ingest),
        model: models::summary(&models),
        training: training.told,
        models,
        state,
        import,
        warnings,
    }
}

/// Writes a status that differs from the one that is there; the resource as it is then. Nothing, where it is gone or was changed
/// since it was read.
///
/// # Errors
/// When the API server refuses it.
pub async fn publish(
    client: &Client,
    service: &RankingService,
    status: &RankingServiceStatus,
) -> Result<Option<RankingService>> {
    if service.status.as_ref() == Some(status) {
        return Ok(None);
    }
    let api: Api<RankingService> = Api::namespaced(client.clone(), &service.namespace().unwrap_or_default());
    // not to another one of the same name, made since, nor over what changed meanwhile: the news of that brings us back
    let metadata = json!({ "resourceVersion": service.metadata.resource_version });
    let there = serde_json::to_value(&service.status).unwrap_or_default();
    let change = json!({ "metadata": metadata, "status": change(&there, &json!(status)) });
    let ours = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch_status(&service.name_any(), &ours, &Patch::Merge(&change)).await {
        Err(kube::Error::Api(answer)) if answer.code == 404 || answer.code == 409 => Ok(None),
        answer => answer.map(Some).map_err(|source| Error::Status(Box::new(source))),
    }
}

/// The merge patch that makes one value of another: fields that are not wanted go, also those that another client has written.
fn change(there: &Value, wanted: &Value) -> Value {
    let (Value::Object(there), Value::Object(wanted)) = (there, wanted) else { return wanted.clone() };
    let gone = there.keys().filter(|key| !wanted.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let none = Value::Null;
    let kept = wanted.iter().map(|(key, value)| (key.clone(), change(there.get(key).unwrap_or(&none), value)));
    gone.chain(kept).collect()
}

#[cfg(test)]
mod tests;
