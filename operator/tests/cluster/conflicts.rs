//! Objects of other owners.

use crate::cluster::{Servers, in_own_namespace};
use crate::rollout::rolled_out;
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota, Service, ServiceAccount};
use kube::ResourceExt;
use kube::api::{DeleteParams, PropagationPolicy};
use rankwright_crds::{RankingService, RankingServiceStatus};
use rankwright_operator::status::publish;
use serde_json::json;

#[tokio::test]
async fn a_status_goes_to_no_other_resource_of_the_same_name() {
    let Some(cluster) = in_own_namespace().await else { return };
    let former: RankingService = cluster.apply("shop", minimal()).await;
    let status = RankingServiceStatus { warnings: vec!["of the former one".to_owned()], ..Default::default() };
    let client = || cluster.client.clone();
    assert!(publish(&client(), &former, &status).await.unwrap().is_some());
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    assert!(publish(&client(), &former, &status).await.unwrap().is_none());
    cluster.apply::<RankingService>("shop", minimal()).await;
    assert!(publish(&client(), &former, &status).await.unwrap().is_none());
    assert_eq!(cluster.get::<RankingService>("shop").await.status, None);
}

#[tokio::test]
async fn an_object_of_somebody_else_is_told_of_and_left_alone() {
    let Some(cluster) = in_own_namespace().await else { return };
    let ports = json!([{"port": 80}]);
    let theirs: Service =
        cluster.apply("shop-rank", json!({"spec": {"selector": {"app": "theirs"}, "ports": ports}})).await;
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    let message = cluster.told("shop", "Ready", "False", "NameTaken").await;
    assert!(message.contains("Service shop-rank exists and does not belong to this RankingService"), "{message}");
    cluster.event("NameTaken").await;
    cluster.until("shop-rank", "was made all the same", |_: &Deployment| true).await;
    let now: Service = cluster.get("shop-rank").await;
    assert_eq!(now.resource_version(), theirs.resource_version());

    cluster.delete::<Service>("shop-rank").await;
    cluster.unready("shop").await;
    let made: Service = cluster.get("shop-rank").await;
    assert_eq!(made.owner_references()[0].name, "shop");
    operator.end().await;
}

#[tokio::test]
async fn no_pod_begins_with_a_configuration_or_an_identity_of_somebody_else() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    let map = cluster.configured("shop-ingest", "was made", |_| true).await.name_any();
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<ConfigMap>(&map).await;
    cluster.none_left::<Deployment>("").await;
    cluster.apply::<ConfigMap>(&map, json!({"data": {"config.yml": "theirs"}})).await;
    cluster.apply::<ServiceAccount>("blog", json!({})).await;
    for (name, theirs) in [("shop", format!("ConfigMap {map}")), ("blog", "ServiceAccount blog".to_owned())] {
        cluster.apply::<RankingService>(name, minimal()).await;
        let message = cluster.told(name, "Ready", "False", "NameTaken").await;
        assert!(message.contains(&theirs), "{message}");
        cluster.until(&format!("{name}-rank"), "was made all the same", |_: &Service| true).await;
    }
    assert!(cluster.list::<Deployment>("").await.is_empty(), "nothing runs");
    cluster.delete::<ConfigMap>(&map).await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    operator.end().await;
}

#[tokio::test]
async fn pods_wait_for_their_configuration() {
    let Some(cluster) = in_own_namespace().await else { return };
    // the one that every namespace has
    cluster.until("kube-root-ca.crt", "was made", |_: &ConfigMap| true).await;
    cluster.apply::<ResourceQuota>("few", json!({"spec": {"hard": {"count/configmaps": "1"}}})).await;
    let counts = |quota: &ResourceQuota| {
        quota.status.as_ref().and_then(|status| status.used.as_ref()).is_some_and(|used| !used.is_empty())
    };
    cluster.until("few", "counts", counts).await;
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    let message = cluster.told("shop", "Ready", "False", "ApplyFailed").await;
    assert!(message.contains("ConfigMap shop-config"), "{message}");
    cluster.until("shop-rank", "was made all the same", |_: &Service| true).await;
    assert!(cluster.list::<Deployment>("").await.is_empty(), "pods would have the configuration of before, if any");
    cluster.delete::<ResourceQuota>("few").await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    operator.end().await;
}

