//! Scheduled training: a CronJob.

use super::child::{Child, metadata};
use super::pod::{Program, template};
use crate::labels::{self, Component};
use crate::validate::Plan;
use k8s_openapi::api::batch::v1::{
    CronJob, CronJobSpec, JobSpec, JobTemplateSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule,
};
use kube::api::ObjectMeta;

/// Exit codes of a training that another attempt would not change: wrong arguments, and nothing to learn from yet.
const FINAL: [i32; 2] = [2, 3];

/// Exit code of a program that found a server away.
const SERVER_AWAY: i32 = 75;

const GRACE_SECONDS: i64 = 30;

pub(super) fn cron_job(plan: &Plan) -> Option<Child> {
    let training = plan.spec.training.as_ref()?;
    let asked = training.models.iter().flat_map(|model| ["--model".to_owned(), model.clone()]);
    let program = Program {
        component: Component::Training,
        image: &plan.images.training,
        command: std::iter::once("training-job".to_owned()).chain(asked).collect(),
        options: &training.pod,
        requests: ["500m", "1Gi"],
        scratch: None,
        probes: None,
        lifecycle: None,
        restart: "Never",
        grace: GRACE_SECONDS,
        spread: Vec::new(),
        digests: None, // each training starts with what there is
    };
    let labels = labels::of(&plan.name, Component::Training);
    let job = JobSpec {
        backoff_limit: Some(training.backoff_limit),
        active_deadline_seconds: Some(training.active_deadline_seconds),
        pod_failure_policy: Some(failure_policy(Some(FINAL.to_vec()))),
        template: template(plan, program),
        ..JobSpec::default()
    };
    Some(Child::of(&CronJob {
        metadata: metadata(plan, plan.named(Component::Training), labels.clone()),
        spec: CronJobSpec {
            schedule: training.schedule.clone(),
            time_zone: Some(training.time_zone.clone()),
            suspend: Some(training.suspend),
            concurrency_policy: Some("Forbid".to_owned()),
            successful_jobs_history_limit: Some(training.successful_jobs_history_limit),
            failed_jobs_history_limit: Some(training.failed_jobs_history_limit),
            job_template: JobTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(job),
            },
            ..CronJobSpec::default()
        },
        ..CronJob::default()
    }))
}

/// A pod that its node has lost is no failed attempt, nor is one that found a server away: it is made again, later and later. Some
/// exit codes end the Job at once.
pub(super) fn failure_policy(last: Option<Vec<i32>>) -> PodFailurePolicy {
    let taken_away = PodFailurePolicyRule {
        action: "Ignore".to_owned(),
        on_pod_conditions: Some(vec![PodFailurePolicyOnPodConditionsPattern {
            type_: "DisruptionTarget".to_owned(),
            status: Some("True".to_owned()),
        }]),
        on_exit_codes: None,
    };
    let on_codes = |action: &str, values| PodFailurePolicyRule {
        action: action.to_owned(),
        on_exit_codes: Some(PodFailurePolicyOnExitCodesRequirement {
            operator: "In".to_owned(),
            values,
            container_name: None,
        }),
        on_pod_conditions: None,
    };
    let away = on_codes("Ignore", vec![SERVER_AWAY]);
    let last = last.map(|values| on_codes("FailJob", values));
    PodFailurePolicy { rules: [taken_away, away].into_iter().chain(last).collect() }
}
