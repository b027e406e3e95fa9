//! What is open, or on its way, when the features change.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{FEATURES, Service, apply, click, item, shown};
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Header, MemoryStore as Clickthroughs};
use rankwright_clickthrough::{Error, Forgotten, Mark, Records, Status, Subject};
use rankwright_event::{Event, Field, Tenant, Timestamp};
use rankwright_ingest::shared::{Closer, Intake, Origin, Taken};
use rankwright_state::file::FileOptions;
use rankwright_state::{FileStore, Key, MemoryStore, Position, Scope, Space, Store};
use std::sync::Arc;

const WALL: Timestamp = Timestamp::from_millis(1_000_000_000);

/// One column more than [`FEATURES`], and they are in another order.
const MORE: &str = "
features:
  - {name: length, type: list_size, source: item.tags, scope: item}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7]}
  - {name: clicks, type: interaction_count, interaction: click, scope: item}
models:
  none: {type: noop}
";
/// As many columns, of which one means something else.
const OTHER: &str = "
features:
  - {name: clicks, type: interaction_count, interaction: purchase, scope: item}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7]}
models:
  none: {type: noop}
";

/// A store that takes nothing: what is brought to it stays on its way.
struct Away(Clickthroughs);

impl ClickthroughStore for Away {
    fn append(&self, _: &[Clickthrough]) -> Result<Mark, Error> {
        Err(Error::Encode { reason: "the store is away".into() })
    }

    fn flush(&self) -> Result<Mark, Error> {
        self.0.flush()
    }

    fn durable(&self) -> Mark {
        self.0.durable()
    }

    fn read(&self) -> Result<Records, Error> {
        self.0.read()
    }

    fn forget(&self, subject: &Subject) -> Result<Forgotten, Error> {
        self.0.forget(subject)
    }

    fn status(&self) -> Status {
        self.0.status()
    }
}

fn there(header: Header) -> Arc<dyn ClickthroughStore> {
    Arc::new(Clickthroughs::new(header).expect("memory"))
}

fn away(header: Header) -> Arc<dyn ClickthroughStore> {
    Arc::new(Away(Clickthroughs::new(header).expect("memory")))
}

/// The item "a" has a click, and was looked at once, when "r" is shown.
fn events() -> Vec<Event> {
    vec![
        shown("first", &["a", "b"], 0),
        click("c", "first", "a", 1),
        item("x", 90), // closes it
        shown("r", &["a", "b"], 100),
        click("d", "r", "b", 101),
    ]
}

/// Rows of the ranking "r", bit by bit: NaN is not itself.
fn rows(service: &Service) -> Vec<u32> {
    let records = service.records();
    let record = records.iter().find(|record| record.ranking.as_str() == "r").expect("is there");
    record.rows.values.iter().map(|value| value.to_bits()).collect()
}

/// What these rows have become with other features.
fn expected(features: &str, old: &[u32]) -> Vec<u32> {
    let nan = f32::NAN.to_bits();
    let row = |row: &[u32]| if features == MORE { vec![nan, row[1], row[0]] } else { vec![nan, row[1]] };
    old.chunks(2).flat_map(row).collect()
}

async fn plain() -> Vec<u32> {
    let service = Service::new().await;
    service.import(events()).await;
    let rows = rows(&service);
    assert_eq!(rows[0], 1_f32.to_bits(), "the click counts");
    rows
}

/// Over a shared state: a writer with the old features takes in events and perhaps closes some rankings, then another
/// writer closes the rest.
async fn closed_by_another(features: &str, on_its_way: bool) -> Vec<u32> {
    let state: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let old = Service::with(FEATURES, state.clone(), away).await;
    let mut intake =
        Intake::open("1", Origin::Partition, old.plan.clone(), state.clone(), old.settings, WALL).await.expect("opens");
    for event in events() {
        let to = Position(format!("{}.", intake.position().0));
        intake.apply(&[event], &[], to, WALL).await.expect("applies");
        drop(closer(&old).await.tick(WALL).await); // its store is away
    }
    intake.leave().await.expect("leaves");
    if on_its_way {
        closer(&old).await.finish(WALL).await.expect_err("the store is away");
        assert!(!state.scan(Space::Outbox).await.expect("lists").is_empty());
    }
    let new = Service::with(features, state, there).await;
    closer(&new).await.finish(WALL).await.expect("closes, and brings all to its store");
    rows(&new)
}

async fn closer(service: &Service) -> Closer {
    let (plan, state, parts) = (service.plan.clone(), service.state.clone(), service.clickthroughs.clone());
    Closer::open("any", &mut Taken::default(), plan, state, parts, service.settings).await.expect("opens")
}

/// The same for a process that keeps its state in a folder.
async fn closed_later(features: &str, on_its_way: bool) -> Vec<u32> {
    let folder = tempfile::tempdir().expect("a folder");
    let state = || -> Arc<dyn Store> {
        Arc::new(FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens"))
    };
    let old = Service::with(FEATURES, state(), away).await;
    let mut ingest = old.ingest().await;
    for event in events() {
        apply(&mut ingest, vec![event]).await;
    }
    if on_its_way {
        ingest.finish().await.expect_err("the store is away");
    }
    drop((ingest, old));
    let new = Service::with(features, state(), there).await;
    new.ingest().await.finish().await.expect("closes, and brings all to its store");
    rows(&new)
}

#[tokio::test]
async fn a_ranking_that_is_open_when_features_change_has_rows_of_the_new_ones() {
    let old = plain().await;
    for features in [MORE, OTHER] {
        assert_eq!(closed_by_another(features, false).await, expected(features, &old), "{features}");
        assert_eq!(closed_later(features, false).await, expected(features, &old), "{features}");
    }
}

#[tokio::test]
async fn a_click_through_that_is_on_its_way_when_features_change_arrives_with_rows_of_the_new_ones() {
    let old = plain().await;
    for features in [MORE, OTHER] {
        assert_eq!(closed_by_another(features, true).await, expected(features, &old), "{features}");
        assert_eq!(closed_later(features, true).await, expected(features, &old), "{features}");
    }
}

/// A field, a counter and a rate that are never kept beside a field that is.
const NEVER_KEPT: &str = "
features:
  - {name: price, type: number, field: item.price, ttl: 0s}
  - {name: clicks, type: interaction_count, interaction: click, scope: item, ttl: 0s}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7], ttl: 0s}
  - {name: size, type: number, field: item.size}
models:
  none: {type: noop}
";

#[tokio::test]
async fn what_is_never_kept_is_not_stored() {
    let service = Service::with(NEVER_KEPT, Arc::new(MemoryStore::default()), there).await;
    let Event::Item(mut update) = item("a", 0) else { unreachable!("it is one") };
    update.fields = vec![Field::new("price", 5.0.into()), Field::new("size", 7.0.into())];
    service.import(vec![Event::Item(update), shown("r", &["a"], 1), click("c", "r", "a", 2)]).await;
    let stored = service.state.read(&[Key::new(&Tenant::default(), Scope::Item("a".into()))]).await.expect("reads");
    let values = stored[0].as_ref().map_or(0, |entity| entity.values().count());
    assert_eq!(values, 1, "the size alone: {stored:?}");
    assert_eq!(service.rows(&["a"], 3).await.last(), Some(&7.0));
}
