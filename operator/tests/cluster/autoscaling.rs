//! Who decides how many servers there are.

use crate::between::{Between, Meddles, Then};
use crate::cluster::{Servers, condition, in_own_namespace};
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use kube::client::{Body, ClientBuilder};
use rankwright_crds::RankingService;
use rankwright_operator::reconcile::reconcile;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tower::BoxError;

/// Scales the rank servers as an autoscaler does, and `kubectl scale`.
async fn scale(ranks: &Api<Deployment>, replicas: i32) {
    let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    ranks.patch_scale("shop-rank", &PatchParams::default(), &change).await.unwrap();
}

#[tokio::test]
async fn an_autoscaler_takes_over_the_servers_there_are_and_is_not_fought() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let six = with(minimal(), json!({"spec": {"rank": {"replicas": 6}}}));
    cluster.apply::<RankingService>("shop", six.clone()).await;
    let replicas = |rank: &Deployment| rank.spec.as_ref().unwrap().replicas;
    let before: Deployment = cluster.until("shop-rank", "was made", |rank| replicas(rank) == Some(6)).await;
    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 9, "cpuUtilization": 70, "requestsPerSecond": 200});
    let scaled = with(six.clone(), json!({"spec": {"rank": {"autoscaling": autoscaling}}}));
    cluster.apply::<RankingService>("shop", scaled.clone()).await;
    let scaler: HorizontalPodAutoscaler = cluster.until("shop-rank", "was made", |_| true).await;
    assert_eq!(scaler.spec.scale_target_ref.name, "shop-rank");
    assert_eq!(scaler.spec.metrics.unwrap().len(), 2);
    let after: Deployment = cluster.get("shop-rank").await;
    assert_eq!(replicas(&after), Some(6), "never one server in between");
    assert_eq!(after.metadata.generation, before.metadata.generation, "not even for a moment");

    // a client that scales the resource gets a warning that it has no effect
    let change = Patch::Merge(json!({"spec": {"replicas": 5}}));
    cluster.api::<RankingService>().patch_scale("shop", &PatchParams::default(), &change).await.unwrap();
    assert!(cluster.event("ReplicasNotUsed").await.contains("spec.rank.replicas: "));
    let told = |service: &RankingService| {
        let warnings = service.status.iter().flat_map(|status| &status.warnings);
        warnings.into_iter().any(|text| text.starts_with("spec.rank.replicas: 5 is not used"))
    };
    cluster.until("shop", "warns", told).await;

    // as the autoscaler does; a change of the resource afterwards leaves it so
    scale(&cluster.api(), 8).await;
    let labelled = with(scaled, json!({"spec": {"rank": {"pod": {"labels": {"team": "search"}}}}}));
    cluster.apply::<RankingService>("shop", labelled).await;
    let rank: Deployment = cluster
        .until("shop-rank", "was labelled", |rank: &Deployment| {
            rank.spec
                .as_ref()
                .unwrap()
                .template
                .metadata
                .as_ref()
                .unwrap()
                .labels
                .as_ref()
                .unwrap()
                .contains_key("team")
        })
        .await;
    assert_eq!(replicas(&rank), Some(8));

    cluster.apply::<RankingService>("shop", six).await;
    cluster.until_gone::<HorizontalPodAutoscaler>("shop-rank").await;
    cluster.until("shop-rank", "has what is said", |rank: &Deployment| replicas(rank) == Some(6)).await;
    assert_eq!(cluster.get::<Deployment>("shop-rank").await.uid(), before.uid());
    operator.end().await;
}

#[tokio::test]
async fn an_autoscaler_that_finds_no_server_begins_with_its_fewest() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let none = with(minimal(), json!({"spec": {"rank": {"replicas": 0}}}));
    cluster.apply::<RankingService>("shop", none.clone()).await;
    let has = |count: i32| move |rank: &Deployment| rank.spec.as_ref().unwrap().replicas == Some(count);
    cluster.until("shop-rank", "was made", has(0)).await;
    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 9, "cpuUtilization": 70});
    cluster.apply::<RankingService>("shop", with(none, json!({"spec": {"rank": {"autoscaling": autoscaling}}}))).await;
    cluster.until("shop-rank", "begins", has(2)).await;

    // what the autoscaler would never end is ended; any other number is its own
    scale(&cluster.api(), 0).await;
    cluster.until("shop-rank", "begins again", has(2)).await;
    scale(&cluster.api(), 5).await;
    cluster
        .until("shop", "told of five servers", |service: &RankingService| {
            let told = condition(service, "RankServerReady").map(|(_, _, message)| message);
            told.is_some_and(|message| message.contains("none of 5 rank servers is ready"))
        })
        .await;
    assert!(has(5)(&cluster.get("shop-rank").await));
    operator.end().await;
}

/// A client scales the rank servers to none the moment that the operator has handed their number over.
#[derive(Clone)]
struct Meddler {
    ranks: Api<Deployment>,
    handed_over: Arc<AtomicUsize>,
}

impl Meddles for Meddler {
    fn meddle(&self, request: &http::Request<Body>) -> Result<Then, BoxError> {
        let hands_over = request.uri().query().is_some_and(|query| query.contains("handover"));
        let first = hands_over && self.handed_over.fetch_add(1, Ordering::SeqCst) == 0;
        let ranks = self.ranks.clone();
        Ok(Box::pin(async move {
            if first {
                scale(&ranks, 0).await;
            }
            Ok(())
        }))
    }
}

#[tokio::test]
async fn servers_that_are_scaled_to_none_while_an_autoscaler_gets_them_are_not_left_so() {
    let Some(cluster) = in_own_namespace().await else { return };
    let meddler = Meddler { ranks: cluster.api(), handed_over: Arc::default() };
    let client =
        ClientBuilder::try_from(cluster.operator_config()).unwrap().with_layer(&Between(meddler.clone())).build();
    let ctx = cluster.context(client, &Servers::answering());
    let none = with(minimal(), json!({"spec": {"rank": {"replicas": 0}}}));
    let service: RankingService = cluster.apply("shop", none.clone()).await;
    reconcile(Arc::new(service), ctx.clone()).await.unwrap();
    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 9, "cpuUtilization": 70});
    cluster.apply::<RankingService>("shop", with(none, json!({"spec": {"rank": {"autoscaling": autoscaling}}}))).await;
    reconcile(Arc::new(cluster.get("shop").await), ctx.clone()).await.unwrap();
    assert_eq!(meddler.handed_over.load(Ordering::SeqCst), 2, "once more, as somebody else had a word in between");
    let rank: Deployment = cluster.get("shop-rank").await;
    assert_eq!(rank.spec.unwrap().replicas, Some(2));
    reconcile(Arc::new(cluster.get("shop").await), ctx).await.unwrap();
    assert_eq!(meddler.handed_over.load(Ordering::SeqCst), 2, "and then it is left alone");
}
