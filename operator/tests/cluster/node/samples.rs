//! The samples as they stand.

use super::http::post_once_there;
use super::learning::{learns, published, ranked, recommended, trained, visited};
use super::{file, in_own_namespace_with_pods, kubectl, request, texts};
use crate::cluster::Cluster;
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::Command;

/// The namespace of a sample; it goes with the test.
pub(super) struct Sample {
    pub(super) cluster: Cluster,
    path: String,
}

impl Sample {
    /// Applies a sample in its own namespace.
    pub(super) async fn applied(cluster: &Cluster, name: &str, namespace: &str) -> Self {
        let path = file(&format!("manifests/samples/{name}.yaml")).to_str().unwrap().to_owned();
        kubectl(&["apply", "-f", &path]).await;
        Self { cluster: cluster.at(namespace), path }
    }

    /// Removes it, and waits until its namespace is gone: the next one needs the room.
    pub(super) async fn removed(self) {
        kubectl(&["delete", "-f", &self.path, "--timeout=120s", "--ignore-not-found"]).await;
    }
}

/// Asks for rankings through the Service. No model has a version yet, so they come in the order of the request, with the reason.
pub(super) async fn ranks(cluster: &Cluster, service: &str, models: &[&str]) {
    let address = cluster.address(service).await;
    for model in models {
        let (status, answer) =
            post_once_there(&address, &format!("/rank/{model}"), &request(&["p1", "p2", "p3"])).await;
        assert_eq!(status, 200, "{model}: {answer}");
        let items: Vec<&str> =
            answer["items"].as_array().unwrap().iter().filter_map(|item| item["item"].as_str()).collect();
        assert!(items == ["p1", "p2", "p3"] && answer["fallback"].is_string(), "{model}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_sample_becomes_ready_learns_and_ranks() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    // one after another: a small machine has no room for all of them. 04-kafka is the stream's, 08-import the story's
    for (name, namespace, service, models) in [
        ("01-minimal", "sample-minimal", "shop", &["default"][..]),
        ("02-ranklens", "sample-ranklens", "films", &["lightgbm", "xgboost"]),
        ("03-autoscaled", "sample-autoscaled", "shop", &["default"]),
        ("07-a-b-test", "sample-a-b", "shop", &["control", "candidate"]),
        ("09-text-and-recommendations", "sample-recommendations", "shop", &["default"]),
    ] {
        let recommends_too = name.ends_with("recommendations");
        if recommends_too && !texts::of_the_sample().await {
            continue;
        }
        let sample = Sample::applied(&cluster, name, namespace).await;
        sample.cluster.told(service, "Ready", "True", "AllPartsWork").await;
        sample.cluster.told(service, "StateStoreReachable", "True", "Answers").await;
        ranks(&sample.cluster, service, models).await;
        learns(&sample.cluster, service, models).await;
        if recommends_too {
            recommends(&sample.cluster, service).await;
            embeds(&sample.cluster, service).await;
        }
        sample.removed().await;
    }
}

/// Asks for the embedding of a title, by the encoder that came from the bucket.
async fn embeds(cluster: &Cluster, service: &str) {
    let address = cluster.address(service).await;
    let asked = json!({"texts": ["hiking boots"]});
    let (status, answer) = post_once_there(&address, "/inference/encoder/titles", &asked).await;
    assert!(status == 200 && answer["embeddings"][0].as_array().map(Vec::len) == Some(384), "{answer}");
}

/// Asks for what is popular among its visitors until it is known, and for what goes with it.
async fn recommends(cluster: &Cluster, service: &str) {
    let popular = recommended(cluster, service, "popular", json!({"count": 2})).await;
    assert_eq!(popular["items"][0]["item"], "p1", "{popular}");
    let similar = recommended(cluster, service, "similar", json!({"count": 1, "items": ["p1"]})).await;
    assert!(similar["items"].as_array().is_some_and(|items| !items.is_empty()), "{similar}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sample_of_a_rollback_serves_its_pinned_version_when_there_is_one() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    let sample = Sample::applied(&cluster, "06-rollback", "sample-rollback").await;
    // its version is an example, of which a new service has none: servers answer in the incoming order
    let why = sample.cluster.told("shop", "ModelTrained", "False", "PinNotServed").await;
    assert!(why.contains("20261114T162500000Z-1a2b3c4d"), "{why}");
    let namespace = sample.cluster.namespace.clone();
    let pin = async |versions: Value| {
        let pin = json!({"spec": {"modelVersion": versions}}).to_string();
        kubectl(&["-n", &namespace, "patch", "rankingservice", "shop", "--type", "merge", "-p", &pin]).await
    };
    pin(Value::Null).await;
    sample.cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    ranks(&sample.cluster, "shop", &["default"]).await;
    visited(&sample.cluster, "shop").await;
    trained(&sample.cluster, "shop").await;
    let version = published(&sample.cluster, "shop", "default").await;
    pin(json!({"default": version})).await;
    sample.cluster.told("shop", "ModelTrained", "True", "Served").await;
    ranked(&sample.cluster, "shop", &["default"]).await;
    sample.removed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sample_with_tls_becomes_ready_when_its_authority_is_there_and_learns_from_its_bucket() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    let sample = Sample::applied(&cluster, "05-tls-and-secrets", "sample-tls").await;
    sample.cluster.told("shop", "ConfigurationValid", "False", "ConfigMapMissing").await;
    let kubeconfig = std::env::var_os("RANKWRIGHT_TEST_KUBECONFIG").unwrap();
    let mut script = Command::new(file("manifests/development/redis-tls.sh"));
    let made = script.env("KUBECONFIG", kubeconfig).stdout(Stdio::null()).status().await.unwrap();
    assert!(made.success());
    sample.cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    sample.cluster.told("shop", "StateStoreReachable", "True", "Answers").await;
    ranks(&sample.cluster, "shop", &["default"]).await;
    learns(&sample.cluster, "shop", &["default"]).await;
    kubectl(&[
        "-n",
        "rankwright-development",
        "delete",
        "deployment,service,secret",
        "redis-tls",
        "--ignore-not-found",
    ])
    .await;
    sample.removed().await;
}
