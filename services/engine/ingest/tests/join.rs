//! Which interactions belong to which ranking, and what counts when.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{Service, apply, click, item, shown};
use rankwright_clickthrough::{Clickthrough, Kind};
use rankwright_event::{Event, Field};

fn clicked(record: &Clickthrough) -> Vec<&str> {
    record.interactions.iter().map(|click| click.item.as_str()).collect()
}

fn rankings(records: &[Clickthrough]) -> Vec<(&str, Vec<&str>)> {
    let rankings = records.iter().filter(|record| record.kind == Kind::Ranking);
    rankings.map(|record| (record.ranking.as_str(), clicked(record))).collect()
}

#[tokio::test]
async fn a_ranking_and_its_clicks_become_one_record() {
    let service = Service::new().await;
    service.import(vec![shown("r", &["a", "b"], 0), click("c1", "r", "b", 5), click("c2", "r", "a", 7)]).await;
    assert_eq!(rankings(&service.records()), [("r", vec!["b", "a"])]);
}

#[tokio::test]
async fn a_ranking_without_interactions_is_no_record_and_no_impression() {
    let service = Service::new().await;
    service.import(vec![shown("r", &["a"], 0)]).await;
    assert!(service.records().is_empty());
    assert!(service.rows(&["a"], 100).await[1].is_nan());
}

#[tokio::test]
async fn a_click_after_a_gap_is_late_and_counts_as_one_of_an_unknown_ranking() {
    let service = Service::new().await;
    let events = vec![
        shown("r", &["a", "b"], 0),
        click("c1", "r", "b", 50),
        click("c2", "r", "a", 105),
        click("late", "r", "b", 200),
    ];
    service.import(events).await;
    let records = service.records();
    assert_eq!(rankings(&records), [("r", vec!["b", "a"])]);
    let late = records.iter().find(|record| record.kind == Kind::Interaction).expect("the late click is kept");
    assert_eq!(late.ranking.as_str(), "late");
    // clicks count all; b: shown and clicked in the ranking, and once more with an impression of its own
    assert_eq!(service.rows(&["a", "b"], 300).await, [1.0, 1.0, 2.0, 1.0]);
}

#[tokio::test]
async fn rows_are_those_of_the_time_when_the_ranking_was_shown() {
    let service = Service::new().await;
    let events = vec![
        shown("r1", &["a", "b"], 0),
        click("c1", "r1", "a", 5),
        shown("r2", &["a", "b"], 10),
        click("c2", "r2", "b", 15),
        shown("r3", &["a", "b"], 100),
        click("c3", "r3", "b", 105),
    ];
    service.import(events).await;
    let rows: Vec<Vec<f32>> = service.records().iter().map(|record| record.rows.values.clone()).collect();
    let written = |row: &Vec<f32>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = rows.iter().map(written).collect();
    // clicks count at once, rates when a ranking is closed: r1 and r2 are by the time of r3
    assert_eq!(rows, ["0 NaN 0 NaN", "1 NaN 0 NaN", "1 0.5 1 1"]);
}

#[tokio::test]
async fn a_click_that_comes_before_its_ranking_waits_for_it() {
    let service = Service::new().await;
    service.import(vec![click("c", "r", "b", 1), shown("r", &["a", "b"], 1)]).await;
    assert_eq!(rankings(&service.records()), [("r", vec!["b"])]);
    let records = service.records();
    assert_eq!(records[0].rows.values[2], 0.0, "the click took effect after the ranking was seen");
}

#[tokio::test]
async fn a_click_of_an_unknown_ranking_counts_when_the_wait_is_over() {
    let service = Service::new().await;
    let mut ingest = service.ingest().await;
    apply(&mut ingest, vec![click("c", "never", "b", 1), item("x", 11)]).await;
    assert_eq!(service.rows(&["b"], 11).await[0], 0.0);
    apply(&mut ingest, vec![item("x", 12)]).await;
    assert_eq!(service.rows(&["b"], 12).await, [1.0, 1.0]);
    assert_eq!(ingest.counters().unranked, 1);
}

#[tokio::test]
async fn a_click_without_ranking_counts_at_once_with_one_impression() {
    let service = Service::new().await;
    let mut ingest = service.ingest().await;
    apply(&mut ingest, vec![click("c", None, "b", 1)]).await;
    assert_eq!(service.rows(&["b"], 1).await, [1.0, 1.0]);
    drop(ingest); // waits until its records are in the store
    assert_eq!(service.records()[0].kind, Kind::Interaction);
}

#[tokio::test]
async fn the_same_ranking_sent_twice_is_one() {
    let service = Service::new().await;
    service.import(vec![shown("r", &["a"], 0), shown("r", &["b"], 1), click("c", "r", "a", 2)]).await;
    assert_eq!(rankings(&service.records()), [("r", vec!["a"])]);
    assert_eq!(service.records()[0].items.len(), 1);
}