#[tokio::test]
async fn a_deployment_of_somebody_else_is_not_taken_for_the_rank_servers() {
    let Some(cluster) = in_own_namespace().await else { return };
    let labels = json!({"app": "theirs"});
    let context = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"securityContext": context, "containers": [{"name": "a", "image": "a"}]}});
    let theirs = json!({"spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}});
    cluster.apply::<Deployment>("shop-rank", theirs).await;
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.told("shop", "RankServerReady", "False", "NameTaken").await;
    let kept: Deployment = cluster.get("shop-rank").await;
    assert_eq!(kept.spec.unwrap().replicas, Some(0));
    operator.end().await;
}

#[tokio::test]
async fn what_a_former_resource_has_left_is_taken_over_when_that_is_asked_for() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    let before: Deployment = cluster.get("shop-rank").await;
    let orphaned = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    cluster.api::<RankingService>().delete("shop", &orphaned).await.unwrap();
    cluster.until_gone::<RankingService>("shop").await;
    cluster.apply::<RankingService>("shop", minimal()).await;
    let message = cluster.told("shop", "Ready", "False", "NameTaken").await;
    assert!(message.ends_with(", or delete it, or set spec.adoptOrphans"), "{message}");
    let asks = with(minimal(), json!({"spec": {"adoptOrphans": true}}));
    let service: RankingService = cluster.apply("shop", asks).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    let after: Deployment = cluster.get("shop-rank").await;
    assert_eq!((after.uid(), after.metadata.generation), (before.uid(), before.metadata.generation), "it runs on");
    let owners: Vec<_> = after.owner_references().iter().map(|owner| owner.uid.clone()).collect();
    assert_eq!(owners, [service.uid().unwrap()]);
    operator.end().await;
}

#[tokio::test]
async fn the_configuration_of_servers_that_are_taken_over_stays_until_they_are_replaced() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    let former = cluster.configured("shop-rank", "was made", |_| true).await.name_any();
    let orphaned = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    cluster.api::<RankingService>().delete("shop", &orphaned).await.unwrap();
    cluster.until_gone::<RankingService>("shop").await;
    let feature = json!([{"name": "price", "type": "number", "field": "item.cost"}]);
    let changed = json!({"spec": {"adoptOrphans": true, "configuration": {"inline": {"features": feature}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), changed)).await;
    let newest = cluster.configured("shop-rank", "is new", |text| text.contains("item.cost")).await.name_any();
    cluster.told("shop", "RankServerReady", "True", "RollingOut").await;
    cluster.get::<ConfigMap>(&former).await;
    rolled_out(&cluster, &newest).await; // each server finds its own meanwhile
    cluster.until_gone::<ConfigMap>(&former).await;
    operator.end().await;
}

#[tokio::test]
async fn what_a_former_resource_has_left_and_the_next_one_does_not_want_goes() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let training = json!({"spec": {"training": {"schedule": "0 3 * * *"}}});
    cluster.apply::<RankingService>("shop", with(minimal(), training)).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.until("shop-training", "was made", |_: &CronJob| true).await;
    let orphaned = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    cluster.api::<RankingService>().delete("shop", &orphaned).await.unwrap();
    cluster.until_gone::<RankingService>("shop").await;
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.told("shop", "Ready", "False", "NameTaken").await;
    cluster.get::<CronJob>("shop-training").await; // adoption was not asked for yet
    cluster.apply::<RankingService>("shop", with(minimal(), json!({"spec": {"adoptOrphans": true}}))).await;
    cluster.until_gone::<CronJob>("shop-training").await;
    operator.end().await;
}
