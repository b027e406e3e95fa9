//! Many writers and one closer come to what one process comes to.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod pipeline;

use common::{Service, click, item, shown};
use proptest::prelude::*;
use rankwright_clickthrough::Clickthrough;
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::Error;
use rankwright_ingest::shared::{Closer, Intake, Origin, Pipeline, Replica, Share, Taken, expect};
use rankwright_state::{Position, Space};
use std::time::Duration;

const WALL: Timestamp = Timestamp::from_millis(1_000_000_000);

async fn intake(service: &Service, writer: &str) -> Intake {
    let (plan, state) = (service.plan.clone(), service.state.clone());
    Intake::open(writer, Origin::Partition, plan, state, service.settings, WALL).await.expect("opens")
}

async fn closer(service: &Service) -> Closer {
    closer_after(service, "any", Taken::default()).await
}

async fn closer_after(service: &Service, name: &str, taken: Taken) -> Closer {
    let (plan, state, parts) = (service.plan.clone(), service.state.clone(), service.clickthroughs.clone());
    Closer::open(name, &mut { taken }, plan, state, parts, service.settings).await.expect("opens")
}

async fn replica(service: &Service, name: &str) -> Replica {
    Replica::open(name, service.plan.clone(), service.state.clone(), service.settings, WALL).await.expect("opens")
}

async fn take(intake: &mut Intake, events: &[Event]) {
    let to = Position(format!("{}.", intake.position().0));
    intake.apply(events, &[], to, WALL).await.expect("applies");
}

/// What the writers bring whose bits are set, behind a position that step `number` gives.
fn shares<'a>(writers: &'a mut [Intake], of: usize, events: &'a [Vec<Event>], number: usize) -> Vec<Share<'a>> {
    let turns = writers.iter_mut().zip(events).enumerate().filter(|(writer, _)| of >> writer & 1 == 1);
    turns.map(|(_, (intake, events))| Share { intake, events, to: Position(number.to_string()) }).collect()
}

/// Takes that in, in one step.
async fn take_together(writers: &mut [Intake], of: usize, events: &[Vec<Event>], number: usize) {
    Intake::apply_together(&mut shares(writers, of, events, number), WALL).await.expect("applies");
}

fn pipeline(service: &Service) -> Pipeline {
    Pipeline::new(service.plan.clone(), service.state.clone(), service.settings)
}

/// Click-throughs without their rows, in order of their ids.
fn joined(service: &Service) -> Vec<(String, Vec<String>)> {
    let ids = |record: &Clickthrough| record.interactions.iter().map(|click| click.id.to_string()).collect();
    let mut joined: Vec<_> = service.records().iter().map(|record| (record.ranking.to_string(), ids(record))).collect();
    joined.sort();
    joined
}

async fn values(service: &Service) -> Vec<(rankwright_state::Key, rankwright_state::Entity)> {
    let listed = service.state.scan(Space::Values).await.expect("lists");
    listed.into_iter().map(|(key, entity)| (key, (*entity).clone())).collect()
}

async fn left_over(service: &Service) -> usize {
    let mut left = 0;
    for space in [Space::Joins, Space::Waiting, Space::Outbox] {
        left += service.state.scan(space).await.expect("lists").len();
    }
    left
}

#[tokio::test]
async fn a_click_that_another_writer_took_before_its_ranking_is_joined() {
    let service = Service::new().await;
    let (mut one, mut two, mut closer) =
        (intake(&service, "1").await, intake(&service, "2").await, closer(&service).await);
    take(&mut two, &[click("c", "r", "a", 11)]).await;
    closer.tick(WALL).await.expect("works");
    assert!(joined(&service).is_empty());
    take(&mut one, &[shown("r", &["a", "b"], 10)]).await;
    closer.tick(WALL).await.expect("works");
    assert_eq!(service.rows(&["a"], 20).await[0], 1.0, "it counts before its ranking closes");
    for writer in [&mut one, &mut two] {
        writer.leave().await.expect("leaves");
    }
    closer.finish(WALL).await.expect("works");
    assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string()])]);
    assert_eq!(left_over(&service).await, 0);
}

#[tokio::test]
async fn a_ranking_stays_open_while_a_partition_may_still_hold_its_clicks() {
    let service = Service::new().await;
    let (mut ahead, mut behind, mut closer) =
        (intake(&service, "1").await, intake(&service, "2").await, closer(&service).await);
    take(&mut ahead, &[shown("r", &["a"], 10), item("x", 500)]).await;
    closer.tick(WALL).await.expect("works");
    take(&mut behind, &[click("c", "r", "a", 40)]).await;
    closer.tick(WALL).await.expect("works");
    assert!(joined(&service).is_empty(), "the second partition has come to 40 only");
    take(&mut behind, &[item("y", 101)]).await;
    closer.tick(WALL).await.expect("works");
    assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string()])]);
}

