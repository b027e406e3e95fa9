//! Versions as training publishes them.

use crate::service::{CONFIG, Service, ranking};
use rankwright_config::Config;
use rankwright_event::Timestamp;
use rankwright_feature::Plan;
use rankwright_model::version::{Kind, Metadata};
use rankwright_model::{Column, MemoryVersions, Place, TrainedOn, Version, VersionStore};
use rankwright_serve::{App, Published};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A forest of one tree, which puts items of a price of 10 and more first.
pub(crate) const XGBOOST: &str = r#"{"version": [3, 4, 1], "learner": {
  "feature_names": [], "feature_types": [], "attributes": {},
  "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1", "num_target": "1", "boost_from_average": "1"},
  "objective": {"name": "rank:ndcg"},
  "gradient_booster": {"name": "gbtree", "model": {
    "gbtree_model_param": {"num_trees": "1", "num_parallel_tree": "1"}, "tree_info": [0], "iteration_indptr": [0, 1],
    "trees": [{"tree_param": {"num_nodes": "3", "size_leaf_vector": "1"},
      "left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0],
      "split_conditions": [10, 0, 1], "default_left": [1, 0, 0]}]}}}}"#;

/// The same without a split: every item scores the same.
fn stump() -> String {
    let leaf = XGBOOST.replace("[1, -1, -1]", "[-1]").replace("[2, -1, -1]", "[-1]").replace("[1, 0, 0]", "[0]");
    leaf.replace("[0, 0, 0]", "[0]").replace("[10, 0, 1]", "[0]").replace("\"3\"", "\"1\"")
}

pub(crate) async fn columns(config: &Config) -> Vec<Column> {
    let plan = Plan::compile(&config.features, &rankwright_state::MemoryStore::default()).await.unwrap();
    let column = |column: &rankwright_feature::Column| Column {
        name: column.name.clone(),
        feature: column.feature.clone(),
        fingerprint: column.fingerprint,
        categorical: column.categorical,
    };
    plan.columns().iter().map(column).collect()
}

pub(crate) fn version(millis: i64, kind: Kind, columns: Vec<Column>, warmup: &str) -> Version {
    version_of(XGBOOST, millis, kind, columns, warmup)
}

pub(crate) fn version_of(booster: &str, millis: i64, kind: Kind, columns: Vec<Column>, warmup: &str) -> Version {
    let metadata = Metadata {
        model: "shop".into(),
        kind,
        created_at: Timestamp::from_millis(millis),
        columns,
        metrics: BTreeMap::from([("NDCG@10".into(), 0.6)]),
        iterations: 0,
        weights: vec![],
        trained_on: Some(TrainedOn { rankings: 16, items: 48, first: None, last: None, tested: None }),
        settings: Default::default(),
        replaced: None,
        record: Default::default(),
    };
    Version::new(metadata, warmup.as_bytes().to_vec(), booster.as_bytes().to_vec()).unwrap()
}

/// A service of [`CONFIG`] over these versions, prepared.
async fn service(config: &str, versions: Arc<MemoryVersions>) -> Service {
    let service = Service::cold(config, |builder| builder).await;
    let (config, _) = Config::parse(config, "test").unwrap();
    let loader = Arc::new(Published::new(&config.features, service.state.clone(), versions));
    let app = App::builder(&config, service.state.clone(), loader).build().unwrap();
    app.prepare().await;
    Service { app, ..service }
}