#[tokio::test]
async fn an_interaction_that_is_there_again_belongs_to_its_ranking_once() {
    let early = || click("early", "r", "b", 0);
    let twice = || [click("c", "r", "a", 2), click("c", "r", "a", 2)];
    let service = Service::new().await;
    let events = [early(), early(), shown("r", &["a", "b"], 1)].into_iter().chain(twice());
    service.import(events.collect()).await;
    let ids: Vec<_> = service.records()[0].interactions.iter().map(|click| click.id.to_string()).collect();
    assert_eq!(ids, ["early", "c"]);
    let once = Service::new().await;
    once.import(vec![early(), shown("r", &["a", "b"], 1), click("c", "r", "a", 2)]).await;
    let rates = |rows: Vec<f32>| [rows[1], rows[3]];
    assert_eq!(rates(service.rows(&["a", "b"], 100).await), rates(once.rows(&["a", "b"], 100).await));
    assert_eq!(service.records(), once.records());
}

#[tokio::test]
async fn with_a_state_in_memory_the_oldest_ranking_gives_way() {
    let mut service = Service::new().await;
    service.settings.max_open = 2;
    let mut ingest = service.ingest().await;
    let events = vec![shown("r1", &["a"], 0), click("c", "r1", "a", 1), shown("r2", &["a"], 2), shown("r3", &["a"], 3)];
    apply(&mut ingest, events).await;
    assert_eq!(ingest.counters().evicted, 1);
    assert_eq!(ingest.counters().open, 2);
    drop(ingest); // waits until its records are in the store
    assert_eq!(rankings(&service.records()), [("r1", vec!["a"])]);
}

#[tokio::test]
async fn a_large_interaction_makes_others_give_way_at_once() {
    let mut service = Service::new().await;
    service.settings.max_open_bytes = 20_000;
    let mut ingest = service.ingest().await;
    let Event::Interaction(mut large) = click("c", "r2", "a", 2) else { panic!("a click") };
    large.fields = vec![Field::new("note", "x".repeat(30_000).as_str().into())];
    apply(&mut ingest, vec![shown("r1", &["a"], 0), shown("r2", &["a"], 1), Event::Interaction(large)]).await;
    assert_eq!((ingest.counters().evicted, ingest.counters().open), (1, 1));
}

#[tokio::test]
async fn how_events_are_batched_makes_no_difference() {
    let mut events: Vec<Event> = Vec::new();
    for round in 0..40 {
        let time = round * 13;
        let name: &'static str = Box::leak(format!("r{round}").into_boxed_str());
        events.push(shown(name, &["a", "b", "c"], time));
        events.push(click(&format!("c{round}"), name, ["a", "b", "c"][round as usize % 3], time + 2));
        events.push(click(&format!("d{round}"), None, "b", time + 3));
    }
    let whole = Service::new().await;
    whole.import(events.clone()).await;
    let single = Service::new().await;
    let mut ingest = single.ingest().await;
    for event in events {
        apply(&mut ingest, vec![event]).await;
    }
    ingest.finish().await.expect("finishes");
    assert_eq!(whole.records(), single.records());
    assert_eq!(whole.rows(&["a", "b", "c"], 1000).await, single.rows(&["a", "b", "c"], 1000).await);
}

#[tokio::test]
async fn of_a_thousand_clicks_and_more_on_a_list_all_count_but_in_rates() {
    let service = Service::new().await;
    let clicks = (0..1010).map(|number| click(&format!("c{number}"), "r", "a", 1));
    service.import([shown("r", &["a"], 0)].into_iter().chain(clicks).collect()).await;
    assert_eq!(service.records()[0].interactions.len(), 1000);
    assert_eq!(service.rows(&["a"], 100).await, [1010.0, 1000.0]);
}

#[tokio::test]
async fn clicks_of_rankings_that_did_not_come_are_counted_and_two_of_the_rankings_named() {
    let service = Service::new().await;
    let mut ingest = service.ingest().await;
    let lost = [("c1", "x"), ("c2", "x"), ("c3", "y"), ("c4", "z")];
    let lost = lost.map(|(id, ranking)| click(id, ranking, "a", 1));
    apply(
        &mut ingest,
        [vec![shown("r", &["a"], 0), click("c", "r", "a", 1), click("alone", None, "a", 1)], lost.to_vec()].concat(),
    )
    .await;
    ingest.finish().await.expect("finishes");
    let counters = ingest.counters();
    assert_eq!((counters.interactions, counters.unranked, counters.unknown), (6, 5, 4));
    let named: Vec<&str> = ingest.unknown_rankings().iter().map(|id| id.as_str()).collect();
    assert_eq!(named, ["x", "y"]);
}
