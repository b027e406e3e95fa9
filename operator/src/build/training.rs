//! Scheduled training: a CronJob for the models that share a schedule, and one for each that has its own.

use super::child::{Child, metadata};
use super::pod::{Program, template};
use crate::labels::{self, Component, MODEL, SCHEDULE};
use crate::schedules::{self, Schedule};
use crate::validate::Plan;
use k8s_openapi::api::batch::v1::{
    CronJob, CronJobSpec, JobSpec, JobTemplateSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule,
};
use kube::api::ObjectMeta;
use rankwright_crds::ranking_service::Training;

/// Exit codes of a training that another attempt would not change: wrong arguments, and nothing to learn from yet.
const FINAL: [i32; 2] = [2, 3];

/// Exit code of a program that found a server away.
const SERVER_AWAY: i32 = 75;

const GRACE_SECONDS: i64 = 30;

pub(super) fn cron_jobs(plan: &Plan) -> Vec<Child> {
    let Some(training) = &plan.spec.training else { return Vec::new() };
    let schedules = schedules::of(&plan.name, training, &plan.configuration.trained);
    schedules.into_iter().map(|schedule| cron_job(plan, training, schedule)).collect()
}

fn cron_job(plan: &Plan, training: &Training, schedule: Schedule<'_>) -> Child {
    let all = || plan.configuration.trained.iter().map(String::as_str).collect();
    let models = if schedule.models.is_empty() { all() } else { schedule.models.clone() };
    let asked = schedule.models.iter().flat_map(|model| ["--model".to_owned(), (*model).to_owned()]);
    let program = Program {
        component: Component::Training,
        image: &plan.images.training,
        command: std::iter::once("training-job".to_owned()).chain(asked).collect(),
        options: &training.pod,
        models: &models,
        scratch: None,
        probes: None,
        lifecycle: None,
        restart: "Never",
        grace: GRACE_SECONDS,
        spread: Vec::new(),
        digests: None, // each training starts with what there is
    };
    let mut labels = labels::of(&plan.name, Component::Training);
    let mut template = template(plan, program);
    let mut metadata = metadata(plan, schedule.name, labels.clone());
    if let Some((key, model)) = schedule.own {
        labels.insert(SCHEDULE.to_owned(), key.clone());
        template.metadata.get_or_insert_default().labels.get_or_insert_default().insert(SCHEDULE.to_owned(), key);
        metadata.annotations = Some([(MODEL.to_owned(), model.to_owned())].into());
    }
    let job = JobSpec {
        backoff_limit: Some(training.backoff_limit),
        active_deadline_seconds: Some(training.active_deadline_seconds),
        pod_failure_policy: Some(failure_policy(Some(FINAL.to_vec()))),
        template,
        ..JobSpec::default()
    };
    Child::of(&CronJob {
        metadata,
        spec: CronJobSpec {
            schedule: schedule.cron.to_owned(),
            time_zone: Some(training.time_zone.clone()),
            suspend: Some(schedule.suspend),
            starting_deadline_seconds: training.starting_deadline_seconds,
            concurrency_policy: Some("Forbid".to_owned()),
            successful_jobs_history_limit: Some(training.successful_jobs_history_limit),
            failed_jobs_history_limit: Some(training.failed_jobs_history_limit),
            job_template: JobTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(job),
            },
        },
        ..CronJob::default()
    })
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
