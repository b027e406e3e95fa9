//! A backfill: a Job that builds a state beside the live one. Its name tells what it imports, so that a change makes
//! another Job.

use super::child::{Child, Mode, metadata};
use super::pod::{Program, digest_of_pods, template};
use super::training::failure_policy;
use crate::labels::{self, Component, IMPORT_DIGEST};
use crate::validate::Plan;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use kube::api::ObjectMeta;
use rankwright_crds::ranking_service::Import;

const GRACE_SECONDS: i64 = 30;

pub(super) fn job(plan: &Plan) -> Option<Child> {
    let (import, digest, name) = (plan.spec.import.as_ref()?, plan.import_digest()?, plan.import_job()?);
    let program = Program {
        component: Component::Import,
        image: &plan.images.import,
        command: command(import),
        options: &import.pod,
        models: &[],
        scratch: Some(import.scratch_size.clone()),
        probes: None,
        lifecycle: None,
        restart: "Never",
        grace: GRACE_SECONDS,
        spread: Vec::new(),
        digests: None,
    };
    let labels = labels::of(&plan.name, Component::Import);
    let template = template(plan, program);
    let annotations = Some([(IMPORT_DIGEST.to_owned(), digest.clone()), digest_of_pods(&template)].into());
    let job = Job {
        metadata: ObjectMeta { annotations, ..metadata(plan, name, labels) },
        spec: Some(JobSpec {
            backoff_limit: Some(import.backoff_limit),
            active_deadline_seconds: Some(import.active_deadline_seconds),
            pod_failure_policy: Some(failure_policy(None)),
            template,
            ..JobSpec::default()
        }),
        ..Job::default()
    };
    // one that is done is not done again because its Job was cleared away
    let mode = if plan.imported.as_ref() == Some(&digest) { Mode::Keep } else { Mode::Once };
    Some(Child::of(&job).with_mode(mode))
}

fn command(import: &Import) -> Vec<String> {
    let mut command = vec!["rankwright".to_owned(), "import".to_owned(), "--rebuild".to_owned()];
    command.extend(["--offset".to_owned(), import.offset.clone()]);
    if let Some(events) = &import.from.s3 {
        command.extend(["--data".to_owned(), format!("s3://{}/{}", events.bucket, events.prefix)]);
    }
    command
}
