//! Trainings, and what the status says about models.

use crate::cluster::{Cluster, Servers, in_own_namespace};
use crate::pods::labels;
use crate::samples::{minimal, with};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use rankwright_crds::RankingService;
use rankwright_crds::status::ModelStatus;
use rankwright_operator::ask::{Model, Said, Store};
use serde_json::{Value, json};

pub(crate) const FIRST: &str = "20261114T162500000Z-1a2b3c4d";
pub(crate) const SECOND: &str = "20261115T162500000Z-5e6f7a8b";

fn scheduled() -> Value {
    with(minimal(), json!({"spec": {"training": {"schedule": "0 3 * * *"}}}))
}

impl Cluster {
    /// Starts a training now, as `kubectl create job --from` does; its pod.
    async fn train_now(&self, name: &str) -> Pod {
        let schedule: CronJob = self.until("shop-training", "was made", |_| true).await;
        let template = serde_json::to_value(schedule.spec.job_template).unwrap();
        self.apply::<Job>(name, template).await;
        let of_job = format!("{},batch.kubernetes.io/job-name={name}", labels("shop", "training"));
        self.pods(&of_job, 1).await.remove(0)
    }

    async fn model(&self, what: &str, is: impl Fn(&ModelStatus) -> bool) -> ModelStatus {
        let model =
            |service: &RankingService| service.status.as_ref().and_then(|status| status.models.first()).cloned();
        let service = self.until("shop", what, |service| model(service).is_some_and(|model| is(&model))).await;
        model(&service).unwrap()
    }
}

fn report(outcome: &str, version: Option<&str>, candidate: f64) -> String {
    let decision = json!({"publish": version.is_some(), "reason": "NotWorse", "message": "m", "metric": "NDCG@10", "candidate": candidate, "running": 0.61, "shown": 0.5});
    let model = json!({"model": "shop", "outcome": outcome, "message": "0.7012 is not worse than 0.6100", "version": version, "decision": decision, "rankings": [80, 20], "trees": 50, "leftOut": 0, "elapsedMs": 12});
    json!({"service": "a.shop", "outcome": outcome, "startedAt": "2026-11-22T03:00:00Z", "models": [model]}).to_string()
}

/// What servers say that serve a version.
pub(crate) fn serving(version: &str) -> Said {
    let model = Model {
        state: "loaded".to_owned(),
        version: Some(version.to_owned()),
        trained_at: Some("2026-11-14T16:25:00Z".to_owned()),
        ..Model::default()
    };
    Said {
        store: Store { answers: true, ..Store::default() },
        models: [("shop".to_owned(), model)].into(),
        ..Said::default()
    }
}

#[tokio::test]
async fn a_training_that_takes_too_long_has_failed_though_its_pod_is_gone() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", scheduled()).await;
    let schedule: CronJob = cluster.until("shop-training", "was made", |_| true).await;
    let mut job = serde_json::to_value(&schedule.spec.job_template).unwrap();
    job["spec"]["activeDeadlineSeconds"] = json!(1);
    let owner = json!({"apiVersion": "batch/v1", "kind": "CronJob", "name": "shop-training", "uid": schedule.metadata.uid, "controller": true});
    job["metadata"]["ownerReferences"] = json!([owner]);
    cluster.apply::<Job>("slow", job).await;
    let why = cluster.told("shop", "ModelTrained", "False", "TrainingFailed").await;
    assert_eq!(
        why,
        "training slow failed: it did not report: its Job failed: Job was active longer than specified deadline"
    );
    cluster.event("TrainingFailed").await;
    operator.end().await;
}

#[tokio::test]
async fn a_model_has_a_schedule_of_its_own_until_that_is_taken_away() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let with = |schedules: Value| {
        let mut service = scheduled();
        service["spec"]["configuration"]["inline"]["models"]["popular"] =
            json!({"type": "trending", "weights": [{"interaction": "click"}]});
        service["spec"]["training"]["modelSchedules"] = schedules;
        service
    };
    let own = json!([{"model": "popular", "schedule": "*/10 * * * *", "suspend": true}]);
    cluster.apply::<RankingService>("shop", with(own)).await;
    let shared: CronJob = cluster.until("shop-training", "was made", |_| true).await;
    let name = "shop-popular-448a8698";
    let made: CronJob = cluster.until(name, "was made", |_| true).await;
    assert_eq!((made.spec.schedule.as_str(), made.spec.suspend), ("*/10 * * * *", Some(true)));
    assert_eq!(made.annotations()["rankwright.dev/model"], "popular");
    let asked = |schedule: &CronJob| {
        let pod = schedule.spec.job_template.spec.clone().unwrap().template.spec.unwrap();
        pod.containers[0].command.clone().unwrap()
    };
    assert_eq!(asked(&made)[1..], ["--model", "popular"]);
    assert!(!asked(&shared).contains(&"popular".to_owned()), "{:?}", asked(&shared));
    let unknown = json!([{"model": "nobody", "schedule": "@hourly"}]);
    cluster.apply::<RankingService>("shop", with(unknown)).await;
    let why = cluster.told("shop", "ConfigurationValid", "False", "SpecInvalid").await;
    assert!(why.contains("modelSchedules[nobody]: the configuration has no model nobody"), "{why}");
    cluster.apply::<RankingService>("shop", with(json!([]))).await;
    cluster.until_gone::<CronJob>(name).await;
    let all = |schedule: &CronJob| asked(schedule) == ["training-job"];
    cluster.until("shop-training", "trains all", all).await;
    operator.end().await;
}

