//! Secrets and ConfigMaps that a service names, and the configuration: what is wrong is told, and mends itself.

use crate::cluster::{Servers, condition, in_own_namespace};
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use rankwright_crds::RankingService;
use rankwright_operator::labels::REFERENCES_DIGEST;
use serde_json::{Value, json};

fn with_password() -> Value {
    let auth = json!({"passwordSecretRef": {"name": "redis", "key": "password"}});
    with(minimal(), json!({"spec": {"stateStore": {"redis": {"auth": auth}}}}))
}

fn digest(deployment: &Deployment) -> String {
    let metadata = deployment.spec.as_ref().unwrap().template.metadata.as_ref().unwrap();
    metadata.annotations.as_ref().unwrap()[REFERENCES_DIGEST].clone()
}

#[tokio::test]
async fn a_missing_secret_is_told_by_name_and_used_when_it_comes() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", with_password()).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "SecretMissing").await;
    assert!(message.contains("Secret redis does not exist"), "{message}");
    assert!(message.contains("spec.stateStore.redis.auth.passwordSecretRef"), "{message}");
    cluster.told("shop", "Ready", "False", "SecretMissing").await;
    assert_eq!(cluster.event("SecretMissing").await, message);
    assert!(cluster.list::<Deployment>("").await.is_empty(), "pods would wait for it without a word");

    cluster.apply::<Secret>("redis", json!({"stringData": {"other": "x"}})).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "SecretKeyMissing").await;
    assert!(message.contains("Secret redis has no key password"), "{message}");
    cluster.apply::<Secret>("redis", json!({"stringData": {"password": "x"}})).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    operator.end().await;
}

#[tokio::test]
async fn a_secret_that_pods_start_without_is_warned_of_until_it_comes() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let pulling = json!({"spec": {"imagePullSecrets": [{"name": "registry"}]}});
    cluster.apply::<RankingService>("shop", with(minimal(), pulling)).await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    let warned = |service: &RankingService| {
        let warnings = service.status.iter().flat_map(|status| &status.warnings);
        warnings.into_iter().any(|warning| warning.contains("Secret registry does not exist"))
    };
    cluster.until("shop", "is warned", warned).await;
    cluster.apply::<Secret>("registry", json!({"stringData": {"a": "b"}})).await;
    cluster.until("shop", "is warned no more", |service: &RankingService| !warned(service)).await;
    operator.end().await;
}

#[tokio::test]
async fn a_changed_secret_rolls_what_uses_it_and_is_copied_nowhere() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<Secret>("redis", json!({"stringData": {"password": "first-password"}})).await;
    cluster.apply::<RankingService>("shop", with_password()).await;
    let before: Deployment = cluster.until("shop-rank", "was made", |_| true).await;
    let workers: Deployment = cluster.until("shop-ingest", "was made", |_| true).await;
    cluster.apply::<Secret>("redis", json!({"stringData": {"password": "second-password"}})).await;
    cluster.until("shop-rank", "rolls", |now: &Deployment| digest(now) != digest(&before)).await;
    cluster.until("shop-ingest", "rolls", |now: &Deployment| digest(now) != digest(&workers)).await;
    let maps: Vec<ConfigMap> = cluster.list("").await;
    let deployments: Vec<Deployment> = cluster.list("").await;
    let written = format!("{}{}", serde_json::to_string(&maps).unwrap(), serde_json::to_string(&deployments).unwrap());
    assert!(!written.contains("-password"), "{written}");
    operator.end().await;
}

#[tokio::test]
async fn a_key_that_nobody_uses_rolls_nothing() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<Secret>("redis", json!({"stringData": {"password": "a", "note": "a"}})).await;
    cluster.apply::<RankingService>("shop", with_password()).await;
    let before: Deployment = cluster.until("shop-rank", "was made", |_| true).await;
    cluster.apply::<Secret>("redis", json!({"stringData": {"password": "a", "note": "b"}})).await;
    // a later change that is seen: the one before was, too
    cluster.apply::<RankingService>("shop", with(with_password(), json!({"spec": {"rank": {"replicas": 4}}}))).await;
    let after: Deployment =
        cluster.until("shop-rank", "grew", |now: &Deployment| now.spec.as_ref().unwrap().replicas == Some(4)).await;
    assert_eq!(digest(&before), digest(&after));
    operator.end().await;
}

#[tokio::test]
async fn a_wrong_configuration_is_told_with_its_place_and_leaves_what_runs_alone() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.all_ready("shop", "rank", 2).await;
    cluster.told("shop", "RankServerReady", "True", "Available").await;
    let broken = json!({"spec": {"configuration": {"inline": {"features": [{"name": "price", "type": "nunber", "field": "item.price"}]}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), broken)).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "ConfigurationInvalid").await;
    assert!(message.contains("features[0].type") && message.contains("number"), "{message}");
    cluster.event("ConfigurationInvalid").await;
    let service: RankingService = cluster.get("shop").await;
    assert_eq!(condition(&service, "RankServerReady").unwrap().0, "True", "the servers run on");
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    operator.end().await;
}

#[tokio::test]
async fn what_the_resource_has_fields_for_is_refused_in_the_configuration() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let twice = json!({"spec": {"configuration": {"inline": {"state": {"type": "redis", "host": "other"}}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), twice)).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "ConfigurationContradicts").await;
    assert_eq!(message, "configuration.state.host: set it in spec.stateStore.redis");
    let unknown = json!({"spec": {"modelVersion": {"shoop": "20261114T162500000Z-1a2b3c4d"}}});
    cluster.apply::<RankingService>("shop", with(minimal(), unknown)).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "SpecInvalid").await;
    assert!(message.contains("no model shoop that is trained; it has: shop"), "{message}");
    operator.end().await;
}

#[tokio::test]
async fn a_configuration_of_a_config_map_is_followed() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let named = json!({"spec": {"configuration": {"inline": null, "configMapRef": {"name": "mine"}}}});
    cluster.apply::<RankingService>("shop", with(minimal(), named)).await;
    cluster.told("shop", "ConfigurationValid", "False", "ConfigMapMissing").await;
    let text = |feature: &str| {
        format!(
            "features:\n- {{name: {feature}, type: number, field: item.{feature}}}\nmodels:\n  shop: {{type: lambdamart, weights: {{click: 1}}, features: [{feature}]}}\n"
        )
    };
    cluster.apply::<ConfigMap>("mine", json!({"data": {"config.yml": text("price")}})).await;
    cluster.configured("shop-rank", "has the feature", |text| text.contains("item.price")).await;
    cluster.apply::<ConfigMap>("mine", json!({"data": {"config.yml": text("weight")}})).await;
    cluster.configured("shop-rank", "has the other feature", |text| text.contains("item.weight")).await;
    cluster.apply::<ConfigMap>("mine", json!({"data": {"config.yml": "features: ["}})).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "ConfigurationInvalid").await;
    assert!(message.contains("ConfigMap mine, key config.yml"), "{message}");
    operator.end().await;
}

#[tokio::test]
async fn a_broken_service_does_not_keep_others_from_working() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("broken", with_password()).await;
    cluster.told("broken", "ConfigurationValid", "False", "SecretMissing").await;
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    operator.end().await;
}
