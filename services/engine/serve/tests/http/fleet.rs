//! Servers that share models: one tries a new version, and none gets ready that would answer with less than the others do.

use crate::published::{XGBOOST, columns, version, version_of};
use crate::service::{CONFIG, Service};
use parking_lot::Mutex;
use rankwright_config::Config;
use rankwright_model::version::Kind;
use rankwright_model::{Fleet, MemoryVersions, Place, Serves, StoreError, Turn, Version, VersionStore, Versions};
use rankwright_serve::{App, Published};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What servers told each other.
#[derive(Default)]
struct Told {
    serves: BTreeMap<&'static str, Serves>,
    turns: BTreeMap<String, &'static str>,
    verdicts: BTreeMap<String, Result<(), String>>,
}

/// One of these servers.
struct Server(&'static str, Arc<Mutex<Told>>);

impl Fleet for Server {
    fn tell(&self, serves: &Serves) -> Result<Vec<Serves>, StoreError> {
        let mut told = self.1.lock();
        told.serves.insert(self.0, serves.clone());
        Ok(told.serves.iter().filter(|(server, _)| **server != self.0).map(|(_, serves)| serves.clone()).collect())
    }

    fn leave(&self) -> Result<(), StoreError> {
        self.1.lock().serves.remove(self.0);
        Ok(())
    }

    fn turn(&self, subject: &str, _: Duration) -> Result<Turn, StoreError> {
        let Told { turns, verdicts, .. } = &mut *self.1.lock();
        Ok(match verdicts.get(subject) {
            Some(Ok(())) => Turn::Fit,
            Some(Err(reason)) => Turn::Unfit(reason.clone()),
            None if *turns.entry(subject.to_owned()).or_insert(self.0) == self.0 => Turn::Mine,
            None => Turn::Others,
        })
    }

    fn judge(&self, subject: &str, verdict: Result<(), &str>) -> Result<(), StoreError> {
        self.1.lock().verdicts.insert(subject.to_owned(), verdict.map_err(str::to_owned));
        Ok(())
    }

    fn pass(&self, subject: &str) -> Result<(), StoreError> {
        self.1.lock().turns.remove(subject);
        Ok(())
    }
}

/// Servers over the same versions.
struct Shop {
    versions: Arc<dyn VersionStore>,
    told: Arc<Mutex<Told>>,
}

impl Shop {
    fn new() -> Self {
        Self::over(Arc::<MemoryVersions>::default())
    }

    fn over(versions: Arc<dyn VersionStore>) -> Self {
        Self { versions, told: Arc::default() }
    }

    /// A server that has begun; whether it is ready.
    async fn server(&self, name: &'static str, config: &str) -> (Service, bool) {
        let service = Service::cold(config, |builder| builder).await;
        let (config, _) = Config::parse(config, "test").unwrap();
        let loader = Published::new(&config.features, service.state.clone(), self.versions.clone());
        let loader = Arc::new(loader.with_fleet(Arc::new(Server(name, self.told.clone()))));
        let app = App::builder(&config, service.state.clone(), loader).gated(true).build().unwrap();
        let ready = app.begin().await;
        (Service { app, ..service }, ready)
    }

    async fn publish(&self, millis: i64) -> Version {
        let version = version(millis, Kind::XgBoost, shop_columns().await, "");
        self.versions.publish(&version, Place::Any).unwrap();
        version
    }

    /// One that no server can load.
    async fn publish_broken(&self, millis: i64) -> Version {
        let broken = version_of(&XGBOOST[..100], millis, Kind::XgBoost, shop_columns().await, "");
        self.versions.publish(&broken, Place::Any).unwrap();
        broken
    }

    /// Has the server "one" tell the others that it serves this version.
    fn one_serves(&self, version: &Version) {
        let serves: Serves = [("shop".to_owned(), version.id().to_string())].into();
        Server("one", self.told.clone()).tell(&serves).unwrap();
    }

    /// Which version is served, and all that the service says about the model.
    async fn shown(service: &Service) -> (Option<String>, serde_json::Value) {
        let model = service.get("/status").await.json()["models"]["shop"].clone();
        (model["version"].as_str().map(str::to_owned), model)
    }
}

async fn shop_columns() -> Vec<rankwright_model::Column> {
    columns(&Config::parse(CONFIG, "test").unwrap().0).await
}

#[tokio::test]
async fn a_new_version_is_tried_by_one_server_and_the_others_follow() {
    let shop = Shop::new();
    let first = shop.publish(1_000).await;
    let ((one, ready), (two, _)) = (shop.server("one", CONFIG).await, shop.server("two", CONFIG).await);
    assert!(ready);
    let second = shop.publish(2_000).await;
    let subject = subject_of(&shop, &second, &one).await;
    assert_eq!(shop.told.lock().turns[&subject], "one");
    assert_eq!(shop.told.lock().verdicts[&subject], Ok(()));
    assert_eq!(Shop::shown(&two).await.0.as_deref(), Some(first.id().as_str()), "it has not looked yet");
    two.app.refresh("shop").await;
    assert_eq!(Shop::shown(&two).await.0.as_deref(), Some(second.id().as_str()));
}

#[tokio::test]
async fn a_version_that_is_taken_up_is_told_at_once() {
    let shop = Shop::new();
    let (one, ready) = shop.server("one", CONFIG).await;
    assert!(ready && !shop.told.lock().serves["one"].contains_key("shop"));
    let first = shop.publish(1_000).await;
    one.app.refresh("shop").await;
    assert_eq!(shop.told.lock().serves["one"]["shop"], first.id().as_str());
}

/// What a version is called among servers, once this one has tried it.
async fn subject_of(shop: &Shop, version: &Version, server: &Service) -> String {
    server.app.refresh("shop").await;
    let told = shop.told.lock();
    let mut subjects = told.verdicts.keys().filter(|subject| subject.contains(version.id().as_str()));
    subjects.next().cloned().unwrap()
}

#[tokio::test]
async fn a_version_that_another_server_tries_is_waited_for() {
    let shop = Shop::new();
    let first = shop.publish(1_000).await;
    let (one, _) = shop.server("one", CONFIG).await;
    let second = shop.publish(2_000).await;
    let subject = subject_of(&shop, &second, &one).await;
    shop.versions.select("shop", first.id()).unwrap();
    let (two, _) = shop.server("two", CONFIG).await;
    shop.versions.select("shop", second.id()).unwrap();
    shop.told.lock().verdicts.remove(&subject); // as if the first one were at it
    let (three, ready) = shop.server("three", CONFIG).await;
    assert!(ready);
    assert_eq!(
        Shop::shown(&three).await.0.as_deref(),
        Some(first.id().as_str()),
        "the new one may end each server that tries it"
    );
    two.app.refresh("shop").await;
    assert_eq!(Shop::shown(&two).await.0.as_deref(), Some(first.id().as_str()));
    shop.told.lock().verdicts.insert(subject, Ok(()));
    two.app.refresh("shop").await;
    assert_eq!(Shop::shown(&two).await.0.as_deref(), Some(second.id().as_str()));
}

#[tokio::test]
async fn a_version_that_does_not_work_stays_out_of_all_servers_also_of_those_that_begin() {
    let shop = Shop::new();
    let first = shop.publish(1_000).await;
    let ((one, _), (two, _)) = (shop.server("one", CONFIG).await, shop.server("two", CONFIG).await);
    let broken = shop.publish_broken(2_000).await;
    for server in [&one, &two] {
        server.app.refresh("shop").await;
        assert_eq!(Shop::shown(server).await.0.as_deref(), Some(first.id().as_str()));
    }
    let refused = &Shop::shown(&two).await.1["refused"];
    assert_eq!(refused["version"], broken.id().as_str(), "the second one has not tried it: {refused}");
    let (three, ready) = shop.server("three", CONFIG).await;
    assert!(ready);
    assert_eq!(Shop::shown(&three).await.0.as_deref(), Some(first.id().as_str()), "the newest that works");
    let third = shop.publish(3_000).await;
    two.app.refresh("shop").await;
    assert_eq!(Shop::shown(&two).await.0.as_deref(), Some(third.id().as_str()));
    assert!(Shop::shown(&two).await.1.get("refused").is_none());
}

#[tokio::test]
async fn a_server_that_would_serve_less_than_others_is_not_ready_while_they_do() {
    let shop = Shop::new();
    shop.one_serves(&shop.publish(1_000).await);
    let changed = CONFIG.replace("item.price", "item.cost"); // no version was trained on it
    let (two, ready) = shop.server("two", &changed).await;
    assert!(!ready);
    let said = two.get("/ready").await;
    assert_eq!(said.status.as_u16(), 503);
    let reason = said.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("model shop is served by 1 other servers, and would not be by this one"), "{reason}");
    assert_eq!(two.get("/status").await.json()["unready"], reason.as_str());
    shop.told.lock().serves.remove("one");
    assert!(two.app.begin().await, "an answer without a model is better than none");
    assert_eq!(two.get("/ready").await.status.as_u16(), 200);
    assert!(two.get("/status").await.json().get("unready").is_none());
}

