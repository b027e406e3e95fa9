//! As many rank servers as the load wants.

use super::http::Visitors;
use super::{in_own_namespace_with_pods, request, service};
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
    let address = cluster.address("shop").await;
    let visitors = Visitors::start(4, Duration::ZERO, &address, "/rank/shop", &request(&["p1", "p2", "p3"]));
    cluster.until("shop-rank", "grew under load", |found: &Deployment| replicas(found) > 1).await;
    visitors.end().await;
    cluster.until("shop-rank", "went back to one", |found: &Deployment| replicas(found) == 1).await;
}
