//! A feature with a real model of texts, which `native/fetch.sh` of the encoder has fetched.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test says what it shows by its name")]

use rankwright_config::{Config, TextModel};
use rankwright_encoder::{Encoder, FileNames, Files, Runtime, Settings};
use rankwright_event::{Field, RankedItem, Ranking, Tenant, Timestamp};
use rankwright_feature::{Encode, Encoders, Plan, Purpose};
use rankwright_state::{Fetched, MemoryStore};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders of models.
struct Folders(PathBuf);

impl Encoders for Folders {
    fn open(&self, model: &TextModel) -> Result<Arc<dyn Encode>, String> {
        let folder = model.handle.strip_prefix("file://").ok_or("a folder")?;
        let files = Files::of(Path::new(folder), &FileNames::default()).map_err(|error| error.to_string())?;
        let runtime = Runtime::open(&self.0).map_err(|error| error.to_string())?;
        let settings = Settings { batch: 1, threads: 2, ..Settings::default() };
        Ok(Arc::new(Encoder::open(&runtime, &files, settings).map_err(|error| error.to_string())?))
    }
}

fn ranking(texts: &[&str]) -> Ranking {
    let item = |text: &&str| RankedItem {
        id: (*text).into(),
        fields: vec![Field::new("title", (*text).into())],
        label: None,
        score: None,
    };
    Ranking {
        id: "r".into(),
        timestamp: Timestamp::from_millis(0),
        tenant: Tenant::default(),
        user: None,
        session: None,
        fields: vec![Field::new("query", "running shoes".into())],
        items: texts.iter().map(item).collect(),
    }
}

#[tokio::test]
async fn a_text_that_means_the_same_is_nearer_whoever_stands_beside_it() {
    let Some(folder) = env::var_os("RANKWRIGHT_ENCODERS_DIR").map(PathBuf::from).filter(|folder| folder.is_dir())
    else {
        assert!(env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "RANKWRIGHT_ENCODERS_DIR names no folder");
        return;
    };
    let feature = |name: &str, method: &str, model: &str| {
        let path = folder.join("models/test").join(model);
        format!(
            "  - {{name: {name}, type: field_match, rankingField: ranking.query, itemField: item.title, \
             method: {{type: {method}, model: 'file://{}'}}}}\n",
            path.display()
        )
    };
    let (bi, cross) = ("bi-encoder, dim: 384", "cross-encoder");
    let listed = feature("bi", bi, "minilm-int8") + &feature("cross", cross, "minilm-cross");
    let (config, _) = Config::parse(&format!("features:\n{listed}"), "test").unwrap();
    let plan = Plan::compile_with(&config.features, &MemoryStore::default(), &Folders(folder.clone())).await.unwrap();
    let rows = |texts: &[&str]| plan.rows(&ranking(texts), &Fetched::default(), Purpose::Serving);
    let together = rows(&["sneakers for jogging", "a woollen hat", "wine"]);
    assert!(together[0] > together[2] && together[0] > together[4], "{together:?}");
    assert!(together.iter().all(|value| value.is_finite()), "{together:?}");
    let others = Plan::compile_with(&config.features, &MemoryStore::default(), &Folders(folder)).await.unwrap();
    let alone = others.rows(&ranking(&["wine"]), &Fetched::default(), Purpose::Training);
    assert_eq!(alone, together[4..]);
}
