//! Operators that see what was, and operators that disturb each other.

use crate::cluster::{Servers, in_own_namespace};
use crate::samples::{minimal, whole, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use rankwright_crds::RankingService;
use rankwright_operator::reconcile::reconcile;
use serde_json::json;
use std::sync::Arc;

fn replicas(rank: &Deployment) -> Option<i32> {
    rank.spec.as_ref().unwrap().replicas
}

#[tokio::test]
async fn what_an_operator_makes_of_an_old_sight_the_next_one_mends() {
    let Some(cluster) = in_own_namespace().await else { return };
    let ctx = cluster.context(Client::try_from(cluster.operator_config()).unwrap(), &Servers::answering());
    let old: Arc<RankingService> = Arc::new(cluster.apply("shop", minimal()).await);
    let more = with(minimal(), json!({"spec": {"rank": {"replicas": 5}}}));
    let new: Arc<RankingService> = Arc::new(cluster.apply("shop", more).await);
    reconcile(new.clone(), ctx.clone()).await.unwrap();
    reconcile(old, ctx.clone()).await.unwrap();
    reconcile(new, ctx.clone()).await.unwrap();
    assert_eq!(replicas(&cluster.get("shop-rank").await), Some(5));
    let service: RankingService = cluster.get("shop").await;
    assert_eq!(service.status.unwrap().observed_generation, service.metadata.generation);
}

#[tokio::test]
async fn what_an_operator_makes_for_a_service_that_is_gone_goes_as_well() {
    let Some(cluster) = in_own_namespace().await else { return };
    let ctx = cluster.context(Client::try_from(cluster.operator_config()).unwrap(), &Servers::answering());
    let gone: Arc<RankingService> = Arc::new(cluster.apply("shop", minimal()).await);
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    reconcile(gone, ctx).await.unwrap();
    cluster.until_gone::<Deployment>("shop-rank").await;
    cluster.until_gone::<ConfigMap>("shop-config").await;
}

#[tokio::test]
async fn two_operators_at_a_time_end_in_the_same_objects_and_in_peace() {
    let Some(cluster) = in_own_namespace().await else { return };
    let (one, other) = (cluster.operator(&Servers::answering()), cluster.operator(&Servers::answering()));
    cluster.apply::<RankingService>("shop", whole()).await;
    for count in [4, 1, 6] {
        cluster.apply::<RankingService>("shop", with(whole(), json!({"spec": {"rank": {"replicas": count}}}))).await;
        cluster.until("shop-rank", "has what was said", |rank| replicas(rank) == Some(count)).await;
    }
    cluster.told("shop", "Ready", "False", "NoneReady").await;
    let contexts = [one.ctx.clone(), other.ctx.clone()];
    one.end().await;
    other.end().await;
    let reconciled = async || {
        for ctx in &contexts {
            let service: RankingService = cluster.get("shop").await;
            reconcile(Arc::new(service), ctx.clone()).await.unwrap();
        }
    };
    reconciled().await;
    let Some(before) = cluster.writes() else { return };
    reconciled().await;
    assert_eq!(cluster.writes().unwrap()[before.len()..], [""; 0], "they undo each other's work");
}

#[tokio::test]
async fn a_field_of_somebody_else_stays() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    let noted = json!({"metadata": {"annotations": {"example.org/note": "mine"}}});
    let by_hand = kube::api::PatchParams::default();
    cluster.api::<Deployment>().patch("shop-rank", &by_hand, &kube::api::Patch::Merge(&noted)).await.unwrap();
    cluster.apply::<RankingService>("shop", with(minimal(), json!({"spec": {"rank": {"replicas": 3}}}))).await;
    let rank = cluster.until("shop-rank", "grew", |rank: &Deployment| replicas(rank) == Some(3)).await;
    assert_eq!(kube::ResourceExt::annotations(&rank)["example.org/note"], "mine");
    operator.end().await;
}
