//! The removal of a service's data: a Job that runs when the resource is deleted.

use super::child::{Child, Mode, metadata};
use super::pod::{Program, digest_of_pods, template};
use super::training::failure_policy;
use crate::labels::{self, Component};
use crate::validate::Plan;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use kube::api::ObjectMeta;
use rankwright_crds::ranking_service::PodOptions;
use std::collections::BTreeMap;

const GRACE_SECONDS: i64 = 30;

/// It runs where rank servers do, and reaches what they reach; without what may keep it from ending, as a container that a mesh
/// injects, or from beginning, as a claim that is gone by now.
fn as_rank_servers(options: &PodOptions) -> PodOptions {
    let mut volumes = options.volumes.clone();
    volumes.retain(|volume| volume.persistent_volume_claim.is_none());
    PodOptions {
        labels: without_injection(&options.labels),
        annotations: without_injection(&options.annotations),
        env: options.env.clone(),
        volumes,
        node_selector: options.node_selector.clone(),
        tolerations: options.tolerations.clone(),
        priority_class_name: options.priority_class_name.clone(),
        ..PodOptions::default()
    }
}

/// Without what asks for further containers; what says that none are wanted stays.
fn without_injection(words: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_wanted = |key: &str, value: &str| !key.contains("inject") || matches!(value, "false" | "disabled");
    words.iter().filter(|(key, value)| is_wanted(key, value)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The Job.
pub fn purge(plan: &Plan) -> Child {
    let options = as_rank_servers(&plan.spec.rank.pod);
    let program = Program {
        component: Component::Purge,
        image: &plan.images.purge,
        command: ["rankwright", "purge", "--yes"].map(str::to_owned).to_vec(),
        options: &options,
        models: &[],
        scratch: None,
        probes: None,
        lifecycle: None,
        restart: "Never",
        grace: GRACE_SECONDS,
        spread: Vec::new(),
        digests: None,
    };
    let labels = labels::of(&plan.name, Component::Purge);
    let template = template(plan, program);
    let annotations = Some([digest_of_pods(&template)].into());
    let job = Job {
        metadata: ObjectMeta { annotations, ..metadata(plan, plan.named(Component::Purge), labels) },
        spec: Some(JobSpec {
            backoff_limit: Some(6),
            // without a deadline: it waits for servers that are away, until you decide to keep the data
            pod_failure_policy: Some(failure_policy(None)),
            template,
            ..JobSpec::default()
        }),
        ..Job::default()
    };
    Child::of(&job).with_mode(Mode::Once)
}
