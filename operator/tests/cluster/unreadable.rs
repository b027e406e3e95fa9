//! A resource that the operator cannot read.

use crate::cluster::{PAUSE, Servers, in_own_namespace};
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::time::Instant;

#[tokio::test]
async fn a_resource_that_cannot_be_read_is_told_so_and_goes_on_when_it_can() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    // a zone that no clock has, as a stand-in for what only a newer definition allows
    let ended = |time: Option<&str>| {
        let training = time.map(|time| json!({"pod": "shop-training-1", "outcome": "Failed", "finishedAt": time}));
        Patch::Merge(json!({"status": {"training": training}}))
    };
    let kind = ApiResource::erase::<RankingService>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &kind);
    let ready = async |what: &str, is: fn(&Value) -> bool| {
        let end = Instant::now() + cluster.patience;
        loop {
            let live = api.get("shop").await.unwrap();
            let mut conditions = live.data["status"]["conditions"].as_array().unwrap().iter();
            let ready = conditions.find(|condition| condition["type"] == "Ready").unwrap();
            if is(ready) {
                return ready.clone();
            }
            assert!(Instant::now() < end, "never {what}: {ready}");
            tokio::time::sleep(PAUSE).await;
        }
    };
    api.patch_status("shop", &PatchParams::default(), &ended(Some("2026-11-23T03:00:00+99:00"))).await.unwrap();
    let told = ready("told", |ready| ready["reason"] == "Unreadable").await;
    assert_eq!(told["status"], "Unknown");
    assert!(told["message"].as_str().unwrap().contains("cannot read the resource"), "{told}");
    cluster.event("Unreadable").await;
    cluster.get::<Deployment>("shop-rank").await;
    api.patch_status("shop", &PatchParams::default(), &ended(None)).await.unwrap();
    ready("read again", |ready| ready["reason"] != "Unreadable").await;
    operator.end().await;
}

#[tokio::test]
async fn a_resource_that_cannot_be_read_goes_with_its_data_left_when_that_is_asked_for() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let removing = with(minimal(), json!({"spec": {"deletionPolicy": "Delete"}}));
    cluster.apply::<RankingService>("shop", removing).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    let kind = ApiResource::erase::<RankingService>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &kind);
    let training = json!({"pod": "shop-training-1", "outcome": "Failed", "finishedAt": "2026-11-23T03:00:00+99:00"});
    let unreadable = Patch::Merge(json!({"status": {"training": training}}));
    api.patch_status("shop", &PatchParams::default(), &unreadable).await.unwrap();
    api.delete("shop", &DeleteParams::default()).await.unwrap();
    let end = Instant::now() + cluster.patience;
    loop {
        let live = api.get("shop").await.unwrap();
        if live.data["status"]["conditions"].to_string().contains("set deletionPolicy to Retain to let it go") {
            break;
        }
        assert!(Instant::now() < end, "never told: {live:?}");
        tokio::time::sleep(PAUSE).await;
    }
    let kept = Patch::Merge(json!({"spec": {"deletionPolicy": "Retain"}}));
    api.patch("shop", &PatchParams::default(), &kept).await.unwrap();
    while api.get_opt("shop").await.unwrap().is_some() {
        assert!(Instant::now() < end, "it stays");
        tokio::time::sleep(PAUSE).await;
    }
    operator.end().await;
}
