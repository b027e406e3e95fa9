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

/// Batches of one writer of several.
async fn take_in<'a>(service: &Service, writer: &str, batches: impl Iterator<Item = &'a [Event]>) {
    let (plan, state, settings) = (service.plan.clone(), service.state.clone(), service.settings);
    let mut intake = Intake::open(writer, Origin::Partition, plan, state, settings, WALL).await.expect("opens");
    for events in batches {
        let to = Position(format!("{}.", intake.position().0));
        intake.apply(events, &[], to, WALL).await.expect("applies");
    }
    intake.leave().await.expect("leaves");
}

/// All writers have left: everything closes.
async fn close(service: &Service) {
    let (plan, state, settings) = (service.plan.clone(), service.state.clone(), service.settings);
    let parts = service.clickthroughs.clone();
    let closer = Closer::open("any", &mut Taken::default(), plan, state, parts, settings).await;
    closer.expect("opens").finish(WALL).await.expect("closes");
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
async fn a_count_over_an_item_field_does_so_too() {
    let counts = BY_COLOR.replace(
        "type: rate, top: click, bottom: impression, bucket: 1d, periods: [7]",
        "type: interaction_count, interaction: click",
    );
    let service = Service::with(&counts, Arc::new(MemoryStore::default()), memory).await;
    service.import(repainted()).await;
    assert_eq!(service.rows(&["p", "q", "c"], 200).await, [1.0, 0.0, 0.0], "red, green and blue");
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
    let service = Service::with(BY_COLOR, Arc::new(MemoryStore::default()), memory).await;
    take_in(&service, "1", repainted().chunks(1)).await;
    close(&service).await;
    assert_eq!(rates(&service).await, AS_SHOWN);
}

/// Rates where one writer brings updates of items and another one all else, in either order.
async fn rates_in_either_order(events: Vec<Event>) -> [[Option<f32>; 3]; 2] {
    let (items, rest): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| matches!(event, Event::Item(_)));
    let mut found = [[None; 3]; 2];
    for (rates_of, order) in found.iter_mut().zip([[("1", &items), ("2", &rest)], [("2", &rest), ("1", &items)]]) {
        let service = Service::with(BY_COLOR, Arc::new(MemoryStore::default()), memory).await;
        for (writer, events) in order {
            take_in(&service, writer, events.chunks(1)).await;
        }
        close(&service).await;
        *rates_of = rates(&service).await;
    }
    found
}

#[tokio::test]
async fn it_does_not_depend_on_which_writer_was_faster() {
    assert_eq!(rates_in_either_order(repainted()).await, [AS_SHOWN; 2]);
}

#[tokio::test]
async fn neither_does_what_an_interaction_without_a_ranking_counts_under() {
    let mut events = repainted();
    for (id, at) in [("e", 50), ("f", 102)] {
        let Event::Interaction(click) = click(id, "r", "a", at) else { unreachable!("it is one") };
        events.push(Event::Interaction(rankwright_event::Interaction { ranking: None, ..click }));
    }
    events.sort_by_key(Event::timestamp);
    let (red, blue) = (Some(1.0), Some(1.0)); // "a" was red until 101: a click in a list and one without, then one as blue
    assert_eq!(rates_in_either_order(events).await, [[red, None, blue]; 2]);
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

/// Plain counts of impressions: of the item, of everything, and of the last day.
const COUNTED: &str = "
features:
  - {name: seen, type: interaction_count, interaction: impression, scope: item}
  - {name: seen_by_visitor, type: interaction_count, interaction: impression, scope: user}
  - {name: seen_lately, type: window_count, interaction: impression, scope: item, bucket_size: 1d, windows: [1]}
models:
  none: {type: noop}
";

async fn counts_of_impressions(events: Vec<Event>, items: &[&str]) -> Vec<f32> {
    let service = Service::with(COUNTED, Arc::new(MemoryStore::default()), memory).await;
    service.import(events).await;
    service.rows(items, 200).await
}

#[tokio::test]
async fn plain_counts_take_each_item_of_a_ranking_once_that_is_reported_as_seen() {
    let reported = vec![
        shown("r", &["a", "b"], 0),
        impression("1", "a", 1),
        impression("2", "a", 2),
        impression("3", "b", 3),
        click("4", "r", "b", 4),
    ];
    assert_eq!(counts_of_impressions(reported, &["a", "b"]).await, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
}

#[tokio::test]
async fn a_report_of_an_item_outside_the_list_takes_the_place_of_the_synthetic_impressions_as_well() {
    let reported = |more: Vec<Event>| {
        [shown("r", &["a", "b"], 0), impression("1", "x", 1), impression("2", "x", 2)].into_iter().chain(more).collect()
    };
    let counts = counts_of_impressions(reported(vec![click("3", "r", "b", 3)]), &["b", "x"]).await;
    assert!(counts[0] == 0.0 && counts[2].is_nan(), "b is not among the reported ones: {counts:?}");
    assert_eq!(counts[3..], [1.0, 1.0, 1.0]);

    let service = Service::with(FEATURES, Arc::new(MemoryStore::default()), memory).await;
    service.import(reported(vec![click("3", "r", "b", 3), click("4", "r", "x", 4)])).await;
    let rates: Vec<f32> = service.rows(&["b", "x"], 200).await.chunks(2).map(|row| row[1]).collect();
    assert!(rates[0].is_nan(), "clicked, and not seen by the reports");
    assert_eq!(rates[1], 1.0, "its click adds no impression to the reported one");
}

#[tokio::test]
async fn an_impression_of_no_known_ranking_counts_by_itself() {
    let alone = vec![impression("1", "a", 1), impression("2", "a", 2), click("3", None, "a", 3)];
    let counts = counts_of_impressions(alone, &["a"]).await;
    assert_eq!(counts, [3.0, 2.0, 3.0], "two reports, and one that comes with the click and knows no visitor");
}

#[tokio::test]
async fn reported_impressions_take_no_room_from_the_clicks_of_a_ranking() {
    let mut events = vec![shown("r", &["a", "b"], 0)];
    events.extend((0..1200).map(|number| impression(&format!("i{number}"), ["a", "b"][number % 2], 1)));
    events.push(click("c", "r", "b", 2));
    for many in [false, true] {
        let service = Service::with(FEATURES, Arc::new(MemoryStore::default()), memory).await;
        if many {
            take_in(&service, "1", std::iter::once(events.as_slice())).await;
            close(&service).await;
        } else {
            service.import(events.clone()).await;
        }
        let row = service.rows(&["b"], 200).await;
        assert_eq!(row, [1.0, 1.0], "many writers: {many}");
        let records = service.records();
        assert!(records[0].interactions.iter().any(|click| click.kind == "click"), "many writers: {many}");
    }
}
