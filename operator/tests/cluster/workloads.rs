//! What a service becomes, and that it stays so.

use crate::cluster::{IMAGE, Servers, in_own_namespace, written};
use crate::samples::{minimal, whole, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use rankwright_crds::RankingService;
use rankwright_operator::labels::CONFIGURATION_DIGEST;
use serde_json::json;

#[tokio::test]
async fn a_service_becomes_servers_workers_and_a_schedule() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", whole()).await;

    let rank: Deployment = cluster.until("shop-rank", "was made", |_| true).await;
    let pod = rank.spec.as_ref().unwrap().template.spec.clone().unwrap();
    assert_eq!(rank.spec.as_ref().unwrap().replicas, Some(3));
    assert_eq!(pod.containers[0].image.as_deref(), Some(IMAGE));
    assert_eq!(pod.automount_service_account_token, Some(false));
    assert_eq!(rank.owner_references()[0].kind, "RankingService");
    cluster.until("shop-training", "was made", |job: &CronJob| job.spec.schedule == "0 3 * * *").await;
    let ingest: Deployment = cluster.until("shop-ingest", "was made", |_| true).await;
    assert_eq!(ingest.spec.unwrap().strategy.unwrap().type_.as_deref(), Some("Recreate"));
    cluster.until("shop-rank", "was made", |_: &Service| true).await;
    cluster.until("shop-rank", "was made", |_: &Ingress| true).await;
    cluster.until("shop-rank", "was made", |_: &PodDisruptionBudget| true).await;
    cluster.until("shop-rank", "was made", |_: &NetworkPolicy| true).await;
    cluster.until("shop-ingest", "was made", |_: &NetworkPolicy| true).await;
    cluster
        .until("shop", "was made", |account: &ServiceAccount| account.automount_service_account_token == Some(false))
        .await;
    let map = cluster.configured("shop-rank", "was made", |_| true).await;
    let text = written(&map);
    for line in ["type: redis", "host: redis", "bucket: events", "topic: events", "type: lambdamart"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    operator.end().await;
}

#[tokio::test]
async fn a_service_is_ready_when_its_pods_are() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    let message = cluster.unready("shop").await;
    assert!(message.contains("none of 2 rank servers is ready"), "{message}");
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    cluster.unready("shop").await;
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.told("shop", "StateStoreReachable", "True", "Answers").await;
    cluster.told("shop", "ModelTrained", "False", "NotTrainedYet").await;
    assert!(cluster.event("AllPartsWork").await.contains("ready"));
    let service: RankingService = cluster.get("shop").await;
    let rank = service.status.unwrap().rank.unwrap();
    assert_eq!((rank.ready.as_str(), rank.ready_replicas), ("2/2", 2));
    assert_eq!(rank.endpoint, format!("http://shop-rank.{}.svc:8080", cluster.namespace));
    operator.end().await;
}

#[tokio::test]
async fn the_scale_of_a_service_is_that_of_its_rank_servers() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster
        .until("shop", "tells its selector", |service: &RankingService| {
            service.status.as_ref().is_some_and(|status| status.rank.as_ref().is_some_and(|rank| rank.replicas == 2))
        })
        .await;
    let change = json!({"spec": {"replicas": 4}});
    let services = cluster.api::<RankingService>();
    services.patch_scale("shop", &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    cluster.until("shop-rank", "grew", |rank: &Deployment| rank.spec.as_ref().unwrap().replicas == Some(4)).await;
    let scale = services.get_scale("shop").await.unwrap();
    assert!(scale.status.unwrap().selector.unwrap().contains("app.kubernetes.io/component=rank"));
    operator.end().await;
}

#[tokio::test]
async fn what_is_deleted_comes_back() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", whole()).await;
    let map = cluster.configured("shop-rank", "was made", |_| true).await.name_any();
    macro_rules! comes_back {
        ($($kind:ty: $name:expr),* $(,)?) => {$(
            let before: $kind = cluster.until($name, "was made", |_| true).await;
            cluster.delete::<$kind>($name).await;
            cluster.until($name, "came back", |now: &$kind| now.uid() != before.uid()).await;
        )*};
    }
    comes_back!(
        Deployment: "shop-rank", Deployment: "shop-ingest", CronJob: "shop-training", ConfigMap: &map,
        Service: "shop-rank", ServiceAccount: "shop", PodDisruptionBudget: "shop-rank", Ingress: "shop-rank",
        NetworkPolicy: "shop-rank", NetworkPolicy: "shop-ingest",
    );
    let more = json!({"spec": {
        "rank": {"replicas": null, "autoscaling": {"maxReplicas": 4, "cpuUtilization": 70}},
        "import": {"from": {"s3": {"bucket": "events", "prefix": "2025"}}},
        "monitoring": {"dashboard": {}},
    }});
    cluster.apply::<RankingService>("shop", with(whole(), more)).await;
    let is_named = |service: &RankingService| import_of(service).is_some_and(|job| !job.is_empty());
    let service: RankingService = cluster.until("shop", "imports", is_named).await;
    let import = import_of(&service).unwrap();
    comes_back!(HorizontalPodAutoscaler: "shop-rank", ConfigMap: "shop-dashboard", Job: &import);
    operator.end().await;
}

