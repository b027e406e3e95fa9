//! Two resources that name one state.

use crate::cluster::{Servers, in_own_namespace};
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use rankwright_crds::RankingService;
use rankwright_operator::ask::{Said, Store};
use serde_json::{Value, json};

/// One that names the state, and has it removed when it goes.
fn named() -> Value {
    with(minimal(), json!({"spec": {"stateStore": {"service": "one"}, "deletionPolicy": "Delete"}}))
}

#[tokio::test]
async fn of_two_resources_with_one_state_the_younger_is_refused_until_the_older_goes() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let retained = with(named(), json!({"spec": {"deletionPolicy": "Retain"}}));
    cluster.apply::<RankingService>("shop", retained.clone()).await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await; // ages are told in seconds
    cluster.apply::<RankingService>("blog", retained).await;
    let message = cluster.told("blog", "Ready", "False", "StateTaken").await;
    let both = [format!("{}/blog", cluster.namespace), format!("{}/shop", cluster.namespace)];
    assert!(both.iter().all(|name| message.contains(name)), "{message}");
    cluster.told("blog", "Stalled", "True", "StateTaken").await;
    cluster.event("StateTaken").await;
    assert!(cluster.list::<ConfigMap>("app.kubernetes.io/instance=blog").await.is_empty(), "nothing of it is made");
    assert!(cluster.list::<Deployment>("app.kubernetes.io/instance=blog").await.is_empty(), "nothing of it is made");

    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    cluster.until("blog-rank", "was made", |_: &Deployment| true).await;
    operator.end().await;
}

#[tokio::test]
async fn a_resource_that_is_moved_to_the_place_of_anothers_state_is_refused_however_old_it_is() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::default();
    let store = Store { answers: true, id: Some("s1".to_owned()), generation: 1, ..Store::default() };
    servers.say(Said { store, ..Said::default() });
    let operator = cluster.operator(&servers);
    let at = |host: &str| {
        let over = json!({"deletionPolicy": "Retain", "stateStore": {"redis": {"host": host}}});
        with(named(), json!({ "spec": over }))
    };
    let lies_at = |host: &'static str| {
        move |service: &RankingService| {
            let state = service.status.as_ref().and_then(|status| status.state.as_ref());
            state.is_some_and(|state| state.place.starts_with(host))
        }
    };
    for (name, host) in [("shop", "redis"), ("blog", "other")] {
        cluster.apply::<RankingService>(name, at(host)).await;
        cluster.all_ready(name, "rank", 2).await;
        cluster.until(name, "tells where its state lies", lies_at(host)).await;
    }
    cluster.apply::<RankingService>("shop", at("other")).await;
    cluster.told("shop", "Ready", "False", "StateTaken").await;
    assert!(lies_at("redis")(&cluster.get("shop").await), "its servers work there");
    cluster.told("blog", "ConfigurationValid", "True", "Valid").await;
    cluster.apply::<RankingService>("shop", at("redis")).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    operator.end().await;
}

#[tokio::test]
async fn the_end_of_a_refused_resource_leaves_the_data_of_the_other() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", named()).await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await; // ages are told in seconds
    // as if an earlier operator had accepted both
    let finalized = with(named(), json!({"metadata": {"finalizers": ["rankwright.dev/purge"]}}));
    cluster.apply::<RankingService>("blog", finalized).await;
    cluster.told("blog", "Ready", "False", "StateTaken").await;
    cluster.delete::<RankingService>("blog").await;
    cluster.until_gone::<RankingService>("blog").await;
    assert!(cluster.list::<Job>("").await.is_empty(), "no Job removes anything");
    cluster.get::<RankingService>("shop").await;
    operator.end().await;
}