#[tokio::test]
async fn a_server_on_which_the_version_of_others_does_not_work_is_not_ready_with_an_earlier_one() {
    let shop = Shop::new();
    let (first, broken) = (shop.publish(1_000).await, shop.publish_broken(2_000).await);
    shop.one_serves(&broken); // as if its program could
    let (two, ready) = shop.server("two", CONFIG).await;
    assert!(!ready && !two.app.begin().await);
    assert_eq!(Shop::shown(&two).await.0.as_deref(), Some(first.id().as_str()));
    let (reason, version) = (two.app.unready().unwrap(), broken.id());
    assert!(
        reason.starts_with(&format!("version {version} of model shop is served by 1 other servers, and did not work")),
        "{reason}"
    );
    assert!(!two.app.begin().await, "however often it looks");
    shop.versions.select("shop", first.id()).unwrap();
    assert!(two.app.begin().await, "the earlier one is the one that should answer");
    assert!(Shop::shown(&two).await.1.get("refused").is_none());
}

#[tokio::test]
async fn a_server_of_former_features_gets_ready_with_the_version_that_was_trained_on_them() {
    let shop = Shop::new();
    let first = shop.publish(1_000).await;
    let changed = Config::parse(&CONFIG.replace("item.price", "item.cost"), "test").unwrap().0;
    let second = version(2_000, Kind::XgBoost, columns(&changed).await, "");
    shop.versions.publish(&second, Place::Any).unwrap();
    shop.one_serves(&second);
    let (two, _) = shop.server("two", CONFIG).await; // the change is taken back
    assert!(two.app.begin().await);
    assert_eq!(Shop::shown(&two).await.0.as_deref(), Some(first.id().as_str()));
}