#[tokio::test]
async fn what_the_last_replica_has_left_open_closes_though_nothing_comes_any_more() {
    let service = Service::new().await;
    let (mut one, mut two) = (replica(&service, "1").await, replica(&service, "2").await);
    one.feed(&[shown("old", &["a"], 1)], WALL).await.expect("takes them");
    two.feed(&[shown("r", &["a"], 10), click("c", "r", "a", 11)], WALL).await.expect("takes them");
    let mut closer = closer(&service).await;
    let later = |seconds| WALL.plus(Duration::from_secs(seconds));
    for seconds in [0, 11, 40] {
        closer.tick(later(seconds)).await.expect("works");
        assert!(joined(&service).is_empty(), "after {seconds} seconds");
        assert_eq!(closer.counters().open, 2);
    }
    // no process is there, not even the previous closer
    let mut closer = closer_after(&service, "other", Taken::default()).await;
    closer.tick(later(200)).await.expect("works");
    assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string()])]);
    assert_eq!((left_over(&service).await, closer.counters().open), (0, 0));
    // nor may they bring anything to what an import closes that ends
    let mut replica_of_now = replica(&service, "3").await;
    replica_of_now.feed(&[shown("now", &["a"], 300)], later(300)).await.expect("takes them");
    let mut importing = closer_after(&service, "an import", Taken::default()).await;
    importing.finish(later(311)).await.expect("works");
    let late = replica_of_now.feed(&[click("late", "now", "a", 301)], later(312)).await;
    assert!(matches!(late, Err(Error::LostLease { .. })), "{late:?}");
    // if one of them comes back, it has to start again
    for replica in [&mut one, &mut two] {
        let late = replica.feed(&[click("late", "r", "a", 12)], later(201)).await;
        assert!(matches!(late, Err(Error::LostLease { .. })), "{late:?}");
    }
}

#[tokio::test]
async fn a_partition_that_nobody_has_read_yet_is_waited_for() {
    let service = Service::new().await;
    let mut ahead = intake(&service, "1").await;
    expect(&*service.state, &["1", "2"], WALL).await.expect("notes them");
    take(&mut ahead, &[shown("r", &["a"], 10), click("c", "r", "a", 11), item("x", 500)]).await;
    let mut closer = closer(&service).await;
    closer.tick(WALL).await.expect("works");
    assert!(joined(&service).is_empty(), "the second one may hold clicks");
    let mut behind = intake(&service, "2").await;
    take(&mut behind, &[click("d", "r", "a", 12), item("y", 500)]).await;
    expect(&*service.state, &["1", "2"], WALL).await.expect("notes nothing new");
    closer.tick(WALL).await.expect("works");
    assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string(), "d".to_string()])]);
}

#[tokio::test]
async fn a_closer_that_has_not_seen_a_new_replica_begins_anew() {
    let service = Service::new().await;
    let mut closer = closer(&service).await;
    let mut new = replica(&service, "1").await;
    new.feed(&[shown("r", &["a"], 10)], WALL).await.expect("takes it");
    let outcome = closer.tick(WALL).await;
    new.feed(&[item("b", 500)], WALL).await.expect("takes it");
    assert!(outcome.is_ok() || matches!(outcome, Err(rankwright_ingest::Error::LostLease { .. })));
    assert!(matches!(closer.tick(WALL).await, Err(rankwright_ingest::Error::LostLease { .. })));
}

#[tokio::test]
async fn a_batch_that_was_sent_to_two_replicas_counts_once() {
    let service = Service::new().await;
    let (mut one, mut two) = (replica(&service, "1").await, replica(&service, "2").await);
    let batch = [shown("r", &["a"], 10), click("c", "r", "a", 11), click("d", None, "a", 12)];
    let first = one.feed(&batch, WALL).await.expect("takes it");
    let again = two.feed(&batch, WALL).await.expect("takes it");
    assert_eq!((first.accepted, again.accepted, again.updated), (3, 3, 0));
    assert_eq!((one.counters().known, two.counters().known), (0, 3));
    assert_eq!(service.rows(&["a"], 20).await[0], 2.0);
    let end = [item("end", 500)];
    one.feed(&end, WALL).await.expect("takes it");
    two.feed(&end, WALL).await.expect("takes it");
    closer(&service).await.tick(WALL).await.expect("works");
    assert_eq!(joined(&service).len(), 2, "a repetition tells how far a replica has come");
}

