//! An encrypted port of rank servers, and its token.

use crate::cluster::{Servers, in_own_namespace};
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Probe, Secret, Service};
use rankwright_crds::RankingService;
use serde_json::{Value, json};

/// How a node asks a server whether it is ready.
fn scheme(deployment: &Deployment) -> Option<String> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let Probe { http_get, .. } = pod.containers[0].readiness_probe.clone()?;
    http_get?.scheme
}

fn endpoint(service: &RankingService) -> Option<&str> {
    Some(&service.status.as_ref()?.rank.as_ref()?.endpoint)
}

fn protocol(service: &Service) -> Option<&str> {
    service.spec.as_ref()?.ports.as_ref()?[0].app_protocol.as_deref()
}

fn certificate(text: &str) -> Value {
    json!({"type": "kubernetes.io/tls", "stringData": {"tls.crt": text, "tls.key": text}})
}

#[tokio::test]
async fn an_encrypted_port_waits_for_its_secrets_and_rolls_for_a_new_token_alone() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let rank = json!({"tls": {"secretName": "port"}, "tokenSecretRef": {"name": "admin", "key": "token"}});
    cluster.apply::<RankingService>("shop", with(minimal(), json!({"spec": {"rank": rank}}))).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "SecretMissing").await;
    assert!(
        message.contains("Secret admin does not exist") || message.contains("Secret port does not exist"),
        "{message}"
    );
    cluster.apply::<Secret>("admin", json!({"stringData": {"token": "first"}})).await;
    cluster.apply::<Secret>("port", certificate("first")).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    let is_encrypted = |deployment: &Deployment| scheme(deployment).as_deref() == Some("HTTPS");
    let before = cluster.until("shop-rank", "is asked over TLS", is_encrypted).await;
    cluster.until("shop-rank", "says so", |service: &Service| protocol(service) == Some("https")).await;
    let address = format!("https://shop-rank.{}.svc:8080", cluster.namespace);
    cluster.until("shop", "says so", |service| endpoint(service) == Some(&address)).await;

    cluster.apply::<Secret>("port", certificate("second")).await;
    cluster.apply::<Secret>("admin", json!({"stringData": {"token": "second"}})).await;
    let generation = before.metadata.generation.unwrap();
    let rolled: Deployment =
        cluster.until("shop-rank", "rolls", |now: &Deployment| now.metadata.generation > Some(generation)).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    assert_eq!(rolled.metadata.generation, Some(generation + 1), "a certificate makes no new pods");

    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.until("shop-rank", "is asked over HTTP", |now: &Deployment| scheme(now).as_deref() == Some("HTTP")).await;
    cluster.until("shop-rank", "says no protocol", |service: &Service| protocol(service).is_none()).await;
    let address = address.replace("https", "http");
    cluster.until("shop", "says so", |service| endpoint(service) == Some(&address)).await;
    operator.end().await;
}