/// The Job of a service's import.
fn import_of(service: &RankingService) -> Option<String> {
    Some(service.status.as_ref()?.import.as_ref()?.job.clone())
}

#[tokio::test]
async fn what_somebody_changes_is_put_back() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", whole()).await;
    let map = cluster.configured("shop-rank", "was made", |_| true).await.name_any();
    let by_hand = PatchParams::default();
    let emptied = Patch::Merge(json!({"data": {"config.yml": "{}"}}));
    let refused = cluster.api::<ConfigMap>().patch(&map, &by_hand, &emptied).await.unwrap_err();
    assert!(refused.to_string().contains("immutable"), "{refused}");
    let renamed = Patch::Merge(json!({"metadata": {"labels": {"app.kubernetes.io/name": "theirs"}}}));
    cluster.api::<ConfigMap>().patch(&map, &by_hand, &renamed).await.unwrap();
    let scaled =
        Patch::Merge(json!({"spec": {"replicas": 7}, "metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}));
    cluster.api::<Deployment>().patch("shop-rank", &by_hand, &scaled).await.unwrap();
    cluster.until(&map, "was put back", |map: &ConfigMap| map.labels()["app.kubernetes.io/name"] == "rankwright").await;
    cluster
        .until("shop-rank", "was put back", |rank: &Deployment| {
            rank.spec.as_ref().unwrap().replicas == Some(3)
                && rank.labels().contains_key("app.kubernetes.io/managed-by")
        })
        .await;
    operator.end().await;
}

#[tokio::test]
async fn what_is_no_longer_wanted_goes() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", whole()).await;
    cluster.until("shop-training", "was made", |_: &CronJob| true).await;
    cluster.until("shop-ingest", "was made", |_: &NetworkPolicy| true).await;
    let less = with(whole(), json!({"spec": {"training": null, "networkPolicy": null, "rank": {"ingress": null}}}));
    cluster.apply::<RankingService>("shop", less).await;
    cluster.until_gone::<CronJob>("shop-training").await;
    cluster.until_gone::<NetworkPolicy>("shop-rank").await;
    cluster.until_gone::<NetworkPolicy>("shop-ingest").await;
    cluster.until_gone::<Ingress>("shop-rank").await;
    cluster.get::<Deployment>("shop-rank").await;
    operator.end().await;
}

#[tokio::test]
async fn a_pin_changes_the_rank_servers_and_leaves_the_workers_alone() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    let digest = |deployment: &Deployment| {
        deployment.spec.as_ref().unwrap().template.metadata.as_ref().unwrap().annotations.as_ref().unwrap()
            [CONFIGURATION_DIGEST]
            .clone()
    };
    let rank: Deployment = cluster.until("shop-rank", "was made", |_| true).await;
    let ingest: Deployment = cluster.until("shop-ingest", "was made", |_| true).await;
    let pinned = with(minimal(), json!({"spec": {"modelVersion": {"shop": "20261114T162500000Z-1a2b3c4d"}}}));
    cluster.apply::<RankingService>("shop", pinned).await;
    cluster.until("shop-rank", "rolls", |now: &Deployment| digest(now) != digest(&rank)).await;
    cluster.configured("shop-rank", "has the pin", |text| text.contains("20261114T162500000Z-1a2b3c4d")).await;
    let now: Deployment = cluster.get("shop-ingest").await;
    assert_eq!((digest(&now), now.spec), (digest(&ingest), ingest.spec));
    operator.end().await;
}

#[tokio::test]
async fn memory_is_limited_where_the_author_says_nothing() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    let limits = |deployment: &Deployment| {
        let pod = deployment.spec.as_ref().unwrap().template.spec.clone().unwrap();
        let resources = pod.containers[0].resources.clone().unwrap_or_default();
        resources.limits.unwrap_or_default().into_iter().map(|(name, quantity)| (name, quantity.0)).collect::<Vec<_>>()
    };
    let made: Deployment = cluster.until("shop-rank", "was made", |_| true).await;
    assert_eq!(limits(&made), [("memory".to_owned(), "1Gi".to_owned())]);
    let own = json!({"spec": {"rank": {"pod": {"resources": {"requests": {"memory": "6Gi"}}}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), own)).await;
    cluster.until("shop-rank", "is not limited any more", |now: &Deployment| limits(now).is_empty()).await;
    // the same by a template
    let merged = json!({"name": "rank", "resources": {"requests": {"memory": "7Gi"}}});
    let own = json!({"spec": {"rank": {"pod": {"template": {"spec": {"containers": [merged]}}}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), own)).await;
    let asks = |now: &Deployment| format!("{:?}", now.spec).contains("7Gi");
    let now = cluster.until("shop-rank", "asks for more", asks).await;
    assert!(limits(&now).is_empty());
    operator.end().await;
}