#[tokio::test]
async fn an_event_that_is_ahead_of_the_clock_closes_nothing_be_it_the_first_of_a_replica() {
    let now = |seconds: i64| Timestamp::from_millis(seconds * 1000);
    for ahead_is_first in [false, true] {
        let service = Service::new().await;
        let mut replica = replica(&service, "1").await;
        let mut events = [shown("r", &["a"], 1000), item("b", 3000)];
        if ahead_is_first {
            events.reverse();
        }
        replica.feed(&events[..1], now(1000)).await.expect("takes it");
        replica.feed(&events[1..], now(1001)).await.expect("takes it");
        let mut closer = closer(&service).await;
        closer.tick(now(1002)).await.expect("works");
        replica.feed(&[click("c", "r", "a", 1003)], now(1003)).await.expect("takes it");
        closer.tick(now(1003)).await.expect("works");
        assert!(joined(&service).is_empty(), "it is open, the first is ahead: {ahead_is_first}");
        replica.pass(now(1080), now(1080)).await.expect("passes");
        closer.tick(now(1080)).await.expect("works");
        assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string()])]);
    }
}

#[tokio::test]
async fn a_replica_whose_last_event_was_of_long_ago_holds_the_others_back_for_minutes_only() {
    let service = Service::new().await;
    let now = |seconds: i64| Timestamp::from_millis(seconds * 1000);
    let (mut one, mut late) = (replica(&service, "1").await, replica(&service, "2").await);
    one.feed(&[shown("r", &["a"], 10_000), click("c", "r", "a", 10_001)], now(10_001)).await.expect("takes it");
    late.feed(&[item("b", 5)], now(10_001)).await.expect("takes it");
    let mut closer = closer(&service).await;
    let minutes = |minutes: u64| std::time::Duration::from_secs(60 * minutes);
    for (idle, wall, closed) in [(minutes(2), now(10_120), 0), (minutes(6), now(10_400), 1)] {
        let fast = wall.plus(std::time::Duration::from_secs(2)); // another machine's clock
        one.pass(fast, fast).await.expect("passes");
        late.idle(idle, wall).await.expect("passes");
        closer.tick(wall).await.expect("works");
        assert_eq!(joined(&service).len(), closed, "{idle:?}");
    }
}

#[tokio::test]
async fn a_replica_that_is_gone_keeps_no_ranking_open() {
    let service = Service::new().await;
    let (mut one, mut gone) = (replica(&service, "1").await, replica(&service, "2").await);
    gone.feed(&[item("a", 5)], WALL).await.expect("takes it");
    let later = WALL.plus(std::time::Duration::from_secs(60));
    one.feed(&[shown("r", &["a"], 10), click("c", "r", "a", 11), item("b", 100)], later).await.expect("takes it");
    closer(&service).await.tick(later).await.expect("works");
    assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string()])]);
}

#[tokio::test]
async fn what_a_reader_that_is_gone_left_open_closes_though_the_others_have_brought_nothing() {
    let service = Service::new().await;
    let (mut gone, mut waits) = (replica(&service, "1").await, replica(&service, "2").await);
    gone.feed(&[shown("r", &["a"], 10), click("c", "r", "a", 11)], WALL).await.expect("takes it");
    let later = WALL.plus(std::time::Duration::from_secs(60));
    closer(&service).await.tick(later).await.expect("works");
    assert!(joined(&service).is_empty(), "nobody says that there is no more");
    waits.pass(Timestamp::from_millis(500_000), later).await.expect("passes");
    closer(&service).await.tick(later).await.expect("works");
    assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string()])]);
    assert_eq!(left_over(&service).await, 0);
}

#[tokio::test]
async fn a_replica_that_comes_back_before_its_note_is_removed_has_the_closer_begin_anew() {
    let service = Service::new().await;
    let mut paused = replica(&service, "1").await;
    paused.feed(&[shown("r", &["a"], 10)], WALL).await.expect("takes it");
    let mut closer = closer(&service).await;
    let mut again = replica(&service, "1").await; // its note is there
    again.feed(&[click("c", "r", "a", 11), item("b", 500)], WALL).await.expect("takes it");
    let outcome = closer.tick(WALL).await;
    assert!(matches!(outcome, Err(rankwright_ingest::Error::LostLease { .. })), "{outcome:?}");
}

