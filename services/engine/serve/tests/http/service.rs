//! A service for tests: its configuration, its stubs, and how to ask it.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use parking_lot::Mutex;
use rankwright_config::{Config, Model};
use rankwright_event::{Event, Ranking, Tenant, Timestamp};
use rankwright_feature::Encoded;
use rankwright_serve::{
    App, Builder, Candidate, FeatureColumns, Fed, FeedError, Feedback, Found, LoadError, Loaded, Loader, Peer, Ranker,
    Served, TrainError, Training, Version, http,
};
use rankwright_state::{
    BoxFuture, Cell, Commit, Entity, Error, Fetched, FieldValue, Fingerprint, Key, Lease, MemoryStore, Outcome,
    Position, Scope, Slot, Space, Stats, Store, Stored, Writer,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tower::ServiceExt;

/// One trained model `shop`, one untrained `new`, a `noop`, a `shuffle` and a recommender.
pub(crate) const CONFIG: &str = r#"
models:
  shop: {type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [price], warmup: {sampledRequests: 2, duration: 10s}}
  new: {type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [price]}
  plain: {type: noop}
  dice: {type: shuffle, maxPositionChange: 2}
  similar: {type: als, interactions: [click]}
features:
  - {name: price, type: number, field: item.price, scope: item}
inference:
  sbert: {type: bi-encoder, model: sentence-transformers/all-MiniLM-L6-v2}
"#;

/// A service and its stubs.
pub(crate) struct Service {
    pub(crate) app: App,
    pub(crate) state: Arc<Fragile>,
    pub(crate) loader: Arc<Versions>,
    pub(crate) events: Arc<Kept>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

/// A memory store that can be told to fail.
#[derive(Default)]
pub(crate) struct Fragile {
    pub(crate) store: MemoryStore,
    pub(crate) broken: AtomicBool,
}

/// Versions of models, as tests publish them.
#[derive(Default)]
pub(crate) struct Versions {
    published: Mutex<HashMap<String, Published>>,
}

#[derive(Clone)]
struct Published {
    id: String,
    samples: Vec<Ranking>,
    ranker: ByPrice,
}

/// Keeps events, or refuses them.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) events: Mutex<Vec<Event>>,
    pub(crate) refusal: Mutex<Option<FeedError>>,
}

/// Publishes a version.
pub(crate) struct Trainer(pub(crate) Arc<Versions>);

/// Orders by falling price, or by rising price; prices lie in slot 0 of items.
#[derive(Clone)]
pub(crate) struct ByPrice {
    sign: f64,
    features: Vec<FeatureColumns>,
    rankings: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// The service of [`CONFIG`], ready, with version 1 of `shop`.
    pub(crate) async fn start() -> Self {
        Self::start_with(CONFIG, |builder| builder).await
    }

    pub(crate) async fn start_with(config: &str, change: impl FnOnce(Builder) -> Builder) -> Self {
        let service = Self::cold(config, change).await;
        service.loader.publish("shop", "1", ByPrice::falling());
        service.app.prepare().await;
        service
    }

    /// A service that is not ready yet.
    pub(crate) async fn cold(config: &str, change: impl FnOnce(Builder) -> Builder) -> Self {
        let (config, _) = Config::parse(config, "test").unwrap();
        let (state, loader, events) = (Arc::<Fragile>::default(), Arc::<Versions>::default(), Arc::<Kept>::default());
        let builder = App::builder(&config, state.clone(), loader.clone()).feedback(events.clone());
        let app = change(builder.training(Arc::new(Trainer(loader.clone())))).build().unwrap();
        Self { app, state, loader, events }
    }

    /// Gives items prices.
    pub(crate) async fn price(&self, items: &[(&str, f64)]) {
        let lease = self.state.store.acquire(&Writer("test".into())).await.unwrap();
        let write = |&(item, price): &(&str, f64)| {
            let cell = Cell::Field(FieldValue::Number(price));
            let stored = Stored { at: Timestamp::from_millis(1), event: 0, cell };
            (Key::new(&Tenant::default(), Scope::Item(item.into())), Some(Entity::one(Slot(0), stored)))
        };
        let writes = items.iter().map(write).collect();
        let commit = Commit { from: lease.position.clone(), to: Position("x".into()), writes, ..Commit::default() };
        assert_eq!(self.state.store.commit(&lease, commit).await.unwrap(), Outcome::Applied);
    }

    pub(crate) fn break_state(&self, broken: bool) {
        self.state.broken.store(broken, Ordering::Relaxed);
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        self.ask(Request::builder().method(Method::POST).uri(path).body(body.into()).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Request::builder().uri(path).body(Body::empty()).unwrap()).await
    }

    /// From a client on the same machine, unless the request has another peer.
    pub(crate) async fn ask(&self, mut request: Request<Body>) -> Answer {
        request.extensions_mut().get_or_insert(Peer([127, 0, 0, 1].into()));
        Answer::of(http::router(self.app.clone()), request).await
    }
}

impl Answer {
    pub(crate) async fn of(router: Router, request: Request<Body>) -> Self {
        let (head, body) = router.oneshot(request).await.unwrap().into_parts();
        Self { status: head.status, headers: head.headers, bytes: to_bytes(body, usize::MAX).await.unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {:?}", self.bytes))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }

    /// Items in the order of the answer.
    pub(crate) fn items(&self) -> Vec<String> {
        let json = self.json();
        let items = json["items"].as_array().unwrap_or_else(|| panic!("{json}"));
        items.iter().map(|item| item["item"].as_str().unwrap().to_owned()).collect()
    }

    /// Asserts an error answer, and returns its message.
    pub(crate) fn error(&self, status: u16, code: &str, path: Option<&str>) -> String {
        let json = self.json();
        assert_eq!(self.status.as_u16(), status, "{json}");
        assert_eq!(json["error"]["code"], code, "{json}");
        assert_eq!(json["error"]["path"].as_str(), path, "{json}");
        json["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// A rank request of these items.
pub(crate) fn ranking(items: &[&str]) -> String {
    let items: Vec<Value> = items.iter().map(|id| serde_json::json!({"id": id})).collect();
    serde_json::json!({"id": "r1", "timestamp": "1636907100000", "user": "u", "session": "s", "items": items})
        .to_string()
}

impl Versions {
    pub(crate) fn publish(&self, model: &str, id: &str, ranker: ByPrice) {
        self.publish_with(model, id, ranker, Vec::new());
    }

    pub(crate) fn publish_with(&self, model: &str, id: &str, ranker: ByPrice, samples: Vec<Ranking>) {
        self.published.lock().insert(model.into(), Published { id: id.into(), samples, ranker });
    }
}

impl Loader for Versions {
    fn load<'a>(
        &'a self,
        name: &'a str,
        model: &'a Model,
        current: Option<&'a Version>,
    ) -> BoxFuture<'a, Result<Found, LoadError>> {
        Box::pin(async move {
            if !matches!(model, Model::LambdaMart(_)) {
                let store = Arc::new(MemoryStore::default());
                let versions = Arc::new(rankwright_model::MemoryVersions::default());
                return rankwright_serve::Published::new(&[], store, versions).load(name, model, current).await;
            }
            let published = self.published.lock().get(name).cloned();
            Ok(match published {
                None => Found::Nothing,
                Some(new) if current.and_then(|current| current.id.as_ref()) == Some(&new.id) => Found::Unchanged,
                Some(new) => {
                    let metrics = BTreeMap::from([("NDCG@10".to_owned(), 0.6)]);
                    let version =
                        Version { id: Some(new.id), trained_at: Some("2021-11-14T16:25:00Z".into()), metrics };
                    let loaded = Loaded { version, model: Served::Ranker(Box::new(new.ranker)) };
                    Found::Version(Candidate { loaded, samples: new.samples, trial: None })
                }
            })
        })
    }

    fn without_version<'a>(&'a self, _: &'a Model) -> BoxFuture<'a, Result<Box<dyn Ranker>, LoadError>> {
        Box::pin(async { Ok(Box::new(ByPrice::falling()) as Box<dyn Ranker>) })
    }
}

impl ByPrice {
    pub(crate) fn falling() -> Self {
        Self { sign: 1.0, features: FeatureColumns::group(["price", "both", "both"]), rankings: Arc::default() }
    }

    pub(crate) fn rising() -> Self {
        Self { sign: -1.0, ..Self::falling() }
    }

    /// Ids of the rankings it has seen.
    pub(crate) fn seen(&self) -> Arc<Mutex<Vec<String>>> {
        self.rankings.clone()
    }
}

impl Ranker for ByPrice {
    fn features(&self) -> &[FeatureColumns] {
        &self.features
    }

    fn reads(&self, ranking: &Ranking) -> Vec<Key> {
        ranking.items.iter().map(|item| Key::new(&ranking.tenant, Scope::Item(item.id.clone()))).collect()
    }

    fn follow(&self, _: &Ranking, _: &Fetched) -> Vec<Key> {
        Vec::new()
    }

    fn rows(&self, ranking: &Ranking, fetched: &Fetched, _: &Encoded) -> Vec<f32> {
        let price =
            |entity: Option<&Arc<Entity>>| match entity?.field(Slot(0), Timestamp::from_millis(1), Duration::MAX)? {
                FieldValue::Number(price) => Some(*price as f32),
                _ => None,
            };
        let row = |place: usize| [price(fetched.named()[place].as_ref()).unwrap_or(f32::NAN), 0.1, f32::NAN];
        (0..ranking.items.len()).flat_map(row).collect()
    }

    fn scores(&self, ranking: &Ranking, rows: &[f32]) -> Vec<f64> {
        assert!(ranking.id.as_str() != "panic", "a fault of the model");
        self.rankings.lock().push(ranking.id.to_string());
        let price = |row: &[f32]| if row[0].is_nan() { 0.0 } else { f64::from(row[0]) };
        rows.chunks(3).map(|row| self.sign * price(row)).collect()
    }
}

impl Feedback for Kept {
    fn feed(&self, events: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>> {
        Box::pin(async move {
            if let Some(refusal) = self.refusal.lock().take() {
                return Err(refusal);
            }
            let accepted = events.len() as u64;
            self.events.lock().extend(events);
            Ok(Fed { accepted, updated: 2 * accepted })
        })
    }
}

impl Training for Trainer {
    fn train<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Value, TrainError>> {
        Box::pin(async move {
            match model {
                "shop" => self.0.publish("shop", "2", ByPrice::rising()),
                "new" => return Err(TrainError::Busy),
                "plain" => return Err(TrainError::Failed("out of luck".into())),
                _ => return Err(TrainError::Impossible("nothing to train on".into())),
            }
            Ok(serde_json::json!({"features": [{"name": "price", "weight": 1.0}], "iterations": [], "sizeBytes": 7}))
        })
    }
}

impl Store for Fragile {
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
        self.store.slots(wanted)
    }

    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Arc<Entity>>>, Error>> {
        if self.broken.load(Ordering::Relaxed) {
            let failed = Error::Failed { action: "read", source: "connection refused".into() };
            return Box::pin(async { Err(failed) });
        }
        self.store.read(keys)
    }

    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>> {
        self.store.acquire(writer)
    }

    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>> {
        self.store.commit(lease, commit)
    }

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Vec<(Key, Arc<Entity>)>, Error>> {
        self.store.scan(space)
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        self.store.expire(now, ttl, other)
    }

    fn durable(&self) -> bool {
        self.store.durable()
    }

    fn stats(&self) -> BoxFuture<'_, Result<Stats, Error>> {
        self.store.stats()
    }
}

/// A version of a recommender.
pub(crate) fn trained(model: &str, kind: rankwright_model::Kind, body: Vec<u8>) -> rankwright_model::Version {
    let metadata = rankwright_model::Metadata {
        model: model.into(),
        kind,
        created_at: Timestamp::from_millis(1),
        columns: vec![],
        metrics: BTreeMap::new(),
        iterations: 0,
        weights: vec![],
        trained_on: None,
        settings: Default::default(),
        replaced: None,
        record: Default::default(),
    };
    rankwright_model::Version::new(metadata, vec![], body).unwrap()
}
