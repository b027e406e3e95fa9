//! Jobs whose pods cannot run, and that were asked for again since.

use super::children::{Found, delete};
use crate::Result;
use crate::build::{Child, Mode};
use crate::labels::{self, Component, PODS_DIGEST};
use crate::observe::Observed;
use crate::reconcile::Context;
use crate::status::job_condition;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::DynamicObject;
use std::sync::Arc;
use tracing::info;

/// Deletes Jobs that are stuck and whose pods would be others now; the next look makes them again. One that runs is let be,
/// and so is an import that has failed: it may be long ago that its events were wanted.
///
/// # Errors
/// When the API server refuses it.
pub async fn renew(
    ctx: &Context,
    desired: &[Child],
    there: &[Arc<DynamicObject>],
    observed: &Observed,
) -> Result<bool> {
    let mut renewed = false;
    for child in desired.iter().filter(|child| child.mode == Mode::Once) {
        let same = |object: &&Arc<DynamicObject>| {
            object.types == child.object.types && object.name_any() == child.object.name_any()
        };
        let Some(live) = there.iter().find(same) else { continue };
        if is_outdated(live, child, observed) {
            delete(&ctx.client, &Found::of(child, live)).await?;
            info!(object = child.name(), namespace = live.namespace(), "deleted what could not run, to make it again");
            renewed = true;
        }
    }
    Ok(renewed)
}

fn is_outdated(live: &DynamicObject, child: &Child, observed: &Observed) -> bool {
    let wanted = child.object.annotations().get(PODS_DIGEST);
    if wanted.is_none() || live.annotations().get(PODS_DIGEST) == wanted || live.metadata.deletion_timestamp.is_some() {
        return false;
    }
    let job: Option<Job> = serde_json::to_value(live).ok().and_then(|job| serde_json::from_value(job).ok());
    let Some(job) = job.filter(|job| job_condition(job, "Complete").is_none()) else { return false };
    if job_condition(&job, "Failed").is_some() {
        return labels::is_of(&job, Component::Purge);
    }
    let parts = [Component::Import, Component::Purge];
    parts.into_iter().any(|part| labels::is_of(&job, part) && observed.is_stuck(part))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::build;
    use crate::observe::Trouble;
    use crate::status::Reason;
    use crate::testing::planned;
    use serde_json::{Value, json};

    fn import(image: &str) -> Child {
        let from = json!({"s3": {"bucket": "events", "prefix": "2026"}});
        let plan = planned(json!({"image": image, "import": {"from": from}})).unwrap();
        build::desired(&plan).into_iter().find(|child| child.mode == Mode::Once).unwrap()
    }

    fn outdated(image: &str, status: Value, observed: &Observed) -> bool {
        let mut live = import("rankwright:wrong").object;
        live.data["status"] = status;
        is_outdated(&live, &import(image), observed)
    }

    #[test]
    fn a_job_is_made_anew_where_it_is_stuck_and_its_pods_would_be_others() {
        let trouble = Trouble { part: Component::Import, reason: Reason::PodWithoutImage, text: "no image".to_owned() };
        let stuck = Observed { troubles: vec![trouble], ..Observed::default() };
        let runs = Observed { running: vec![Component::Import], ..stuck.clone() };
        let ended = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
        assert!(outdated("rankwright:1", json!({}), &stuck));
        assert!(!outdated("rankwright:wrong", json!({}), &stuck), "nothing would be different");
        assert!(!outdated("rankwright:1", json!({}), &runs), "a later attempt runs");
        assert!(!outdated("rankwright:1", json!({}), &Observed::default()), "it only has not begun yet");
        assert!(!outdated("rankwright:1", ended("Complete"), &stuck));
        assert!(!outdated("rankwright:1", ended("Failed"), &stuck), "nobody has asked for it again");
    }
}
