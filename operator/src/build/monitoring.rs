//! Metrics for the Prometheus operator, where its API is there.

use super::child::{Child, metadata};
use super::pod::PORT_NAME;
use crate::apis::OptionalApi;
use crate::labels;
use crate::validate::Plan;
use kube::api::ObjectMeta;
use serde_json::json;

pub(super) fn pod_monitor(plan: &Plan) -> Option<Child> {
    let monitoring = plan.spec.monitoring.as_ref().filter(|_| plan.apis.has(OptionalApi::PodMonitor))?;
    let wanted = &monitoring.pod_monitor;
    let mut labels = wanted.labels.clone();
    labels.extend(labels::common(&plan.name));
    let metadata: ObjectMeta = metadata(plan, plan.name.clone(), labels);
    let spec = json!({
        "selector": {
            "matchLabels": { "app.kubernetes.io/name": "rankwright", "app.kubernetes.io/instance": plan.name },
            "matchExpressions": [{ "key": "app.kubernetes.io/component", "operator": "In", "values": ["rank", "ingest"] }],
        },
        "podMetricsEndpoints": [{ "port": PORT_NAME, "path": "/metrics", "interval": wanted.interval }],
    });
    Some(Child::of_optional(OptionalApi::PodMonitor.resource(), &metadata, spec))
}
