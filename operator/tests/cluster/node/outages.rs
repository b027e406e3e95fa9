//! A Redis that is away, or comes late.

use super::http::{post_once_there, status_once_there};
use super::{file, in_own_namespace_with_pods, kubectl, request, service};
use crate::cluster::Cluster;
use crate::pods::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A Redis of the test's own, with this number of pods.
async fn redis(cluster: &Cluster, replicas: &str) {
    let text = std::fs::read_to_string(file("manifests/development/redis.yaml")).unwrap();
    let (_, own) = text.split_once("---\n").unwrap(); // the namespace is there
    let path = std::env::temp_dir().join(format!("redis-of-{}.yaml", cluster.namespace));
    std::fs::write(&path, own.replace("rankwright-development", &cluster.namespace)).unwrap();
    kubectl(&["apply", "-f", path.to_str().unwrap()]).await;
    std::fs::remove_file(path).unwrap();
    scale(cluster, replicas).await;
}

async fn scale(cluster: &Cluster, replicas: &str) {
    let replicas = format!("--replicas={replicas}");
    kubectl(&["-n", &cluster.namespace, "scale", "deployment/redis", &replicas]).await;
}

/// The kubelet would restart what is not alive, after a minute of that: sooner than it does is it asked here.
async fn assert_alive(cluster: &Cluster) {
    for part in ["rank", "ingest"] {
        for pod in cluster.list::<Pod>(&labels("shop", part)).await {
            let has_address = |pod: &Pod| pod.status.as_ref().is_some_and(|status| status.pod_ip.is_some());
            let pod = cluster.until(&pod.name_any(), "has an address", has_address).await;
            let address = format!("{}:8080", pod.status.and_then(|status| status.pod_ip).unwrap());
            assert_eq!(status_once_there(&address, "/health").await, 200, "{part}");
        }
    }
}

fn over_own_redis() -> Value {
    service(json!({"spec": {"stateStore": {"redis": {"host": "redis"}}}}))
}

fn restarts(pod: &Pod) -> i32 {
    let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    containers.map(|container| container.restart_count).sum()
}

/// Names of the pods, and how often any of them was restarted.
async fn pods(cluster: &Cluster) -> (Vec<String>, i32) {
    let mut names = Vec::new();
    let mut restarted = 0;
    for part in ["rank", "ingest"] {
        for pod in cluster.list::<Pod>(&labels("shop", part)).await {
            restarted += restarts(&pod);
            names.push(pod.name_any());
        }
    }
    (names, restarted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_comes_late_is_waited_for_and_told_of() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    redis(&cluster, "0").await;
    cluster.apply::<RankingService>("shop", over_own_redis()).await;
    let why = cluster.told("shop", "StateStoreReachable", "False", "DoesNotAnswer").await;
    assert_alive(&cluster).await;
    assert!(why.contains("the rank servers wait for Redis") && why.contains("redis:6379"), "{why}");
    cluster.told("shop", "Ready", "False", "DoesNotAnswer").await;
    scale(&cluster, "1").await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    assert_eq!(pods(&cluster).await.1, 0, "nobody was restarted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_goes_away_is_told_of_and_restarts_nobody() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    redis(&cluster, "1").await;
    cluster.apply::<RankingService>("shop", over_own_redis()).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    let (before, address) = (pods(&cluster).await, cluster.address("shop").await);
    scale(&cluster, "0").await;
    cluster.none_left::<Pod>("app.kubernetes.io/name=redis").await;
    let gone = Instant::now();
    cluster.told("shop", "StateStoreReachable", "False", "DoesNotAnswer").await;
    assert!(gone.elapsed() < Duration::from_secs(120), "told after {:?}", gone.elapsed());
    let (status, answer) = post_once_there(&address, "/rank/shop", &request(&["p1", "p2"])).await;
    assert!(status == 200 && answer["fallback"].is_string(), "{status} {answer}");
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    assert_alive(&cluster).await;
    scale(&cluster, "1").await;
    cluster.told("shop", "StateStoreReachable", "True", "Answers").await;
    // it keeps nothing on disk
    let why = cluster.told("shop", "Ready", "False", "StateLost").await;
    let (_, id) = why.rsplit_once("rankwright.dev/accepted-state=").unwrap();
    let accepted = json!({"metadata": {"annotations": {"rankwright.dev/accepted-state": id}}});
    let api = cluster.api::<RankingService>();
    api.patch("shop", &PatchParams::default(), &Patch::Merge(&accepted)).await.unwrap();
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    assert_eq!(pods(&cluster).await, before, "the same pods, none restarted");
}
