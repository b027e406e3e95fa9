//! The end of a service.

use crate::cluster::{Cluster, Servers, condition, in_own_namespace, read_by};
use crate::pods::labels;
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use rankwright_crds::RankingService;
use rankwright_operator::labels::FINALIZER;
use serde_json::json;

fn deleting() -> serde_json::Value {
    with(minimal(), json!({"spec": {"deletionPolicy": "Delete"}}))
}

/// A service that is being deleted, whose purge gives up after its first failed pod, in place of many.
async fn purging_hastily(cluster: &Cluster) {
    cluster.apply::<RankingService>("shop", deleting()).await;
    cluster.until("shop", "is held", |service: &RankingService| !service.finalizers().is_empty()).await;
    cluster.delete::<RankingService>("shop").await;
    cluster.until("shop-purge", "was made", |_: &Job| true).await;
    let hasty = json!({"spec": {"backoffLimit": 0}});
    cluster.api::<Job>().patch("shop-purge", &PatchParams::default(), &Patch::Merge(&hasty)).await.unwrap();
}

#[tokio::test]
async fn a_service_that_retains_its_data_goes_at_once_with_its_objects() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let service: RankingService = cluster.apply("shop", minimal()).await;
    assert!(service.finalizers().is_empty());
    let map = cluster.configured("shop-ingest", "was made", |_| true).await.name_any();
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    cluster.until_gone::<Deployment>("shop-rank").await;
    cluster.until_gone::<Deployment>("shop-ingest").await;
    cluster.until_gone::<ConfigMap>(&map).await;
    assert!(cluster.list::<Job>("").await.is_empty(), "nothing was purged");
    operator.end().await;
}

#[tokio::test]
async fn a_service_that_deletes_its_data_stops_then_purges_then_goes() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", deleting()).await;
    cluster
        .until("shop", "is held", |service: &RankingService| service.finalizers().contains(&FINALIZER.to_owned()))
        .await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.delete::<RankingService>("shop").await;
    let job: Job = cluster.until("shop-purge", "was made", |_| true).await;
    let command = job.spec.unwrap().template.spec.unwrap().containers[0].command.clone().unwrap();
    assert_eq!(command, ["rankwright", "purge", "--yes"]);
    for part in ["rank", "ingest"] {
        assert!(cluster.list::<Pod>(&labels("shop", part)).await.is_empty(), "{part} runs while data are removed");
    }
    cluster.told("shop", "Ready", "False", "Purging").await;
    let pods = cluster.pods(&labels("shop", "purge"), 1).await;
    cluster.end(&pods[0], 0, "").await;
    cluster.until_gone::<RankingService>("shop").await;
    cluster.until_gone::<Job>("shop-purge").await;
    operator.end().await;
}

#[tokio::test]
async fn a_service_that_has_run_is_held_for_its_data_also_while_it_is_refused() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.told("shop", "RankServerReady", "False", "NoneReady").await;
    let mut refused = deleting();
    refused["spec"]["configuration"]["inline"]["features"][0]["type"] = "nonsense".into();
    cluster.apply::<RankingService>("shop", refused).await;
    cluster.told("shop", "ConfigurationValid", "False", "ConfigurationInvalid").await;
    cluster
        .until("shop", "is held", |service: &RankingService| service.finalizers().contains(&FINALIZER.to_owned()))
        .await;
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.until("shop", "is let go", |service: &RankingService| service.finalizers().is_empty()).await;
    operator.end().await;
}

#[tokio::test]
async fn data_that_cannot_be_removed_hold_the_service_until_somebody_decides() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    purging_hastily(&cluster).await;
    let pods = cluster.pods(&labels("shop", "purge"), 1).await;
    cluster.end(&pods[0], 1, "").await;
    let message = cluster.told("shop", "Ready", "False", "PurgeFailed").await;
    assert!(message.contains("set deletionPolicy to Retain"), "{message}");
    cluster.event("PurgeFailed").await;
    cluster.apply::<RankingService>("shop", with(minimal(), json!({"spec": {"deletionPolicy": "Retain"}}))).await;
    cluster.until_gone::<RankingService>("shop").await;
    operator.end().await;
}

#[tokio::test]
async fn a_namespace_that_goes_is_held_by_data_that_nothing_can_remove_any_more_until_somebody_decides() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", deleting()).await;
    // all is made, and nothing is under way that could be refused
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    namespaces.delete(&cluster.namespace, &DeleteParams::background()).await.unwrap();
    // an object that goes before the resource does is missed before
    cluster
        .until("shop", "told what holds its namespace", |service: &RankingService| {
            let told =
                condition(service, "Ready").map(|(_, reason, message)| (reason == "ApplyFailed").then_some(message));
            told.flatten().is_some_and(|message| {
                message.contains("because it is being terminated") && message.contains("set deletionPolicy to Retain")
            })
        })
        .await;
    let retain = json!({"spec": {"deletionPolicy": "Retain"}});
    cluster.api::<RankingService>().patch("shop", &PatchParams::default(), &Patch::Merge(&retain)).await.unwrap();
    cluster.until_gone::<RankingService>("shop").await;
    operator.end().await;
}

