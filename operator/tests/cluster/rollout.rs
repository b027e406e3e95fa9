//! A new image: servers first, whoever writes after them.

use crate::cluster::{IMAGE, Servers, in_own_namespace};
use crate::pods::labels;
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use rankwright_crds::RankingService;
use serde_json::json;

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
