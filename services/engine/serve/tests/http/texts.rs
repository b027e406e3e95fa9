//! Rankings by features that compute with a model of texts.

use crate::published::version;
use crate::service::Service;
use rankwright_config::{Config, TextModel};
use rankwright_feature::encode::{EncodeError, Task};
use rankwright_feature::{Encode, Encoders, Plan};
use rankwright_model::version::Kind;
use rankwright_model::{Column, MemoryVersions, Place, VersionStore};
use rankwright_serve::{App, Published};
use rankwright_state::MemoryStore;
use std::sync::Arc;
use std::time::{Duration, Instant};

const CONFIG: &str = "
api: {limits: {textTimeout: 200ms}}
models:
  shop: {type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [cross]}
features:
  - name: cross
    type: field_match
    rankingField: ranking.query
    itemField: item.title
    method: {type: cross-encoder, model: a/length}
";

/// A pair's score is how long both texts are, after this time.
#[derive(Clone)]
struct Length(Duration);

impl Encoders for Length {
    fn open(&self, _: &TextModel) -> Result<Arc<dyn Encode>, String> {
        Ok(Arc::new(self.clone()))
    }
}

impl Encode for Length {
    fn task(&self) -> Task {
        Task::Score
    }

    fn dim(&self) -> usize {
        1
    }

    fn digest(&self) -> &str {
        "length"
    }

    fn embed(&self, _: &[&str], _: Option<Instant>) -> Result<Vec<Arc<[f32]>>, EncodeError> {
        Err(EncodeError::WrongTask { model: Task::Score })
    }

    fn score(&self, pairs: &[(&str, &str)], by: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        let left = by.map_or(self.0, |by| by.saturating_duration_since(Instant::now()));
        std::thread::sleep(left.min(self.0));
        if left < self.0 {
            return Err(EncodeError::OutOfTime);
        }
        Ok(pairs.iter().map(|(query, document)| (query.len() + document.len()) as f32).collect())
    }
}

async fn ask(model: Length, trained: bool) -> (serde_json::Value, String) {
    let service = Service::cold(CONFIG, |builder| builder).await;
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let plan = Plan::compile_with(&config.features, &MemoryStore::default(), &model).await.unwrap();
    let column = |column: &rankwright_feature::Column| Column {
        name: column.name.clone(),
        feature: column.feature.clone(),
        fingerprint: column.fingerprint,
        categorical: column.categorical,
    };
    let versions = Arc::<MemoryVersions>::default();
    let columns = plan.columns().iter().map(column).collect();
    if trained {
        versions.publish(&version(1_000, Kind::XgBoost, columns, ""), Place::Any).unwrap();
    }
    let published = Published::new(&config.features, service.state.clone(), versions).with_encoders(Arc::new(model));
    let app = App::builder(&config, service.state.clone(), Arc::new(published)).build().unwrap();
    app.prepare().await;
    let service = Service { app, ..service };
    let titled = |id: &str, title: &str| serde_json::json!({"id": id, "fields": [{"name": "title", "value": title}]});
    let items = [titled("short", "ab"), titled("long", "abcdefgh"), serde_json::json!({"id": "bare"})];
    let fields = [serde_json::json!({"name": "query", "value": "red"})];
    let ranking = serde_json::json!({"id": "r", "timestamp": "1636907100000", "user": "u", "session": "s", "fields": fields, "items": items});
    let answer = service.post("/rank/shop?explain=true", ranking.to_string()).await.json();
    let metrics = String::from_utf8(service.get("/metrics").await.bytes.to_vec()).unwrap();
    (answer, metrics)
}

fn values(answer: &serde_json::Value) -> Vec<(String, Option<f64>)> {
    let items = answer["items"].as_array().unwrap();
    let value = |item: &serde_json::Value| item["features"][0]["value"].as_f64();
    items.iter().map(|item| (item["item"].as_str().unwrap().to_owned(), value(item))).collect()
}

#[tokio::test]
async fn pairs_are_computed_with_the_ranking() {
    let (answer, metrics) = ask(Length(Duration::ZERO), true).await;
    let mut found = values(&answer);
    assert_eq!(found.remove(0), ("long".to_owned(), Some(11.0)));
    assert!(found.contains(&("short".to_owned(), Some(5.0))) && found.contains(&("bare".to_owned(), None)), "{answer}");
    assert!(metrics.contains("service_rank_missing_texts_total{model=\"shop\"} 0"), "{metrics}");
}

#[tokio::test]
async fn a_model_that_is_late_makes_values_missing_and_no_ranking_fail() {
    let (answer, metrics) = ask(Length(Duration::from_secs(60)), true).await;
    let took = answer["took"].as_u64().unwrap();
    assert!((200..20_000).contains(&took), "{took} ms: a request may take 30 seconds, its texts a fifth of one");
    assert_eq!(answer.get("fallback"), None);
    assert!(values(&answer).iter().all(|(_, value)| value.is_none()), "{answer}");
    assert!(metrics.contains("service_rank_missing_texts_total{model=\"shop\"} 2"), "{metrics}");
}

#[tokio::test]
async fn missing_values_that_an_untrained_model_shows_are_counted() {
    let (answer, metrics) = ask(Length(Duration::from_secs(60)), false).await;
    assert!(answer["fallback"].is_string(), "{answer}");
    assert!(values(&answer).iter().all(|(_, value)| value.is_none()), "{answer}");
    assert!(metrics.contains("service_rank_missing_texts_total{model=\"shop\"} 2"), "{metrics}");
}
