//! Ways in: Ingress or HTTPRoute, and the NetworkPolicies that say who may take them.

use super::child::{Child, metadata};
use super::page;
use super::pod::{PORT_NAME, some};
use crate::apis::OptionalApi;
use crate::labels::{self, Component};
use crate::validate::Plan;
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec,
    IngressTLS, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec, ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use rankwright_crds::ranking_service::{self, DeletionPolicy};
use serde_json::json;
use std::collections::BTreeMap;

/// Has ingress-nginx speak TLS to the servers.
const NGINX: &str = "nginx.ingress.kubernetes.io/backend-protocol";

pub(super) fn children(plan: &Plan) -> Vec<Child> {
    let mut children = Vec::new();
    children.extend(plan.spec.rank.ingress.as_ref().map(|wanted| ingress(plan, wanted)));
    children.extend(page::children(plan));
    children.extend(route(plan));
    if let Some(wanted) = &plan.spec.network_policy {
        children.push(policy(plan, Component::Rank, wanted.rank_from.iter().chain(&wanted.metrics_from), true));
        children.push(policy(plan, Component::Ingest, wanted.metrics_from.iter(), false));
        children.extend(jobs(plan).map(|job| closed(plan, job)));
    }
    children
}

/// The policy of the Job that removes data.
pub(super) fn of_purge(plan: &Plan) -> Option<Child> {
    plan.spec.network_policy.as_ref().map(|_| closed(plan, Component::Purge))
}

fn of_rank(plan: &Plan) -> ObjectMeta {
    metadata(plan, plan.named(Component::Rank), labels::of(&plan.name, Component::Rank))
}

fn ingress(plan: &Plan, wanted: &ranking_service::Ingress) -> Child {
    let one = wanted.path.as_ref().map(std::slice::from_ref);
    let paths = one.unwrap_or(&wanted.paths).iter().map(|path| (path.as_str(), "Prefix"));
    WayIn {
        host: &wanted.host,
        class: wanted.ingress_class_name.as_ref(),
        certificate: wanted.tls_secret_name.as_ref(),
        annotations: wanted.annotations.clone(),
        service: plan.named(Component::Rank),
    }
    .ingress(plan, of_rank(plan), paths)
}

/// An Ingress of whatever kind.
pub(super) struct WayIn<'p> {
    pub host: &'p String,
    pub class: Option<&'p String>,
    pub certificate: Option<&'p String>,
    pub annotations: BTreeMap<String, String>,
    /// What it leads to.
    pub service: String,
}

impl WayIn<'_> {
    /// Of these paths, each with its type.
    pub(super) fn ingress<'a>(
        self,
        plan: &Plan,
        metadata: ObjectMeta,
        paths: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Child {
        let backend = IngressBackend {
            service: Some(IngressServiceBackend {
                name: self.service,
                port: Some(ServiceBackendPort { name: Some(PORT_NAME.to_owned()), number: None }),
            }),
            resource: None,
        };
        let path = |(path, path_type): (&str, &str)| HTTPIngressPath {
            path: Some(path.to_owned()),
            path_type: path_type.to_owned(),
            backend: backend.clone(),
        };
        let tls = |secret: &String| {
            vec![IngressTLS { hosts: Some(vec![self.host.clone()]), secret_name: Some(secret.clone()) }]
        };
        let mut annotations = self.annotations;
        if plan.spec.rank.tls.is_some() {
            annotations.entry(NGINX.to_owned()).or_insert_with(|| "HTTPS".to_owned());
        }
        Child::of(&Ingress {
            metadata: ObjectMeta { annotations: some(annotations), ..metadata },
            spec: Some(IngressSpec {
                ingress_class_name: self.class.cloned(),
                rules: Some(vec![IngressRule {
                    host: Some(self.host.clone()),
                    http: Some(HTTPIngressRuleValue { paths: paths.map(path).collect() }),
                }]),
                tls: self.certificate.map(tls),
                ..IngressSpec::default()
            }),
            ..Ingress::default()
        })
    }
}

