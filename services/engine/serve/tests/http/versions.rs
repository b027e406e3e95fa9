//! Stored versions of models, and which of them serves.

use crate::published::{self, columns};
use crate::service::{CONFIG, Service};
use axum::Router;
use rankwright_config::Config;
use rankwright_event::Timestamp;
use rankwright_model::{
    FeatureWeight, Kind, LearningCurve, MemoryVersions, Metadata, Place, Refusal, StoreError, TrainedOn,
    TrainingRecord, Verdict, Version, VersionId, VersionStore,
};
use rankwright_serve::{App, Front, Published};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn version(millis: i64, replaced: Option<&Version>) -> Version {
    let feature = |name: &str, weights: &[f64]| FeatureWeight { name: name.into(), weights: weights.to_vec() };
    let first = Some(Timestamp::from_millis(1));
    let metadata = Metadata {
        model: "shop".into(),
        kind: Kind::XgBoost,
        created_at: Timestamp::from_millis(millis),
        columns: vec![],
        metrics: BTreeMap::from([("NDCG@10".into(), 0.6)]),
        iterations: 9,
        weights: vec![feature("price", &[1.0]), feature("ctr", &[2.0, 3.0])],
        trained_on: Some(TrainedOn { rankings: 16, items: 48, first, last: None, tested: None }),
        settings: BTreeMap::from([("split".into(), "time".into())]),
        replaced: replaced.map(|version| version.id().clone()),
        record: Default::default(),
    };
    Version::new(metadata, vec![], vec![0; 7]).unwrap()
}

/// A service over these versions, the last of which is the current one.
async fn service(config: &str, versions: &[&Version]) -> (Service, Arc<MemoryVersions>) {
    let store = Arc::<MemoryVersions>::default();
    versions.iter().for_each(|version| store.publish(version, Place::Any).unwrap());
    let mut front = Front::new(Router::new());
    front.versions = store.clone();
    (Service::start_with(config, |builder| builder.page(front)).await, store)
}

#[tokio::test]
async fn versions_are_listed_with_what_is_known_of_them() {
    let (first, second) = (version(1_000, None), version(2_000, None));
    let (service, store) = service(CONFIG, &[&first, &second]).await;
    let json = service.get("/models").await.json();
    let models = json["models"].as_array().unwrap();
    assert_eq!(models.len(), 5);
    let shop = models.iter().find(|model| model["name"] == "shop").unwrap();
    assert_eq!((&shop["kind"], &shop["serving"], &shop["pinned"]), (&json!("lambdamart"), &json!("1"), &json!(null)));
    assert_eq!(shop["purpose"], "learnedOrder");
    assert_eq!(shop["current"], second.id().as_str());
    let expected = json!({
        "version": first.id().as_str(), "trained": 1_000, "metrics": {"NDCG@10": 0.6}, "trees": 9, "bytes": 7,
        "features": [{"name": "ctr", "gain": 5.0}, {"name": "price", "gain": 1.0}],
        "data": {"rankings": 16, "items": 48, "first": 1, "last": null, "tested": null},
        "settings": {"split": "time"}, "replaced": null, "curve": null, "gate": null,
    });
    assert_eq!((&shop["versions"][0], &shop["refused"]), (&expected, &json!(null)));
    store.keep("shop", 1, &[]).unwrap();
    let json = service.get("/models").await.json();
    let shop = json["models"].as_array().unwrap().iter().find(|model| model["name"] == "shop").unwrap().clone();
    assert_eq!(shop["versions"].as_array().map(Vec::len), Some(1), "one that is gone is not listed");
}

fn verdict(reason: &str) -> Verdict {
    Verdict { reason: reason.into(), message: "NDCG@10 0.5000, and so on".into() }
}

