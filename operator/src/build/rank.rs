//! The rank servers: Deployment, Service, autoscaler, disruption budget.

use super::child::{Child, metadata};
use super::pod::{PORT_NAME, Program, digest_of_pods, evenly, serving, some, template};
use crate::labels::{self, Component, ENCRYPTED};
use crate::validate::Plan;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HPAScalingRules, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec,
    MetricIdentifier, MetricSpec, MetricTarget, PodsMetricSource, ResourceMetricSource,
};
use k8s_openapi::api::core::v1::{
    Lifecycle, LifecycleHandler, Service, ServicePort, ServiceSpec, SleepAction, TopologySpreadConstraint,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use rankwright_crds::ranking_service::{Autoscaling, TopologySpread};

/// The metric that an adapter makes of `service_rank_requests_total`.
const REQUESTS: &str = "rankwright_rank_requests_per_second";

/// Has Traefik speak TLS to the servers; others go by the protocol of the Service's port.
pub(super) const TRAEFIK: &str = "traefik.ingress.kubernetes.io/service.serversscheme";

/// How long a server goes on taking requests after it was told to end: until no node sends it any more.
const LEAVING_SECONDS: i64 = 5;

/// What is left of the time to end when the last request has, unless that is short: what is on its way to Redis arrives.
const ENDING_SECONDS: i64 = 10;

pub(super) fn children(plan: &Plan) -> Vec<Child> {
    let mut children = vec![deployment(plan), service(plan), disruption_budget(plan)];
    children.extend(plan.spec.rank.autoscaling.as_ref().map(|autoscaling| autoscaler(plan, autoscaling)));
    children
}

fn own_metadata(plan: &Plan) -> ObjectMeta {
    metadata(plan, plan.named(Component::Rank), labels::of(&plan.name, Component::Rank))
}

fn selector(plan: &Plan) -> LabelSelector {
    LabelSelector { match_labels: Some(labels::selector(&plan.name, Component::Rank)), ..LabelSelector::default() }
}

/// What requests that run have to end, once no node sends a server new ones.
pub(super) fn drain_seconds(plan: &Plan) -> i64 {
    let left = plan.spec.rank.termination_grace_period_seconds - LEAVING_SECONDS;
    left - ENDING_SECONDS.min(left / 2)
}

fn deployment(plan: &Plan) -> Child {
    let rank = &plan.spec.rank;
    let rollout = RollingUpdateDeployment {
        max_surge: Some(rank.rollout.max_surge.clone()),
        max_unavailable: Some(rank.rollout.max_unavailable.clone()),
    };
    let sleep = SleepAction { seconds: LEAVING_SECONDS };
    let leave = LifecycleHandler { sleep: Some(sleep), ..LifecycleHandler::default() };
    let program = Program {
        component: Component::Rank,
        image: &plan.images.rank,
        command: vec!["rank-server".to_owned()],
        options: &rank.pod,
        models: &[],
        scratch: None,
        probes: Some(serving(rank.tls.is_some())),
        lifecycle: Some(Lifecycle { pre_stop: Some(leave), ..Lifecycle::default() }),
        restart: "Always",
        grace: rank.termination_grace_period_seconds,
        spread: spread(plan),
        digests: Some([plan.configuration.digest.clone(), plan.references.rank.clone()]),
    };
    let mut template = template(plan, program);
    if rank.tls.is_some() {
        let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
        labels.insert(ENCRYPTED.to_owned(), "true".to_owned());
    }
    let annotations = Some([digest_of_pods(&template)].into());
    Child::of(&Deployment {
        metadata: ObjectMeta { annotations, ..own_metadata(plan) },
        spec: Some(DeploymentSpec {
            // the autoscaler's, where there is one
            replicas: rank.autoscaling.is_none().then_some(rank.replicas),
            selector: selector(plan),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(rollout),
            }),
            template,
            min_ready_seconds: Some(rank.rollout.min_ready_seconds),
            progress_deadline_seconds: Some(rank.rollout.progress_deadline_seconds),
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    })
}

fn spread(plan: &Plan) -> Vec<TopologySpreadConstraint> {
    let TopologySpread { topology_keys, when_unsatisfiable } = &plan.spec.rank.topology_spread;
    topology_keys.iter().map(|key| evenly(key, *when_unsatisfiable, &selector(plan))).collect()
}

fn service(plan: &Plan) -> Child {
    let (wanted, encrypted) = (&plan.spec.rank.service, plan.spec.rank.tls.is_some());
    let metadata = own_metadata(plan);
    let mut annotations = wanted.annotations.clone();
    if encrypted {
        annotations.entry(TRAEFIK.to_owned()).or_insert_with(|| "https".to_owned());
    }
    Child::of(&Service {
        metadata: ObjectMeta { annotations: some(annotations), ..metadata },
        spec: Some(ServiceSpec {
            type_: Some(wanted.type_.name().to_owned()),
            selector: Some(labels::selector(&plan.name, Component::Rank)),
            ports: Some(vec![port(plan)]),
            load_balancer_class: wanted.load_balancer_class.clone(),
            load_balancer_source_ranges: (!wanted.load_balancer_source_ranges.is_empty())
                .then(|| wanted.load_balancer_source_ranges.clone()),
            external_traffic_policy: wanted.external_traffic_policy.map(|policy| policy.name().to_owned()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    })
}

/// The port of a Service that leads to the servers.
pub(super) fn port(plan: &Plan) -> ServicePort {
    ServicePort {
        name: Some(PORT_NAME.to_owned()),
        port: plan.spec.rank.service.port,
        target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
        protocol: Some("TCP".to_owned()),
        app_protocol: plan.spec.rank.tls.as_ref().map(|_| "https".to_owned()),
        ..ServicePort::default()
    }
}

fn disruption_budget(plan: &Plan) -> Child {
    Child::of(&PodDisruptionBudget {
        metadata: own_metadata(plan),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(plan.spec.rank.disruption_budget.max_unavailable.clone()),
            selector: Some(selector(plan)),
            // a server that does not answer keeps no node from being drained
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    })
}

fn autoscaler(plan: &Plan, wanted: &Autoscaling) -> Child {
    let processor = wanted.cpu_utilization.map(|percent| MetricSpec {
        type_: "Resource".to_owned(),
        resource: Some(ResourceMetricSource {
            name: "cpu".to_owned(),
            target: MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(percent),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    });
    let requests = wanted.requests_per_second.map(|rate| MetricSpec {
        type_: "Pods".to_owned(),
        pods: Some(PodsMetricSource {
            metric: MetricIdentifier { name: REQUESTS.to_owned(), selector: None },
            target: MetricTarget {
                type_: "AverageValue".to_owned(),
                average_value: Some(Quantity(rate.to_string())),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    });
    let mut behavior = wanted.behavior.clone().unwrap_or_default();
    let patience = behavior.scale_down.get_or_insert_with(HPAScalingRules::default);
    patience.stabilization_window_seconds.get_or_insert(wanted.scale_down_stabilization_seconds);
    Child::of(&HorizontalPodAutoscaler {
        metadata: own_metadata(plan),
        spec: HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".to_owned()),
                kind: "Deployment".to_owned(),
                name: plan.named(Component::Rank),
            },
            min_replicas: Some(wanted.min_replicas),
            max_replicas: wanted.max_replicas,
            metrics: Some(processor.into_iter().chain(requests).collect()),
            behavior: Some(behavior),
        },
        ..HorizontalPodAutoscaler::default()
    })
}
