//! Backfills.

use crate::cluster::{Servers, in_own_namespace};
use crate::pods::labels;
use crate::samples::{minimal, with};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kube::ResourceExt;
use rankwright_crds::RankingService;
use rankwright_crds::status::{ImportPhase, ImportStatus};
use rankwright_operator::ask::{Said, Store};
use serde_json::{Value, json};

fn importing(prefix: &str) -> Value {
    let import = json!({"from": {"s3": {"bucket": "events", "prefix": prefix}}, "backoffLimit": 0});
    with(minimal(), json!({"spec": { "import": import }}))
}

fn import(service: &RankingService) -> ImportStatus {
    service.status.as_ref().and_then(|status| status.import.clone()).unwrap_or_default()
}

#[tokio::test]
async fn an_import_is_done_once_and_again_when_it_changes() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", importing("2025")).await;
    let service = cluster.until("shop", "imports", |service: &RankingService| !import(service).job.is_empty()).await;
    let first: Job = cluster.get(&import(&service).job).await;
    let container = &first.spec.as_ref().unwrap().template.spec.as_ref().unwrap().containers[0];
    let command = container.command.as_ref().unwrap().join(" ");
    assert_eq!(command, "rankwright import --rebuild --offset earliest --data s3://events/2025");
    // which the state remembers beyond the resource
    let once = container.env.iter().flatten().find(|variable| variable.name == "RANKWRIGHT_IMPORT_ONCE").unwrap();
    assert_eq!(once.value.as_ref(), Some(&import(&service).digest));
    let pods = cluster.pods(&labels("shop", "import"), 1).await;
    cluster.end(&pods[0], 0, "").await;
    let phase = |wanted| move |service: &RankingService| import(service).phase == wanted;
    cluster.until("shop", "has imported", phase(ImportPhase::Complete)).await;
    assert!(cluster.event("ImportComplete").await.contains("is live"));

    // its Job may be cleared away
    cluster.delete::<Job>(&first.name_any()).await;
    cluster.until_gone::<Job>(&first.name_any()).await;
    cluster.none_left::<Pod>(&labels("shop", "import")).await;
    let more = with(importing("2025"), json!({"spec": {"rank": {"replicas": 3}}}));
    cluster.apply::<RankingService>("shop", more).await;
    let service = cluster
        .until("shop", "saw that", |service: &RankingService| {
            service.status.as_ref().unwrap().observed_generation == service.metadata.generation
        })
        .await;
    assert_eq!(import(&service).phase, ImportPhase::Complete);
    assert!(cluster.list::<Job>("").await.is_empty(), "it is not done again");

    cluster.apply::<RankingService>("shop", importing("2026")).await;
    let service = cluster.until("shop", "imports again", phase(ImportPhase::Running)).await;
    assert_ne!(import(&service).digest, "");
    let jobs = cluster.pods(&labels("shop", "import"), 1).await;
    assert!(!jobs[0].name_any().starts_with(&first.name_any()));
    operator.end().await;
}

#[tokio::test]
async fn an_import_is_lost_while_another_state_lies_in_the_place_of_the_one_that_it_filled() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::default();
    let work_on = |id: &str, generation: u32| {
        let store = Store { answers: true, id: Some(id.to_owned()), generation, ..Store::default() };
        servers.say(Said { store, ..Said::default() });
    };
    work_on("s1", 2);
    let operator = cluster.operator(&servers);
    cluster.apply::<RankingService>("shop", importing("2025")).await;
    cluster.all_ready("shop", "rank", 2).await;
    let pods = cluster.pods(&labels("shop", "import"), 1).await;
    cluster.end(&pods[0], 0, "").await;
    let filled = |service: &RankingService| import(service).state.as_deref() == Some("s1");
    cluster.until("shop", "tells which state it filled", filled).await;
    let phase = |wanted| move |service: &RankingService| import(service).phase == wanted;
    // Redis comes back empty
    work_on("s2", 1);
    let lost = cluster.until("shop", "is lost", phase(ImportPhase::Lost)).await;
    let message = import(&lost).message.unwrap();
    assert!(message.contains("raise import.attempt"), "{message}");
    assert!(cluster.event("ImportLost").await.contains(&message));
    // and with its data
    work_on("s1", 2);
    cluster.until("shop", "is complete", phase(ImportPhase::Complete)).await;
    operator.end().await;
}

