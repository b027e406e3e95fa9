//! What interactions and impressions count under in rates.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{FEATURES, Service, apply, click, item, shown};
use rankwright_clickthrough::{ClickthroughStore, Header, MemoryStore as Clickthroughs};
use rankwright_event::{Event, Field, Timestamp};
use rankwright_ingest::shared::{Closer, Intake, Origin, Taken};
use rankwright_state::file::FileOptions;
use rankwright_state::{FileStore, MemoryStore, Position, Store};
use std::sync::Arc;

const WALL: Timestamp = Timestamp::from_millis(1_000_000_000);
const BY_COLOR: &str = "
features:
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7], scope: item.color}
models:
  none: {type: noop}
";

fn memory(header: Header) -> Arc<dyn ClickthroughStore> {
    Arc::new(Clickthroughs::new(header).expect("memory"))
}

fn colored(id: &str, color: &str, seconds: i64) -> Event {
    let Event::Item(mut update) = item(id, seconds) else { unreachable!("it is one") };
    update.id = format!("{id} {color}").as_str().into();
    update.fields = vec![Field::new("color", color.into())];
    Event::Item(update)
}

fn impression(id: &str, of: &str, seconds: i64) -> Event {
    let Event::Interaction(click) = click(id, "r", of, seconds) else { unreachable!("it is one") };
    Event::Interaction(rankwright_event::Interaction { kind: "impression".into(), ..click })
}

/// The item "a" is red when it is shown, and blue when it is clicked and when the ranking closes.
fn repainted() -> Vec<Event> {
    vec![
        colored("a", "red", 0),
        colored("b", "green", 0),
        colored("c", "blue", 0),
        shown("r", &["b", "a"], 100),
        colored("a", "blue", 101),
        click("d", "r", "a", 102),
        colored("b", "blue", 103),
        colored("p", "red", 104),
        colored("q", "green", 104),
    ]
}

/// The rates of red, green and blue.
async fn rates(service: &Service) -> [Option<f32>; 3] {
    let rows = service.rows(&["p", "q", "c"], 200).await;
    [0, 1, 2].map(|place| Some(rows[place]).filter(|rate| !rate.is_nan()))
}

/// Red was clicked once of once, green was looked at and not clicked, blue was not shown.
const AS_SHOWN: [Option<f32>; 3] = [Some(1.0), None, None];

#[tokio::test]
async fn a_rate_over_an_item_field_counts_under_the_values_that_were_shown() {
    let service = Service::with(BY_COLOR, Arc::new(MemoryStore::default()), memory).await;
    service.import(repainted()).await;
    assert_eq!(rates(&service).await, AS_SHOWN);
}

#[tokio::test]
async fn it_does_so_behind_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = || -> Arc<dyn Store> {
        Arc::new(FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens"))
    };
    for event in repainted() {
        let service = Service::with(BY_COLOR, state(), memory).await;
        apply(&mut service.ingest().await, vec![event]).await;
    }
    let service = Service::with(BY_COLOR, state(), memory).await;
    service.ingest().await.finish().await.expect("closes");
    assert_eq!(rates(&service).await, AS_SHOWN);
}

#[tokio::test]
async fn it_does_so_in_a_state_that_is_shared() {
    let state: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let service = Service::with(BY_COLOR, state.clone(), memory).await;
    let (plan, settings) = (service.plan.clone(), service.settings);
    let mut intake =
        Intake::open("1", Origin::Partition, plan.clone(), state.clone(), settings, WALL).await.expect("opens");
    for event in repainted() {
        let to = Position(format!("{}.", intake.position().0));
        intake.apply(&[event], &[], to, WALL).await.expect("applies");
    }
    intake.leave().await.expect("leaves");
    let parts = service.clickthroughs.clone();
    let closer = Closer::open("any", &mut Taken::default(), plan, state, parts, settings).await;
    closer.expect("opens").finish(WALL).await.expect("closes");
    assert_eq!(rates(&service).await, AS_SHOWN);
}

#[tokio::test]
async fn impressions_that_are_reported_take_the_place_of_the_synthetic_ones() {
    let service = Service::with(FEATURES, Arc::new(MemoryStore::default()), memory).await;
    service
        .import(vec![
            shown("r", &["a", "b", "c"], 0),
            impression("1", "a", 1),
            impression("2", "a", 2),
            impression("3", "b", 3),
            click("4", "r", "a", 4),
            click("5", "r", "c", 5),
        ])
        .await;
    let rates: Vec<f32> = service.rows(&["a", "b", "c"], 200).await.chunks(2).map(|row| row[1]).collect();
    assert_eq!(rates[0], 1.0, "one click and one impression, though that was reported twice");
    assert!(rates[1].is_nan(), "it was never clicked");
    assert!(rates[2].is_nan(), "it was never seen, by the reports");
}
