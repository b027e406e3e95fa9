//! A durable state goes on where it stopped.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{Service, apply, click, item, shown};
use rankwright_clickthrough::Header;
use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::{
    Clickthrough, ClickthroughStore, Error, FileStore as Parts, Forgotten, Format, Mark, Records, Status, Subject,
};
use rankwright_event::Event;
use rankwright_ingest::Feedback;
use rankwright_state::file::FileOptions;
use rankwright_state::{FileStore, Space, Store};
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
    records.sort_by(|left, right| (&left.ranking, left.timestamp).cmp(&(&right.ranking, right.timestamp)));
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
    assert_eq!((feedback.counters().known, feedback.counters().interactions), (1, 1));
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

#[tokio::test]
async fn what_was_closed_is_brought_to_its_store_after_a_crash_though_nothing_comes_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = |seconds: i64| rankwright_event::Timestamp::from_millis(seconds * 1000);
    {
        let service = in_folder(folder.path()).await;
        let events = vec![shown("r", &["a"], 0), click("c", "r", "a", 5), item("b", 100)];
        apply(&mut service.ingest().await, events).await;
    }
    let service = in_folder(folder.path()).await;
    let mut after = feedback(&service).await;
    after.tick(now(1000)).await.expect("ticks");
    after.tick(now(1001)).await.expect("ticks");
    service.clickthroughs.flush().expect("writes");
    assert_eq!(service.records().len(), 1);
}

#[tokio::test]
async fn rankings_close_by_thousands_as_by_one() {
    let name = |number: i64| -> &'static str { Box::leak(format!("r{number}").into_boxed_str()) };
    let visit = |number: i64| [shown(name(number), &["a", "b"], 0), click(&format!("c{number}"), name(number), "b", 1)];
    let events: Vec<Event> = (0..2500).flat_map(visit).collect();
    for last in [None, Some(item("b", 100))] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut service = in_folder(folder.path()).await;
        service.settings.max_open = 10;
        let mut ingest = service.ingest().await;
        for events in events.chunks(1000).map(<[Event]>::to_vec).chain(last.map(|event| vec![event])) {
            apply(&mut ingest, events).await;
        }
        ingest.finish().await.expect("finishes");
        assert_eq!((service.records().len(), ingest.counters().outbox), (2500, 0));
        assert_eq!(service.rows(&["b"], 200).await, [2500.0, 1.0]);
    }
}

#[tokio::test]
async fn what_was_taken_and_not_committed_has_no_effect_however_much_of_it_has_closed() {
    let name = |number: i64| -> &'static str { Box::leak(format!("r{number}").into_boxed_str()) };
    let visit = |number: i64| [shown(name(number), &["a", "b"], 0), click(&format!("c{number}"), name(number), "b", 1)];
    let events: Vec<Event> = (0..2500).flat_map(visit).chain([item("b", 100), item("a", 200)]).collect();
    let folder = tempfile::tempdir().expect("a folder");
    for ends_there in [true, false] {
        let service = in_folder(folder.path()).await;
        let mut ingest = service.ingest().await;
        assert_eq!(ingest.position().0, "", "nothing is durable yet");
        for piece in events.chunks(5000) {
            ingest.take(piece.to_vec()).await.expect("takes them in");
        }
        if ends_there {
            continue;
        }
        ingest.commit_taken(rankwright_state::Position("all".into())).await.expect("commits");
        ingest.finish().await.expect("finishes");
        assert_eq!((service.records().len(), ingest.position().0.as_str()), (2500, "all"));
        assert_eq!(service.rows(&["b"], 200).await, [2500.0, 1.0]);
    }
}

/// Rankings that are clicked on long after they were shown, in the order of other ones, or not at all.
fn interleaved() -> Vec<Event> {
    let name = |number: i64| -> &'static str { Box::leak(format!("r{number}").into_boxed_str()) };
    let mut events: Vec<Event> = (0..20).map(|number| shown(name(number), &["a", "b", "c"], number)).collect();
    let clicks = (0..60).filter(|click| click % 20 % 5 != 4);
    events.extend(clicks.map(|number| {
        let ranking = (number * 7) % 20;
        click(&format!("c{number}"), name(ranking), ["a", "b", "c"][number as usize % 3], 20 + number)
    }));
    events.push(shown("r1", &["c"], 80)); // is open, wherever it is
    events.extend([shown("r20", &["c", "a"], 900), click("early", "r21", "a", 935), shown("r21", &["c", "a"], 940)]);
    // closed, clicked on, and perhaps still owed
    events.extend([shown("r1", &["c", "b"], 985), shown("r22", &["a"], 986), click("again", "r1", "b", 990)]);
    events.push(shown("r23", &["b"], 991));
    events
}

#[tokio::test]
async fn rankings_that_memory_has_no_room_for_are_as_good_as_those_in_it() {
    let expected = Service::new().await;
    expected.import(interleaved()).await;
    let (rows, records) = (expected.rows(&["a", "b", "c"], 1100).await, by_id(expected.records()));
    assert_eq!(records.len(), 17, "one for each id");
    for (room, batch) in [(1, 1), (1, 100), (3, 4), (19, 7)] {
        let folder = tempfile::tempdir().expect("a folder");
        for half in [&interleaved()[..40], &interleaved()[40..]] {
            let mut service = in_folder(folder.path()).await;
            service.settings.max_open = room;
            let mut ingest = service.ingest().await;
            for events in half.chunks(batch) {
                apply(&mut ingest, events.to_vec()).await;
            }
            if half.len() == 40 {
                assert_eq!((ingest.counters().open, ingest.counters().evicted), (20, 0), "all stay open");
            } else {
                ingest.finish().await.expect("finishes");
                assert_eq!(by_id(service.records()), records, "room for {room}, batches of {batch}");
                assert_eq!(service.rows(&["a", "b", "c"], 1100).await, rows, "room for {room}, batches of {batch}");
            }
        }
    }
}