#[tokio::test]
async fn an_import_that_is_replaced_while_it_runs_ends() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", importing("2025")).await;
    let service = cluster.until("shop", "imports", |service: &RankingService| !import(service).job.is_empty()).await;
    let first = import(&service).job;
    cluster.apply::<RankingService>("shop", importing("2026")).await;
    cluster.until_gone::<Job>(&first).await;
    cluster.pods(&labels("shop", "import"), 1).await;
    operator.end().await;
}

#[tokio::test]
async fn an_import_that_cannot_begin_is_made_anew_when_what_was_wrong_is_mended() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let with_image = |image: &str| with(importing("2025"), json!({"spec": {"import": {"pod": {"image": image}}}}));
    cluster.apply::<RankingService>("shop", with_image("rankwright:wrong")).await;
    let told = |service: &RankingService| import(service).message.is_some_and(|why| why.contains("finds no node"));
    let service = cluster.until("shop", "says so", told).await;
    let first: Job = cluster.get(&import(&service).job).await;
    cluster.apply::<RankingService>("shop", with_image("rankwright:right")).await;
    let uid = first.metadata.uid.clone();
    let second = cluster.until(&first.name_any(), "is another one", |job: &Job| job.metadata.uid != uid).await;
    let containers = second.spec.unwrap().template.spec.unwrap().containers;
    assert_eq!(containers[0].image.as_deref(), Some("rankwright:right"));
    operator.end().await;
}

#[tokio::test]
async fn an_import_that_cannot_begin_is_told_and_made_anew_also_while_another_object_is_refused() {
    let Some(cluster) = in_own_namespace().await else { return };
    cluster.apply::<ResourceQuota>("few", json!({"spec": {"hard": {"count/poddisruptionbudgets.policy": "0"}}})).await;
    let counts = |quota: &ResourceQuota| quota.status.as_ref().is_some_and(|status| status.hard.is_some());
    cluster.until("few", "counts", counts).await;
    let operator = cluster.operator(&Servers::answering());
    let with_image = |image: &str| with(importing("2025"), json!({"spec": {"import": {"pod": {"image": image}}}}));
    cluster.apply::<RankingService>("shop", with_image("rankwright:wrong")).await;
    let message = cluster.told("shop", "Ready", "False", "ApplyFailed").await;
    assert!(message.contains("exceeded quota"), "{message}");
    let told = |service: &RankingService| import(service).message.is_some_and(|why| why.contains("finds no node"));
    let service = cluster.until("shop", "says what its import waits for", told).await;
    let first: Job = cluster.get(&import(&service).job).await;
    cluster.apply::<RankingService>("shop", with_image("rankwright:right")).await;
    let uid = first.metadata.uid.clone();
    cluster.until(&first.name_any(), "is another one", |job: &Job| job.metadata.uid != uid).await;
    operator.end().await;
}

#[tokio::test]
async fn a_failed_import_is_told_and_tried_again_when_its_job_is_deleted() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", importing("2025")).await;
    let pods = cluster.pods(&labels("shop", "import"), 1).await;
    cluster.end(&pods[0], 1, "error: the bucket is gone").await;
    let service = cluster
        .until("shop", "has failed", |service: &RankingService| import(service).phase == ImportPhase::Failed)
        .await;
    let message = import(&service).message.unwrap();
    assert!(message.contains("the bucket is gone") && message.contains("the old state stays live"), "{message}");
    cluster.event("ImportFailed").await;
    cluster.delete::<Job>(&import(&service).job).await;
    cluster
        .until("shop", "tries again", |service: &RankingService| {
            import(service).phase == ImportPhase::Running && !import(service).job.is_empty()
        })
        .await;
    operator.end().await;
}
