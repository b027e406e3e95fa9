//! What it leaves in memory that versions of a model take each other's place under load.
//!
//! `./run bench swaps [SWAPS]`; 10,000. Two versions of 100 full trees of depth 8 over 50 columns are made current in turn, loaded
//! and served, while two clients send rankings of 50 items.
#![allow(clippy::unwrap_used)]

#[path = "../../model/benches/evaluator/trees.rs"]
#[allow(dead_code, reason = "another benchmark has more kinds of trees")]
mod trees;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use rankwright_config::Config;
use rankwright_event::Timestamp;
use rankwright_feature::Plan;
use rankwright_model::version::{Kind, Metadata};
use rankwright_model::{Column, MemoryVersions, Place, Version, VersionStore};
use rankwright_serve::{App, Published, http};
use rankwright_state::{MemoryStore, Store};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tower::ServiceExt;
use trees::{FEATURES, Random, Tree, lightgbm};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc; // as in the programs

const ITEMS: usize = 50;

fn main() {
    let swaps = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(10_000);
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(measure(swaps));
}

async fn measure(swaps: usize) {
    let (config, _) = Config::parse(&configuration(), "bench").unwrap();
    let (state, versions) = (Arc::new(MemoryStore::default()), Arc::<MemoryVersions>::default());
    let columns = columns(&config, &*state).await;
    let ids = [1, 2].map(|seed| {
        let version = version(seed, columns.clone());
        versions.publish(&version, Place::Any).unwrap();
        version.id().clone()
    });
    let loader = Arc::new(Published::new(&config.features, state.clone(), versions.clone()));
    let app = App::builder(&config, state, loader).build().unwrap();
    app.prepare().await;
    let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..2).map(|_| tokio::spawn(client(app.clone(), over.clone(), answered.clone()))).collect();
    println!("{swaps} swaps of models of 100 trees under load; resident memory is to stay flat");
    let (begun, step) = (Instant::now(), (swaps / 10).max(1));
    for swap in 0..swaps {
        versions.select("shop", &ids[swap % 2]).unwrap();
        app.refresh("shop").await;
        if (swap + 1) % step == 0 {
            let (answered, seconds) = (answered.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
            println!("{:>6} swaps  {:>6.1} MB  {answered} rankings in {seconds:.0} s", swap + 1, resident());
        }
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
}

/// Sends rankings one after another; each has to be answered by a model.
async fn client(app: App, over: Arc<AtomicBool>, answered: Arc<AtomicU64>) {
    let items: Vec<Value> = (0..ITEMS).map(|number| json!({"id": format!("item-{number}")})).collect();
    let ranking = json!({"id": "r", "timestamp": "1700000000000", "user": "u", "fields": [], "items": items});
    let ranking = ranking.to_string();
    while !over.load(Ordering::Relaxed) {
        let request = Request::post("/rank/shop").body(Body::from(ranking.clone())).unwrap();
        let response = http::router(app.clone()).oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert!(!body.windows(10).any(|part| part == b"\"fallback\""), "{}", String::from_utf8_lossy(&body));
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

fn names() -> Vec<String> {
    (0..FEATURES).map(|number| format!("f{number}")).collect()
}

fn configuration() -> String {
    let feature = |name: String| format!("  - {{name: {name}, type: number, field: item.{name}, scope: item}}\n");
    let (features, listed) = (names().into_iter().map(feature).collect::<String>(), names().join(", "));
    let model = format!("{{type: lambdamart, backend: lightgbm, weights: {{click: 1}}, features: [{listed}]}}");
    format!("features:\n{features}models:\n  shop: {model}\n")
}

async fn columns(config: &Config, state: &dyn Store) -> Vec<Column> {
    let plan = Plan::compile(&config.features, state).await.unwrap();
    let column = |column: &rankwright_feature::Column| Column {
        name: column.name.clone(),
        feature: column.feature.clone(),
        fingerprint: column.fingerprint,
        categorical: column.categorical,
    };
    plan.columns().iter().map(column).collect()
}

fn version(seed: u64, columns: Vec<Column>) -> Version {
    let mut random = Random(seed);
    let trees: Vec<Tree> = (0..100).map(|_| Tree::full(8, &mut random)).collect();
    let metadata = Metadata {
        model: "shop".into(),
        kind: Kind::LightGbm,
        created_at: Timestamp::from_millis(seed as i64),
        columns,
        metrics: BTreeMap::new(),
        iterations: 100,
        weights: vec![],
        trained_on: None,
        settings: Default::default(),
        replaced: None,
        record: Default::default(),
    };
    Version::new(metadata, Vec::new(), lightgbm(&trees).into_bytes()).unwrap()
}

/// Resident memory of this process in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1.024e-3
}
