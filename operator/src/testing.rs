//! Services to test with, and plans for them.

#![allow(clippy::unwrap_used)]

use crate::apis::Apis;
use crate::metrics::Metrics;
use crate::resolve::{Content, Kind, Resolved};
use crate::validate::{Defaults, Plan, Refusal, plan};
use k8s_openapi::api::batch::v1::Job;
use kube::core::DeserializeGuard;
use kube::runtime::{reflector, watcher};
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::time::Duration;

/// A service that says the least, with this laid over its spec.
pub(crate) fn service(over: Value) -> RankingService {
    let mut spec = json!({
        "configuration": {"inline": {
            "features": [{"name": "price", "type": "number", "field": "item.price"}],
            "models": {
                "shop": {"type": "lambdamart", "weights": {"click": 1}, "features": ["price"]},
                "as-is": {"type": "noop"},
            },
        }},
        "stateStore": {"redis": {"host": "redis"}},
    });
    merge(&mut spec, over);
    let metadata = json!({"name": "shop", "namespace": "search", "uid": "0-0", "generation": 3});
    let object =
        json!({"apiVersion": "rankwright.dev/v1alpha1", "kind": "RankingService", "metadata": metadata, "spec": spec});
    serde_json::from_value(object).unwrap()
}

/// The same, being deleted.
pub(crate) fn going(over: Value) -> RankingService {
    let mut service = service(over);
    service.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-25T03:00:00Z")).unwrap();
    service
}

/// A Job of a part of a service.
pub(crate) fn job(part: &str, status: Value) -> Job {
    let labels = json!({"app.kubernetes.io/component": part});
    serde_json::from_value(json!({"metadata": {"name": "shop-1", "labels": labels}, "status": status})).unwrap()
}

/// Every Secret and ConfigMap that a test may name.
pub(crate) fn resolved() -> Resolved {
    let secret = |name: &str, content| ((Kind::Secret, name.to_owned()), content);
    let objects = [
        secret("redis", Content::of_texts([("user", "u"), ("password", "p")])),
        secret("port-tls", Content::of_texts([("tls.crt", "c"), ("tls.key", "k")])),
        secret("admin", Content::of_texts([("token", "t")])),
        secret("s3", Content::of_texts([("AWS_ACCESS_KEY_ID", "i"), ("AWS_SECRET_ACCESS_KEY", "s")])),
    ];
    Resolved { objects: objects.into(), ..Resolved::default() }
}

pub(crate) fn defaults() -> Defaults {
    Defaults {
        image: "rankwright:1".to_owned(),
        namespace: Some("rankwright-system".to_owned()),
        user: Some(65_532),
        cluster: Some("c-1".to_owned()),
    }
}

/// What becomes of a service with this in its spec.
pub(crate) fn planned(over: Value) -> Result<Plan, Refusal> {
    plan(&service(over), &resolved(), &defaults())
}

/// The same on a cluster with these APIs.
pub(crate) fn planned_with(apis: Apis, over: Value) -> Plan {
    plan(&service(over), &Resolved { apis, ..resolved() }, &defaults()).unwrap()
}

fn merge(value: &mut Value, over: Value) {
    match (value, over) {
        (Value::Object(value), Value::Object(over)) => {
            for (key, part) in over {
                match part {
                    Value::Null => drop(value.remove(&key)),
                    part => merge(value.entry(key).or_insert(Value::Null), part),
                }
            }
        }
        (value, over) => *value = over,
    }
}

/// What an operator shows of itself that looks after one service, which is not well.
pub(crate) fn measured() -> String {
    measured_of(json!({"training": {"schedule": "@daily"}}))
}

/// The same of one with this in its spec.
pub(crate) fn measured_of(over: Value) -> String {
    let mut service = service(over);
    let status = json!({
        "conditions": [{"type": "Ready", "status": "False", "reason": "NoneReady", "message": "", "lastTransitionTime": "2026-11-16T00:00:00Z"}],
        "models": [
            {"name": "shop", "trainedAt": "2026-11-16T00:00:00Z"},
            {"name": "pinned", "trainedAt": "2026-11-14T00:00:00Z", "pinned": "20261114T000000000Z-1a2b3c4d"},
        ],
        "training": {"pod": "shop-training-1", "outcome": "Failed", "finishedAt": "2026-11-16T03:00:00Z"},
    });
    service.status = serde_json::from_value(status).unwrap();
    let (store, mut writer) = reflector::store();
    writer.apply_watcher_event(&watcher::Event::Apply(DeserializeGuard(Ok(service))));
    let metrics = Metrics::new().unwrap();
    metrics.describe("", store);
    metrics.reconciled(Duration::ZERO, Some(&Refusal::unfit("spec", "is wrong").into()));
    metrics.render().unwrap()
}
