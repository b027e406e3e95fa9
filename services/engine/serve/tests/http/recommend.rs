//! Recommendations whatever a request names: 200 with what there is, and why it is not what was asked for.

use crate::service::{Service, trained};
use axum::Router;
use rankwright_config::Config;
use rankwright_event::Timestamp;
use rankwright_model::version::{Kind, Metadata};
use rankwright_model::{MemoryVersions, Place, Version, VersionStore};
use rankwright_recommend::{Build, Similar, Trending, Vectors, Weight};
use rankwright_serve::{App, Front, Published};
use serde_json::{Value, json};
use std::sync::Arc;

const SIMILAR: &str = "
models:
  bought: {type: als, interactions: [click]}
  alike: {type: semantic, encoder: {type: csv, dim: 2, path: /nowhere.csv}}
";
const TRENDING: &str = "  popular: {type: trending, weights: [{interaction: click}]}\n";

/// Three items by their directions, `a` between both others.
fn similar() -> Vec<u8> {
    let mut vectors = Vectors::new(2);
    [[1.0, 0.1], [1.0, 0.0], [1.0, 0.4]].iter().for_each(|row| vectors.push(row));
    let ids = ["a", "b", "c"].map(Into::into).to_vec();
    Similar::from_vectors(ids, vectors, &Build::default()).unwrap().to_bytes()
}

/// Four items in demand, two of which have no direction.
fn trending() -> Vec<u8> {
    let clicks = ["x", "x", "x", "b", "b", "y", "a"].map(|item| (item, 0, 0));
    Trending::fit(clicks.into_iter().chain([("x", 0, 0)]), &[Weight::default()], 0).to_bytes()
}

/// A service with these models, all of them trained.
async fn service(config: &str) -> Service {
    let versions = Arc::<MemoryVersions>::default();
    for model in Config::parse(config, "test").unwrap().0.models.keys() {
        let version = match model.as_str() {
            "bought" => trained(model, Kind::Als, similar()),
            "alike" => trained(model, Kind::Semantic, similar()),
            _ => trained(model, Kind::Trending, trending()),
        };
        versions.publish(&version, Place::Any).unwrap();
    }
    over(config, versions).await
}

/// A service over these versions.
async fn over(config: &str, versions: Arc<MemoryVersions>) -> Service {
    let service = Service::cold(config, |builder| builder).await;
    let (config, _) = Config::parse(config, "test").unwrap();
    let mut front = Front::new(Router::new());
    front.versions = versions.clone();
    let loader = Arc::new(Published::new(&config.features, service.state.clone(), versions));
    let app = App::builder(&config, service.state.clone(), loader).page(front).build().unwrap();
    app.prepare().await;
    Service { app, ..service }
}

