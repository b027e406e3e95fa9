//! Who decides how many pods a Deployment has, where that is left to an autoscaler.

use crate::build::Child;
use crate::labels::{self, Component, FIELD_MANAGER};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use rankwright_crds::RankingService;

/// Hands the number of replicas over to an autoscaler, see [`hand_over`].
const HANDOVER: &str = "rankwright-operator-handover";

/// Keeps the number of replicas when an autoscaler starts to decide about it. A field that its only owner no longer sends
/// falls back to its default, which is one pod; so another field manager owns it from now on. Returns the object as it is then,
/// if anything was to be handed over.
pub(super) async fn hand_over(
    api: &Api<DynamicObject>,
    service: &RankingService,
    child: &Child,
    live: &DynamicObject,
) -> kube::Result<Option<DynamicObject>> {
    let Some(replicas) = handed_over(service, child, live) else { return Ok(None) };
    let mut kept = DynamicObject::new(&live.name_any(), &child.resource);
    kept.data = serde_json::json!({ "spec": { "replicas": replicas } });
    api.patch(&live.name_any(), &PatchParams::apply(HANDOVER).force(), &Patch::Apply(&kept)).await.map(Some)
}

/// How many pods an autoscaler begins with: as many as there are. From none it would never get away, as it takes that for
/// being switched off; so it begins with the fewest that it may have.
fn handed_over(service: &RankingService, child: &Child, live: &DynamicObject) -> Option<i64> {
    if child.object.data.pointer("/spec/replicas").is_some() {
        return None;
    }
    let (replicas, ours) = (live.data.pointer("/spec/replicas")?.as_i64()?, sends_replicas(live));
    match replicas {
        // KEDA gets away from none by itself, and may be paused there
        0 if ours || labels::is_of(&child.object, Component::Rank) => Some(fewest(service, child)),
        replicas => ours.then_some(replicas),
    }
}

/// The fewest pods that the autoscaler of a Deployment may have.
fn fewest(service: &RankingService, child: &Child) -> i64 {
    let (rank, ingest) = (&service.spec.rank.autoscaling, &service.spec.ingest.autoscaling);
    let fewest = match labels::is_of(&child.object, Component::Rank) {
        true => rank.as_ref().map(|autoscaling| autoscaling.min_replicas),
        false => ingest.as_ref().map(|autoscaling| autoscaling.min_replicas),
    };
    fewest.map_or(1, i64::from)
}

/// Whether the operator has said how many replicas there are.
fn sends_replicas(live: &DynamicObject) -> bool {
    live.managed_fields().iter().any(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        entry.manager.as_deref() == Some(FIELD_MANAGER)
            && fields.is_some_and(|fields| fields.pointer("/f:spec/f:replicas").is_some())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::apis::{Apis, OptionalApi};
    use crate::build;
    use crate::testing::{planned_with, service};
    use serde_json::json;

    /// What is handed over of a Deployment whose `replicas` the manager `by` has set, of a service with autoscalers.
    fn kept(part: &str, replicas: i32, by: &str) -> Option<i64> {
        let kafka = json!({"brokers": ["kafka:9092"], "topic": "events", "groupId": "shop"});
        let over = json!({
            "rank": {"autoscaling": {"minReplicas": 3, "maxReplicas": 8, "cpuUtilization": 70}},
            "ingest": {"source": {"kafka": kafka}, "autoscaling": {"minReplicas": 2, "maxReplicas": 4}},
        });
        let children = build::desired(&planned_with(Apis::of(OptionalApi::ALL), over.clone()));
        let child = children.iter().find(|child| child.name() == format!("Deployment shop-{part}")).unwrap();
        let mut live = child.object.clone();
        live.data["spec"]["replicas"] = json!(replicas);
        let said = json!([{"manager": by, "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
        live.metadata.managed_fields = serde_json::from_value(said).unwrap();
        handed_over(&service(over), child, &live)
    }

    #[test]
    fn an_autoscaler_begins_with_the_pods_there_are_and_with_its_fewest_where_there_are_none() {
        assert_eq!((kept("rank", 6, FIELD_MANAGER), kept("rank", 1, FIELD_MANAGER)), (Some(6), Some(1)));
        assert_eq!((kept("rank", 0, FIELD_MANAGER), kept("ingest", 0, FIELD_MANAGER)), (Some(3), Some(2)));
    }

    #[test]
    fn a_number_of_somebody_else_is_left_alone_unless_the_autoscaler_is_stuck_with_it() {
        for by in ["kube-controller-manager", "kubectl", HANDOVER] {
            assert_eq!((kept("rank", 5, by), kept("rank", 0, by)), (None, Some(3)), "{by}");
            assert_eq!((kept("ingest", 5, by), kept("ingest", 0, by)), (None, None), "KEDA may be paused");
        }
    }

    #[test]
    fn a_number_that_the_operator_says_is_handed_to_nobody() {
        let service = service(json!({"rank": {"replicas": 0}}));
        let children = build::desired(&planned_with(Apis::default(), json!({"rank": {"replicas": 0}})));
        for child in &children {
            assert_eq!(handed_over(&service, child, &child.object), None, "{}", child.name());
        }
    }
}