#[tokio::test]
async fn a_training_that_does_not_begin_is_told_and_so_is_that_it_does() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", scheduled()).await;
    let pod = cluster.train_now("first").await;
    cluster.lack_image(&pod).await;
    let why = cluster.told("shop", "ModelTrained", "False", "TrainingStuck").await;
    assert!(why.contains(&format!("while it waits: pod {} has no image: ", pod.name_any())), "{why}");
    cluster.end(&pod, 0, &report("published", Some(FIRST), 0.7012)).await;
    cluster.told("shop", "ModelTrained", "False", "NotTrainedYet").await;
    operator.end().await;
}

#[tokio::test]
async fn what_a_training_reports_is_told_with_metric_and_decision() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", scheduled()).await;
    let pod = cluster.train_now("first").await;
    cluster.end(&pod, 0, &report("published", Some(FIRST), 0.7012)).await;
    let model = cluster.model("was trained", |model| model.last_training.is_some()).await;
    let training = model.last_training.unwrap();
    assert_eq!((training.outcome.as_str(), training.version.as_deref()), ("Published", Some(FIRST)));
    assert_eq!(
        (training.metric.as_deref(), training.candidate.as_deref(), training.running.as_deref()),
        (Some("NDCG@10"), Some("0.7012"), Some("0.6100"))
    );
    assert_eq!(training.reason.as_deref(), Some("NotWorse"));
    assert!(cluster.event("TrainingPublished").await.contains("Published"));
    operator.end().await;
}

#[tokio::test]
async fn a_failed_training_is_told_until_one_succeeds() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", scheduled()).await;
    let pod = cluster.train_now("first").await;
    cluster.end(&pod, 137, "").await;
    let message = cluster.told("shop", "ModelTrained", "False", "TrainingFailed").await;
    assert!(message.contains("exit code 137"), "{message}");
    assert!(cluster.event("TrainingFailed").await.contains("exit code 137"));
    // a Job's pods end with seconds of their own: the later one counts
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let pod = cluster.train_now("second").await;
    cluster.end(&pod, 0, &report("published", Some(FIRST), 0.7)).await;
    cluster.told("shop", "ModelTrained", "False", "NotTrainedYet").await; // no server serves it yet
    operator.end().await;
}

#[tokio::test]
async fn the_version_that_is_served_is_what_servers_say() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::answering();
    servers.say(serving(FIRST));
    let operator = cluster.operator(&servers);
    cluster.apply::<RankingService>("shop", scheduled()).await;
    cluster.all_ready("shop", "rank", 2).await;
    let message = cluster.told("shop", "ModelTrained", "True", "Served").await;
    assert!(message.contains(FIRST), "{message}");
    let service: RankingService = cluster.get("shop").await;
    assert_eq!(service.status.unwrap().model, Some(format!("shop@{FIRST}")));

    // a pin that no server has taken up yet
    let pinned = with(scheduled(), json!({"spec": {"modelVersion": {"shop": SECOND}}}));
    cluster.apply::<RankingService>("shop", pinned).await;
    cluster.told("shop", "ModelTrained", "False", "PinNotServed").await;
    let model = cluster.model("is pinned", |model| model.pinned.is_some()).await;
    assert_eq!((model.pinned.as_deref(), model.version.as_deref()), (Some(SECOND), Some(FIRST)));
    servers.say(serving(SECOND));
    cluster.all_ready("shop", "ingest", 1).await; // something that has the operator look again
    cluster.told("shop", "ModelTrained", "True", "Served").await;
    operator.end().await;
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_told_and_leaves_the_servers_ready() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::default();
    servers.say(Said::default());
    let operator = cluster.operator(&servers);
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    let message = cluster.told("shop", "StateStoreReachable", "False", "DoesNotAnswer").await;
    assert!(message.contains("spec.stateStore.redis"), "{message}");
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    cluster.event("DoesNotAnswer").await;
    servers.say(serving(FIRST));
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "StateStoreReachable", "True", "Answers").await;
    operator.end().await;
}