#[tokio::test]
async fn a_version_tells_how_it_learned_and_why_its_gate_let_it_pass() {
    let curve = LearningCurve::new("NDCG@10".into(), [(0.5, 0.25), (f64::NAN, 0.75)].into_iter(), 2);
    let record = TrainingRecord { curve: Some(curve), gate: Some(verdict("FirstVersion")), ..Default::default() };
    let metadata = Metadata { record, ..version(1_000, None).metadata().clone() };
    let (service, _) = service(CONFIG, &[&Version::new(metadata, vec![], vec![]).unwrap()]).await;
    let told = shop(&service).await["versions"][0].clone();
    let rounds = json!([{"round": 1, "test": 0.5, "train": 0.25}, {"round": 2, "test": null, "train": 0.75}]);
    assert_eq!(told["curve"], json!({"metric": "NDCG@10", "rounds": rounds}));
    assert_eq!(told["gate"], json!({"reason": "FirstVersion", "message": "NDCG@10 0.5000, and so on"}));
}

#[tokio::test]
async fn what_the_gate_refused_is_told_until_a_newer_version_is_there() {
    let (service, store) = service(CONFIG, &[&version(1_000, None)]).await;
    let refuse = |millis| {
        store.refuse("shop", &Refusal { at: Timestamp::from_millis(millis), verdict: verdict("Worse") }).unwrap();
    };
    refuse(500);
    assert_eq!(shop(&service).await["refused"], json!(null));
    refuse(1_500);
    let told = json!({"trained": 1_500, "reason": "Worse", "message": "NDCG@10 0.5000, and so on"});
    assert_eq!(shop(&service).await["refused"], told);
    store.publish(&version(2_000, None), Place::Any).unwrap();
    assert_eq!(shop(&service).await["refused"], json!(null));
}

/// The model `shop`, as it is listed.
async fn shop(service: &Service) -> serde_json::Value {
    let json = service.get("/models").await.json();
    json["models"].as_array().unwrap().iter().find(|model| model["name"] == "shop").unwrap().clone()
}

