//! Warnings.

use crate::apis::{Apis, OptionalApi};
use crate::labels::Component;
use crate::resolve::{Content, Kind};
use crate::testing::{defaults, planned, planned_with, resolved, service};
use crate::validate::{IDLE_NUMBER, digest, plan};
use serde_json::{Value, json};

#[test]
fn an_autoscaler_that_cannot_log_in_to_kafka_is_warned_of() {
    let warnings = |autoscaling: Value, kafka: Value| {
        let over = json!({"ingest": {"source": {"kafka": kafka}, "autoscaling": autoscaling}});
        planned_with(Apis::of(OptionalApi::ALL), over).warnings
    };
    let login = json!({"username": "ann", "passwordSecretRef": {"name": "redis", "key": "password"}});
    let open = json!({"brokers": ["k:9092"], "topic": "t", "groupId": "g"});
    let with = |key: &str, value: Value| {
        let mut kafka = open.clone();
        kafka[key] = value;
        kafka
    };
    for secured in [with("auth", login), with("options", json!({"security.protocol": "ssl"}))] {
        let warned = warnings(json!({"maxReplicas": 4}), secured.clone());
        assert!(
            warned.len() == 1 && warned[0].contains("name a TriggerAuthentication in authenticationRef"),
            "{warned:?}"
        );
        assert!(warnings(json!({"maxReplicas": 4, "authenticationRef": "kafka"}), secured).is_empty());
    }
    assert!(warnings(json!({"maxReplicas": 4}), open).is_empty());
}

#[test]
fn a_number_of_servers_that_an_autoscaler_decides_on_is_warned_of() {
    let warned = |rank: Value| {
        let warnings = planned(json!({ "rank": rank })).unwrap().warnings;
        warnings.into_iter().filter(|text| text.starts_with(IDLE_NUMBER)).collect::<Vec<_>>()
    };
    let autoscaling = json!({"minReplicas": 3, "maxReplicas": 9, "cpuUtilization": 70});
    assert_eq!(
        warned(json!({"replicas": 5, "autoscaling": autoscaling})),
        [
            "spec.rank.replicas: 5 is not used, rank.autoscaling decides between 3 and 9: change minReplicas and maxReplicas"
        ]
    );
    assert_eq!(warned(json!({"autoscaling": autoscaling})), [""; 0], "no number is given");
    assert_eq!(warned(json!({"replicas": 5})), [""; 0]);
}

#[test]
fn secrets_that_pods_start_without_are_warned_of() {
    let ingress = json!({"host": "rank.example.com", "tlsSecretName": "rank-tls"});
    let asked = service(json!({"imagePullSecrets": [{"name": "registry"}], "rank": {"ingress": ingress}}));
    let mut resolved = resolved();
    let (plain, lacking) =
        (digest(&asked.spec, &resolved, Component::Rank), plan(&asked, &resolved, &defaults()).unwrap());
    assert_eq!(
        lacking.warnings,
        [
            "spec.imagePullSecrets[registry]: Secret registry does not exist, so images are pulled without it: create it",
            "spec.rank.ingress.tlsSecretName: Secret rank-tls does not exist, so the Ingress has no certificate of its own: create it"
        ]
    );
    for name in ["registry", "rank-tls"] {
        let content = Content::of_texts([("a", "b")]);
        resolved.objects.insert((Kind::Secret, name.to_owned()), content);
    }
    let there = plan(&asked, &resolved, &defaults()).unwrap();
    assert!(there.warnings.is_empty(), "{:?}", there.warnings);
    assert_eq!(there.references.rank, plain, "no pod restarts for what it does not read");
}

#[test]
fn an_api_that_the_cluster_has_not_is_warned_of() {
    let monitored = json!({"monitoring": {"podMonitor": {}, "alertRules": {}, "dashboard": {}}});
    let warnings = planned(monitored.clone()).unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "spec.monitoring.podMonitor: the cluster has no PodMonitor of monitoring.coreos.com/v1, so nothing reads the metrics",
            "spec.monitoring.alertRules: the cluster has no PrometheusRule of monitoring.coreos.com/v1, so no alert is sent"
        ]
    );
    assert!(planned_with(Apis::of(OptionalApi::ALL), monitored).warnings.is_empty());
}

#[test]
fn alerts_about_series_that_nobody_reads_are_warned_of() {
    let warnings = |over: Value| planned_with(Apis::of(OptionalApi::ALL), over).warnings;
    let alone = warnings(json!({"monitoring": {"alertRules": {}}}));
    assert!(alone.len() == 1 && alone[0].contains("there is no podMonitor"), "{alone:?}");
    let monitored = json!({"podMonitor": {}, "alertRules": {}});
    let shut = warnings(json!({"networkPolicy": {}, "rank": {"service": {"type": "LoadBalancer"}}}));
    assert!(shut.len() == 1 && shut[0].contains("spec.rank.service.type lets in"), "{shut:?}");
    let let_in = json!({"rankFrom": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]});
    assert!(warnings(json!({"networkPolicy": let_in, "rank": {"service": {"type": "LoadBalancer"}}})).is_empty());
    let closed = warnings(json!({"monitoring": monitored, "networkPolicy": {}}));
    assert!(closed.len() == 1 && closed[0].starts_with("spec.networkPolicy.metricsFrom: is empty"), "{closed:?}");
    let open = json!({"metricsFrom": [{"namespaceSelector": {}}]});
    assert!(warnings(json!({"monitoring": monitored, "networkPolicy": open})).is_empty());
}

#[test]
fn an_access_key_that_takes_the_place_of_the_pods_identity_is_warned_of() {
    let warnings = |bucket: Value, import: Value| {
        let store = json!({ "s3": bucket });
        planned(json!({"clickThroughStore": store, "import": {"from": {"s3": import}}})).unwrap().warnings
    };
    let bucket = || json!({"bucket": "kept", "prefix": "p", "region": "r"});
    let key = json!({"name": "redis", "accessKeyIdKey": "user", "secretAccessKeyKey": "password"});
    let borrowed = warnings(bucket(), json!({"bucket": "b", "prefix": "p", "credentialsSecretRef": key}));
    assert!(borrowed.len() == 1 && borrowed[0].contains("imports have the access key of Secret redis"), "{borrowed:?}");
    assert!(warnings(bucket(), json!({"bucket": "b", "prefix": "p"})).is_empty(), "all go by the service account");
}
