//! What is told while a change is on its way, and when it does not get through.

use crate::cluster::{Cluster, Servers, condition, in_own_namespace};
use crate::pods::labels;
use crate::samples::{minimal, with};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use rankwright_crds::RankingService;
use rankwright_operator::ask::Said;
use serde_json::json;
use std::time::{Duration, Instant};

impl Cluster {
    /// Makes all pods of the minimal service ready, and waits until it is told.
    async fn all_work(&self, servers: usize) {
        self.all_ready("shop", "rank", servers).await;
        self.all_ready("shop", "ingest", 1).await;
        self.told("shop", "Ready", "True", "AllPartsWork").await;
    }

    /// The pod of the rank servers that was not made ready yet: times of creation are whole seconds, and tell no order.
    async fn new_server(&self) -> Pod {
        let pods: Vec<Pod> = self.list(&labels("shop", "rank")).await;
        let is_ready = |pod: &Pod| {
            let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
        };
        pods.into_iter().find(|pod| !is_ready(pod)).unwrap()
    }
}

#[tokio::test]
async fn a_change_whose_pods_cannot_start_is_told_soon_by_one_warning_while_requests_are_answered() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_work(2).await;
    let before = cluster.warnings("shop").await;
    assert!(before.len() <= 1, "a first start is nothing to warn of: {before:#?}");

    cluster
        .apply::<RankingService>("shop", with(minimal(), json!({"spec": {"image": "cluster.test/missing:1"}})))
        .await;
    cluster.told("shop", "Ready", "False", "RollingOut").await;
    cluster.pods(&labels("shop", "rank"), 3).await;
    let began = Instant::now();
    cluster.lack_image(&cluster.new_server().await).await;
    let message = cluster.told("shop", "Ready", "False", "PodWithoutImage").await;
    assert!(began.elapsed() < Duration::from_secs(30), "told after {:?}", began.elapsed());
    assert!(message.starts_with("0 of 2 rank servers run what they should: pod "), "{message}");
    cluster.told("shop", "Available", "True", "RequestsAnswered").await;
    cluster.told("shop", "Reconciling", "True", "PodWithoutImage").await;
    assert_eq!(cluster.event("PodWithoutImage").await, message);
    assert_eq!(cluster.warnings("shop").await.len(), before.len() + 1);

    cluster.apply::<RankingService>("shop", minimal()).await;
    let told: RankingService = cluster
        .until("shop", "is ready again", |service| condition(service, "Ready").is_some_and(|(is, ..)| is == "True"))
        .await;
    assert!(condition(&told, "Reconciling").is_none() && condition(&told, "Stalled").is_none(), "{told:#?}");
    operator.end().await;
}

#[tokio::test]
async fn a_pod_that_finds_no_node_is_told_within_30_seconds_also_where_nothing_is_on_its_way() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_work(2).await;
    let gone = cluster.list::<Pod>(&labels("shop", "rank")).await.remove(0).name_any();
    cluster.delete::<Pod>(&gone).await;
    cluster.pods(&labels("shop", "rank"), 2).await;
    cluster.lack_node(&cluster.new_server().await).await;
    let began = Instant::now();
    let message = cluster.told("shop", "Ready", "False", "PodWithoutNode").await;
    // 30 seconds, with room for a slow machine; without a look of its own it would be told after 75
    assert!(began.elapsed() < Duration::from_secs(55), "told after {:?}", began.elapsed());
    assert!(message.starts_with("1 of 2 rank servers are ready: pod "), "{message}");
    operator.end().await;
}

#[tokio::test]
async fn an_init_container_that_cannot_start_is_told_by_name() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_work(2).await;
    let template = json!({"spec": {"initContainers": [{"name": "fetch", "image": "cluster.test/missing:1"}]}});
    let over = json!({"spec": {"rank": {"pod": {"template": template}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), over)).await;
    cluster.pods(&labels("shop", "rank"), 3).await;
    cluster.lack_first_image(&cluster.new_server().await).await;
    let message = cluster.told("shop", "Ready", "False", "PodWithoutImage").await;
    assert!(message.contains("container fetch of pod "), "{message}");
    assert!(message.contains("cluster.test/missing:1 cannot be pulled"), "{message}");
    operator.end().await;
}

#[tokio::test]
async fn a_rollout_without_progress_is_stuck_after_its_deadline() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let hasty = with(minimal(), json!({"spec": {"rank": {"rollout": {"progressDeadlineSeconds": 10}}}}));
    cluster.apply::<RankingService>("shop", hasty.clone()).await;
    cluster.all_work(2).await;
    cluster.apply::<RankingService>("shop", with(hasty, json!({"spec": {"image": "cluster.test/missing:1"}}))).await;
    cluster.told("shop", "Ready", "False", "RolloutStuck").await;
    cluster.told("shop", "Stalled", "True", "RolloutStuck").await;
    cluster.told("shop", "Available", "True", "RequestsAnswered").await;
    operator.end().await;
}

#[tokio::test]
async fn a_refused_configuration_is_stalled() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let mut refused = minimal();
    refused["spec"]["configuration"]["inline"]["features"][0]["topp"] = 1.into();
    cluster.apply::<RankingService>("shop", refused).await;
    let message = cluster.told("shop", "Stalled", "True", "ConfigurationInvalid").await;
    assert!(message.contains("; accepted: "), "{message}");
    operator.end().await;
}

#[tokio::test]
async fn a_state_store_that_goes_away_is_told_within_15_seconds() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::answering();
    let operator = cluster.operator(&servers);
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_work(2).await;
    cluster.told("shop", "StateStoreReachable", "True", "Answers").await;
    tokio::time::sleep(Duration::from_secs(12)).await; // nothing happens, and so nothing else has anybody look
    let began = Instant::now();
    servers.say(Said::default());
    cluster.told("shop", "StateStoreReachable", "False", "DoesNotAnswer").await;
    assert!(began.elapsed() < Duration::from_secs(15), "told after {:?}", began.elapsed());
    operator.end().await;
}

#[tokio::test]
async fn what_somebody_writes_into_the_status_is_removed() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_work(2).await;
    let import = json!({"digest": "by hand", "phase": "Complete", "job": "none"});
    let condition = json!({"type": "ByHand", "status": "True", "reason": "Mine", "message": "", "lastTransitionTime": "2026-11-22T03:00:00Z"});
    let told: RankingService = cluster.get("shop").await;
    let mut conditions = serde_json::to_value(&told.status.unwrap().conditions).unwrap();
    conditions.as_array_mut().unwrap().push(condition);
    let by_hand = Patch::Merge(json!({"status": {"import": import, "conditions": conditions}}));
    cluster.api::<RankingService>().patch_status("shop", &PatchParams::default(), &by_hand).await.unwrap();
    let is_clean = |service: &RankingService| {
        let status = service.status.as_ref().unwrap();
        status.import.is_none() && status.conditions.iter().all(|condition| condition.type_ != "ByHand")
    };
    cluster.until("shop", "has a clean status", is_clean).await;
    cluster.writes_nothing_at_rest("shop", operator).await;
}
