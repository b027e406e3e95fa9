//! The page of rank servers, and its way in.

use crate::cluster::{Servers, in_own_namespace};
use crate::samples::{minimal, with};
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use rankwright_crds::RankingService;
use serde_json::{Value, json};

/// Whether the servers have a page.
fn has_page(configuration: &str) -> bool {
    configuration.contains("showIds")
}

#[tokio::test]
async fn an_ingress_of_the_page_comes_with_a_token_and_goes_with_the_page() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let shop = |rank: Value| with(minimal(), json!({"spec": {"rank": rank}}));
    cluster.apply::<RankingService>("shop", shop(json!({"page": {}}))).await;
    cluster.configured("shop-rank", "has the page", has_page).await;

    let page = json!({"ingress": {"host": "page.test"}});
    cluster.apply::<RankingService>("shop", shop(json!({ "page": page }))).await;
    let message = cluster.told("shop", "ConfigurationValid", "False", "SpecInvalid").await;
    assert!(message.contains("give rank.tokenSecretRef"), "{message}");
    assert!(cluster.api::<Ingress>().get_opt("shop-page").await.unwrap().is_none());

    cluster.apply::<Secret>("admin", json!({"stringData": {"token": "first"}})).await;
    let token = json!({"name": "admin", "key": "token"});
    cluster.apply::<RankingService>("shop", shop(json!({"page": page, "tokenSecretRef": token}))).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    let ingress: Ingress = cluster.until("shop-page", "was made", |_| true).await;
    let rule = ingress.spec.unwrap().rules.unwrap().remove(0);
    assert_eq!(rule.host.as_deref(), Some("page.test"));
    let service: Service = cluster.until("shop-page", "was made", |_| true).await;
    let rank: Service = cluster.get("shop-rank").await;
    assert_eq!(service.spec.unwrap().selector, rank.spec.unwrap().selector, "both lead to the rank servers");

    cluster.apply::<RankingService>("shop", shop(json!({"tokenSecretRef": token}))).await;
    cluster.until_gone::<Ingress>("shop-page").await;
    cluster.until_gone::<Service>("shop-page").await;
    cluster.configured("shop-rank", "has no page", |text| !has_page(text)).await;
    operator.end().await;
}
