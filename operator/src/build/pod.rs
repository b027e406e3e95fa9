//! What the pods of all parts have in common: environment, volumes, identity, and the restricted Pod Security Standard.

mod environment;
mod probes;
mod volumes;

pub use volumes::{CONFIGURATION, CONFIGURATION_VOLUME, REDIS_AUTHORITY, config_map_of};

pub(super) use probes::{Probes, serving};

use crate::labels::{self, CONFIGURATION_DIGEST, Component, PODS_DIGEST, REFERENCES_DIGEST};
use crate::validate::{Plan, digest_of};
use k8s_openapi::DeepMerge;
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, Lifecycle, PodSecurityContext, PodSpec, PodTemplateSpec,
    ResourceRequirements, SeccompProfile, SecurityContext, TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use rankwright_crds::ranking_service::{PodOptions, PullPolicy, Unsatisfiable};
use std::collections::BTreeMap;

/// The port of every program.
pub const PORT: i32 = 8080;
/// Its name.
pub const PORT_NAME: &str = "http";

/// Whom programs run as where nothing else is said; the images know this user.
pub const USER: i64 = 65_532;

const MEMORY: &str = "memory";

/// Memory that a part may use, as a multiple of what it asks for, where its need is known: a leak ends its pod before it takes the node's
/// memory from others.
const TIMES: u32 = 4;

/// What tells the pods of one part from those of another.
pub(super) struct Program<'a> {
    pub component: Component,
    pub image: &'a str,
    pub command: Vec<String>,
    pub options: &'a PodOptions,
    /// Models that it trains.
    pub models: &'a [&'a str],
    /// Room in /tmp where it is bounded.
    pub scratch: Option<String>,
    pub probes: Option<Probes>,
    pub lifecycle: Option<Lifecycle>,
    pub restart: &'static str,
    pub grace: i64,
    pub spread: Vec<TopologySpreadConstraint>,
    /// Digests of configuration and references, where a change of them makes new pods.
    pub digests: Option<[String; 2]>,
}

/// The template of a part's pods.
pub(super) fn template(plan: &Plan, program: Program<'_>) -> PodTemplateSpec {
    let options = program.options;
    let mut labels = options.labels.clone();
    labels.extend(labels::of(&plan.name, program.component));
    let mut annotations = options.annotations.clone();
    if let Some([configuration, references]) = &program.digests {
        annotations.insert(CONFIGURATION_DIGEST.to_owned(), configuration.clone());
        annotations.insert(REFERENCES_DIGEST.to_owned(), references.clone());
    }
    let component = program.component;
    let mut template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), annotations: some(annotations), ..ObjectMeta::default() }),
        spec: Some(pod(plan, program)),
    };
    if let Some(further) = plan.templates.get(&component) {
        if options.resources.is_none() {
            template.spec.iter_mut().for_each(|pod| unlimited(pod, further, component));
        }
        template.merge_from(further.clone());
        template.spec.iter_mut().for_each(secure);
    }
    template
}

/// Containers that a resource adds keep the restricted standard without a word of it.
fn secure(pod: &mut PodSpec) {
    for container in pod.containers.iter_mut().chain(pod.init_containers.iter_mut().flatten()) {
        let context = container.security_context.get_or_insert_default();
        context.allow_privilege_escalation.get_or_insert(false);
        context.capabilities.get_or_insert_default().drop.get_or_insert_with(|| vec!["ALL".to_owned()]);
    }
}

/// An annotation for Jobs, whose pods cannot be changed: it tells whether they are as they should be.
pub(super) fn digest_of_pods(template: &PodTemplateSpec) -> (String, String) {
    let text = serde_json::to_string(template).expect("an object of Kubernetes is JSON");
    (PODS_DIGEST.to_owned(), digest_of(&text))
}

fn pod(plan: &Plan, program: Program<'_>) -> PodSpec {
    let (options, secrets) = (program.options, plan.spec.image_pull_secrets.clone());
    PodSpec {
        service_account_name: Some(plan.service_account().to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        image_pull_secrets: (!secrets.is_empty()).then_some(secrets),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: plan.user,
            run_as_group: plan.user,
            fs_group: plan.user,
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), ..SeccompProfile::default() }),
            ..PodSecurityContext::default()
        }),
        node_selector: some(options.node_selector.clone()),
        tolerations: (!options.tolerations.is_empty()).then(|| options.tolerations.clone()),
        priority_class_name: options.priority_class_name.clone(),
        topology_spread_constraints: (!program.spread.is_empty()).then(|| program.spread.clone()),
        restart_policy: Some(program.restart.to_owned()),
        termination_grace_period_seconds: Some(program.grace),
        volumes: Some(volumes::volumes(plan, program.component, options, program.scratch.as_deref())),
        containers: vec![container(plan, program)],
        ..PodSpec::default()
    }
}

