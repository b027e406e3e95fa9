//! Several write one resource: each has its own entries of a list.

use super::schema;
use crate::cluster::{Cluster, in_own_namespace};
use crate::samples::{minimal, with};
use kube::api::{Patch, PatchParams};
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Applies an object as a field manager, without taking fields from others.
async fn apply_as(cluster: &Cluster, manager: &str, said: &Value) -> kube::Result<Value> {
    let mut object = said.clone();
    object["apiVersion"] = json!("rankwright.dev/v1alpha1");
    object["kind"] = json!("RankingService");
    object["metadata"]["name"] = json!("shop");
    let applied =
        cluster.api::<RankingService>().patch("shop", &PatchParams::apply(manager), &Patch::Apply(&object)).await?;
    Ok(serde_json::to_value(&applied).unwrap())
}

/// A resource that has a value at a place, and nothing else there.
fn at(place: &str, value: Value) -> Value {
    place.rsplit('/').fold(value, |value, name| json!({ name: value }))
}

/// Places of lists of more than one whose entries have managers of their own.
fn lists_of(schema: &Value, place: &str, lists: &mut BTreeSet<String>) {
    if ["map", "set"].iter().any(|kind| schema["x-kubernetes-list-type"] == *kind) {
        lists.insert(place.to_owned());
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
        lists_of(field, &place, lists);
    }
}

/// A list, an entry of each of two, and what the resource wants beside it.
fn lists() -> Vec<(&'static str, Value, Value, Value)> {
    let kafka = json!({"spec": {"ingest": {"source": {"kafka": {"topic": "t", "groupId": "g"}}}}});
    let route = json!({"spec": {"rank": {"gatewayRoute": {"parentRefs": [{"name": "gateway"}]}}}});
    let balanced = json!({"spec": {"rank": {"service": {"type": "LoadBalancer"}}}});
    let nodes = json!({"spec": {"stateStore": {"redis": {"host": null, "mode": "Cluster"}}}});
    let training = json!({"spec": {"training": {"schedule": "@daily"}}});
    let import = json!({"spec": {"import": {"from": {"s3": {"bucket": "events", "prefix": "past"}}}}});
    let mut lists = vec![
        ("spec/ingest/source/kafka/brokers", json!("a:9092"), json!("b:9092"), kafka),
        ("spec/rank/gatewayRoute/hostnames", json!("a.example.com"), json!("b.example.com"), route),
        ("spec/rank/page/imageOrigins", json!("https://a.example"), json!("https://b.example"), json!({})),
        ("spec/rank/service/loadBalancerSourceRanges", json!("10.0.0.0/8"), json!("192.168.0.0/16"), balanced),
        ("spec/stateStore/redis/nodes", json!("a:6379"), json!("b:6379"), nodes),
        ("spec/training/models", json!("a"), json!("b"), training.clone()),
        (
            "spec/training/modelSchedules",
            json!({"model": "a", "schedule": "@hourly"}),
            json!({"model": "b", "schedule": "@daily"}),
            training.clone(),
        ),
        ("spec/imagePullSecrets", json!({"name": "a"}), json!({"name": "b"}), json!({})),
        ("spec/rank/topologySpread/topologyKeys", json!("a.example/zone"), json!("b.example/zone"), json!({})),
    ];
    let volume = |name: &str| json!({"name": name, "mountPath": format!("/{name}"), "secret": {"secretName": name}});
    let pods = [
        ("spec/rank/pod/env", "spec/rank/pod/volumes", json!({})),
        ("spec/ingest/pod/env", "spec/ingest/pod/volumes", json!({})),
        ("spec/training/pod/env", "spec/training/pod/volumes", training),
        ("spec/import/pod/env", "spec/import/pod/volumes", import),
    ];
    for (env, volumes, beside) in pods {
        lists.push((env, json!({"name": "A", "value": "1"}), json!({"name": "B", "value": "2"}), beside.clone()));
        lists.push((volumes, volume("a"), volume("b"), beside));
    }
    lists
}

#[tokio::test]
async fn two_who_write_one_list_keep_their_own_entries() {
    let Some(cluster) = in_own_namespace().await else { return };
    let (mut wanted, tried) = (BTreeSet::new(), lists().iter().map(|list| list.0.to_owned()).collect::<BTreeSet<_>>());
    lists_of(&schema(), "", &mut wanted);
    wanted.retain(|place| !place.starts_with("status/"));
    assert_eq!(tried, wanted);
    for (place, first, second, beside) in lists() {
        let pointer = format!("/{place}");
        let persons = with(with(minimal(), beside), at(place, json!([first])));
        let taken = apply_as(&cluster, "person", &persons).await.unwrap();
        assert_eq!(taken.pointer(&pointer), Some(&json!([first])), "{place}");
        let both = apply_as(&cluster, "platform", &at(place, json!([second]))).await.unwrap();
        let both = both.pointer(&pointer).and_then(Value::as_array).unwrap().clone();
        assert!(both.len() == 2 && both.contains(&first) && both.contains(&second), "{place}: {both:?}");
        let again = apply_as(&cluster, "person", &persons).await.unwrap();
        assert_eq!(again.pointer(&pointer), Some(&json!(both)), "{place}");
        let alone = apply_as(&cluster, "platform", &json!({})).await.unwrap();
        assert_eq!(alone.pointer(&pointer), Some(&json!([first])), "{place}");
        cluster.delete::<RankingService>("shop").await;
        cluster.until_gone::<RankingService>("shop").await;
    }
}

#[tokio::test]
async fn two_who_write_one_entry_differently_are_told() {
    let Some(cluster) = in_own_namespace().await else { return };
    let variable = |value: &str| at("spec/rank/pod/env", json!([{"name": "A", "value": value}]));
    apply_as(&cluster, "person", &with(minimal(), variable("1"))).await.unwrap();
    let refused = apply_as(&cluster, "platform", &variable("2")).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 409), "{refused}");
    let words = refused.to_string();
    assert!(words.contains("person") && words.contains(r#".spec.rank.pod.env[name="A"].value"#), "{words}");
}
