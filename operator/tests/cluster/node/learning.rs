//! Services that learn from visits.

use super::http::post_once_there;
use super::{kubectl, request};
use crate::cluster::{Cluster, PATIENCE};
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A part is written with 1024 click-throughs, and not sooner than after minutes.
const VISITS: u64 = 1100;

/// Events of a batch.
const BATCH: usize = 500;

/// Events that come last. The Service chooses a server for each request: that none of them gets to one of two happens once in
/// a million.
const LAST: u64 = 20;

/// When the first visit begins, in milliseconds since 1970.
const BEGIN: u64 = 1_741_600_000_000;

fn price(item: u64, time: u64) -> Value {
    let fields = json!([{"name": "price", "value": item}]);
    json!({"event": "item", "id": format!("price-{item}-{time}"), "timestamp": time.to_string(), "item": format!("p{item}"), "fields": fields})
}

/// Visits ten seconds after one another: each sees three items and takes one of the first two, the first more often.
pub(super) fn visits() -> Vec<Value> {
    let mut events: Vec<Value> = (1..=3).map(|item| price(item, BEGIN)).collect();
    for visit in 0..VISITS {
        let time = BEGIN + 10_000 * (visit + 1);
        let (user, session, list) = (format!("u{visit}"), format!("visit-{visit}"), format!("list-{visit}"));
        let items: Vec<Value> = (0..3).map(|place| json!({"id": format!("p{}", (visit + place) % 3 + 1)})).collect();
        events.push(json!({"event": "ranking", "id": list, "timestamp": time.to_string(), "user": user, "session": session, "items": items}));
        let taken = if visit % 4 == 0 { "p2" } else { "p1" };
        events.push(json!({"event": "interaction", "id": format!("click-{visit}"), "timestamp": (time + 1000).to_string(), "ranking": list, "user": user, "session": session, "type": "click", "item": taken}));
    }
    events
}

/// What shows that visits are over, as often as there may be someone who has to know.
pub(super) fn over() -> Vec<Value> {
    (0..LAST).map(|number| price(number, BEGIN + 10_000 * VISITS + 7_200_000 + number)).collect()
}

/// Sends visits as a shop would, and then every server that they are over: none is waited for.
pub(super) async fn visited(cluster: &Cluster, service: &str) {
    let (address, visits, last) = (cluster.address(service).await, visits(), over());
    for batch in visits.chunks(BATCH).chain(last.chunks(1)) {
        let (status, answer) = post_once_there(&address, "/feedback", &json!(batch)).await;
        assert_eq!(status, 200, "{answer}");
    }
}

/// Trains all models of a service until it succeeds: its visits end one after another, and what came of them is written then.
pub(super) async fn trained(cluster: &Cluster, service: &str) {
    for schedule in cluster.schedules(service).await {
        trained_by(cluster, service, &schedule).await;
    }
}

async fn trained_by(cluster: &Cluster, service: &str, schedule: &str) {
    let end = Instant::now() + cluster.patience;
    loop {
        let job = cluster.train_once(schedule).await;
        if cluster.is_done(&job).await {
            return;
        }
        let said = kubectl(&["-n", &cluster.namespace, "logs", &format!("job/{job}"), "--tail", "5"]).await;
        assert!(Instant::now() < end, "{service} does not learn: {said}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Asks for recommendations through the Service until they are the model's: servers look for a new version every few seconds.
pub(super) async fn recommended(cluster: &Cluster, service: &str, model: &str, request: Value) -> Value {
    let (address, end) = (cluster.address(service).await, Instant::now() + PATIENCE);
    loop {
        let (status, answer) = post_once_there(&address, &format!("/recommend/{model}"), &request).await;
        assert_eq!(status, 200, "{model}: {answer}");
        if answer.get("fallback").is_none() {
            return answer;
        }
        assert!(Instant::now() < end, "{model}: {answer}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Asks for rankings through the Service until they are a model's.
pub(super) async fn ranked(cluster: &Cluster, service: &str, models: &[&str]) {
    let address = cluster.address(service).await;
    for model in models {
        let end = Instant::now() + PATIENCE;
        loop {
            let path = format!("/rank/{model}");
            let (status, answer) = post_once_there(&address, &path, &request(&["p3", "p1", "p2"])).await;
            assert_eq!(status, 200, "{model}: {answer}");
            if answer.get("fallback").is_none() {
                let items = answer["items"].as_array().unwrap();
                let scores: Vec<f64> = items.iter().filter_map(|item| item["score"].as_f64()).collect();
                assert!(scores.len() == 3 && scores.is_sorted_by(|a, b| a >= b), "{model}: {answer}");
                break;
            }
            assert!(Instant::now() < end, "{model}: {answer}"); // servers look for a new version every few seconds
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Visits, a training of them, and rankings by what was learned.
pub(super) async fn learns(cluster: &Cluster, service: &str, models: &[&str]) {
    visited(cluster, service).await;
    trained(cluster, service).await;
    cluster.told(service, "ModelTrained", "True", "Served").await;
    ranked(cluster, service, models).await;
}

/// The version that the last training of a model has published.
pub(super) async fn published(cluster: &Cluster, service: &str, model: &str) -> String {
    let version = |service: &RankingService| {
        let models = &service.status.as_ref()?.models;
        models.iter().find(|told| told.name == model)?.last_training.as_ref()?.version.clone()
    };
    let told = cluster.until(service, "told a version", |service: &RankingService| version(service).is_some()).await;
    version(&told).unwrap()
}
