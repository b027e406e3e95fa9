//! Who decides how many servers there are.

use crate::cluster::{Servers, condition, in_own_namespace};
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use rankwright_crds::RankingService;
use serde_json::json;

#[tokio::test]
async fn an_autoscaler_takes_over_the_servers_there_are_and_is_not_fought() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let six = with(minimal(), json!({"spec": {"rank": {"replicas": 6}}}));
    cluster.apply::<RankingService>("shop", six.clone()).await;
    let replicas = |rank: &Deployment| rank.spec.as_ref().unwrap().replicas;
    let before: Deployment = cluster.until("shop-rank", "was made", |rank| replicas(rank) == Some(6)).await;
    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 9, "cpuUtilization": 70, "requestsPerSecond": 200});
    let scaled = with(six.clone(), json!({"spec": {"rank": {"autoscaling": autoscaling}}}));
    cluster.apply::<RankingService>("shop", scaled.clone()).await;
    let scaler: HorizontalPodAutoscaler = cluster.until("shop-rank", "was made", |_| true).await;
    assert_eq!(scaler.spec.scale_target_ref.name, "shop-rank");
    assert_eq!(scaler.spec.metrics.unwrap().len(), 2);
    let after: Deployment = cluster.get("shop-rank").await;
    assert_eq!(replicas(&after), Some(6), "never one server in between");
    assert_eq!(after.metadata.generation, before.metadata.generation, "not even for a moment");

    // as the autoscaler does; a change of the resource afterwards leaves it so
    let change = Patch::Merge(json!({"spec": {"replicas": 8}}));
    cluster.api::<Deployment>().patch_scale("shop-rank", &PatchParams::default(), &change).await.unwrap();
    let labelled = with(scaled, json!({"spec": {"rank": {"pod": {"labels": {"team": "search"}}}}}));
    cluster.apply::<RankingService>("shop", labelled).await;
    let rank: Deployment = cluster
        .until("shop-rank", "was labelled", |rank: &Deployment| {
            rank.spec
                .as_ref()
                .unwrap()
                .template
                .metadata
                .as_ref()
                .unwrap()
                .labels
                .as_ref()
                .unwrap()
                .contains_key("team")
        })
        .await;
    assert_eq!(replicas(&rank), Some(8));

    cluster.apply::<RankingService>("shop", six).await;
    cluster.until_gone::<HorizontalPodAutoscaler>("shop-rank").await;
    cluster.until("shop-rank", "has what is said", |rank: &Deployment| replicas(rank) == Some(6)).await;
    assert_eq!(cluster.get::<Deployment>("shop-rank").await.uid(), before.uid());
    operator.end().await;
}

#[tokio::test]
async fn an_autoscaler_that_finds_no_server_begins_with_its_fewest() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let none = with(minimal(), json!({"spec": {"rank": {"replicas": 0}}}));
    cluster.apply::<RankingService>("shop", none.clone()).await;
    let has = |count: i32| move |rank: &Deployment| rank.spec.as_ref().unwrap().replicas == Some(count);
    cluster.until("shop-rank", "was made", has(0)).await;
    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 9, "cpuUtilization": 70});
    cluster.apply::<RankingService>("shop", with(none, json!({"spec": {"rank": {"autoscaling": autoscaling}}}))).await;
    cluster.until("shop-rank", "begins", has(2)).await;

    // what the autoscaler would never end is ended; any other number is its own
    let scale = async |replicas: i32| {
        let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        cluster.api::<Deployment>().patch_scale("shop-rank", &PatchParams::default(), &change).await.unwrap();
    };
    scale(0).await;
    cluster.until("shop-rank", "begins again", has(2)).await;
    scale(5).await;
    cluster
        .until("shop", "told of five servers", |service: &RankingService| {
            let told = condition(service, "RankServerReady").map(|(_, _, message)| message);
            told.is_some_and(|message| message.contains("none of 5 rank servers is ready"))
        })
        .await;
    assert!(has(5)(&cluster.get("shop-rank").await));
    operator.end().await;
}
