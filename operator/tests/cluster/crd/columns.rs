//! What a list of services shows.

use crate::cluster::{Servers, in_own_namespace};
use crate::samples::whole;
use crate::training::{FIRST, serving};
use rankwright_crds::RankingService;
use serde_json::{Value, json};

#[tokio::test]
async fn a_list_shows_how_a_service_is() {
    let Some(cluster) = in_own_namespace().await else { return };
    let servers = Servers::default();
    servers.say(serving(FIRST));
    let operator = cluster.operator(&servers);
    cluster.apply::<RankingService>("shop", whole()).await;
    // as `kubectl get rankingservices` asks
    let path = format!("/apis/rankwright.dev/v1alpha1/namespaces/{}/rankingservices", cluster.namespace);
    let table = async || {
        let request = http::Request::get(&path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        cluster.client.request::<Value>(request.body(Vec::new()).unwrap()).await.unwrap()
    };
    cluster.unready("shop").await;
    let before = table().await;
    let shown = |table: &Value| table["rows"][0]["cells"].as_array().unwrap()[..5].to_vec();
    let before = shown(&before);
    assert_eq!(json!([before[0], before[1], before[3], before[4]]), json!(["shop", "False", "0/3", "0/1"]));
    cluster.all_ready("shop", "rank", 3).await;
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    let is_served = |service: &RankingService| service.status.as_ref().is_some_and(|status| status.model.is_some());
    cluster.until("shop", "serves a model", is_served).await;
    let table = table().await;
    let named: Vec<&Value> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert_eq!(json!(named), json!(["Name", "Ready", "Status", "Rank", "Ingest", "Model", "Schedule", "Age"]));
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(
        json!(cells[..7]),
        json!(["shop", "True", "AllPartsWork", "3/3", "1/1", format!("shop@{FIRST}"), "0 3 * * *"])
    );
    let age = cells[7].as_str().unwrap();
    assert!(age.starts_with(|sign: char| sign.is_ascii_digit()) && age.ends_with(['s', 'm']), "{age}");
    operator.end().await;
}
