//! Brings objects to the cluster, and takes away those that are no longer wanted.
//!
//! An object is applied when what is wanted, or what is there, has changed since it was applied last; so nothing is
//! written where nothing happens.

mod children;
mod configurations;
mod handover;
mod orphans;
mod renewal;
mod seen;

pub use renewal::renew;
pub use seen::Seen;

use crate::apis::Apis;
use crate::build::{Child, Mode};
use crate::cache::Known;
use crate::labels::{self, FIELD_MANAGER};
use crate::reconcile::Context;
use crate::{Error, Result};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use rankwright_crds::RankingService;
use std::sync::Arc;
use tracing::{info, warn};

pub use children::{delete, kinds, unwanted};

/// A version that no object has: with it, an apply makes an object, and is refused where there is one already. So the
/// object has one field manager from the start, which it would not have after a `POST`.
const NO_VERSION: &str = "1";

/// How often an object is looked at that others make, change or take away between our look and our write.
const LOOKS: usize = 3;

/// What became of all objects.
#[derive(Debug, Default)]
pub struct Applied {
    /// Deployments, Jobs and autoscalers at least, as the API server has them now.
    pub objects: Vec<Arc<DynamicObject>>,
    /// Objects of other owners in the place of ours, in words.
    pub conflicts: Vec<String>,
}