#[tokio::test]
async fn a_click_behind_the_end_of_its_ranking_waits_for_the_closer() {
    let service = Service::new().await;
    let (mut writer, mut closer) = (intake(&service, "1").await, closer(&service).await);
    take(&mut writer, &[shown("r", &["a"], 10), click("c", "r", "a", 20)]).await;
    take(&mut writer, &[item("b", 100), click("late", "r", "a", 30)]).await;
    assert_eq!(service.state.scan(Space::Waiting).await.expect("lists").len(), 1);
    closer.tick(WALL).await.expect("works");
    take(&mut writer, &[item("b", 200)]).await;
    closer.tick(WALL).await.expect("works");
    assert_eq!(joined(&service).len(), 1, "it came in time for the closer");
    assert_eq!(joined(&service)[0].1, ["c", "late"]);
    assert_eq!(left_over(&service).await, 0);
}

#[tokio::test]
async fn a_replica_that_was_taken_for_gone_has_to_begin_anew() {
    let service = Service::new().await;
    let mut paused = replica(&service, "1").await;
    paused.feed(&[shown("r", &["a"], 10)], WALL).await.expect("takes it");
    let mut closer = closer(&service).await;
    let later = WALL.plus(std::time::Duration::from_secs(60));
    closer.tick(later).await.expect("works");
    let outcome = paused.feed(&[click("c", "r", "a", 11)], later).await;
    assert!(matches!(outcome, Err(rankwright_ingest::Error::LostLease { .. })));
    let mut again = replica(&service, "1").await;
    again.feed(&[click("c", "r", "a", 11)], later).await.expect("takes it");
    assert_eq!(service.rows(&["a"], 20).await[0], 1.0);
}

#[tokio::test]
async fn what_a_replaced_closer_decides_is_not_done() {
    let service = Service::new().await;
    let mut old = closer(&service).await;
    let mut writer = intake(&service, "1").await;
    take(&mut writer, &[shown("r", &["a"], 10), click("c", "r", "a", 11), item("b", 100)]).await;
    let mut new = closer(&service).await;
    assert!(old.tick(WALL).await.is_err(), "it lost its place");
    new.tick(WALL).await.expect("works");
    assert_eq!(joined(&service).len(), 1);
}

#[tokio::test]
async fn what_several_bring_together_is_joined_in_order_of_time() {
    let service = Service::new().await;
    let mut writers = [intake(&service, "1").await, intake(&service, "2").await];
    let events = [vec![click("c", "r", "a", 11), item("x", 500)], vec![shown("r", &["a", "b"], 10), item("y", 500)]];
    take_together(&mut writers, 0b11, &events, 1).await;
    assert_eq!(service.state.scan(Space::Waiting).await.expect("lists").len(), 0, "the click finds its ranking");
    assert_eq!(writers.each_ref().map(|writer| writer.position().0.as_str()), ["1", "1"]);
    closer(&service).await.tick(WALL).await.expect("works");
    assert_eq!(joined(&service), [("r".to_string(), vec!["c".to_string()])]);
}

#[tokio::test]
async fn nothing_of_several_batches_takes_place_where_one_writer_was_replaced() {
    let service = Service::new().await;
    let mut writers = [intake(&service, "1").await, intake(&service, "2").await];
    let _new = intake(&service, "2").await;
    let mut shares: Vec<Share<'_>> = Vec::new();
    let events = [[click("c", None, "a", 11)], [click("d", None, "a", 12)]];
    for (intake, events) in writers.iter_mut().zip(&events) {
        shares.push(Share { intake, events, to: Position("1".into()) });
    }
    let refused = Intake::apply_together(&mut shares, WALL).await;
    assert!(matches!(refused, Err(rankwright_ingest::Error::LostLease { .. })));
    assert!(values(&service).await.is_empty());
    take(&mut writers[0], &events[0]).await;
    assert_eq!(service.rows(&["a"], 20).await[0], 1.0, "the first goes on alone");
}

