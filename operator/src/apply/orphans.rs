//! Objects that an earlier resource of the same name has left behind, as `kubectl delete --cascade=orphan` does.

use crate::build::Child;
use crate::labels;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::{Resource, ResourceExt};
use rankwright_crds::RankingService;
use serde_json::json;
use tracing::info;

/// Whether an object is one that the operator made for a resource of this name which is gone.
pub(super) fn is_left_behind<K: ResourceExt>(service: &RankingService, live: &K) -> bool {
    let ours = labels::is_managed(live) && labels::service_of(live) == Some(service.name_any());
    // of one name there is one resource at a time: another identity is gone
    let gone = live.owner_references().iter().all(|owner| {
        owner.controller != Some(true)
            || (owner.kind == RankingService::kind(&())
                && owner.name == service.name_any()
                && Some(&owner.uid) != service.metadata.uid.as_ref())
    });
    ours && gone
}

/// Whether this resource takes over such an object.
pub(super) fn is_orphan<K: ResourceExt>(service: &RankingService, live: &K) -> bool {
    service.spec.adopt_orphans && is_left_behind(service, live)
}

/// Whether an orphan has no owner left, so that it is deleted where it is not wanted. The Job that `kubectl create job --from`
/// has made names its CronJob, and goes with that.
pub(super) fn is_left<K: ResourceExt>(service: &RankingService, live: &K) -> bool {
    is_orphan(service, live) && live.owner_references().iter().all(|owner| owner.kind == RankingService::kind(&()))
}

/// Makes the resource that a child is of the only owner of an object.
pub(super) async fn adopt(
    api: &Api<DynamicObject>,
    child: &Child,
    live: &DynamicObject,
) -> kube::Result<DynamicObject> {
    let owners = json!({
        "resourceVersion": live.metadata.resource_version,
        "ownerReferences": child.object.metadata.owner_references,
    });
    let how = PatchParams { field_manager: Some(labels::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let adopted = api.patch(&live.name_any(), &how, &Patch::Merge(json!({ "metadata": owners }))).await?;
    info!(object = child.name(), namespace = live.namespace(), "took over what a deleted resource left");
    Ok(adopted)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::service;
    use serde_json::Value;

    fn left(labels: &Value, owners: Value) -> DynamicObject {
        let metadata = json!({"name": "shop-rank", "labels": labels, "ownerReferences": owners});
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata})).unwrap()
    }

    #[test]
    fn what_a_resource_of_this_name_has_left_is_an_orphan_and_nothing_else_is() {
        let (asks, does_not) = (service(json!({"adoptOrphans": true})), service(json!({})));
        let labels = json!(crate::labels::common("shop"));
        let owner = |kind: &str, name: &str, uid: &str| json!([{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true}]);
        assert!(is_orphan(&asks, &left(&labels, json!([]))));
        assert!(!is_orphan(&does_not, &left(&labels, json!([]))));
        assert!(is_orphan(&asks, &left(&labels, owner("RankingService", "shop", "former"))));
        assert!(!is_orphan(&asks, &left(&labels, owner("RankingService", "shop", "0-0"))), "it is there already");
        assert!(!is_orphan(&asks, &left(&labels, owner("RankingService", "blog", "former"))));
        assert!(!is_orphan(&asks, &left(&labels, owner("Deployment", "shop", "former"))));
        let by_hand = left(&labels, json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "a", "uid": "b"}]));
        assert!(is_left(&asks, &left(&labels, json!([]))) && !is_left(&asks, &by_hand), "it goes with its CronJob");
        assert!(!is_orphan(&asks, &left(&json!(crate::labels::common("blog")), json!([]))));
        assert!(
            !is_orphan(&asks, &left(&json!({"app.kubernetes.io/instance": "shop"}), json!([]))),
            "another one made it"
        );
    }
}
