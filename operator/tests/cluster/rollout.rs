//! A new image: servers first, then the programs that write.

use crate::cluster::{Cluster, IMAGE, Servers, in_own_namespace, pod_of, read_by, written};
use crate::pods::labels;
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use rankwright_crds::RankingService;
use serde_json::json;
use std::time::{Duration, Instant};

const NEWER: &str = "cluster.test/rankwright:2";

fn image(deployment: &Deployment) -> String {
    pod_of(deployment).containers[0].image.clone().unwrap()
}

/// Whether workers wait for rank servers.
fn goes_on(service: &RankingService) -> bool {
    let warnings = service.status.iter().flat_map(|status| &status.warnings);
    warnings.into_iter().any(|warning| warning.starts_with("ingest goes on with"))
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
    let held: RankingService = cluster.until("shop", "tells that it waits", goes_on).await;
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

/// Waits until all rank servers read this ConfigMap, making new ones ready; each finds its own until then.
pub(crate) async fn rolled_out(cluster: &Cluster, wanted: &str) {
    let end = Instant::now() + cluster.patience;
    let reads = |pod: &Pod| read_by(pod.spec.as_ref().unwrap());
    loop {
        let maps: Vec<String> = cluster.list::<ConfigMap>("").await.iter().map(ResourceExt::name_any).collect();
        let pods: Vec<Pod> = cluster.list(&labels("shop", "rank")).await;
        assert!(pods.iter().all(|pod| maps.contains(&reads(pod))), "a server may need it yet: {maps:?}");
        for pod in pods.iter().filter(|pod| reads(pod) == wanted && pod.status.as_ref().unwrap().pod_ip.is_none()) {
            cluster.make_ready(pod).await;
        }
        if pods.len() == 2 && pods.iter().all(|pod| reads(pod) == wanted) {
            return;
        }
        assert!(Instant::now() < end, "new servers do not take the place of the others");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_configuration_stays_until_nothing_begins_with_it_any_more() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    let former = cluster.configured("shop-rank", "was made", |_| true).await;
    let change = |weight: i32| {
        let shop = json!({"weights": {"click": weight}});
        with(minimal(), json!({"spec": {"configuration": {"inline": {"models": {"shop": shop}}}}}))
    };
    let mut tried = Vec::new();
    for weight in [7, 8] {
        cluster.apply::<RankingService>("shop", change(weight)).await;
        let said = format!("click: {weight}");
        tried.push(cluster.configured("shop-rank", "is new", |text| text.contains(&said)).await.name_any());
    }
    cluster.told("shop", "RankServerReady", "True", "RollingOut").await;
    // while no new server gets ready, what was changed again goes, however often
    cluster.until_gone::<ConfigMap>(&tried[0]).await;
    // an old server that is evicted comes back as it was
    let pods: Vec<Pod> = cluster.list(&labels("shop", "rank")).await;
    assert_eq!(pods.iter().filter(|pod| read_by(pod.spec.as_ref().unwrap()) == former.name_any()).count(), 2);
    let kept: ConfigMap = cluster.get(&former.name_any()).await;
    assert_eq!((written(&kept), kept.immutable), (written(&former), Some(true)));
    rolled_out(&cluster, &tried[1]).await;
    // workers have had no reason to begin again
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    let ingest: Deployment = cluster.get("shop-ingest").await;
    assert_eq!((read_by(&pod_of(&ingest)), ingest.metadata.generation), (former.name_any(), Some(1)));
    assert_eq!(cluster.get::<ConfigMap>(&former.name_any()).await.uid(), former.uid());

    let feature = |name: &str| json!({"name": name, "type": "number", "field": format!("item.{name}")});
    let features = json!([feature("price"), feature("weight")]);
    let more = with(change(8), json!({"spec": {"configuration": {"inline": {"features": features}}}}));
    cluster.apply::<RankingService>("shop", more).await;
    let newest = cluster.configured("shop-rank", "is new", |text| text.contains("item.weight")).await.name_any();
    cluster.until("shop", "tells that workers wait", goes_on).await;
    assert_eq!(read_by(&pod_of(&cluster.get("shop-ingest").await)), former.name_any(), "no server has started with it");
    rolled_out(&cluster, &newest).await;
    cluster.configured("shop-ingest", "follows", |text| text.contains("item.weight")).await;
    for gone in [former.name_any(), tried.remove(1)] {
        cluster.until_gone::<ConfigMap>(&gone).await;
    }
    let left: Vec<ConfigMap> = cluster.list("app.kubernetes.io/instance=shop").await;
    assert_eq!(left.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), [newest]);
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.writes_nothing_at_rest("shop", operator).await;
}

#[tokio::test]
async fn a_training_that_runs_keeps_the_configuration_that_it_began_with() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let sample = with(minimal(), json!({"spec": {"rank": {"replicas": 0}, "training": {"schedule": "0 3 * * *"}}}));
    cluster.apply::<RankingService>("shop", sample.clone()).await;
    let former = cluster.configured("shop-ingest", "was made", |_| true).await.name_any();
    let schedule: CronJob = cluster.until("shop-training", "was made", |_| true).await;
    let template = schedule.spec.job_template;
    let job = json!({"metadata": template.metadata, "spec": template.spec});
    let job: Job = cluster.apply("shop-now", job).await;
    let changed = |field: &str| {
        let feature = json!([{"name": "price", "type": "number", "field": field}]);
        with(sample.clone(), json!({"spec": {"configuration": {"inline": {"features": feature}}}}))
    };
    cluster.apply::<RankingService>("shop", changed("item.cost")).await;
    let newest = cluster.configured("shop-ingest", "is new", |text| text.contains("item.cost")).await.name_any();
    let follows = |schedule: &CronJob| {
        let job = schedule.spec.job_template.spec.as_ref().unwrap();
        read_by(job.template.spec.as_ref().unwrap()) == newest
    };
    cluster.until("shop-training", "begins with the newest", follows).await;
    let pods = cluster.pods(&labels("shop", "training"), 1).await;
    assert_eq!(read_by(pods[0].spec.as_ref().unwrap()), former);
    // the operator takes away what workers read in between, and looks at all of them then: another attempt would begin with this one
    let end = Instant::now() + cluster.patience;
    while {
        let workers: Vec<Pod> = cluster.list(&labels("shop", "ingest")).await;
        workers.len() != 1 || read_by(workers[0].spec.as_ref().unwrap()) != newest
    } {
        assert!(Instant::now() < end, "the worker does not begin again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    cluster.apply::<RankingService>("shop", changed("item.size")).await;
    cluster.until_gone::<ConfigMap>(&newest).await;
    cluster.get::<ConfigMap>(&former).await;
    cluster.end(&pods[0], 0, "").await;
    cluster.until_gone::<ConfigMap>(&former).await;
    cluster.get::<Job>(&job.name_any()).await;
    operator.end().await;
}
