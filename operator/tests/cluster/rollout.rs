//! A new image: servers first, whoever writes after them.

use crate::cluster::{IMAGE, Servers, in_own_namespace};
use crate::pods::labels;
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Volume};
use kube::ResourceExt;
use kube::api::ListParams;
use rankwright_crds::RankingService;
use serde_json::json;
use std::time::{Duration, Instant};

const NEWER: &str = "cluster.test/rankwright:2";

fn image(deployment: &Deployment) -> String {
    deployment.spec.as_ref().unwrap().template.spec.as_ref().unwrap().containers[0].image.clone().unwrap()
}

#[tokio::test]
async fn workers_get_a_new_image_when_no_server_runs_the_former_one() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    cluster.apply::<RankingService>("shop", with(minimal(), json!({"spec": {"image": NEWER}}))).await;
    cluster.told("shop", "RankServerReady", "True", "RollingOut").await;
    assert_eq!(image(&cluster.get("shop-rank").await), NEWER);
    let held: RankingService = cluster
        .until("shop", "tells that it waits", |service: &RankingService| {
            service
                .status
                .as_ref()
                .is_some_and(|status| status.warnings.iter().any(|warning| warning.contains("goes on with")))
        })
        .await;
    assert!(held.status.unwrap().warnings[0].contains(IMAGE));
    assert_eq!(image(&cluster.get("shop-ingest").await), IMAGE);

    // new servers come up one after another
    let newer = |pod: &Pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some(NEWER);
    loop {
        let pods: Vec<Pod> = cluster.list(&labels("shop", "rank")).await;
        // each once: what has become ready again has not been so for long
        for pod in pods.iter().filter(|pod| newer(pod) && pod.status.as_ref().unwrap().pod_ip.is_none()) {
            cluster.make_ready(pod).await;
        }
        if pods.len() == 2 && pods.iter().all(newer) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    cluster.until("shop-ingest", "follows", |ingest: &Deployment| image(ingest) == NEWER).await;
    operator.end().await;
}

#[tokio::test]
async fn a_new_operator_replaces_one_service_after_the_other() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    for name in ["shop", "blog"] {
        cluster.apply::<RankingService>(name, minimal()).await;
        cluster.all_ready(name, "rank", 2).await;
        cluster.all_ready(name, "ingest", 1).await;
        cluster.told(name, "Ready", "True", "AllPartsWork").await;
    }
    operator.end().await;

    let operator = cluster.operator_of(NEWER, &Servers::answering());
    let waits = |service: &RankingService| {
        let warnings = service.status.iter().flat_map(|status| &status.warnings);
        warnings.into_iter().any(|warning| warning.contains("--max-rolling-services"))
    };
    let first = loop {
        let services = [cluster.get::<RankingService>("shop").await, cluster.get("blog").await];
        match [waits(&services[0]), waits(&services[1])] {
            [true, _] => break "blog",
            [_, true] => break "shop",
            _ => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    };
    let second = if first == "shop" { "blog" } else { "shop" };
    cluster.until(&format!("{first}-rank"), "is replaced", |rank: &Deployment| image(rank) == NEWER).await;
    assert_eq!(image(&cluster.get(&format!("{second}-rank")).await), IMAGE, "it waits");
    cluster.told(second, "Ready", "True", "AllPartsWork").await;

    // what its author changes goes on at once
    let changed = with(minimal(), json!({"spec": {"rank": {"pod": {"annotations": {"changed": "yes"}}}}}));
    cluster.apply::<RankingService>(second, changed).await;
    cluster.until(&format!("{second}-rank"), "is replaced", |rank: &Deployment| image(rank) == NEWER).await;
    operator.end().await;
}

/// Name of the ConfigMap that pods have as their configuration.
fn configuration(volumes: Option<&Vec<Volume>>) -> String {
    let volume = volumes.unwrap().iter().find(|volume| volume.name == "configuration");
    volume.unwrap().config_map.as_ref().unwrap().name.clone()
}

#[tokio::test]
async fn a_server_of_before_a_change_keeps_its_configuration_until_new_ones_have_taken_its_place() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    let of_deployment =
        |rank: &Deployment| configuration(rank.spec.as_ref().unwrap().template.spec.as_ref().unwrap().volumes.as_ref());
    let former = of_deployment(&cluster.get("shop-rank").await);
    let text = |map: &ConfigMap| map.data.as_ref().unwrap()["config.yml"].clone();
    let written = text(&cluster.get(&former).await);
    let change = |weight: i32| {
        let shop = json!({"weights": {"click": weight}});
        with(minimal(), json!({"spec": {"configuration": {"inline": {"models": {"shop": shop}}}}}))
    };
    for weight in [7, 8] {
        cluster.apply::<RankingService>("shop", change(weight)).await;
        let said = format!("click: {weight}");
        cluster.until("shop-config", "is new", |map: &ConfigMap| text(map).contains(&said)).await;
    }
    let end = Instant::now() + cluster.patience;
    let wanted = loop {
        let maps = cluster.api::<ConfigMap>().list(&ListParams::default()).await.unwrap();
        let newest = maps.iter().find(|map| map.immutable == Some(true) && text(map).contains("click: 8"));
        if let Some(map) = newest {
            break map.name_any();
        }
        assert!(Instant::now() < end, "servers get no ConfigMap of the newest configuration");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_ne!(wanted, former);
    cluster.until("shop-rank", "has the newest configuration", |rank: &Deployment| of_deployment(rank) == wanted).await;
    cluster.told("shop", "RankServerReady", "True", "RollingOut").await;

    // a former server that is evicted comes back as it was, however often the change is changed
    let pods: Vec<Pod> = cluster.list(&labels("shop", "rank")).await;
    let mounted = |pod: &Pod| configuration(pod.spec.as_ref().unwrap().volumes.as_ref());
    assert_eq!(pods.iter().filter(|pod| mounted(pod) == former).count(), 2);
    let map: ConfigMap = cluster.get(&former).await;
    assert_eq!((text(&map), map.immutable), (written, Some(true)));

    loop {
        let there = cluster.api::<ConfigMap>().get_opt(&former).await.unwrap().is_some();
        let pods: Vec<Pod> = cluster.list(&labels("shop", "rank")).await;
        assert!(there || pods.iter().all(|pod| mounted(pod) == wanted), "a server may need it yet");
        for pod in pods.iter().filter(|pod| mounted(pod) == wanted && pod.status.as_ref().unwrap().pod_ip.is_none()) {
            cluster.make_ready(pod).await;
        }
        if pods.len() == 2 && pods.iter().all(|pod| mounted(pod) == wanted) {
            break;
        }
        assert!(Instant::now() < end, "new servers do not take the place of the others");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    cluster.until_gone::<ConfigMap>(&former).await;
    let left: Vec<ConfigMap> = cluster.list(&labels("shop", "rank")).await;
    assert_eq!(left.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), [wanted]);
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.writes_nothing_at_rest("shop", operator).await;
}