/// The items that are recommended, and what `fallback` says.
async fn ask(service: &Service, model: &str, request: Value) -> (Vec<String>, Option<String>) {
    let answer = service.post(&format!("/recommend/{model}"), request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    let items = answer["items"].as_array().unwrap();
    let items = items.iter().map(|item| item["item"].as_str().unwrap().to_owned()).collect();
    (items, answer["fallback"].as_str().map(str::to_owned))
}

fn told(items: &[&str], fallback: impl Into<Option<&'static str>>) -> (Vec<String>, Option<String>) {
    (items.iter().map(|&item| item.to_owned()).collect(), fallback.into().map(str::to_owned))
}

#[tokio::test]
async fn what_a_model_of_directions_does_not_know_a_trending_one_answers() {
    let service = service(&format!("{SIMILAR}{TRENDING}")).await;
    for model in ["bought", "alike"] {
        let ask = |request| ask(&service, model, request);
        assert_eq!(ask(json!({"count": 2, "items": ["a"]})).await, told(&["b", "c"], None));
        let unknown = "the model knows none of the items; model popular answers in its place";
        assert_eq!(ask(json!({"count": 2, "items": ["new"]})).await, told(&["x", "b"], unknown));
        let unknown = ask(json!({"count": 2, "items": ["x"], "exclude": ["b"]})).await;
        assert_eq!(unknown.0, ["a", "y"], "neither the context nor what is excluded");
        let empty = "the request names no item; model popular answers in its place";
        for nothing in [json!({"count": 2}), json!({"count": 2, "items": []}), json!({"count": 2, "items": null})] {
            assert_eq!(ask(nothing).await, told(&["x", "b"], empty));
        }
    }
}

#[tokio::test]
async fn a_trending_model_adds_what_a_model_of_directions_lacks() {
    let service = service(&format!("{SIMILAR}{TRENDING}")).await;
    for model in ["bought", "alike"] {
        let ask = |request| ask(&service, model, request);
        let more = "the model has only 2 of 100 items; model popular adds 2";
        assert_eq!(ask(json!({"count": 100, "items": ["a"]})).await, told(&["b", "c", "x", "y"], more));
        let one = "the model has only 2 of 3 items; model popular adds 1";
        assert_eq!(ask(json!({"count": 3, "items": ["a"]})).await, told(&["b", "c", "x"], one));
        let none = "the model has only 0 of 2 items; model popular adds 1";
        assert_eq!(ask(json!({"count": 2, "items": ["a"], "exclude": ["b", "c", "x"]})).await, told(&["y"], none));
    }
    let metrics = service.get("/metrics").await;
    let counted = r#"service_recommend_fallbacks_total{model="alike",reason="few"} 3"#;
    assert!(metrics.text().contains(counted), "{}", metrics.text());
}

#[tokio::test]
async fn without_a_trending_model_there_is_what_the_model_has() {
    let service = service(SIMILAR).await;
    for model in ["bought", "alike"] {
        let ask = |request| ask(&service, model, request);
        let few = "the model has only 2 of 9 items";
        assert_eq!(ask(json!({"count": 9, "items": ["a", "new"]})).await, told(&["b", "c"], few));
        assert_eq!(ask(json!({"count": 9, "items": ["new"]})).await, told(&[], "the model knows none of the items"));
        assert_eq!(ask(json!({"count": 9})).await, told(&[], "the request names no item"));
    }
}

#[tokio::test]
async fn a_trending_model_needs_no_item_and_says_when_it_has_no_more() {
    let service = service(&format!("models:\n{TRENDING}{}", TRENDING.replace("popular", "second"))).await;
    let ask = |request| ask(&service, "popular", request);
    for context in [json!({"count": 2}), json!({"count": 2, "items": ["new"]})] {
        assert_eq!(ask(context).await, told(&["x", "b"], None));
    }
    let few = "the model has only 3 of 9 items";
    assert_eq!(ask(json!({"count": 9, "items": ["x"]})).await, told(&["b", "a", "y"], few));
    let all = json!({"count": 1, "exclude": ["a", "b", "x", "y"]});
    assert_eq!(ask(all).await, told(&[], "the model has only 0 of 1 items"));
}

#[tokio::test]
async fn a_count_above_the_limit_counts_as_the_limit() {
    let limited = |most: u64| format!("models:\n{TRENDING}api: {{limits: {{maxItemsPerRequest: {most}}}}}\n");
    for count in [3, u64::MAX] {
        let asked = ask(&service(&limited(2)).await, "popular", json!({"count": count})).await;
        assert_eq!(asked, told(&["x", "b"], None));
    }
    let beyond = ask(&service(&limited(9)).await, "popular", json!({"count": 10})).await;
    assert_eq!(beyond, told(&["x", "b", "a", "y"], "the model has only 4 of 9 items"));
}

#[tokio::test]
async fn a_recommender_is_rolled_back_and_promoted_and_a_pinned_version_answers() {
    let version = |millis, item: &str| {
        let body = Trending::fit([(item, 0, 0)], &[Weight::default()], 0).to_bytes();
        let metadata = trained("popular", Kind::Trending, vec![]).metadata().clone();
        let metadata = Metadata { created_at: Timestamp::from_millis(millis), ..metadata };
        Version::new(metadata, vec![], body).unwrap()
    };
    let first = version(1_000, "old");
    let second = version(2_000, "new").in_place_of(first.id().clone()).unwrap();
    let versions = Arc::<MemoryVersions>::default();
    for version in [&first, &second] {
        versions.publish(version, Place::Any).unwrap();
    }
    let config = format!("models:\n{TRENDING}");
    let service = over(&config, versions.clone()).await;
    let one = || json!({"count": 1});
    assert_eq!(ask(&service, "popular", one()).await, told(&["new"], None));
    let back = service.post("/models/popular/rollback", "").await.json();
    assert_eq!(back["serving"], first.id().as_str(), "{back}");
    assert_eq!(ask(&service, "popular", one()).await, told(&["old"], None));
    let promote = json!({"version": second.id().as_str()}).to_string();
    service.post("/models/popular/promote", promote).await;
    assert_eq!(ask(&service, "popular", one()).await, told(&["new"], None));
    let pinned = config.replace("type: trending", &format!("type: trending, version: {}", first.id()));
    assert_eq!(ask(&over(&pinned, versions).await, "popular", one()).await, told(&["old"], None));
}