#[tokio::test]
async fn data_are_removed_once_a_server_that_was_away_is_back() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    purging_hastily(&cluster).await;
    let first = cluster.pods(&labels("shop", "purge"), 1).await.remove(0);
    cluster.end(&first, 75, "error: no connection").await;
    let pods = cluster.pods(&labels("shop", "purge"), 2).await;
    let second = pods.iter().find(|pod| pod.uid() != first.uid()).unwrap();
    cluster.told("shop", "Ready", "False", "Purging").await;
    cluster.end(second, 0, "").await;
    cluster.until_gone::<RankingService>("shop").await;
    operator.end().await;
}

#[tokio::test]
async fn data_are_removed_though_what_only_other_programs_used_is_gone() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let password = json!({"name": "kafka", "key": "password"});
    let kafka = json!({"brokers": ["kafka:9092"], "topic": "events", "groupId": "shop", "auth": {"username": "ann", "passwordSecretRef": password}});
    let text = serde_json::to_string(&minimal()["spec"]["configuration"]["inline"]).unwrap();
    cluster.apply::<Secret>("kafka", json!({"stringData": {"password": "x"}})).await;
    cluster.apply::<ConfigMap>("mine", json!({"data": {"config.yml": text}})).await;
    let named = json!({"inline": null, "configMapRef": {"name": "mine"}});
    let over = json!({"spec": {"configuration": named, "ingest": {"source": {"kafka": kafka}}}});
    cluster.apply::<RankingService>("shop", with(deleting(), over)).await;
    cluster.all_ready("shop", "rank", 2).await;
    let before = cluster.configured("shop-rank", "was made", |_| true).await;
    cluster.delete::<Secret>("kafka").await;
    cluster.delete::<ConfigMap>("mine").await;
    cluster.told("shop", "Ready", "False", "ConfigMapMissing").await;
    cluster.delete::<RankingService>("shop").await;
    cluster.told("shop", "Ready", "False", "Purging").await;
    cluster.told("shop", "ConfigurationValid", "False", "ConfigMapMissing").await;
    let pods = cluster.pods(&labels("shop", "purge"), 1).await;
    assert_eq!(read_by(pods[0].spec.as_ref().unwrap()), before.name_any());
    assert_eq!(cluster.get::<ConfigMap>(&before.name_any()).await.data, before.data);
    cluster.end(&pods[0], 0, "").await;
    cluster.until_gone::<RankingService>("shop").await;
    operator.end().await;
}

#[tokio::test]
async fn data_are_not_removed_while_a_job_is_between_two_pods() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", deleting()).await;
    cluster.all_ready("shop", "rank", 2).await;
    let managed = json!({
        "app.kubernetes.io/name": "rankwright", "app.kubernetes.io/instance": "shop",
        "app.kubernetes.io/managed-by": "rankwright-operator", "app.kubernetes.io/component": "training",
    });
    // one that makes no pod until the test says so, as a stand-in for one that waits before it tries again
    let container = json!({"name": "training", "image": "cluster.test/rankwright:1"});
    let pod = json!({"metadata": {"labels": managed}, "spec": {"restartPolicy": "Never", "containers": [container]}});
    let training = json!({"metadata": {"labels": managed}, "spec": {"suspend": true, "template": pod}});
    cluster.apply::<Job>("shop-training-now", training).await;
    cluster.delete::<RankingService>("shop").await;
    cluster
        .until("shop", "told what it waits for", |service: &RankingService| {
            let told = condition(service, "Ready").map(|(_, _, message)| message);
            told.is_some_and(|message| message.contains("waiting for Job shop-training-now to end"))
        })
        .await;
    assert!(cluster.api::<Job>().get_opt("shop-purge").await.unwrap().is_none(), "what it writes would stay");
    cluster.delete::<Job>("shop-training-now").await;
    cluster.until("shop-purge", "was made", |_: &Job| true).await;
    operator.end().await;
}

#[tokio::test]
async fn a_service_whose_objects_were_left_to_nobody_says_so_and_goes_when_its_data_may_stay() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", deleting()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    operator.end().await; // it would stop some of them before they are left
    cluster.api::<RankingService>().delete("shop", &DeleteParams::orphan()).await.unwrap();
    let map = cluster.configured("shop-rank", "is there", |_| true).await.name_any();
    cluster.until(&map, "was left", |map: &ConfigMap| map.owner_references().is_empty()).await;
    cluster.until("shop-rank", "was left", |rank: &Deployment| rank.owner_references().is_empty()).await;
    let operator = cluster.operator(&Servers::answering());
    cluster
        .until("shop", "told what is in the way", |service: &RankingService| {
            let told = condition(service, "Ready").map(|(_, _, message)| message);
            told.is_some_and(|message| {
                message.contains(&format!("ConfigMap {map} exists and does not belong to this RankingService"))
                    && message.contains("set deletionPolicy to Retain")
            })
        })
        .await;
    let retain = json!({"spec": {"deletionPolicy": "Retain"}});
    cluster.api::<RankingService>().patch("shop", &PatchParams::default(), &Patch::Merge(&retain)).await.unwrap();
    cluster.until_gone::<RankingService>("shop").await;
    cluster.get::<Deployment>("shop-rank").await;
    operator.end().await;
}
