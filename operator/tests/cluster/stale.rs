//! Operators that see what was, and operators that disturb each other.

use crate::cluster::{Cluster, PATIENCE, Servers, in_own_namespace};
use crate::samples::{minimal, whole, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use rankwright_crds::RankingService;
use rankwright_operator::apis::Apis;
use rankwright_operator::apply;
use rankwright_operator::cache::Sight;
use rankwright_operator::reconcile::{Context, reconcile};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

fn replicas(rank: &Deployment) -> Option<i32> {
    rank.spec.as_ref().unwrap().replicas
}

impl Cluster {
    /// An operator whose watches have come to their end before anything was made: they show nothing.
    fn blind(&self) -> Arc<Context> {
        let ctx = self.context(Client::try_from(self.operator_config()).unwrap(), &Servers::answering());
        let kinds: Vec<String> = apply::kinds(&Apis::default()).into_iter().map(|resource| resource.kind).collect();
        let cache = ctx.cache(&self.namespace);
        cache.begin(kinds.clone());
        for kind in kinds {
            cache.saw(&kind, Event::Init);
            cache.saw(&kind, Event::InitDone);
        }
        cache.saw_pod(Event::Init);
        cache.saw_pod(Event::InitDone);
        ctx
    }
}

#[tokio::test]
async fn an_operator_whose_watches_show_nothing_makes_nothing_twice_and_takes_nothing() {
    let Some(cluster) = in_own_namespace().await else { return };
    let ports = json!([{"port": 80}]);
    let theirs: Service =
        cluster.apply("shop-rank", json!({"spec": {"selector": {"app": "theirs"}, "ports": ports}})).await;
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.told("shop", "Ready", "False", "NameTaken").await;
    operator.end().await;
    let before: Deployment = cluster.get("shop-rank").await;
    let ctx = cluster.blind();
    let more = with(minimal(), json!({"spec": {"rank": {"replicas": 5}}}));
    let service: Arc<RankingService> = Arc::new(cluster.apply("shop", more).await);
    reconcile(service.clone(), ctx.clone()).await.unwrap();
    let now: Deployment = cluster.get("shop-rank").await;
    assert_eq!((now.uid(), replicas(&now)), (before.uid(), Some(5)));
    let kept: Service = cluster.get("shop-rank").await;
    assert_eq!(kept.resource_version(), theirs.resource_version(), "it is somebody else's");

    // what it has found out is not forgotten, although its watches show nothing still
    let Some(before) = cluster.writes() else { return };
    reconcile(Arc::new(cluster.get("shop").await), ctx).await.unwrap();
    assert_eq!(cluster.writes().unwrap()[before.len()..], [""; 0], "written at rest");
}

#[tokio::test]
async fn an_object_that_took_the_place_of_an_unwanted_one_is_not_deleted() {
    let Some(cluster) = in_own_namespace().await else { return };
    let ctx = cluster.blind();
    let service: RankingService = cluster.apply("shop", minimal()).await;
    let old = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "rankwright-operator"}}, "data": {}});
    let mut old: ConfigMap = cluster.apply("shop-old", old).await;
    old.metadata.owner_references = Some(vec![kube::Resource::controller_owner_ref(&service, &()).unwrap()]);
    let seen = |map: &ConfigMap| (cluster.namespace.clone(), map.name_any(), Sight::of_metadata(&map.metadata));
    ctx.cache(&cluster.namespace).saw("ConfigMap", Event::Apply(seen(&old)));
    cluster.delete::<ConfigMap>("shop-old").await;
    let theirs: ConfigMap = cluster.apply("shop-old", json!({"data": {"a": "b"}})).await;
    reconcile(Arc::new(service), ctx).await.unwrap();
    assert_eq!(cluster.get::<ConfigMap>("shop-old").await.uid(), theirs.uid());
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
    cluster.none_left::<ConfigMap>("app.kubernetes.io/instance=shop").await;
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
    cluster.unready("shop").await;
    let contexts = [one.ctx.clone(), other.ctx.clone()];
    one.end().await;
    other.end().await;
    let reconciled = async || {
        for ctx in &contexts {
            let service: RankingService = cluster.get("shop").await;
            reconcile(Arc::new(service), ctx.clone()).await.unwrap();
        }
    };
    // the cluster's controllers may go on telling of their objects for a while; who undoes another's work never ends
    let end = Instant::now() + PATIENCE;
    loop {
        let Some(before) = cluster.writes() else { return };
        reconciled().await;
        let written = &cluster.writes().unwrap()[before.len()..];
        if written.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "they undo each other's work: {written:?}");
    }
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
