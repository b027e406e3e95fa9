//! From an empty namespace to a rollback, as docs/first-ranking-service.md, docs/kubernetes-imports.md and docs/kubernetes-training.md tell it.

use super::deletion::{keys, until_nothing_is_left};
use super::http::{Visitors, post, post_once_there};
use super::samples::Sample;
use super::{in_own_namespace_with_pods, kubectl, request};
use crate::cluster::Cluster;
use rankwright_crds::RankingService;
use rankwright_crds::status::{ImportPhase, ModelStatus};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What the resource says of its only model.
fn model(service: &RankingService) -> Option<&ModelStatus> {
    service.status.as_ref()?.models.first()
}

fn version(service: &RankingService) -> Option<String> {
    model(service)?.version.clone()
}

/// Changes the resource.
async fn patch(cluster: &Cluster, change: Value) {
    let change = json!({ "spec": change }).to_string();
    kubectl(&["-n", &cluster.namespace, "patch", "rankingservice", "shop", "--type", "merge", "-p", &change]).await;
}

/// How often an item was clicked, as the servers see it.
async fn clicks(address: &str, item: &str) -> f64 {
    let (status, answer) = post(address, "/rank/default?explain=true", &request(&[item, "p3"])).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let items = answer["items"].as_array().unwrap();
    let features = &items.iter().find(|ranked| ranked["item"] == item).unwrap()["features"];
    let clicks = features.as_array().unwrap().iter().find(|feature| feature["name"] == "clicks").unwrap();
    clicks["value"].as_f64().unwrap_or(0.0)
}

/// Waits until the server that answers sees this many clicks: one that did not take the event in hears of it from Redis.
async fn until_clicked(address: &str, item: &str, wanted: f64) {
    let began = Instant::now();
    loop {
        let seen = clicks(address, item).await;
        if seen == wanted {
            return;
        }
        assert!(seen < wanted && began.elapsed() < Duration::from_secs(10), "{seen} clicks in place of {wanted}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_is_imported_trained_ranked_clicked_retrained_and_rolled_back() {
    let Some(own) = in_own_namespace_with_pods().await else { return };
    let sample = Sample::applied(&own, "08-import", "sample-import").await;
    let cluster = &sample.cluster;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;

    // past events
    cluster
        .until("shop", "was imported", |service: &RankingService| {
            let import = service.status.as_ref().and_then(|status| status.import.as_ref());
            import.is_some_and(|import| import.phase == ImportPhase::Complete)
        })
        .await;

    // a model of them, which running servers take up
    cluster.train("shop", "first").await;
    cluster.told("shop", "ModelTrained", "True", "Served").await;
    let trained: RankingService = cluster.get("shop").await;
    let first = version(&trained).unwrap();
    assert!(model(&trained).unwrap().last_training.is_some(), "{trained:#?}");

    // rankings by it
    let address = cluster.address("shop").await;
    let (status, answer) = post_once_there(&address, "/rank/default", &request(&["p1", "p2", "p3"])).await;
    assert!(status == 200 && answer.get("fallback").is_none(), "{status} {answer}");
    let scores: Vec<f64> =
        answer["items"].as_array().unwrap().iter().map(|item| item["score"].as_f64().unwrap()).collect();
    assert!(scores.len() == 3 && scores.is_sorted_by(|a, b| a >= b), "{answer}");

    // what followed is known in a moment
    let before = clicks(&address, "p1").await;
    let events = json!([
        {"event": "ranking", "id": "list-1", "timestamp": "1741600000000", "user": "u1", "session": "visit-1",
         "items": [{"id": "p2"}, {"id": "p1"}, {"id": "p3"}]},
        {"event": "interaction", "id": "click-1", "timestamp": "1741600005000", "ranking": "list-1", "user": "u1",
         "session": "visit-1", "type": "click", "item": "p1"},
    ]);
    let (status, answer) = post(&address, "/feedback", &events).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    until_clicked(&address, "p1", before + 1.0).await;

    // the schedule trains the next version, the servers take it up, and visitors notice nothing
    let visitors = Visitors::start(2, Duration::from_millis(50), &address, "/rank/default", &request(&["p1", "p2"]));
    patch(cluster, json!({"training": {"schedule": "* * * * *"}})).await;
    cluster
        .until("shop", "served another version", |service: &RankingService| {
            version(service).is_some_and(|served| served != first)
        })
        .await;
    patch(cluster, json!({"training": {"suspend": true}})).await;

    // back by one field
    patch(cluster, json!({"modelVersion": {"default": first}})).await;
    let pinned = cluster
        .until("shop", "went back", |service: &RankingService| {
            version(service).as_ref() == Some(&first)
                && model(service).is_some_and(|model| model.pinned.as_ref() == Some(&first))
        })
        .await;
    assert_eq!(pinned.spec.model_version.get("default"), Some(&first));
    cluster.told("shop", "RankServerReady", "True", "Available").await;

    // and on again
    patch(cluster, json!({"modelVersion": {"default": null}})).await;
    cluster
        .until("shop", "went on", |service: &RankingService| version(service).is_some_and(|served| served != first))
        .await;
    visitors.end_with_none_failed().await;

    // away with it: the data stay
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    until_nothing_is_left("sample-import", "shop").await;
    assert!(keys("sample-import", "shop").await > 0);
    sample.removed().await;
}
