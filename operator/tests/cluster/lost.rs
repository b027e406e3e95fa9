//! A version that does not exist, and a Redis that has lost what it had.

use crate::cluster::{Cluster, Servers, in_own_namespace};
use crate::samples::{minimal, with};
use crate::training::{FIRST, SECOND, serving};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use rankwright_crds::RankingService;
use rankwright_operator::ask::Said;
use serde_json::{Value, json};

/// What servers say that serve the first version, of these that there are, from this state.
fn saying(versions: &[&str], id: &str) -> Said {
    let mut said = serving(FIRST);
    said.store.id = Some(id.to_owned());
    said.store.generation = 1;
    let model = said.models.get_mut("shop").unwrap();
    model.versions = Some(versions.iter().map(|version| (*version).to_owned()).collect());
    said
}

async fn running(cluster: &Cluster, servers: &Servers) {
    servers.say(saying(&[FIRST], "s1"));
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
}

fn pinned(version: &str) -> Value {
    with(minimal(), json!({"spec": {"modelVersion": {"shop": version}}}))
}

#[tokio::test]
async fn a_pin_on_a_version_that_no_server_knows_changes_nothing_until_that_is_there() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::default();
    let operator = cluster.operator(&servers);
    running(&cluster, &servers).await;
    let before: Deployment = cluster.get("shop-rank").await;
    cluster.apply::<RankingService>("shop", pinned(SECOND)).await;
    let message = cluster.told("shop", "Ready", "False", "NoSuchVersion").await;
    assert!(message.contains(&format!("no version {SECOND}; there are: {FIRST}")), "{message}");
    cluster.told("shop", "Available", "True", "RequestsAnswered").await;
    cluster.event("NoSuchVersion").await;
    assert_eq!(cluster.get::<Deployment>("shop-rank").await.spec, before.spec, "nothing was changed");
    // the same in the configuration
    let written = json!({"spec": {"configuration": {"inline": {"models": {"shop": {"version": SECOND}}}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), written)).await;
    let place = format!("inline.models.shop.version: there is no version {SECOND}");
    let tells = |service: &RankingService| {
        let conditions = service.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.message.contains(&place))
    };
    cluster.until("shop", "tells which field pins", tells).await;
    assert_eq!(cluster.get::<Deployment>("shop-rank").await.spec, before.spec, "nothing was changed");
    // published since
    servers.say(saying(&[FIRST, SECOND], "s1"));
    cluster.configured("shop-rank", "has the pin", |text| text.contains(SECOND)).await;
    cluster.told("shop", "ModelTrained", "False", "PinNotServed").await;
    operator.end().await;
}

#[tokio::test]
async fn a_redis_that_comes_back_empty_is_told_until_its_author_takes_it_as_it_is() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::default();
    let operator = cluster.operator(&servers);
    running(&cluster, &servers).await;
    cluster.told("shop", "StateIntact", "True", "Intact").await;
    cluster.told("shop", "ModelTrained", "True", "Served").await;
    servers.say(saying(&[], "s2"));
    cluster.told("shop", "Ready", "False", "StateLost").await;
    cluster.told("shop", "ModelTrained", "False", "ModelLost").await;
    cluster.told("shop", "Available", "True", "RequestsAnswered").await;
    cluster.event("StateLost").await;
    cluster.event("ModelLost").await;
    let accepted = json!({"metadata": {"annotations": {"rankwright.dev/accepted-state": "s2"}}});
    let api = cluster.api::<RankingService>();
    api.patch("shop", &PatchParams::default(), &Patch::Merge(&accepted)).await.unwrap();
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.told("shop", "ModelTrained", "False", "ModelLost").await;
    servers.say(saying(&[FIRST], "s2"));
    cluster.told("shop", "ModelTrained", "True", "Served").await;
    operator.end().await;
}