#[tokio::test]
async fn a_server_without_its_pinned_version_is_not_ready_while_others_have_the_model_and_tells_which_there_are() {
    let shop = Shop::new();
    let first = shop.publish(1_000).await;
    let _one = shop.server("one", CONFIG).await;
    let pin = "20211114T162500000Z-00000000";
    let (two, ready) = shop.server("two", &pinned(pin)).await;
    assert!(!ready);
    let reason = two.app.unready().unwrap();
    assert!(reason.contains(&format!("model shop is pinned to {pin}")), "{reason}");
    assert!(reason.ends_with(&format!("there are: {}", first.id())), "{reason}");
}

fn pinned(version: &str) -> String {
    CONFIG.replacen("{type: lambdamart,", &format!("{{type: lambdamart, version: {version},"), 1)
}

#[tokio::test]
async fn servers_whose_pinned_version_went_with_all_others_answer_without_it() {
    let shop = Shop::new(); // as a Redis that comes back empty
    let pinned = pinned("20211114T162500000Z-00000000");
    let ((one, first), (_two, second)) = (shop.server("one", &pinned).await, shop.server("two", &pinned).await);
    assert_eq!((first, second), (true, true));
    assert_eq!(one.get("/ready").await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_model_whose_versions_are_gone_is_told_to_be_lost_and_answers_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let shop = Shop::over(Arc::new(Versions::open(folder.path()).unwrap()));
    let first = shop.publish(1_000).await;
    let (one, _) = shop.server("one", CONFIG).await;
    assert_eq!(Shop::shown(&one).await.1["versions"], serde_json::json!([first.id().as_str()]));
    assert!(Shop::shown(&one).await.1.get("lost").is_none());
    std::fs::remove_dir_all(folder.path().join("shop")).unwrap();
    one.app.refresh("shop").await;
    let (version, shown) = Shop::shown(&one).await;
    assert_eq!(version.as_deref(), Some(first.id().as_str()), "it answers");
    assert_eq!((&shown["lost"], &shown["versions"]), (&true.into(), &serde_json::json!([])));
    let metrics = one.get("/metrics").await;
    assert!(metrics.text().contains("service_model_lost{model=\"shop\"} 1"));
    assert!(metrics.text().contains("service_model_loaded{model=\"shop\"} 1"));
}

/// Servers that cannot be told anything, as where this one may only read.
struct Mute;

impl Fleet for Mute {
    fn tell(&self, _: &Serves) -> Result<Vec<Serves>, StoreError> {
        Err(refused())
    }

    fn leave(&self) -> Result<(), StoreError> {
        Err(refused())
    }

    fn turn(&self, _: &str, _: Duration) -> Result<Turn, StoreError> {
        Err(refused())
    }

    fn judge(&self, _: &str, _: Result<(), &str>) -> Result<(), StoreError> {
        Err(refused())
    }

    fn pass(&self, _: &str) -> Result<(), StoreError> {
        Err(refused())
    }
}

fn refused() -> StoreError {
    StoreError::Io { what: "write", path: "models".into(), source: std::io::Error::other("read only") }
}

#[tokio::test]
async fn a_server_that_may_only_read_serves_what_there_is() {
    let shop = Shop::new();
    shop.publish(1_000).await;
    let service = Service::cold(CONFIG, |builder| builder).await;
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let loader = Published::new(&config.features, service.state.clone(), shop.versions.clone());
    let loader = Arc::new(loader.with_fleet(Arc::new(Mute)));
    let app = App::builder(&config, service.state.clone(), loader).gated(true).build().unwrap();
    assert!(app.begin().await);
    let service = Service { app, ..service };
    let second = shop.publish(2_000).await;
    service.app.refresh("shop").await;
    assert_eq!(Shop::shown(&service).await.0.as_deref(), Some(second.id().as_str()));
}