#[tokio::test]
async fn a_published_version_serves_and_a_newer_one_takes_its_place() {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let versions = Arc::<MemoryVersions>::default();
    let first = version(
        1_000,
        Kind::XgBoost,
        columns(&config).await,
        &ranking(&["w"]).replacen('{', "{\"event\":\"ranking\",", 1),
    );
    versions.publish(&first, Place::Any).unwrap();
    let service = service(CONFIG, versions.clone()).await;
    let answer = service.post("/rank/shop?explain=true", ranking(&["a", "b"])).await;
    let expected = serde_json::json!({"item": "a", "score": 0.5, "features": [{"name": "price", "value": null}]});
    assert_eq!(answer.json()["items"][0], expected);
    assert_eq!(answer.json().get("fallback"), None);
    let other = XGBOOST.replace("5E-1", "2E0");
    let second = version_of(&other, 2_000, Kind::XgBoost, columns(&config).await, "not an event");
    versions.publish(&second, Place::Any).unwrap();
    service.app.refresh("shop").await;
    assert_eq!(service.post("/rank/shop", ranking(&["a", "b"])).await.json()["items"][0]["score"], 2.0);
    let status = service.get("/status").await.json();
    assert_eq!(status["models"]["shop"]["version"], second.id().as_str());
    assert_eq!(status["models"]["shop"]["trainedAt"], "1970-01-01T00:00:02Z");
    // of a type that the model had before
    let other = version(3_000, Kind::Noop, columns(&config).await, "");
    versions.publish(&other, Place::Any).unwrap();
    service.app.refresh("shop").await;
    assert_eq!(service.get("/status").await.json()["models"]["shop"]["version"], second.id().as_str());
    versions.select("shop", first.id()).unwrap();
    service.app.refresh("shop").await;
    assert_eq!(service.get("/status").await.json()["models"]["shop"]["version"], first.id().as_str(), "rolled back");
}

#[tokio::test]
async fn a_pinned_version_serves_whatever_is_newer() {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let versions = Arc::<MemoryVersions>::default();
    let first = version(1_000, Kind::XgBoost, columns(&config).await, "");
    versions.publish(&first, Place::Any).unwrap();
    versions.publish(&version(2_000, Kind::Noop, columns(&config).await, ""), Place::Any).unwrap();
    let pinned = CONFIG.replacen("features: [price]", &format!("features: [price], version: {}", first.id()), 1);
    let service = service(&pinned, versions).await;
    assert_eq!(service.get("/status").await.json()["models"]["shop"]["version"], first.id().as_str());
}

#[tokio::test]
async fn a_model_of_other_features_is_not_served() {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let mut other = columns(&config).await;
    other[0].fingerprint ^= 1;
    let versions = Arc::<MemoryVersions>::default();
    versions.publish(&version(1_000, Kind::XgBoost, other, ""), Place::Any).unwrap();
    let service = service(CONFIG, versions).await;
    let answer = service.post("/rank/shop", ranking(&["b", "a"])).await;
    assert_eq!((answer.status.as_u16(), answer.items()), (200, vec!["b".into(), "a".into()]));
    assert_eq!(answer.json()["fallback"], "model shop could not be loaded, the log says why");
    let explained = service.post("/rank/shop?explain=true", ranking(&["b"])).await.json();
    assert_eq!(explained["items"][0]["features"][0]["name"], "price", "{explained}");
}

#[tokio::test]
async fn a_version_that_has_learned_nothing_keeps_the_incoming_order_and_says_so() {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let versions = Arc::<MemoryVersions>::default();
    versions.publish(&version_of(&stump(), 1_000, Kind::XgBoost, columns(&config).await, ""), Place::Any).unwrap();
    let service = service(CONFIG, versions).await;
    let answer = service.post("/rank/shop?explain=true", ranking(&["b", "a"])).await.json();
    let fallback = "model shop has learned nothing: no feature tells items apart in the 16 rankings with 48 items that it \
                    was trained on; import more events or add features, then train again";
    assert_eq!(answer["fallback"], fallback);
    assert_eq!((&answer["items"][0]["item"], &answer["items"][0]["score"]), (&"b".into(), &2.0.into()), "{answer}");
    assert_eq!(answer["items"][0]["features"][0]["name"], "price", "{answer}");
    let metrics = service.get("/metrics").await;
    let counted = "service_rank_fallbacks_total{model=\"shop\",reason=\"untrained\"} 1";
    assert!(metrics.text().contains(counted), "{}", metrics.text());
}

