//! Changes and upgrades under load.

use super::http::{Visitors, post_once_there};
use super::learning::{learns, ranked};
use super::{access_key, bucket, in_own_namespace_with_pods, kubectl, request, service};
use crate::cluster::Cluster;
use crate::pods::labels;
use crate::samples::with;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

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

/// Names of rank servers that stay, which are ready or not.
async fn servers(cluster: &Cluster, ready: bool) -> BTreeSet<String> {
    let is_ready = |pod: &Pod| {
        let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    let pods = cluster.list::<Pod>(&labels("shop", "rank")).await.into_iter();
    let stay = pods.filter(|pod| pod.metadata.deletion_timestamp.is_none() && is_ready(pod) == ready);
    stay.map(|pod| pod.name_any()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_stops_at_the_first_server_that_would_serve_less_and_former_ones_come_back_as_they_were() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    access_key(&cluster, "development").await;
    let learning = json!({"spec": {"training": {"schedule": "0 3 * * *"}, "clickThroughStore": bucket(&cluster)}});
    let of_price = |field| with(with_price_of(field), learning.clone());
    cluster.apply::<RankingService>("shop", of_price("item.price")).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    learns(&cluster, "shop", &["shop"]).await;
    let (address, asked) = (cluster.address("shop").await, request(&["p1", "p2"]));
    let visitors = Visitors::start_mixed(4, Duration::from_millis(10), &address, "/rank/shop", &asked);

    // no version was trained on this
    cluster.apply::<RankingService>("shop", of_price("item.cost")).await;
    let message = cluster.told("shop", "Ready", "False", "WouldServeLess").await;
    assert!(message.contains("model shop is served by 2 other servers"), "{message}");
    cluster.told("shop", "Available", "True", "RequestsAnswered").await;
    let (stopped, mut former) = (servers(&cluster, false).await, servers(&cluster, true).await);
    assert_eq!((stopped.len(), former.len()), (1, 2), "one server got the change");
    // models are trained on what they prepare
    cluster.configured("shop-ingest", "has the change", |text| text.contains("item.cost")).await;

    // one of the others is evicted
    let gone = former.pop_first().unwrap();
    kubectl(&["-n", &cluster.namespace, "delete", "pod", &gone]).await;
    let end = Instant::now() + cluster.patience;
    while servers(&cluster, true).await.len() < 2 {
        assert!(Instant::now() < end, "none came in its place");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    ranked(&cluster, "shop", &["shop"]).await;
    assert_eq!(servers(&cluster, false).await, stopped, "it waits still, alone");

    // the change is taken back
    cluster.apply::<RankingService>("shop", of_price("item.price")).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    ranked(&cluster, "shop", &["shop"]).await;
    visitors.answered(100).await;
    visitors.end_with_none_failed().await;
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
    // the same image by another name is a new one for the operator, which compares names
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
