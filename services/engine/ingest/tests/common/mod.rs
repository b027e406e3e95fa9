//! A service in memory for tests: events go in, click-throughs and feature rows come out.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test takes what it needs")]

use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Column, Header, MemoryStore as Clickthroughs};
use rankwright_config::Config;
use rankwright_event::{Event, Interaction, ItemUpdate, RankedItem, Ranking, Tenant, Timestamp};
use rankwright_feature::{NoEncoders, Plan, Purpose};
use rankwright_ingest::{Ingest, Settings};
use rankwright_state::{Fetched, MemoryStore, Position, Store};
use std::sync::Arc;
use std::time::Duration;

pub const FEATURES: &str = "
features:
  - {name: clicks, type: interaction_count, interaction: click, scope: item}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7]}
models:
  none: {type: noop}
";

pub struct Service {
    pub plan: Arc<Plan>,
    pub state: Arc<dyn Store>,
    pub clickthroughs: Arc<dyn ClickthroughStore>,
    pub settings: Settings,
}

pub fn settings() -> Settings {
    Settings {
        session_length: Duration::from_secs(60),
        ranking_wait: Duration::from_secs(10),
        max_open: 1000,
        max_open_bytes: 1 << 28,
    }
}

impl Service {
    pub async fn new() -> Self {
        Self::over(Arc::new(MemoryStore::default()), |header| Arc::new(Clickthroughs::new(header).expect("memory")))
            .await
    }

    pub async fn over(state: Arc<dyn Store>, clickthroughs: impl FnOnce(Header) -> Arc<dyn ClickthroughStore>) -> Self {
        Self::with(FEATURES, state, clickthroughs).await
    }

    /// One of other features.
    pub async fn with(
        features: &str,
        state: Arc<dyn Store>,
        clickthroughs: impl FnOnce(Header) -> Arc<dyn ClickthroughStore>,
    ) -> Self {
        let (config, _) = Config::parse(features, "test").expect("a valid configuration");
        let plan = Arc::new(Plan::of(&config, &*state, &NoEncoders).await.expect("compiles"));
        let column =
            |column: &rankwright_feature::Column| Column { name: column.name.clone(), fingerprint: column.fingerprint };
        let columns = plan.columns().iter().map(column).collect();
        let header = Header { service: "test".into(), columns };
        Self { plan, state, clickthroughs: clickthroughs(header), settings: settings() }
    }

    pub async fn ingest(&self) -> Ingest {
        let (plan, state, clickthroughs) = (self.plan.clone(), self.state.clone(), self.clickthroughs.clone());
        Ingest::open("test", plan, state, clickthroughs, self.settings).await.expect("opens")
    }

    /// All events in one batch, then the end.
    pub async fn import(&self, events: Vec<Event>) {
        let mut ingest = self.ingest().await;
        apply(&mut ingest, events).await;
        ingest.finish().await.expect("finishes");
    }

    pub fn records(&self) -> Vec<Clickthrough> {
        self.clickthroughs.read().expect("reads").map(|entry| entry.expect("a whole record").1).collect()
    }

    /// Rows of items at a time in seconds.
    pub async fn rows(&self, items: &[&str], seconds: i64) -> Vec<f32> {
        let Event::Ranking(ranking) = shown("probe", items, seconds) else { panic!("a ranking") };
        let mut fetched = Fetched::new(self.state.read(&self.plan.reads(&ranking)).await.expect("reads"));
        let keys = self.plan.follow(&ranking, &fetched);
        let entities = self.state.read(&keys).await.expect("reads");
        fetched.add(keys, entities);
        self.plan.rows(&ranking, &fetched, Purpose::Serving)
    }
}

/// Takes in a batch.
pub async fn apply(ingest: &mut Ingest, events: Vec<Event>) {
    let to = Position(format!("{}.", ingest.position().0));
    ingest.apply(events, to).await.expect("applies");
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

pub fn item(id: &str, seconds: i64) -> Event {
    Event::Item(ItemUpdate {
        id: id.into(),
        timestamp: at(seconds),
        tenant: Tenant::default(),
        item: id.into(),
        fields: vec![],
    })
}

pub fn shown(id: &str, items: &[&str], seconds: i64) -> Event {
    let item = |item: &&str| RankedItem { id: item.into(), fields: vec![], label: None, score: None };
    Event::Ranking(Ranking {
        id: id.into(),
        timestamp: at(seconds),
        tenant: Tenant::default(),
        user: Some("u".into()),
        session: Some("s".into()),
        fields: vec![],
        items: items.iter().map(item).collect(),
    })
}

pub fn click(id: &str, ranking: impl Into<Option<&'static str>>, item: &str, seconds: i64) -> Event {
    Event::Interaction(Interaction {
        id: id.into(),
        timestamp: at(seconds),
        tenant: Tenant::default(),
        ranking: ranking.into().map(Into::into),
        user: Some("u".into()),
        session: Some("s".into()),
        kind: "click".into(),
        item: item.into(),
        fields: vec![],
    })
}