#[tokio::test]
async fn rankings_with_long_ids_are_read_back_and_close() {
    let name = |number: i64| -> &'static str { Box::leak(format!("{number}{}", "x".repeat(4000)).into_boxed_str()) };
    let folder = tempfile::tempdir().expect("a folder");
    let mut service = in_folder(folder.path()).await;
    service.settings.max_open = 1;
    let mut ingest = service.ingest().await;
    apply(&mut ingest, (0..3).map(|number| shown(name(number), &["a", "b"], number)).collect()).await;
    let clicks = [("c0", 0), ("c2", 2), ("c3", 0)];
    apply(&mut ingest, clicks.map(|(id, number)| click(id, name(number), "a", 10)).to_vec()).await;
    ingest.finish().await.expect("finishes");
    let records = by_id(service.records());
    let told = records.iter().map(|record| (record.ranking.as_str(), record.interactions.len()));
    assert_eq!(told.collect::<Vec<_>>(), [(name(0), 2), (name(2), 1)]);
    for space in [Space::Joins, Space::Outbox] {
        assert!(service.state.scan(space).await.expect("lists").is_empty(), "{space:?}");
    }
}

#[tokio::test]
async fn a_request_with_long_ids_that_is_repeated_after_a_crash_has_no_second_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = |seconds: i64| rankwright_event::Timestamp::from_millis(seconds * 1000);
    let long = "c".repeat(4000);
    let mut clicks = Vec::new();
    for seconds in [10, 20, 400, 410] {
        let service = in_folder(folder.path()).await;
        let applied = feedback(&service).await.feed(vec![click(&long, None, "a", 1)], now(seconds)).await;
        assert_eq!(applied.expect("takes it in").accepted, 1);
        clicks.push(service.rows(&["a"], 12).await[0]);
        let noted = service.state.scan(Space::Seen).await.expect("lists");
        assert_eq!(noted.len(), 1);
        assert!(noted.iter().all(|(key, _)| key.to_string().len() < 200), "{noted:?}");
    }
    assert_eq!(clicks, [1.0, 1.0, 2.0, 2.0]);
}

#[tokio::test]
async fn a_ranking_that_is_shown_again_while_its_click_through_is_owed_has_effects_of_its_own() {
    let events = || {
        let first = [shown("r", &["a", "b"], 0), click("c1", "r", "a", 5), shown("x", &["a"], 100)];
        let again = [shown("r", &["b", "c"], 101), shown("y", &["a"], 102), click("c2", "r", "c", 103)];
        let third =
            [shown("z", &["a"], 300), shown("r", &["c"], 301), click("c3", "r", "c", 302), shown("e", &["a"], 303)];
        first.into_iter().chain(again).chain(third).collect::<Vec<_>>()
    };
    let expected = Service::new().await;
    expected.import(events()).await;
    let (rows, records) = (expected.rows(&["a", "c"], 400).await, by_id(expected.records()));
    assert_eq!(records.len(), 1, "of one id, the first");
    for cut in 0..=events().len() {
        let folder = tempfile::tempdir().expect("a folder");
        for events in [&events()[..cut], &events()[cut..]] {
            let mut service = in_folder(folder.path()).await;
            service.settings.max_open = 1;
            let mut ingest = service.ingest().await;
            for event in events {
                apply(&mut ingest, vec![event.clone()]).await;
            }
        }
        let service = in_folder(folder.path()).await;
        service.ingest().await.finish().await.expect("finishes");
        assert_eq!(by_id(service.records()), records, "cut at {cut}");
        assert_eq!(service.rows(&["a", "c"], 400).await, rows, "cut at {cut}");
    }
}

/// A store with which the process ends.
struct Deadly;

impl ClickthroughStore for Deadly {
    fn append(&self, _: &[Clickthrough]) -> Result<Mark, Error> {
        panic!("the process ends here, as the test wants");
    }

    fn flush(&self) -> Result<Mark, Error> {
        Ok(Mark(0))
    }

    fn durable(&self) -> Mark {
        Mark(0)
    }

    fn read(&self) -> Result<Records, Error> {
        Ok(Records::new(std::iter::empty()))
    }

    fn forget(&self, _: &Subject) -> Result<Forgotten, Error> {
        Ok(Forgotten::default())
    }

    fn status(&self) -> Status {
        Status::default()
    }
}

#[tokio::test]
async fn a_request_during_whose_closings_the_process_ends_is_no_repetition_when_it_comes_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = |seconds: i64| rankwright_event::Timestamp::from_millis(seconds * 1000);
    let request = || vec![click("c", None, "a", 10_000)];
    {
        let state = FileStore::open(folder.path().join("state"), FileOptions::default(), "test").expect("opens");
        let service = Service::over(Arc::new(state) as Arc<dyn Store>, |_| Arc::new(Deadly)).await;
        let mut feedback = feedback(&service).await;
        let visit = |number: usize| {
            let name: &'static str = format!("r{number}").leak();
            [shown(name, &["a"], 0), click(&format!("c{number}"), name, "a", 5)]
        };
        feedback.feed((0..2500).flat_map(visit).collect(), now(10)).await.expect("takes them in");
        let ended = tokio::spawn(async move { feedback.feed(request(), now(10_000)).await.map(drop) });
        ended.await.expect_err("some of the 2500 are closed and committed, then it ends");
    }
    let service = in_folder(folder.path()).await;
    feedback(&service).await.feed(request(), now(10_001)).await.expect("takes it in");
    assert_eq!(service.rows(&["a"], 10_002).await[0], 2501.0);
}