fn container(plan: &Plan, program: Program<'_>) -> Container {
    let (startup, liveness, readiness) = program.probes.map(Probes::into_parts).unwrap_or_default();
    Container {
        name: program.component.name().to_owned(),
        image: Some(program.image.to_owned()),
        image_pull_policy: plan.spec.image_pull_policy.map(pull_policy),
        command: Some(program.command),
        env: Some(environment::variables(plan, program.component, program.options)),
        ports: Some(vec![ContainerPort {
            name: Some(PORT_NAME.to_owned()),
            container_port: PORT,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        resources: Some(
            program.options.resources.clone().unwrap_or_else(|| resources(plan, program.component, program.models)),
        ),
        startup_probe: startup,
        liveness_probe: liveness,
        readiness_probe: readiness,
        lifecycle: program.lifecycle,
        // a program that ends with an error says why in its last line
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Capabilities::default() }),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(volumes::mounts(plan, program.component, program.options)),
        ..Container::default()
    }
}

fn pull_policy(policy: PullPolicy) -> String {
    match policy {
        PullPolicy::Always => "Always",
        PullPolicy::IfNotPresent => "IfNotPresent",
        PullPolicy::Never => "Never",
    }
    .to_owned()
}

/// What a part asks for, and may use at most, where its author says nothing: for a small shop. What a training or an import needs depends on
/// the events, and a training sees to it by itself that the node has it. A text model has a copy in each thread, and
/// shares the processor with what it is computed for.
fn resources(plan: &Plan, component: Component, trained: &[&str]) -> ResourceRequirements {
    let texts = &plan.configuration.texts;
    let learns_from_texts = trained.iter().any(|model| texts.training.iter().any(|of| of == model));
    let (processor, mebibytes) = match component {
        Component::Rank if texts.features || texts.inference => ("1", 1024),
        Component::Ingest if texts.features => ("1", 1024),
        Component::Import if texts.features => ("1", 2048),
        Component::Training if learns_from_texts => ("1", 2048),
        Component::Rank | Component::Ingest => ("250m", 256),
        Component::Training | Component::Import => ("500m", 1024),
        Component::Purge => ("100m", 128),
    };
    let requests = [("cpu", processor.to_owned()), (MEMORY, memory(mebibytes))];
    let unbounded = plan.configuration.unbounded;
    let limited = match component {
        Component::Rank => !unbounded.files && !unbounded.catalog,
        Component::Ingest => !unbounded.files,
        Component::Training | Component::Import => false,
        Component::Purge => true,
    };
    let limits = limited.then(|| (MEMORY, memory(mebibytes * TIMES)));
    let quantities = |(name, quantity): (&str, String)| (name.to_owned(), Quantity(quantity));
    ResourceRequirements {
        requests: Some(requests.into_iter().map(quantities).collect()),
        limits: limits.map(|limit| [quantities(limit)].into()),
        ..ResourceRequirements::default()
    }
}

fn memory(mebibytes: u32) -> String {
    if mebibytes.is_multiple_of(1024) { format!("{}Gi", mebibytes / 1024) } else { format!("{mebibytes}Mi") }
}

/// A request of memory that `pod.template` gives may be above the default limit: then there is no limit.
fn unlimited(pod: &mut PodSpec, further: &PodTemplateSpec, component: Component) {
    let program = |container: &&Container| container.name == component.name();
    let containers = further.spec.iter().flat_map(|pod| &pod.containers);
    let Some(given) = containers.into_iter().find(program).and_then(|container| container.resources.as_ref()) else {
        return;
    };
    let gives = |quantities: &Option<BTreeMap<String, Quantity>>| {
        quantities.as_ref().is_some_and(|quantities| quantities.contains_key(MEMORY))
    };
    if !gives(&given.requests) || gives(&given.limits) {
        return;
    }
    let ours = pod.containers.iter_mut().find(|container| container.name == component.name());
    if let Some(resources) = ours.and_then(|container| container.resources.as_mut()) {
        resources.limits = None; // memory is all that is limited by default
    }
}

/// As many of these pods on each node that has another value of this label.
pub(super) fn evenly(key: &str, otherwise: Unsatisfiable, pods: &LabelSelector) -> TopologySpreadConstraint {
    let otherwise = match otherwise {
        Unsatisfiable::ScheduleAnyway => "ScheduleAnyway",
        Unsatisfiable::DoNotSchedule => "DoNotSchedule",
    };
    TopologySpreadConstraint {
        topology_key: key.to_owned(),
        max_skew: 1,
        when_unsatisfiable: otherwise.to_owned(),
        label_selector: Some(pods.clone()),
        // pods of an earlier revision do not count while they are replaced
        match_label_keys: Some(vec!["pod-template-hash".to_owned()]),
        ..TopologySpreadConstraint::default()
    }
}

/// An empty map is left out: the API server does not tell it from none.
pub(super) fn some(map: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    (!map.is_empty()).then_some(map)
}
