//! The ingest workers: Deployment, and KEDA's autoscaler where its API is there.

use super::child::{Child, metadata};
use super::pod::{Program, digest_of_pods, evenly, serving, template};
use crate::apis::OptionalApi;
use crate::labels::{self, Component};
use crate::validate::Plan;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use rankwright_crds::ranking_service::Unsatisfiable;
use serde_json::json;

/// For finishing a batch and giving up partitions.
const GRACE_SECONDS: i64 = 45;

pub(super) fn children(plan: &Plan) -> Vec<Child> {
    let deployment = deployment(plan);
    let mut children = vec![if plan.ingest_stays { deployment.kept() } else { deployment }];
    children.extend(scaled_object(plan));
    children
}

fn own_metadata(plan: &Plan) -> ObjectMeta {
    metadata(plan, plan.named(Component::Ingest), labels::of(&plan.name, Component::Ingest))
}

/// How many workers there are; none is said where KEDA decides.
fn replicas(plan: &Plan) -> Option<i32> {
    let ingest = &plan.spec.ingest;
    match &ingest.autoscaling {
        Some(_) if plan.scales_ingest() => None,
        Some(autoscaling) => Some(autoscaling.min_replicas),
        None => Some(ingest.replicas),
    }
}

fn deployment(plan: &Plan) -> Child {
    let selector = LabelSelector {
        match_labels: Some(labels::selector(&plan.name, Component::Ingest)),
        ..LabelSelector::default()
    };
    let program = Program {
        component: Component::Ingest,
        image: &plan.images.ingest,
        command: vec!["ingest-worker".to_owned()],
        options: &plan.spec.ingest.pod,
        models: &[],
        scratch: None,
        probes: Some(serving(false)),
        lifecycle: None,
        restart: "Always",
        grace: GRACE_SECONDS,
        // the end of a node is to leave some
        spread: vec![evenly("kubernetes.io/hostname", Unsatisfiable::ScheduleAnyway, &selector)],
        digests: Some([plan.configuration.ingest_digest.clone(), plan.references.ingest.clone()]),
    };
    let template = template(plan, program);
    let annotations = Some([digest_of_pods(&template)].into());
    Child::of(&Deployment {
        metadata: ObjectMeta { annotations, ..own_metadata(plan) },
        spec: Some(DeploymentSpec {
            replicas: replicas(plan),
            selector,
            // old and new programs never write beside each other: what they write may differ; the stream waits meanwhile
            strategy: Some(DeploymentStrategy { type_: Some("Recreate".to_owned()), rolling_update: None }),
            template,
            min_ready_seconds: Some(plan.spec.ingest.rollout.min_ready_seconds),
            progress_deadline_seconds: Some(plan.spec.ingest.rollout.progress_deadline_seconds),
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    })
}

fn scaled_object(plan: &Plan) -> Option<Child> {
    let wanted = plan.spec.ingest.autoscaling.as_ref().filter(|_| plan.scales_ingest())?;
    let kafka = plan.spec.ingest.source.as_ref()?.kafka.as_ref()?;
    let mut spec = json!({
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": plan.named(Component::Ingest) },
        "minReplicaCount": wanted.min_replicas,
        "maxReplicaCount": wanted.max_replicas,
        "triggers": [{
            "type": "kafka",
            "metadata": {
                "bootstrapServers": kafka.brokers.join(","),
                "consumerGroup": kafka.group_id,
                "topic": kafka.topic,
                "lagThreshold": wanted.lag_threshold.to_string(),
            },
        }],
    });
    if let Some(name) = &wanted.authentication_ref {
        spec["triggers"][0]["authenticationRef"] = json!({ "name": name });
    }
    Some(Child::of_optional(OptionalApi::ScaledObject.resource(), &own_metadata(plan), spec))
}
