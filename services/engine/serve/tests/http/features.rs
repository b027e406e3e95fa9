//! What the features of a model hold, in training and now.

use crate::published::{XGBOOST, columns};
use crate::service::{CONFIG, Service, ranking};
use axum::Router;
use rankwright_config::Config;
use rankwright_event::Timestamp;
use rankwright_model::{
    FeatureWeight, Kind, MemoryVersions, Metadata, Place, Spread, TrainingRecord, Version, VersionStore,
};
use rankwright_serve::{App, Front, Published};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A version of `shop` whose training saw these prices.
async fn version(config: &Config, prices: &[f32]) -> Version {
    let values = BTreeMap::from([("price".to_owned(), Spread::of(prices.to_vec(), false))]);
    let metadata = Metadata {
        model: "shop".into(),
        kind: Kind::XgBoost,
        created_at: Timestamp::from_millis(1_000),
        columns: columns(config).await,
        metrics: BTreeMap::new(),
        iterations: 1,
        weights: vec![FeatureWeight { name: "price".into(), weights: vec![4.5] }],
        trained_on: None,
        settings: BTreeMap::new(),
        replaced: None,
        record: TrainingRecord {
            values: if prices.is_empty() { BTreeMap::new() } else { values },
            ..Default::default()
        },
    };
    Version::new(metadata, vec![], XGBOOST.as_bytes().to_vec()).unwrap()
}

/// A service over a version whose training saw these prices, with a page.
async fn trained(prices: &[f32]) -> (Service, Version) {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let store = Arc::<MemoryVersions>::default();
    let version = version(&config, prices).await;
    store.publish(&version, Place::Any).unwrap();
    let mut front = Front::new(Router::new());
    front.versions = store.clone();
    let service = Service::cold(CONFIG, |builder| builder).await;
    let loader = Arc::new(Published::new(&config.features, service.state.clone(), store));
    let app = App::builder(&config, service.state.clone(), loader).page(front).build().unwrap();
    app.prepare().await;
    (Service { app, ..service }, version)
}

/// A request whose items bring their prices.
fn priced(prices: &[Option<f64>]) -> String {
    let fields = |price: &Option<f64>| price.map(|price| json!({"name": "price", "value": price}));
    let item = |(place, price)| json!({"id": format!("p{place}"), "fields": Vec::from_iter(fields(price))});
    let items: Vec<Value> = prices.iter().enumerate().map(item).collect();
    json!({"id": "r1", "timestamp": "1636907100000", "items": items}).to_string()
}

async fn told(service: &Service, model: &str) -> Value {
    service.get(&format!("/models/{model}/features")).await.json()
}

#[tokio::test]
async fn values_of_the_newest_requests_stand_beside_those_of_training() {
    let (service, version) = trained(&[1.0, 1.0, 2.0, f32::NAN]).await;
    let training = json!({"missing": 0.25, "bins": [
        {"from": 1.0, "to": 1.0, "share": 0.6667}, {"from": 2.0, "to": 2.0, "share": 0.3333},
    ]});
    let column = |now: Value| {
        json!([{"name": "price", "columns": [
            {"name": "price", "categorical": false, "gain": 4.5, "training": training, "now": now},
        ]}])
    };
    let before = told(&service, "shop").await;
    let expected = json!({
        "model": "shop", "version": version.id().as_str(), "requests": 0, "requestsOf": [], "items": 0, "problem": null,
        "features": column(Value::Null),
    });
    assert_eq!(before, expected);
    service.post("/rank/shop", priced(&[Some(1.0), Some(2.0)])).await;
    service.post("/rank/shop", priced(&[Some(1.0), Some(7.0), None])).await;
    service.post("/rank/plain", priced(&[Some(2.0), Some(2.0)])).await; // for another model
    let now = told(&service, "shop").await;
    assert_eq!((&now["requests"], &now["items"], &now["problem"]), (&json!(2), &json!(5), &Value::Null));
    assert_eq!(now["requestsOf"], json!(["shop"]));
    let values = json!({"missing": 0.2, "bins": [
        {"from": 1.0, "to": 1.0, "share": 0.5}, {"from": 2.0, "to": 2.0, "share": 0.25},
    ]});
    assert_eq!(now["features"], column(values), "a price of 7 is in no bin");
    let metrics = service.get("/metrics").await.text().to_owned();
    assert!(
        metrics.contains("service_rank_requests_total{model=\"shop\"} 2"),
        "a look counts as no request: {metrics}"
    );
}

#[tokio::test]
async fn a_version_that_does_not_tell_and_a_model_without_one_show_the_values_of_now() {
    let (service, _) = trained(&[]).await;
    service.post("/rank/plain", priced(&[Some(3.0)])).await;
    let now = json!({"missing": 0.0, "bins": [{"from": 3.0, "to": 3.0, "share": 1.0}]});
    for (model, gain) in [("shop", json!(4.5)), ("new", Value::Null)] {
        let told = told(&service, model).await;
        let expected = json!([{"name": "price", "categorical": false, "gain": gain, "training": null, "now": now}]);
        assert_eq!(told["features"][0]["columns"], expected, "{told}");
        let of = (&told["requests"], &told["requestsOf"]);
        assert_eq!(of, (&json!(1), &json!(["plain"])), "it has none of its own: those of others are taken");
    }
    assert_eq!(told(&service, "plain").await["features"], json!([]), "it has no features");
}

#[tokio::test]
async fn a_state_that_does_not_answer_is_told_beside_what_training_saw() {
    let (service, _) = trained(&[1.0]).await;
    service.post("/rank/shop", ranking(&["a"])).await;
    service.break_state(true);
    let told = told(&service, "shop").await;
    assert!(told["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{told}");
    let column = &told["features"][0]["columns"][0];
    assert_eq!((&column["training"]["missing"], &column["now"]), (&json!(0.0), &Value::Null));
}

#[tokio::test]
async fn of_very_wide_rows_a_few_items_and_columns_are_looked_at() {
    let values: Vec<String> = (0..100_000).map(|value| format!("b{value}")).collect();
    let feature =
        format!("{{name: brand, type: string, field: item.brand, encode: onehot, values: [{}]}}", values.join(", "));
    let model = "{type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [brand]}";
    let config = format!("features: [{feature}]\nmodels: {{wide: {model}}}\n");
    let (parsed, _) = Config::parse(&config, "test").unwrap();
    let service = Service::cold(&config, |builder| builder).await;
    let versions = Arc::<MemoryVersions>::default();
    let loader = Arc::new(Published::new(&parsed.features, service.state.clone(), versions));
    let app = App::builder(&parsed, service.state.clone(), loader).page(Front::new(Router::new())).build().unwrap();
    app.prepare().await;
    let service = Service { app, ..service };
    for _ in 0..3 {
        service.post("/rank/wide", priced(&[None; 40])).await;
    }
    let told = told(&service, "wide").await;
    assert_eq!((&told["requests"], &told["items"], &told["problem"]), (&json!(3), &json!(15), &Value::Null));
    let columns = told["features"][0]["columns"].as_array().unwrap();
    assert!(columns.len() >= 100_000);
    assert_eq!(columns.iter().filter(|column| column["now"].is_object()).count(), 256);
}

#[tokio::test]
async fn only_models_that_rank_have_features() {
    let (service, _) = trained(&[1.0]).await;
    service.get("/models/similar/features").await.error(404, "wrong_model_type", None);
    service.get("/models/shp/features").await.error(404, "unknown_model", None);
    let off = Service::start().await;
    assert!(off.get("/models/shop/features").await.error(404, "not_found", None).contains("api.page.enabled"));
}
