//! Features that compute with a model of texts.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{Service, click, item, settings, shown};
use rankwright_clickthrough::{Column, Header, MemoryStore as Clickthroughs};
use rankwright_config::{Config, TextModel};
use rankwright_event::{Event, Field, Timestamp};
use rankwright_feature::encode::{EncodeError, Task};
use rankwright_feature::{Encode, Encoders, Plan};
use rankwright_ingest::shared::{Closer, Intake, Origin, Taken};
use rankwright_state::file::FileOptions;
use rankwright_state::{FileStore, MemoryStore, Position, Store};
use std::sync::{Arc, Mutex};
use std::time::Instant;

const FEATURES: &str = "
features:
  - name: meaning
    type: field_match
    rankingField: ranking.query
    itemField: item.title
    distance: dot
    method: {type: bi-encoder, dim: 1, model: a/length}
";

/// A text's embedding is its length.
#[derive(Clone, Default)]
struct Length(Arc<Mutex<Vec<String>>>);

impl Length {
    /// The texts that it computed.
    fn asked(&self) -> Vec<String> {
        self.0.lock().expect("no test fails with it").clone()
    }
}

impl Encoders for Length {
    fn open(&self, _: &TextModel) -> Result<Arc<dyn Encode>, String> {
        Ok(Arc::new(self.clone()))
    }
}

impl Encode for Length {
    fn task(&self) -> Task {
        Task::Embed
    }

    fn dim(&self) -> usize {
        1
    }

    fn digest(&self) -> &str {
        "length"
    }

    fn embed(&self, texts: &[&str], _: Option<Instant>) -> Result<Vec<Arc<[f32]>>, EncodeError> {
        self.0.lock().expect("no test fails with it").extend(texts.iter().map(|&text| text.to_owned()));
        Ok(texts.iter().map(|text| Arc::from([text.len() as f32])).collect())
    }

    fn score(&self, _: &[(&str, &str)], _: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        Err(EncodeError::WrongTask { model: Task::Embed })
    }
}

async fn service(state: Arc<dyn Store>, model: &Length) -> Service {
    let (config, _) = Config::parse(FEATURES, "test").expect("a valid configuration");
    let plan = Arc::new(Plan::compile_with(&config.features, &*state, model).await.expect("compiles"));
    let columns = plan.columns().iter().map(|of| Column { name: of.name.clone(), fingerprint: of.fingerprint });
    let header = Header { service: "test".into(), columns: columns.collect() };
    let clickthroughs = Arc::new(Clickthroughs::new(header).expect("memory"));
    Service { plan, state, clickthroughs, settings: settings() }
}

fn events() -> Vec<Event> {
    let titled = |id: &str, title: &str, seconds| match item(id, seconds) {
        Event::Item(update) => {
            Event::Item(rankwright_event::ItemUpdate { fields: vec![Field::new("title", title.into())], ..update })
        }
        other => other,
    };
    let asked = |id: &str, query: &str, seconds| match shown(id, &["a", "b", "unknown"], seconds) {
        Event::Ranking(ranking) => {
            Event::Ranking(rankwright_event::Ranking { fields: vec![Field::new("query", query.into())], ..ranking })
        }
        other => other,
    };
    let renamed = titled("a", "red boot", 3); // another id of the event than before
    let renamed = match renamed {
        Event::Item(update) => Event::Item(rankwright_event::ItemUpdate { id: "again".into(), ..update }),
        other => other,
    };
    vec![
        titled("a", "red", 0),
        titled("b", "shoe", 0),
        asked("first", "sho", 1),
        click("c", "first", "a", 2),
        renamed,
        asked("second", "xx", 4),
        click("d", "second", "b", 5),
    ]
}

/// Texts of these events, in their order.
const TEXTS: [&str; 5] = ["red", "shoe", "sho", "red boot", "xx"];

/// Lengths times lengths, as they stood when each ranking came in.
const EXPECTED: [[f32; 3]; 2] = [[9.0, 12.0, f32::NAN], [16.0, 8.0, f32::NAN]];

fn assert_expected(service: &Service) {
    let found: Vec<_> = service.records();
    assert_eq!(found.len(), 2);
    for (record, expected) in found.iter().zip(EXPECTED) {
        let values = &record.rows.values;
        let near =
            |(found, expected): (&f32, f32)| (found - expected).abs() < 1e-4 || (found.is_nan() && expected.is_nan());
        assert!(values.len() == 3 && values.iter().zip(expected).all(near), "{values:?} {expected:?}");
    }
}

#[tokio::test]
async fn rows_have_what_the_model_made_of_texts_as_they_stood() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = FileStore::open(folder.path(), FileOptions::default(), "test").expect("a store");
    for state in [Arc::new(MemoryStore::default()) as Arc<dyn Store>, Arc::new(file)] {
        let model = Length::default();
        let service = service(state, &model).await;
        service.import(events()).await;
        assert_expected(&service);
        assert_eq!(model.asked(), TEXTS, "once, before the events are taken in, whatever the model keeps");
    }
}

#[tokio::test]
async fn writers_of_one_state_compute_the_same() {
    let model = Length::default();
    let service = service(Arc::new(MemoryStore::default()), &model).await;
    let (plan, state, wall) = (service.plan.clone(), service.state.clone(), Timestamp::from_millis(1_000_000_000));
    let mut intake =
        Intake::open("w", Origin::Replica, plan.clone(), state.clone(), settings(), wall).await.expect("opens");
    intake.apply(&events(), &[], Position("1".into()), wall).await.expect("applies");
    intake.leave().await.expect("leaves");
    let parts = service.clickthroughs.clone();
    let mut closer = Closer::open("c", &mut Taken::default(), plan, state, parts, settings()).await.expect("opens");
    closer.finish(wall).await.expect("closes");
    assert_expected(&service);
    assert_eq!(model.asked(), TEXTS);
}