/// One in four items of its training went left.
fn with_covers() -> String {
    XGBOOST.replace("\"default_left\"", "\"sum_hessian\": [4, 1, 3], \"default_left\"")
}

#[tokio::test]
async fn contributions_tell_what_each_feature_brings_and_add_up_to_the_score() {
    let lasting = CONFIG.replace("scope: item}", "scope: item, ttl: 36500d}"); // prices are of 1970
    let (config, _) = Config::parse(&lasting, "test").unwrap();
    let versions = Arc::<MemoryVersions>::default();
    let first = version_of(&with_covers(), 1_000, Kind::XgBoost, columns(&config).await, "");
    versions.publish(&first, Place::Any).unwrap();
    let service = service(&lasting, versions).await;
    service.price(&[("a", 20.0)]).await;
    let mut answer = service.post("/rank/shop?explain=contributions", ranking(&["b", "a"])).await.json();
    for item in answer["items"].as_array_mut().unwrap() {
        let brought = &mut item["contributions"][0]["value"];
        *brought = ((brought.as_f64().unwrap() * 1e9).round() / 1e9).into(); // the last digits are a processor's
    }
    // the average is 0.5 + 3/4
    let expected = serde_json::json!([
        {"item": "a", "score": 1.5, "features": [{"name": "price", "value": 20.0}],
         "contributions": [{"name": "price", "value": 0.25, "time": 1}], "bias": 1.25},
        {"item": "b", "score": 0.5, "features": [{"name": "price", "value": null}],
         "contributions": [{"name": "price", "value": -0.75}], "bias": 1.25},
    ]);
    assert_eq!(answer["items"], expected, "{answer}");
    assert_eq!((answer.get("fallback"), answer.get("unexplained")), (None, None), "{answer}");
    let plain = service.post("/rank/shop?explain=true", ranking(&["b", "a"])).await.json();
    assert!(plain["items"][0].get("contributions").is_none() && plain["items"][0].get("bias").is_none(), "{plain}");
}

#[tokio::test]
async fn a_version_without_what_contributions_need_says_so_and_ranks_without_them() {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let versions = Arc::<MemoryVersions>::default();
    versions.publish(&version(1_000, Kind::XgBoost, columns(&config).await, ""), Place::Any).unwrap();
    let service = service(CONFIG, versions).await;
    let refused = service.post("/rank/shop?explain=contributions", ranking(&["a"])).await;
    let message = refused.error(409, "cannot_explain", None);
    assert!(message.starts_with("model shop: tree 0 ") && message.ends_with("train the model again"), "{message}");
    assert_eq!(service.post("/rank/shop?explain=true", ranking(&["a"])).await.status, 200);
}

#[tokio::test]
async fn where_nothing_is_scored_by_features_the_answer_says_that_there_are_no_contributions() {
    let service = service(CONFIG, Arc::<MemoryVersions>::default()).await;
    let asked =
        async |model: &str| service.post(&format!("/rank/{model}?explain=contributions"), ranking(&["a"])).await;
    let untrained = asked("shop").await.json();
    assert_eq!(untrained["fallback"], "model shop is not trained yet", "{untrained}");
    assert_eq!(untrained["unexplained"], "nothing was scored: items keep their incoming order", "{untrained}");
    assert_eq!(untrained["items"][0]["features"], serde_json::json!([{"name": "price", "value": null}]));
    for model in ["plain", "dice"] {
        let answer = asked(model).await.json();
        assert_eq!(answer["unexplained"], "this model scores without features", "{answer}");
        assert!(answer["items"][0].get("contributions").is_none() && answer.get("fallback").is_none(), "{answer}");
    }
    service.break_state(true);
    let away = asked("shop").await.json();
    assert_eq!(away["unexplained"], "nothing was scored: items keep their incoming order", "{away}");
}