/// Events of some rankings, in order of time.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let ranking = (0..400i64, prop::collection::vec((0..3usize, -5..80i64, 0..4u8), 0..4));
    prop::collection::vec(ranking, 1..12).prop_map(|rankings| {
        const RANKINGS: [&str; 12] = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11"];
        let items = ["a", "b", "c"];
        let mut events: Vec<Event> = items.iter().map(|id| item(id, 0)).collect();
        for (number, (time, clicks)) in rankings.into_iter().enumerate() {
            events.push(shown(RANKINGS[number], &items, 100 + time));
            for (click_number, (place, after, to)) in clicks.into_iter().enumerate() {
                let named = match to {
                    0 => None,
                    1 => Some("nobody's"),
                    _ => Some(RANKINGS[number]),
                };
                let id = format!("{number}-{click_number}");
                events.push(click(&id, named, items[place], (100 + time + after).max(1)));
            }
        }
        events.sort_by_key(Event::timestamp);
        events
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn partitions_in_any_order_come_to_the_same_state_and_click_throughs(
        events in events(),
        homes in prop::collection::vec(0..3usize, 60),
        // which of the writers, in one step; how many events of each; whether rankings close then, and steps are waited for
        steps in prop::collection::vec((1..8usize, 1..6usize, any::<(bool, bool)>()), 0..40),
        pipelined in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("starts");
        runtime.block_on(async {
            let (alone, shared) = (Service::new().await, Service::new().await);
            alone.import(events.clone()).await;
            let mut parts: [Vec<Event>; 3] = Default::default();
            for (place, event) in events.into_iter().enumerate() {
                parts[homes[place % homes.len()]].push(event);
            }
            let mut writers = Vec::new();
            for writer in ["1", "2", "3"] {
                writers.push(intake(&shared, writer).await);
            }
            let (mut closer, mut pipeline) = (closer(&shared).await, pipeline(&shared));
            let rest = (0..3).map(|part| (1 << part, usize::MAX, (true, true)));
            for (step, (of, number, (close, wait))) in steps.into_iter().chain(rest).enumerate() {
                let drained = parts.iter_mut().enumerate().map(|(part, events)| {
                    let number = if of >> part & 1 == 1 { number.min(events.len()) } else { 0 };
                    events.drain(..number).collect()
                });
                let some: Vec<Vec<Event>> = drained.collect();
                let prepared = match pipelined {
                    true => pipeline.prepare(&shares(&mut writers, of, &some, step), WALL).await.expect("reads"),
                    false => None,
                };
                while pipeline.is_full() || prepared.is_none() || wait {
                    if pipeline.is_empty() {
                        break;
                    }
                    pipeline.settle(writers.iter_mut()).await.expect("is there");
                }
                match prepared {
                    Some(prepared) => pipeline.send(prepared),
                    None => take_together(&mut writers, of, &some, step).await,
                }
                if close {
                    closer.tick(WALL).await.expect("works");
                }
            }
            while !pipeline.is_empty() {
                pipeline.settle(writers.iter_mut()).await.expect("is there");
            }
            for writer in &mut writers {
                writer.leave().await.expect("leaves");
            }
            closer.finish(WALL).await.expect("works");
            assert_eq!(joined(&shared), joined(&alone));
            assert_eq!(values(&shared).await, values(&alone).await);
            assert_eq!(left_over(&shared).await, 0);
        });
    }
}

#[tokio::test]
async fn of_a_thousand_clicks_and_more_on_a_list_all_count_but_in_rates() {
    let service = Service::new().await;
    let (mut one, mut closer) = (intake(&service, "1").await, closer(&service).await);
    let clicks = (0..1010).map(|number| click(&format!("c{number}"), "r", "a", 11));
    take(&mut one, &[shown("r", &["a"], 10)].into_iter().chain(clicks).collect::<Vec<_>>()).await;
    one.leave().await.expect("leaves");
    closer.finish(WALL).await.expect("works");
    assert_eq!(joined(&service)[0].1.len(), 1000);
    assert_eq!(service.rows(&["a"], 100).await, [1010.0, 1000.0]);
}

#[tokio::test]
async fn clicks_of_rankings_that_did_not_come_are_counted_and_named_by_the_one_who_closes() {
    let service = Service::new().await;
    let (mut one, mut closer) = (intake(&service, "1").await, closer(&service).await);
    take(&mut one, &[shown("r", &["a"], 10), click("c", "r", "a", 11), click("lost", "x", "a", 11)]).await;
    take(&mut one, &[click("alone", None, "a", 11)]).await;
    one.leave().await.expect("leaves");
    closer.finish(WALL).await.expect("works");
    assert_eq!(closer.counters().unknown, 1);
    assert_eq!(closer.unknown_rankings().iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["x"]);
}

#[tokio::test]
async fn what_an_import_has_noted_is_known_to_every_replica() {
    let service = Service::new().await;
    let mut import = intake(&service, "import").await;
    let (old, last) = (click("old", None, "a", 10), click("last", None, "a", 1000));
    let mut recent = rankwright_ingest::Recent::new(Duration::from_secs(300), Timestamp::MAX);
    [&old, &last].into_iter().for_each(|event| recent.see(event));
    take(&mut import, &[old.clone(), last.clone()]).await;
    import.remember(&recent.ids(), WALL).await.expect("notes");
    import.leave().await.expect("leaves");
    let mut replica = replica(&service, "a").await;
    replica.feed(&[old, last], WALL).await.expect("takes them");
    assert_eq!(service.rows(&["a"], 2000).await[0], 3.0, "the old one alone counts again");
}
