//! What a service leaves behind.

use super::http::post_once_there;
use super::{access_key, bucket, in_own_namespace_with_pods, kubectl, service};
use crate::cluster::{Cluster, PATIENCE};
use rankwright_crds::RankingService;
use serde_json::json;
use std::time::{Duration, Instant};

/// Kinds of objects that the operator makes.
const KINDS: &str = "deployments,replicasets,pods,services,configmaps,cronjobs,jobs,poddisruptionbudgets,serviceaccounts,networkpolicies,horizontalpodautoscalers,ingresses,endpointslices";

/// Waits until no object of a service is left.
pub(super) async fn until_nothing_is_left(namespace: &str, service: &str) {
    let selector = format!("app.kubernetes.io/instance={service}");
    let end = Instant::now() + PATIENCE;
    loop {
        let left = kubectl(&["-n", namespace, "get", KINDS, "-l", &selector, "-o", "name"]).await;
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "still there: {left}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Keys in the Redis of manifests/development that have the name of a service.
pub(super) async fn keys(namespace: &str, service: &str) -> usize {
    let pattern = format!("*{namespace}.{service}*");
    let redis = ["-n", "rankwright-development", "exec", "deployment/redis", "--"];
    let scan = ["redis-cli", "--scan", "--pattern", &pattern];
    kubectl(&[&redis[..], &scan[..]].concat()).await.lines().count()
}

/// Objects in the bucket of manifests/development that lie under a prefix.
async fn objects(prefix: &str) -> usize {
    let path = format!("*/{prefix}/*");
    let s3 = ["-n", "rankwright-development", "exec", "deployment/s3", "--"];
    let find = ["find", "/data/rankwright", "-type", "f", "-path", &path];
    kubectl(&[&s3[..], &find[..]].concat()).await.lines().count()
}

/// A service that deletes its data, or does not, with values in Redis and a click-through in a bucket, under its namespace's name.
async fn filled(cluster: &Cluster, policy: &str) {
    access_key(cluster, "development").await;
    let soon = json!({"inline": {"train": {"partInterval": "1s"}}});
    let over = json!({"configuration": soon, "clickThroughStore": bucket(cluster), "deletionPolicy": policy});
    cluster.apply::<RankingService>("shop", service(json!({ "spec": over }))).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    let events = json!([
        {"event": "ranking", "id": "list-1", "timestamp": "1741600000000", "user": "u1", "session": "visit-1",
         "items": [{"id": "p1"}, {"id": "p2"}]},
        {"event": "interaction", "id": "click-1", "timestamp": "1741600001000", "ranking": "list-1", "user": "u1",
         "session": "visit-1", "type": "click", "item": "p1"},
        // the visit is over by then
        {"event": "item", "id": "e1", "timestamp": "1741603600000", "item": "p1", "fields": [{"name": "price", "value": 3}]},
    ]);
    let (status, answer) = post_once_there(&cluster.address("shop").await, "/feedback", &events).await;
    assert_eq!(status, 200, "{answer}");
    assert!(keys(&cluster.namespace, "shop").await > 0);
    let end = Instant::now() + PATIENCE;
    while objects(&cluster.namespace).await == 0 {
        assert!(Instant::now() < end, "no click-through comes to the bucket");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_goes_leaves_its_data_and_nothing_else() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    filled(&cluster, "Retain").await;
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    until_nothing_is_left(&cluster.namespace, "shop").await;
    assert!(keys(&cluster.namespace, "shop").await > 0 && objects(&cluster.namespace).await > 0, "data stay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_deletes_its_data_leaves_nothing() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    filled(&cluster, "Delete").await;
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    until_nothing_is_left(&cluster.namespace, "shop").await;
    assert_eq!((keys(&cluster.namespace, "shop").await, objects(&cluster.namespace).await), (0, 0));
}
