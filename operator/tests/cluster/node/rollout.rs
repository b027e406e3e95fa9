//! Changes under load.

use super::http::{Visitors, post_once_there};
use super::{in_own_namespace_with_pods, request, service};
use k8s_openapi::api::apps::v1::Deployment;
use rankwright_crds::RankingService;
use serde_json::{Value, json};
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
    let visitors = Visitors::start(4, Duration::from_millis(10), &address, "/rank/shop", &request(&["p1", "p2"]));
    visitors.answered(100).await;
    cluster.apply::<RankingService>("shop", with_price_of("item.cost")).await;
    cluster
        .until("shop-rank", "was changed and rolled out", |found: &Deployment| {
            found.metadata.generation > first.metadata.generation && is_rolled_out(found)
        })
        .await;
    visitors.answered(100).await;
    let (answered, failures) = visitors.end().await;
    assert!(failures.is_empty(), "{} of {answered} requests failed: {:?}", failures.len(), failures.first());
}