fn route(plan: &Plan) -> Option<Child> {
    let wanted = plan.spec.rank.gateway_route.as_ref().filter(|_| plan.apis.has(OptionalApi::HttpRoute))?;
    let prefix = |path: &String| json!({"path": {"type": "PathPrefix", "value": path}});
    let matches: Vec<_> = wanted.paths.iter().map(prefix).collect();
    let mut spec = json!({
        "parentRefs": wanted.parent_refs,
        "rules": [{
            "matches": matches,
            "backendRefs": [{ "name": plan.named(Component::Rank), "port": plan.spec.rank.service.port }],
        }],
    });
    if !wanted.hostnames.is_empty() {
        spec["hostnames"] = json!(wanted.hostnames);
    }
    Some(Child::of_optional(OptionalApi::HttpRoute.resource(), &of_rank(plan), spec))
}

/// Lets those in that are named, the operator, and for rank requests the namespace's own pods.
fn policy<'a>(
    plan: &Plan,
    component: Component,
    named: impl Iterator<Item = &'a NetworkPolicyPeer>,
    neighbours: bool,
) -> Child {
    let neighbours =
        NetworkPolicyPeer { pod_selector: neighbours.then(LabelSelector::default), ..NetworkPolicyPeer::default() };
    let mut from: Vec<NetworkPolicyPeer> = named.cloned().collect();
    from.extend(neighbours.pod_selector.is_some().then_some(neighbours));
    from.extend(plan.operator_namespace.as_deref().map(namespace));
    let port = NetworkPolicyPort {
        port: Some(IntOrString::String(PORT_NAME.to_owned())),
        protocol: Some("TCP".to_owned()),
        end_port: None,
    };
    // a rule without peers would let everybody in
    let rule = (!from.is_empty()).then(|| NetworkPolicyIngressRule { from: Some(from), ports: Some(vec![port]) });
    about(plan, component, rule)
}

/// The parts that are Jobs: no connection to them is needed.
fn jobs(plan: &Plan) -> impl Iterator<Item = Component> {
    let training = plan.spec.training.is_some().then_some(Component::Training);
    let import = plan.spec.import.is_some().then_some(Component::Import);
    let purge = (plan.spec.deletion_policy == DeletionPolicy::Delete).then_some(Component::Purge);
    training.into_iter().chain(import).chain(purge)
}

fn closed(plan: &Plan, component: Component) -> Child {
    about(plan, component, None)
}

fn about(plan: &Plan, component: Component, ingress: Option<NetworkPolicyIngressRule>) -> Child {
    let egress = plan.spec.network_policy.as_ref().and_then(|policy| policy.egress.clone());
    let egress = egress.map(|allowed| std::iter::once(names()).chain(allowed).collect::<Vec<_>>());
    let types = std::iter::once("Ingress").chain(egress.is_some().then_some("Egress"));
    let selected = labels::selector(&plan.name, component);
    Child::of(&NetworkPolicy {
        metadata: metadata(plan, plan.named(component), labels::of(&plan.name, component)),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector { match_labels: Some(selected), ..LabelSelector::default() }),
            policy_types: Some(types.map(str::to_owned).collect()),
            ingress: ingress.map(|rule| vec![rule]),
            egress,
        }),
    })
}

/// Lookups of names, at any server: whatever is allowed beside them is found by its name.
fn names() -> NetworkPolicyEgressRule {
    let port = |protocol: &str| NetworkPolicyPort {
        port: Some(IntOrString::Int(53)),
        protocol: Some(protocol.to_owned()),
        end_port: None,
    };
    NetworkPolicyEgressRule { ports: Some(vec![port("UDP"), port("TCP")]), to: None }
}

fn namespace(name: &str) -> NetworkPolicyPeer {
    let labels = [("kubernetes.io/metadata.name".to_owned(), name.to_owned())].into();
    NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector { match_labels: Some(labels), ..LabelSelector::default() }),
        ..NetworkPolicyPeer::default()
    }
}