/// Applies everything that is wanted, and deletes what is not any more. What is there is told also where something fails.
///
/// # Errors
/// When the API server refuses something, or does not answer.
pub async fn all(
    ctx: &Context,
    service: &RankingService,
    desired: &[Child],
    optional: &Apis,
    applied: &mut Applied,
) -> Result<()> {
    let (mut refused, mut ready) = (None, true);
    for child in desired {
        // pods would silently begin with what was there before, or with another owner's object in its place
        let kept = (!ready && makes_pods(child)).then(|| child.clone().kept());
        match one(ctx, service, kept.as_ref().unwrap_or(child)).await {
            Ok(Outcome::There(object)) => applied.objects.extend(object),
            Ok(Outcome::Foreign { left }) => {
                ready &= !is_for_pods(service, child);
                let adopt = if left { ", or set spec.adoptOrphans" } else { "" };
                applied.conflicts.push(format!(
                    "{} exists and does not belong to this RankingService: rename one of them, or delete it{adopt}",
                    child.name()
                ));
            }
            Ok(Outcome::Absent) => {}
            // what is wrong with one object is no reason to go without the others
            Err(error) if error.is_refusal() => {
                ready &= !is_for_pods(service, child);
                refused = refused.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    let unwanted = unwanted(ctx, service, desired, optional).await?;
    let mut left = unwanted.are_read;
    for gone in unwanted.objects {
        match delete(&ctx.client, &gone).await {
            Ok(()) => {
                info!(object = gone.name(), namespace = service.namespace(), "deleted what is no longer wanted");
            }
            Err(error) if error.is_refusal() => {
                left = true;
                refused = refused.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    if !left {
        ctx.seen.clear(service, desired, optional);
    }
    refused.map_or(Ok(()), Err)
}

fn makes_pods(child: &Child) -> bool {
    matches!(child.resource.kind.as_str(), "Deployment" | "CronJob" | "Job")
}

/// Whether pods begin with it: the configuration that they mount, or who they are.
fn is_for_pods(service: &RankingService, child: &Child) -> bool {
    match child.resource.kind.as_str() {
        "ConfigMap" => child.object.name_any() != labels::dashboard(&service.name_any()),
        kind => kind == "ServiceAccount",
    }
}

/// What became of an object.
enum Outcome {
    /// It is there; with its content where that is known.
    There(Option<Arc<DynamicObject>>),
    /// It has another owner, or an earlier resource of this name has left it.
    Foreign {
        left: bool,
    },
    Absent,
}

/// Brings one object to the cluster; by what the watches have shown of it, where that is enough.
async fn one(ctx: &Context, service: &RankingService, child: &Child) -> Result<Outcome> {
    let namespace = service.namespace().unwrap_or_default();
    match (ctx.cache(&namespace).object(&child.resource.kind, &namespace, &child.object.name_any()), child.mode) {
        (Known::There(sight), mode)
            if sight.owner == service.uid()
                && (mode != Mode::Apply || sight.going || ctx.seen.is_settled_at(child, &sight)) =>
        {
            return Ok(Outcome::There(sight.content));
        }
        (Known::Absent, Mode::Keep) => return Ok(Outcome::Absent),
        // the object in its place would cause a refusal each time
        (Known::Absent, _) if !ctx.seen.is_taken(service, child) => {
            match write(ctx, service, child, None).await {
                Err(error) if error.is_conflict() => {} // the watches are behind, or another owner has one
                made => return made,
            }
        }
        _ => {}
    }
    for _ in 1..LOOKS {
        match looked(ctx, service, child).await {
            Err(error) if error.is_conflict() => {}
            outcome => return outcome,
        }
    }
    looked(ctx, service, child).await
}

/// Looks at an object, and does what is to be done about it.
async fn looked(ctx: &Context, service: &RankingService, child: &Child) -> Result<Outcome> {
    let cache = ctx.cache(&service.namespace().unwrap_or_default());
    let (api, before) = (api(ctx, service, child), cache.moment(&child.resource.kind));
    let mut live = api.get_opt(&child.object.name_any()).await.map_err(Error::reading(child.name()))?;
    if let Some(orphan) = live.as_ref().filter(|live| orphans::is_orphan(service, *live)) {
        let refused = |source| Error::Apply { child: child.name(), source: Box::new(source) };
        live = Some(orphans::adopt(&api, child, orphan).await.map_err(refused)?);
    }
    let foreign = live.as_ref().is_some_and(|live| !labels::owns(service, live));
    ctx.seen.note_taken(service, child, foreign);
    if foreign {
        warn!(object = child.name(), namespace = service.namespace(), "another owner's object is in the way");
        return Ok(Outcome::Foreign { left: live.is_some_and(|live| orphans::is_left_behind(service, &live)) });
    }
    if let Some(live) = &live {
        cache.answered(&child.resource.kind, before, live);
    }
    match (live, child.mode) {
        (None, Mode::Keep) => Ok(Outcome::Absent),
        // it cannot be changed, or is about to go: the news of its end brings us back
        (Some(live), Mode::Once | Mode::Keep) => Ok(Outcome::There(Some(Arc::new(live)))),
        (Some(live), Mode::Apply)
            if live.metadata.deletion_timestamp.is_some() || ctx.seen.is_settled(child, &live) =>
        {
            Ok(Outcome::There(Some(Arc::new(live))))
        }
        (live, _) => write(ctx, service, child, live.as_ref()).await,
    }
}

/// Applies an object in the place of the one that was seen, or where none was; refused where that is no longer so.
async fn write(
    ctx: &Context,
    service: &RankingService,
    child: &Child,
    live: Option<&DynamicObject>,
) -> Result<Outcome> {
    let (api, kind) = (api(ctx, service, child), &child.resource.kind);
    let refused = |source| Error::Apply { child: child.name(), source: Box::new(source) };
    let mut object = child.object.clone();
    match live {
        Some(live) => {
            handover::hand_over(&api, service, child, live).await.map_err(refused)?;
            object.metadata.uid.clone_from(&live.metadata.uid);
        }
        None => object.metadata.resource_version = Some(NO_VERSION.to_owned()),
    }
    let cache = ctx.cache(&service.namespace().unwrap_or_default());
    let (ours, before) = (PatchParams::apply(FIELD_MANAGER).force(), cache.moment(kind));
    let applied = api.patch(&object.name_any(), &ours, &Patch::Apply(&object)).await.map_err(refused)?;
    // what was scaled to none since we looked would be taken for what we have left behind
    let kept = handover::hand_over(&api, service, child, &applied).await.map_err(refused)?;
    let applied = kept.unwrap_or(applied);
    cache.answered(kind, before, &applied);
    ctx.seen.settle(child, &applied);
    info!(object = child.name(), namespace = service.namespace(), "applied");
    Ok(Outcome::There(Some(Arc::new(applied))))
}

fn api(ctx: &Context, service: &RankingService, child: &Child) -> Api<DynamicObject> {
    Api::namespaced_with(ctx.client.clone(), &service.namespace().unwrap_or_default(), &child.resource)
}
