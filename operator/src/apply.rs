//! Brings objects to the cluster, and takes away those that are no longer wanted.
//!
//! An object is applied when what is wanted, or what is there, has changed since it was applied last; so nothing is
//! written where nothing happens.

mod children;
mod seen;

pub use seen::Seen;

use crate::build::{Child, Mode};
use crate::labels::{self, FIELD_MANAGER};
use crate::{Error, Result};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use rankwright_crds::RankingService;
use tracing::{info, warn};

pub use children::{delete, unwanted};

/// Hands the number of replicas over to an autoscaler, see [`hand_over`].
const HANDOVER: &str = "rankwright-operator-handover";

/// What became of all objects.
#[derive(Debug, Default)]
pub struct Applied {
    /// As the API server has them now.
    pub objects: Vec<DynamicObject>,
    /// Objects of somebody else in the place of ours, in words.
    pub conflicts: Vec<String>,
}

/// Applies everything that is wanted, and deletes what is not any more.
///
/// # Errors
/// When the API server refuses something, or does not answer.
pub async fn all(
    client: &Client,
    seen: &Seen,
    service: &RankingService,
    desired: &[Child],
    optional: &crate::apis::Apis,
) -> Result<Applied> {
    let (mut applied, mut refused) = (Applied::default(), None);
    for child in desired {
        match one(client, seen, service, child).await {
            Ok(Outcome::There(object)) => applied.objects.push(*object),
            Ok(Outcome::Foreign) => applied.conflicts.push(format!(
                "{} exists and does not belong to this RankingService: rename one of them, or delete it",
                child.name()
            )),
            Ok(Outcome::Absent) => {}
            // what is wrong with one object is no reason to go without the others
            Err(error) if error.is_refusal() => refused = refused.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    // nothing is left over while the same objects are wanted as before
    if !seen.is_cleared(service, desired, optional) {
        for gone in unwanted(client, service, desired, optional).await? {
            delete(client, &gone).await?;
            info!(object = gone.name(), namespace = service.namespace(), "deleted what is no longer wanted");
        }
        seen.clear(service, desired, optional);
    }
    refused.map_or(Ok(applied), Err)
}

/// What became of an object.
enum Outcome {
    There(Box<DynamicObject>),
    Foreign,
    Absent,
}

async fn one(client: &Client, seen: &Seen, service: &RankingService, child: &Child) -> Result<Outcome> {
    let namespace = service.namespace().unwrap_or_default();
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &child.resource);
    let name = child.object.name_any();
    let live = api.get_opt(&name).await.map_err(Error::reading(child.name()))?;
    if live.as_ref().is_some_and(|live| !labels::owns(service, live)) {
        warn!(object = child.name(), namespace, "an object of somebody else is in the way");
        return Ok(Outcome::Foreign);
    }
    let refused = |source| Error::Apply { child: child.name(), source: Box::new(source) };
    match (live, child.mode) {
        (None, Mode::Keep) => Ok(Outcome::Absent),
        // it cannot be changed, or is about to go: the news of its end brings us back
        (Some(live), Mode::Once | Mode::Keep) => Ok(Outcome::There(Box::new(live))),
        (Some(live), Mode::Apply) if live.metadata.deletion_timestamp.is_some() => Ok(Outcome::There(Box::new(live))),
        (Some(live), Mode::Apply) if seen.is_settled(child, &live) => Ok(Outcome::There(Box::new(live))),
        (live, _) => {
            if let Some(live) = &live {
                hand_over(&api, child, live).await.map_err(refused)?;
            }
            let ours = PatchParams::apply(FIELD_MANAGER).force();
            let applied = api.patch(&name, &ours, &Patch::Apply(&child.object)).await.map_err(refused)?;
            seen.settle(child, &applied);
            info!(object = child.name(), namespace, "applied");
            Ok(Outcome::There(Box::new(applied)))
        }
    }
}

/// Keeps the number of replicas when an autoscaler gets to decide about it. A field that its only owner no longer sends
/// falls back to its default, which is one pod; so somebody else owns it from now on.
async fn hand_over(api: &Api<DynamicObject>, child: &Child, live: &DynamicObject) -> kube::Result<()> {
    let wanted = child.object.data.pointer("/spec/replicas");
    let Some(replicas) = live.data.pointer("/spec/replicas").filter(|_| wanted.is_none() && sends_replicas(live))
    else {
        return Ok(());
    };
    let mut kept = DynamicObject::new(&live.name_any(), &child.resource);
    kept.data = serde_json::json!({ "spec": { "replicas": replicas } });
    api.patch(&live.name_any(), &PatchParams::apply(HANDOVER).force(), &Patch::Apply(&kept)).await.map(drop)
}

/// Whether the operator has said how many replicas there are.
fn sends_replicas(live: &DynamicObject) -> bool {
    live.managed_fields().iter().any(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        entry.manager.as_deref() == Some(FIELD_MANAGER)
            && fields.is_some_and(|fields| fields.pointer("/f:spec/f:replicas").is_some())
    })
}
