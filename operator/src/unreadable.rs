//! A resource that this version of the operator cannot read, as one of a newer definition. The last thing that its status said
//! may be long untrue: so that is told there.

use crate::events::{self, News};
use crate::labels::FINALIZER;
use crate::reconcile::Context;
use crate::status::Reason;
use crate::{Error, Result};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams};
use rankwright_crds::RankingService;
use serde_json::json;

/// Owns the one condition until the resource can be read again: what else the status tells stays with whom it belongs to.
const MANAGER: &str = "rankwright-operator-unreadable";

/// Has the condition `Ready`, and an event, say that it is not known how the resource is, and why. One that is being deleted and
/// whose data stay is let go.
///
/// # Errors
/// When the API server does not answer, or refuses it.
pub async fn tell(ctx: &Context, resource: &ObjectMeta, error: &str) -> Result<()> {
    let (name, namespace) = (resource.name.clone().unwrap_or_default(), resource.namespace.clone().unwrap_or_default());
    let kind = ApiResource::erase::<RankingService>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(ctx.client.clone(), &namespace, &kind);
    // by a list, which the operator may ask for
    let alone = ListParams::default().fields(&format!("metadata.name={name}"));
    let listed = api.list(&alone).await.map_err(Error::reading(format!("RankingService {name}")))?;
    let Some(live) = listed.items.into_iter().next() else { return Ok(()) };
    if may_go(&live) {
        return let_go(&api, &live).await;
    }
    let Some(ready) = condition(&live, error, Timestamp::now()) else { return Ok(()) };
    let about = ObjectReference {
        api_version: Some(kind.api_version.clone()),
        kind: Some(kind.kind.clone()),
        name: Some(name.clone()),
        namespace: Some(namespace),
        uid: live.uid(),
        ..ObjectReference::default()
    };
    let (reason, note) = (ready.reason.clone(), ready.message.clone());
    let news = News { warning: true, reason, action: "Ready".to_owned(), note };
    let going = live.metadata.deletion_timestamp.is_some();
    // the status is written also where no events are taken
    let told = events::publish_one(&ctx.recorder, &about, going, &news).await;
    let object = json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"resourceVersion": live.resource_version()},
        "status": {"conditions": [ready]},
    });
    let ours = PatchParams::apply(MANAGER).force();
    match api.patch_status(&name, &ours, &Patch::Apply(&object)).await {
        // it was changed, or is gone: the news of that brings us back
        Err(kube::Error::Api(answer)) if answer.code == 404 || answer.code == 409 => return Ok(()),
        answer => answer.map(drop).map_err(|source| Error::Status(Box::new(source)))?,
    }
    told.map_err(|source| Error::Event(Box::new(source)))
}

/// Whether nothing but our finalizer keeps it, though its data are to stay.
fn may_go(live: &DynamicObject) -> bool {
    let keeps = live.data["spec"]["deletionPolicy"] == "Retain";
    live.metadata.deletion_timestamp.is_some() && live.finalizers().iter().any(|name| name == FINALIZER) && keeps
}

async fn let_go(api: &Api<DynamicObject>, live: &DynamicObject) -> Result<()> {
    let others: Vec<&String> = live.finalizers().iter().filter(|name| *name != FINALIZER).collect();
    let change = json!({"metadata": {"finalizers": others, "resourceVersion": live.resource_version()}});
    match api.patch(&live.name_any(), &PatchParams::default(), &Patch::Merge(&change)).await {
        Err(kube::Error::Api(answer)) if answer.code == 404 => Ok(()),
        answer => answer.map(drop).map_err(|source| Error::Finalizer(Box::new(source))),
    }
}

/// The condition, where another one is there.
fn condition(live: &DynamicObject, error: &str, now: Timestamp) -> Option<Condition> {
    let conditions = live.data["status"]["conditions"].as_array().into_iter().flatten();
    let known = |condition: &serde_json::Value| serde_json::from_value::<Condition>(condition.clone()).ok();
    let before = conditions.filter_map(known).find(|condition| condition.type_ == "Ready");
    let since =
        before.as_ref().filter(|before| before.status == "Unknown").map(|before| before.last_transition_time.clone());
    let what = match live.metadata.deletion_timestamp {
        None => "leaves all that belongs to it as it is",
        Some(_) => "cannot remove its data, which it waits for: set deletionPolicy to Retain to let it go without",
    };
    let ready = Condition {
        type_: "Ready".to_owned(),
        status: "Unknown".to_owned(),
        reason: Reason::Unreadable.to_string(),
        message: format!("this operator cannot read the resource, and {what}: {error}"),
        observed_generation: live.metadata.generation,
        last_transition_time: since.unwrap_or(Time(now)),
    };
    (before.as_ref() != Some(&ready)).then_some(ready)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn live(conditions: serde_json::Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "rankwright.dev/v1alpha1", "kind": "RankingService",
            "metadata": {"name": "shop", "generation": 2}, "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn it_is_told_once_and_anew_when_the_resource_or_the_reason_changes() {
        let (then, now) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(60).unwrap());
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "AllPartsWork", "message": "", "observedGeneration": 1,
            "lastTransitionTime": "2026-11-23T03:00:00Z",
        });
        let told = condition(&live(json!([ready])), "no number", then).unwrap();
        assert_eq!(
            (told.status.as_str(), told.reason.as_str(), told.observed_generation),
            ("Unknown", "Unreadable", Some(2))
        );
        assert!(told.message.ends_with("as it is: no number"), "{}", told.message);
        let again = live(json!([told]));
        assert_eq!(condition(&again, "no number", now), None);
        let other = condition(&again, "no text", now).unwrap();
        assert_eq!(other.last_transition_time, Time(then), "it is not known since then");
        assert!(condition(&live(json!(null)), "no number", now).is_some(), "nothing was told before");
    }
}
