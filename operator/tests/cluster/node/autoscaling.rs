//! As many rank servers as the load wants.

use super::http::{Visitors, post_once_there};
use super::{in_own_namespace_with_pods, request, service};
use crate::pods::labels;
use k8s_openapi::api::apps::v1::Deployment;
use rankwright_crds::RankingService;
use serde_json::json;
use std::time::Duration;

fn replicas(deployment: &Deployment) -> i32 {
    deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rank_servers_come_with_the_load_and_go_with_it() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    let scaled = json!({"minReplicas": 1, "maxReplicas": 3, "cpuUtilization": 50, "scaleDownStabilizationSeconds": 0});
    cluster
        .apply::<RankingService>("shop", service(json!({"spec": {"rank": {"replicas": null, "autoscaling": scaled}}})))
        .await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    // one that begins takes some time of a processor as well
    cluster.until("shop-rank", "has one server", |found: &Deployment| replicas(found) == 1).await;
    let address = cluster.address("shop").await;
    let wanted = request(&["p1", "p2", "p3"]);
    post_once_there(&address, "/rank/shop", &wanted).await;
    let visitors = Visitors::start_mixed(4, Duration::ZERO, &address, "/rank/shop", &wanted);
    // these stay, and are too few to be a load
    let some = Visitors::start_mixed(2, Duration::from_millis(200), &address, "/rank/shop", &wanted);
    cluster.until("shop-rank", "grew under load", |found: &Deployment| replicas(found) > 1).await;
    let all_ready = |found: &Deployment| {
        found
            .status
            .as_ref()
            .is_some_and(|status| status.ready_replicas > Some(1) && status.ready_replicas == status.replicas)
    };
    cluster.until("shop-rank", "has servers that are ready", all_ready).await;
    visitors.answered(100).await;
    visitors.end_with_none_failed().await;
    cluster.until("shop-rank", "went back to one", |found: &Deployment| replicas(found) == 1).await;
    // servers that go finish what they began
    cluster.pods(&labels("shop", "rank"), 1).await;
    some.answered(20).await;
    some.end_with_none_failed().await;
}
