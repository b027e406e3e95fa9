//! Metrics and alerts for the Prometheus operator, where its APIs are there, and a dashboard for Grafana.
//!
//! Alerts and dashboard are files of `operator/monitoring`, which a Prometheus and a Grafana take as they stand, for all
//! services there are. Here they become those of one.

use super::child::{Child, metadata};
use super::pod::PORT_NAME;
use crate::apis::OptionalApi;
use crate::labels::{self, Component};
use crate::validate::{Plan, digest_of};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use rankwright_crds::ranking_service::Monitoring;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Alert rules for all services that a Prometheus reads.
pub const ALERTS: &str = include_str!("../../monitoring/alerts.yaml");

/// A dashboard for all services that a Grafana shows.
pub const DASHBOARD: &str = include_str!("../../monitoring/dashboard.json");

/// How expressions of [`ALERTS`] choose the series of any service.
pub const ANY_SERVICE: &str = r#"rankingservice=~".+""#;

/// Alerts about a part that is away.
const OF_PARTS: [(&str, Component); 2] =
    [("RankwrightNoRankServer", Component::Rank), ("RankwrightIngestStopped", Component::Ingest)];

pub(super) fn children(plan: &Plan) -> Vec<Child> {
    let Some(wanted) = &plan.spec.monitoring else { return Vec::new() };
    [pod_monitor(plan, wanted), alert_rules(plan, wanted), dashboard(plan, wanted)].into_iter().flatten().collect()
}

fn pod_monitor(plan: &Plan, monitoring: &Monitoring) -> Option<Child> {
    let wanted = monitoring.pod_monitor.as_ref().filter(|_| plan.apis.has(OptionalApi::PodMonitor))?;
    let metadata = labelled(plan, plan.name.clone(), &wanted.labels);
    // alerts and dashboard find the series by these
    let named = |target: &str, label: &str| {
        let source = format!("__meta_kubernetes_pod_label_app_kubernetes_io_{label}");
        json!({ "sourceLabels": [source], "targetLabel": target })
    };
    // servers are read by their addresses, which no certificate has
    let endpoint = |parts: &[&str], encrypted: bool| {
        let mut relabelings = vec![named("rankingservice", "instance"), named("component", "component")];
        let mut endpoint = json!({ "port": PORT_NAME, "path": "/metrics", "interval": wanted.interval });
        if encrypted {
            (endpoint["scheme"], endpoint["tlsConfig"]) = (json!("https"), json!({ "insecureSkipVerify": true }));
        }
        if let [part] = parts {
            relabelings.push(json!({ "action": "keep", "sourceLabels": ["component"], "regex": part }));
        }
        endpoint["relabelings"] = json!(relabelings);
        endpoint
    };
    let (rank, ingest) = (Component::Rank.name(), Component::Ingest.name());
    let endpoints = match plan.spec.rank.tls {
        Some(_) => vec![endpoint(&[rank], true), endpoint(&[ingest], false)],
        None => vec![endpoint(&[rank, ingest], false)],
    };
    let spec = json!({
        "selector": {
            "matchLabels": { "app.kubernetes.io/name": "rankwright", "app.kubernetes.io/instance": plan.name },
            "matchExpressions": [{ "key": "app.kubernetes.io/component", "operator": "In", "values": ["rank", "ingest"] }],
        },
        "podMetricsEndpoints": endpoints,
    });
    Some(Child::of_optional(OptionalApi::PodMonitor.resource(), &metadata, spec))
}

fn alert_rules(plan: &Plan, monitoring: &Monitoring) -> Option<Child> {
    let wanted = monitoring.alert_rules.as_ref().filter(|_| plan.apis.has(OptionalApi::PrometheusRule))?;
    let metadata = labelled(plan, plan.name.clone(), &wanted.labels);
    let (rank, ingest) = (&plan.spec.rank, &plan.spec.ingest);
    let unwanted = |part: Component| match part {
        Component::Rank => rank.autoscaling.is_none() && rank.replicas == 0,
        Component::Ingest => ingest.autoscaling.is_none() && ingest.replicas == 0,
        _ => false,
    };
    let spec = alerts_of(&plan.namespace, &plan.name, unwanted);
    Some(Child::of_optional(OptionalApi::PrometheusRule.resource(), &metadata, spec))
}

/// The alerts of one service; none for a part of which no pods are wanted.
///
/// # Panics
/// Never: a test reads the file.
pub fn alerts_of(namespace: &str, service: &str, unwanted: impl Fn(Component) -> bool) -> Value {
    let about_unwanted = |rule: &Value| OF_PARTS.iter().any(|(alert, part)| rule["alert"] == *alert && unwanted(*part));
    // names of both are made of letters, digits and dashes, which need no escape
    let this = format!(r#"namespace="{namespace}",rankingservice="{service}""#);
    let mut alerts: Value = serde_saphyr::from_str(ALERTS).expect("the file is YAML, a test reads it");
    for group in alerts["groups"].as_array_mut().into_iter().flatten() {
        if let Some(rules) = group["rules"].as_array_mut() {
            rules.retain(|rule| !about_unwanted(rule));
        }
        for rule in group["rules"].as_array_mut().into_iter().flatten() {
            let expression = rule["expr"].as_str().unwrap_or_default().trim().replace(ANY_SERVICE, &this);
            rule["expr"] = json!(expression);
        }
    }
    alerts
}

fn dashboard(plan: &Plan, monitoring: &Monitoring) -> Option<Child> {
    let wanted = monitoring.dashboard.as_ref()?;
    // the sidecar puts files of all namespaces into one folder
    let file = format!("rankwright-{}.{}.json", plan.namespace, plan.name);
    let text = dashboard_of(&plan.namespace, &plan.name);
    Some(Child::of(&ConfigMap {
        metadata: labelled(plan, labels::dashboard(&plan.name), &wanted.labels),
        data: Some([(file, text)].into()),
        ..ConfigMap::default()
    }))
}

/// The dashboard of one service.
///
/// # Panics
/// Never: a test reads the file.
pub fn dashboard_of(namespace: &str, service: &str) -> String {
    let mut dashboard: Value = serde_json::from_str(DASHBOARD).expect("the file is JSON, a test reads it");
    dashboard["title"] = json!(format!("Rankwright {namespace}/{service}"));
    dashboard["uid"] = json!(uid(namespace, service));
    for variable in dashboard["templating"]["list"].as_array_mut().into_iter().flatten() {
        let only = match variable["name"].as_str() {
            Some("namespace") => namespace,
            Some("service") => service,
            _ => continue,
        };
        *variable = json!({ "name": variable["name"], "type": "constant", "query": only, "hide": 2 });
    }
    serde_json::to_string_pretty(&dashboard).expect("a dashboard is JSON") + "\n"
}

/// Two dashboards of a Grafana must not share one; at most 40 signs.
fn uid(namespace: &str, service: &str) -> String {
    format!("rankwright-{}", &digest_of(&format!("{namespace}/{service}"))[..16])
}

fn labelled(plan: &Plan, name: String, labels: &BTreeMap<String, String>) -> ObjectMeta {
    let mut labels = labels.clone();
    labels.extend(labels::common(&plan.name));
    metadata(plan, name, labels)
}

#[cfg(test)]
mod tests;
