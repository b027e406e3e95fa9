//! Changes and upgrades under load.

use super::http::{Visitors, post_once_there};
use super::{in_own_namespace_with_pods, request, service};
use crate::cluster::Cluster;
use crate::pods::labels;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

fn is_rolled_out(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    status.observed_generation == deployment.metadata.generation
        && [status.updated_replicas, status.replicas, status.available_replicas] == [Some(2); 3]
}

fn with_price_of(field: &str) -> Value {
    let features = json!([
        {"name": "price", "type": "number", "field": field},
        {"name": "clicks", "type": "interaction_count", "interaction": "click", "scope": "item"},
    ]);
    service(json!({"spec": {"rank": {"replicas": 2}, "configuration": {"inline": {"features": features}}}}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_configuration_reaches_all_servers_without_a_failed_request() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    cluster.apply::<RankingService>("shop", with_price_of("item.price")).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    let first: Deployment = cluster.until("shop-rank", "was rolled out", is_rolled_out).await;
    let address = cluster.address("shop").await;
    post_once_there(&address, "/rank/shop", &request(&["p1", "p2"])).await;
    let visitors = Visitors::start_mixed(4, Duration::from_millis(10), &address, "/rank/shop", &request(&["p1", "p2"]));
    visitors.answered(100).await;
    cluster.apply::<RankingService>("shop", with_price_of("item.cost")).await;
    cluster
        .until("shop-rank", "was changed and rolled out", |found: &Deployment| {
            found.metadata.generation > first.metadata.generation && is_rolled_out(found)
        })
        .await;
    visitors.answered(100).await;
    visitors.end_with_none_failed().await;
}

/// Images of a part's pods that run, or finish what they began.
async fn running(cluster: &Cluster, part: &str) -> BTreeSet<String> {
    let pods = cluster.list::<Pod>(&labels("shop", part)).await;
    let runs = |pod: &&Pod| {
        let states = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
        states.filter_map(|container| container.state.as_ref()).any(|state| state.running.is_some())
    };
    pods.iter().filter(runs).filter_map(|pod| pod.spec.as_ref()?.containers[0].image.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_image_gets_to_servers_then_to_workers_which_never_meet_former_ones_without_a_failed_request() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    let two = json!({"spec": {"rank": {"replicas": 2}, "ingest": {"replicas": 2}}});
    cluster.apply::<RankingService>("shop", service(two.clone())).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    let first: Deployment = cluster.until("shop-ingest", "was rolled out", is_rolled_out).await;
    let former = running(&cluster, "ingest").await.pop_first().unwrap();
    // the same image by another name is a new one for whoever goes by names
    let newer = format!("docker.io/library/{former}");
    let address = cluster.address("shop").await;
    post_once_there(&address, "/rank/shop", &request(&["p1", "p2"])).await;
    let visitors = Visitors::start_mixed(4, Duration::from_millis(10), &address, "/rank/shop", &request(&["p1", "p2"]));
    visitors.answered(100).await;
    let mut upgraded = service(two);
    upgraded["spec"]["image"] = json!(newer);
    cluster.apply::<RankingService>("shop", upgraded).await;
    let done = async {
        cluster
            .until("shop-ingest", "was changed and rolled out", |found: &Deployment| {
                found.metadata.generation > first.metadata.generation && is_rolled_out(found)
            })
            .await;
    };
    let watched = async {
        let only_newer = BTreeSet::from([newer.clone()]);
        loop {
            // workers first: what servers run later, they ran no more of before
            let workers = running(&cluster, "ingest").await;
            assert!(workers.len() < 2, "workers of two images write beside each other: {workers:?}");
            if workers == only_newer {
                assert_eq!(running(&cluster, "rank").await, only_newer, "a server of the former image beside a worker");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! { () = done => {}, () = watched => {} }
    assert_eq!(running(&cluster, "ingest").await, BTreeSet::from([newer]));
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    visitors.answered(100).await;
    visitors.end_with_none_failed().await;
}
