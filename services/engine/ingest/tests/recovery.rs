//! A durable state goes on where it stopped.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{Service, apply, click, item, shown};
use rankwright_clickthrough::Header;
use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, FileStore as Parts, Format};
use rankwright_event::Event;
use rankwright_ingest::Feedback;
use rankwright_state::file::FileOptions;
use rankwright_state::{FileStore, Store};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

async fn in_folder(path: &Path) -> Service {
    let state = FileStore::open(path.join("state"), FileOptions::default(), "test").expect("opens");
    let parts = |header: Header| -> Arc<dyn ClickthroughStore> {
        Arc::new(Parts::open(FileSettings::new(path.join("parts"), Format::Binary), header).expect("opens"))
    };
    Service::over(Arc::new(state) as Arc<dyn Store>, parts).await
}

async fn feedback(service: &Service) -> Feedback {
    Feedback::open(service.ingest().await, Duration::from_secs(300)).await.expect("opens")
}

fn events() -> Vec<Event> {
    vec![
        shown("r1", &["a", "b"], 0),
        click("early", "r3", "a", 1),
        click("c1", "r1", "a", 5),
        shown("r2", &["a", "b"], 8),
        shown("r3", &["a", "b"], 9),
        click("c2", "r2", "b", 15),
        click("alone", None, "b", 16),
        shown("r4", &["b", "a"], 200),
        click("c4", "r4", "b", 205),
    ]
}

fn by_id(mut records: Vec<Clickthrough>) -> Vec<Clickthrough> {
    records.sort_by(|left, right| left.ranking.cmp(&right.ranking));
    records
}

#[tokio::test]
async fn a_process_that_ends_anywhere_loses_and_doubles_nothing() {
    let expected = Service::new().await;
    expected.import(events()).await;
    let rows = expected.rows(&["a", "b"], 300).await;
    for cut in 0..=events().len() {
        let folder = tempfile::tempdir().expect("a folder");
        {
            let service = in_folder(folder.path()).await;
            let mut ingest = service.ingest().await;
            apply(&mut ingest, events()[..cut].to_vec()).await;
        } // gone without a word, with rankings open and click-throughs on their way
        let service = in_folder(folder.path()).await;
        let mut ingest = service.ingest().await;
        apply(&mut ingest, events()[cut..].to_vec()).await;
        ingest.finish().await.expect("finishes");
        assert_eq!(by_id(service.records()), by_id(expected.records()), "cut at {cut}");
        assert_eq!(service.rows(&["a", "b"], 300).await, rows, "cut at {cut}");
        assert_eq!(ingest.counters().outbox, 0, "all is durable");
    }
}

#[tokio::test]
async fn a_writer_whose_place_was_taken_stops() {
    let service = Service::new().await;
    let mut old = service.ingest().await;
    let _new = service.ingest().await;
    let refused = old.apply(vec![shown("r", &["a"], 0)], rankwright_state::Position("1".into())).await;
    assert!(matches!(refused, Err(rankwright_ingest::Error::LostLease { .. })));
}

#[tokio::test]
async fn values_of_features_are_counted_alike_whatever_else_a_state_keeps() {
    let folder = tempfile::tempdir().expect("makes a folder");
    let now = rankwright_event::Timestamp::from_millis(20_000);
    for service in [Service::new().await, in_folder(folder.path()).await] {
        let mut feedback = feedback(&service).await;
        let mut updated = Vec::new();
        for event in [shown("r", &["a", "b"], 10), click("c", "r", "a", 11)] {
            updated.push(feedback.feed(vec![event], now).await.expect("takes it in").updated);
        }
        assert_eq!(updated, [0, 1], "no feature counts what is shown before the ranking closes");
    }
}

#[tokio::test]
async fn a_request_that_is_repeated_has_no_second_effect() {
    let service = Service::new().await;
    let mut feedback = feedback(&service).await;
    let now = |seconds: i64| rankwright_event::Timestamp::from_millis(seconds * 1000);
    let once = feedback.feed(vec![click("c", None, "a", 1)], now(10)).await.expect("takes it in");
    let again = feedback.feed(vec![click("c", None, "a", 1)], now(11)).await.expect("takes it in");
    assert_eq!((once.accepted, again.accepted, again.updated), (1, 1, 0));
    assert_eq!(service.rows(&["a"], 12).await[0], 1.0);
    feedback.feed(vec![click("c", None, "a", 1)], now(400)).await.expect("takes it in");
    assert_eq!(service.rows(&["a"], 12).await[0], 2.0, "forgotten after five minutes");
}

#[tokio::test]
async fn a_request_that_is_repeated_after_a_crash_has_no_second_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = |seconds: i64| rankwright_event::Timestamp::from_millis(seconds * 1000);
    let mut clicks = Vec::new();
    for seconds in [10, 20, 400, 410] {
        let service = in_folder(folder.path()).await;
        let applied = feedback(&service).await.feed(vec![click("c", None, "a", 1)], now(seconds)).await;
        assert_eq!(applied.expect("takes it in").accepted, 1);
        clicks.push(service.rows(&["a"], 12).await[0]);
    }
    assert_eq!(clicks, [1.0, 1.0, 2.0, 2.0], "forgotten after five minutes, and noted again");
}

#[tokio::test]
async fn rankings_close_while_nothing_comes_in() {
    let service = Service::new().await;
    let mut feedback = feedback(&service).await;
    let now = |seconds: i64| rankwright_event::Timestamp::from_millis(seconds * 1000);
    feedback.feed(vec![shown("r", &["a"], 0), click("c", "r", "a", 5)], now(1_000_000)).await.expect("takes them in");
    feedback.tick(now(1_000_050)).await.expect("ticks");
    assert!(service.records().is_empty(), "event time has gone on by 50 seconds");
    feedback.tick(now(1_000_070)).await.expect("ticks");
    assert_eq!(service.records().len(), 1);
}

#[tokio::test]
async fn an_event_that_is_ahead_of_the_clock_closes_nothing_also_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = |seconds: i64| rankwright_event::Timestamp::from_millis(seconds * 1000);
    let service = in_folder(folder.path()).await;
    let mut before = feedback(&service).await;
    before.feed(vec![shown("r", &["a"], 1000)], now(1000)).await.expect("takes it in");
    before.feed(vec![item("b", 3000), shown("ahead", &["b"], 3000)], now(1001)).await.expect("takes them in");
    before.tick(now(1002)).await.expect("ticks");
    drop((before, service));
    let service = in_folder(folder.path()).await;
    let mut after = feedback(&service).await;
    after.tick(now(1003)).await.expect("ticks");
    after.feed(vec![shown("s", &["a"], 1004), click("c", "r", "a", 1004)], now(1004)).await.expect("takes them in");
    assert!(service.records().is_empty(), "all is open");
    after.tick(now(1080)).await.expect("ticks");
    let closed = service.records();
    let ids: Vec<_> = closed.iter().map(|record| (record.ranking.as_str(), record.interactions.len())).collect();
    assert_eq!(ids, [("r", 1)], "one that nobody clicked on is not kept");
}