#[tokio::test]
async fn a_version_is_promoted_and_rolled_back() {
    let first = version(1_000, None);
    let second = version(2_000, Some(&first));
    let (service, store) = service(CONFIG, &[&first, &second]).await;
    let current = || store.current("shop").unwrap().unwrap();
    let back = service.post("/models/shop/rollback", "").await;
    let told = json!({"model": "shop", "version": first.id().as_str(), "serving": "1", "pinned": null});
    assert_eq!(back.json(), told, "the loader of these tests has versions of its own");
    assert_eq!(current(), *first.id());
    assert!(
        service.post("/models/shop/rollback", "").await.error(404, "not_found", None).contains("before the current")
    );
    let body = json!({"version": second.id().as_str()}).to_string();
    assert_eq!(service.post("/models/shop/promote", body.clone()).await.json()["version"], second.id().as_str());
    assert_eq!(current(), *second.id());
    service.post("/models/shp/promote", body).await.error(404, "unknown_model", None);
    service.post("/models/shop/promote", "{}").await.error(400, "invalid_request", None);
    service.post("/models/shop/promote", r#"{"version": "1"}"#).await.error(400, "invalid_request", Some("version"));
    let other = json!({"version": version(3_000, None).id().as_str()}).to_string();
    service.post("/models/shop/promote", other).await.error(404, "not_found", None);
    assert_eq!(current(), *second.id());
}

#[tokio::test]
async fn changes_need_the_token() {
    let first = version(1_000, None);
    let second = version(2_000, Some(&first));
    let (service, store) = service(&format!("{CONFIG}\napi: {{token: secret}}"), &[&first, &second]).await;
    service.post("/models/shop/rollback", "").await.error(401, "unauthorized", None);
    service.post("/models/shop/promote", "{}").await.error(401, "unauthorized", None);
    assert_eq!(store.current("shop").unwrap().as_ref(), Some(second.id()));
}

#[tokio::test]
async fn a_pinned_version_is_told_with_a_promotion() {
    let first = version(1_000, None);
    let pinned = CONFIG.replacen("features: [price]", &format!("features: [price], version: {}", first.id()), 1);
    let (service, _) = service(&pinned, &[&first, &version(2_000, Some(&first))]).await;
    assert_eq!(service.post("/models/shop/rollback", "").await.json()["pinned"], first.id().as_str());
}

#[tokio::test]
async fn a_promotion_says_which_version_answers_where_the_new_one_does_not_work() {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let store = Arc::<MemoryVersions>::default();
    let first = published::version(1_000, Kind::XgBoost, columns(&config).await, "");
    let misfit = published::version(2_000, Kind::XgBoost, vec![], ""); // it has other columns
    for version in [&first, &misfit] {
        store.publish(version, Place::Any).unwrap();
    }
    store.select("shop", first.id()).unwrap();
    let service = Service::cold(CONFIG, |builder| builder).await;
    let mut front = Front::new(Router::new());
    front.versions = store.clone();
    let loader = Arc::new(Published::new(&config.features, service.state.clone(), store));
    let app = App::builder(&config, service.state.clone(), loader).page(front).build().unwrap();
    app.prepare().await;
    let service = Service { app, ..service };
    let body = json!({"version": misfit.id().as_str()}).to_string();
    let told = service.post("/models/shop/promote", body).await.json();
    assert_eq!((&told["version"], &told["serving"]), (&json!(misfit.id().as_str()), &json!(first.id().as_str())));
    let back = service.post("/models/shop/rollback", "").await.json();
    assert_eq!((&back["version"], &back["serving"]), (&json!(first.id().as_str()), &json!(first.id().as_str())));
}

/// Versions that take their time, and of which one is damaged.
struct Slow {
    versions: MemoryVersions,
    damaged: VersionId,
    loads: AtomicUsize,
}

impl VersionStore for Slow {
    fn publish(&self, version: &Version, place: Place) -> Result<(), StoreError> {
        self.versions.publish(version, place)
    }

    fn add(&self, version: &Version) -> Result<(), StoreError> {
        self.versions.add(version)
    }

    fn list(&self, model: &str) -> Result<Vec<VersionId>, StoreError> {
        self.versions.list(model)
    }

    fn current(&self, model: &str) -> Result<Option<VersionId>, StoreError> {
        self.versions.current(model)
    }

    fn select(&self, model: &str, id: &VersionId) -> Result<(), StoreError> {
        self.versions.select(model, id)
    }

    fn load(&self, model: &str, id: Option<&VersionId>) -> Result<Option<Version>, StoreError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20)); // others ask meanwhile
        match id == Some(&self.damaged) {
            true => Err(StoreError::Inconsistent { path: "damaged".into() }),
            false => self.versions.load(model, id),
        }
    }

    fn keep(&self, model: &str, newest: usize, spared: &[VersionId]) -> Result<(), StoreError> {
        self.versions.keep(model, newest, spared)
    }

    fn refuse(&self, model: &str, refusal: &Refusal) -> Result<(), StoreError> {
        self.versions.refuse(model, refusal)
    }

    fn refusal(&self, model: &str) -> Result<Option<Refusal>, StoreError> {
        self.versions.refusal(model)
    }
}

#[tokio::test]
async fn each_version_is_loaded_once_however_many_ask() {
    let (first, second, third) = (version(1_000, None), version(2_000, None), version(3_000, None));
    let (versions, damaged) = (MemoryVersions::default(), second.id().clone());
    for version in [&first, &second] {
        versions.publish(version, Place::Any).unwrap();
    }
    let store = Arc::new(Slow { versions, damaged, loads: AtomicUsize::new(0) });
    let mut front = Front::new(Router::new());
    front.versions = store.clone();
    let service = Service::start_with(CONFIG, |builder| builder.page(front)).await;
    for _ in 0..2 {
        let (one, other) = tokio::join!(service.get("/models"), service.get("/models"));
        for answer in [one, other] {
            let json = answer.json();
            let shop = json["models"].as_array().unwrap().iter().find(|model| model["name"] == "shop").unwrap();
            assert_eq!(shop["versions"].as_array().map(Vec::len), Some(1), "{shop}");
            assert_eq!(shop["damaged"], json!([second.id().as_str()]));
        }
        assert_eq!(store.loads.load(Ordering::Relaxed), 2);
    }
    store.publish(&third, Place::Any).unwrap();
    service.get("/models").await;
    assert_eq!(store.loads.load(Ordering::Relaxed), 3, "only what is new");
}
