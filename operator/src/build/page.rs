//! A way in for the page: an Ingress of the paths that it calls, and a Service that keeps a browser at one server.
//!
//! Each server keeps the rank requests that it answered itself, so a browser that changes servers would not find again what
//! it was shown.

use super::child::{Child, metadata};
use super::network::WayIn;
use super::rank;
use crate::labels::{self, Component};
use crate::validate::Plan;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use rankwright_crds::ranking_service::{Page, PageIngress};
use std::collections::BTreeMap;

/// What the page calls, each with all below; the page itself is at `/` alone.
const PATHS: [&str; 13] = [
    "/assets",
    "/configuration",
    "/evaluation",
    "/items",
    "/models",
    "/openapi.json",
    "/page",
    "/rank",
    "/recommend",
    "/requests",
    "/status",
    "/train",
    "/users",
];

/// Has ingress-nginx keep a browser at one server.
const NGINX: (&str, &str) = ("nginx.ingress.kubernetes.io/affinity", "cookie");

/// Has Traefik do so.
const TRAEFIK: (&str, &str) = ("traefik.ingress.kubernetes.io/service.sticky.cookie", "true");

pub(super) fn children(plan: &Plan) -> Vec<Child> {
    let Some(wanted) = plan.spec.rank.page.as_ref().and_then(Page::way_in) else { return Vec::new() };
    vec![service(plan), ingress(plan, wanted)]
}

fn of_page(plan: &Plan) -> ObjectMeta {
    metadata(plan, labels::page(&plan.name), labels::of(&plan.name, Component::Rank))
}

fn service(plan: &Plan) -> Child {
    let encrypted = plan.spec.rank.tls.as_ref().map(|_| (rank::TRAEFIK, "https"));
    let annotations = [TRAEFIK].into_iter().chain(encrypted).map(owned).collect();
    Child::of(&Service {
        metadata: ObjectMeta { annotations: Some(annotations), ..of_page(plan) },
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(labels::selector(&plan.name, Component::Rank)),
            ports: Some(vec![rank::port(plan)]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    })
}

fn ingress(plan: &Plan, wanted: &PageIngress) -> Child {
    // its author's go first
    let mut annotations: BTreeMap<String, String> = [owned(NGINX)].into();
    annotations.extend(wanted.annotations.clone());
    let way_in = WayIn {
        host: &wanted.host,
        class: wanted.ingress_class_name.as_ref(),
        certificate: wanted.tls_secret_name.as_ref(),
        annotations,
        service: labels::page(&plan.name),
    };
    let paths = std::iter::once(("/", "Exact")).chain(PATHS.map(|path| (path, "Prefix")));
    way_in.ingress(plan, of_page(plan), paths)
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
