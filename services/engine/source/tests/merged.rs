//! What holds for batches of any partitions, arriving in any order.
#![allow(clippy::expect_used, missing_docs)]

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use rankwright_source::{Batch, Cut, Merged, Partition, Position, Progress};
use std::collections::VecDeque;
use support::item;

/// Most batches that wait, where a test does not say.
const MANY: usize = 1000;

fn partition(number: usize) -> Partition {
    Partition::new(format!("kafka:events/{number}"))
}

/// The `line`th batch of a partition, with an event at each time.
fn batch(line: usize, times: &[i64]) -> Batch {
    Batch {
        events: times.iter().map(|time| item("i", *time)).collect(),
        bad: Vec::new(),
        before_offset: 0,
        position: Position::new("", line as u64),
        progress: Progress::default(),
        bytes: 0,
        cuts: Vec::new(),
    }
}

/// A batch of messages with one event each, the first of which is the `line`th of its partition.
fn messages(line: usize, times: &[i64]) -> Batch {
    let behind = |count: usize| Cut { events: count, bad: 0, bytes: count, line: (line + count) as u64, at: None };
    let cuts = (1..=times.len()).map(behind).collect();
    Batch { bytes: times.len(), cuts, ..batch(line + times.len(), times) }
}

/// Name and position of what comes next.
fn pop(merged: &mut Merged) -> Option<(String, u64)> {
    merged.pop().map(|(partition, batch)| (partition.to_string(), batch.position.line))
}

fn named(number: usize, line: u64) -> Option<(String, u64)> {
    Some((partition(number).to_string(), line))
}

/// Times of batches, partition by partition.
fn lanes() -> impl Strategy<Value = Vec<Vec<i64>>> {
    vec(vec(0..100_i64, 0..8), 1..5)
}

/// Pushes batches in the order that `turns` give, pops what comes, and returns partition and time of each.
fn merge(lanes: &[Vec<i64>], turns: &[usize], most: usize) -> Vec<(usize, i64)> {
    let mut merged = Merged::new(most);
    let mut left: Vec<VecDeque<i64>> = lanes.iter().map(|lane| lane.iter().copied().collect()).collect();
    (0..lanes.len()).for_each(|number| merged.assign(partition(number)));
    let mut out = Vec::new();
    let rounds = turns.iter().copied().chain((0..lanes.len()).cycle().take(lanes.len() * 10));
    for number in rounds.map(|turn| turn % lanes.len()) {
        match left[number].pop_front() {
            Some(time) => merged.push(partition(number), batch(0, &[time])),
            None => merged.caught_up(&partition(number)),
        }
        while let Some((from, batch)) = merged.pop() {
            let number = (0..lanes.len()).find(|number| partition(*number) == from).expect("it is one of them");
            out.push((number, batch.events[0].timestamp().millis()));
        }
    }
    out
}

proptest! {
    #[test]
    fn batches_of_ordered_partitions_come_out_in_order_of_time(mut lanes in lanes(), turns in vec(0..4_usize, 0..40)) {
        lanes.iter_mut().for_each(|lane| lane.sort_unstable());
        let out = merge(&lanes, &turns, MANY);
        prop_assert!(out.is_sorted_by_key(|(_, time)| *time), "{out:?}");
        prop_assert_eq!(out.len(), lanes.iter().map(Vec::len).sum::<usize>());
    }

    #[test]
    fn each_partition_keeps_its_own_order(lanes in lanes(), turns in vec(0..4_usize, 0..40), most in 0..6_usize) {
        let out = merge(&lanes, &turns, most);
        for (number, lane) in lanes.iter().enumerate() {
            let kept: Vec<_> = out.iter().filter(|(of, _)| *of == number).map(|(_, time)| *time).collect();
            prop_assert_eq!(&kept, lane);
        }
    }
}

/// Reads partitions from these places on in batches of `size`, in the order that `turns` give, and pops about `events` at a
/// time, `pops` times at most; returns partition and place of each event in the order of commits, and where all ended.
fn read(
    lanes: &[Vec<i64>],
    mut places: Vec<usize>,
    turns: &[usize],
    (size, events, pops): (usize, usize, usize),
) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut merged = Merged::new(MANY);
    let (mut out, mut read, mut popped) = (Vec::new(), places.clone(), 0);
    (0..lanes.len()).for_each(|number| merged.assign(partition(number)));
    let rounds = turns.iter().copied().chain((0..lanes.len()).cycle().take(lanes.len() * 30));
    for number in rounds.map(|turn| turn % lanes.len()) {
        let next = lanes[number].get(read[number]..).unwrap_or_default();
        let next = &next[..size.min(next.len())];
        match next {
            [] => merged.caught_up(&partition(number)),
            _ => merged.push(partition(number), messages(read[number], next)),
        }
        read[number] += next.len();
        while popped < pops {
            let batches = merged.pop_some(events);
            if batches.is_empty() {
                break;
            }
            popped += 1;
            let mut commit = Vec::new();
            for (from, batch) in batches {
                let number = (0..lanes.len()).find(|number| partition(*number) == from).expect("it is one of them");
                let end = usize::try_from(batch.position.line).expect("is small");
                assert_eq!(end - places[number], batch.events.len(), "the position is that behind the events");
                assert_eq!(batch.bytes, batch.events.len());
                commit.extend((places[number]..end).map(|place| (lanes[number][place], number, place)));
                places[number] = end;
            }
            commit.sort_unstable(); // as those who commit them together take them in
            out.extend(commit.into_iter().map(|(_, number, place)| (number, place)));
        }
    }
    (out, places)
}

proptest! {
    #[test]
    fn messages_come_out_in_one_order_however_they_arrive_and_whoever_goes_on(
        mut lanes in vec(vec(0..100_i64, 0..30), 1..5),
        turns in [vec(0..4_usize, 0..40), vec(0..4_usize, 0..40), vec(0..4_usize, 0..40)],
        sizes in [1..6_usize, 1..6, 1..6],
        events in [1..9_usize, 1..9, 1..9],
        pops in 0..10_usize,
    ) {
        lanes.iter_mut().for_each(|lane| lane.sort_unstable());
        let begin = vec![0; lanes.len()];
        let (whole, end) = read(&lanes, begin.clone(), &turns[0], (sizes[0], events[0], usize::MAX));
        prop_assert!(whole.is_sorted_by_key(|&(number, place)| lanes[number][place]));
        prop_assert_eq!(end, lanes.iter().map(Vec::len).collect::<Vec<_>>());
        let (mut parts, there) = read(&lanes, begin, &turns[1], (sizes[1], events[1], pops));
        parts.extend(read(&lanes, there, &turns[2], (sizes[2], events[2], usize::MAX)).0);
        prop_assert_eq!(parts, whole);
    }
}

#[test]
fn a_partition_that_is_behind_is_waited_for() {
    let mut merged = Merged::new(MANY);
    (0..2).for_each(|number| merged.assign(partition(number)));
    merged.push(partition(0), batch(1, &[5]));
    assert_eq!(pop(&mut merged), None);
    merged.push(partition(1), batch(2, &[3]));
    assert_eq!(pop(&mut merged), named(1, 2));
    assert_eq!(pop(&mut merged), None);
    merged.caught_up(&partition(1));
    assert_eq!(pop(&mut merged), named(0, 1));
}

#[test]
fn some_batches_come_out_together_and_those_of_a_partition_as_one() {
    let mut merged = Merged::new(MANY);
    (0..3).for_each(|number| merged.assign(partition(number)));
    merged.push(partition(0), batch(1, &[1, 2]));
    merged.push(partition(0), batch(2, &[3]));
    merged.push(partition(0), batch(3, &[8]));
    merged.push(partition(1), batch(4, &[2, 5]));
    merged.push(partition(2), batch(5, &[9]));
    let popped = |merged: &mut Merged, events| -> Vec<(Partition, usize, u64)> {
        let some = merged.pop_some(events).into_iter();
        some.map(|(from, batch)| (from, batch.events.len(), batch.position.line)).collect()
    };
    assert_eq!(popped(&mut merged, 5), [(partition(0), 2, 1), (partition(1), 2, 4)], "the oldest first");
    assert_eq!(popped(&mut merged, 5), [], "the second partition may hold older ones");
    merged.caught_up(&partition(1));
    assert_eq!(popped(&mut merged, 1), [(partition(0), 1, 2)], "about so many events");
    merged.push(partition(0), batch(6, &[8]));
    assert_eq!(popped(&mut merged, 5), [(partition(0), 2, 6)], "those of a partition as one");
}

#[test]
fn large_messages_are_few_in_a_commit_and_none_are_read_ahead_of_many() {
    let large = |line| Batch { bytes: 3 << 20, ..batch(line, &[line as i64]) };
    let mut merged = Merged::new(MANY);
    (1..=20).for_each(|line| merged.push(partition(0), large(line)));
    assert!(merged.has_room_for(100));
    (21..=22).for_each(|line| merged.push(partition(0), large(line)));
    assert!(!merged.has_room_for(100), "66 MiB are held");
    let popped = merged.pop_some(100);
    assert_eq!((popped.len(), popped[0].1.position.line), (1, 2), "4 MiB, but for the last batch");
}

#[test]
fn there_is_room_until_enough_events_or_batches_are_held() {
    let mut merged = Merged::new(2);
    assert!(merged.has_room_for(3));
    merged.push(partition(0), batch(1, &[1, 2]));
    assert!(merged.has_room_for(3) && !merged.has_room_for(2));
    merged.push(partition(0), batch(2, &[]));
    assert!(!merged.has_room_for(3), "two batches are held");
}

#[test]
fn nobody_waits_for_a_partition_that_was_revoked() {
    let mut merged = Merged::new(MANY);
    (0..2).for_each(|number| merged.assign(partition(number)));
    merged.push(partition(0), batch(1, &[5]));
    merged.push(partition(1), batch(2, &[3]));
    merged.revoke(&partition(1));
    assert_eq!(pop(&mut merged), named(0, 1));
}

#[test]
fn more_than_may_be_held_is_handed_out_without_waiting() {
    let mut merged = Merged::new(2);
    (0..2).for_each(|number| merged.assign(partition(number)));
    (1..=3).for_each(|line| merged.push(partition(0), batch(line, &[5])));
    assert_eq!(pop(&mut merged), named(0, 1));
    assert_eq!(pop(&mut merged), None);
}

#[test]
fn a_batch_without_events_holds_nobody_up() {
    let mut merged = Merged::new(MANY);
    (0..2).for_each(|number| merged.assign(partition(number)));
    merged.push(partition(0), batch(1, &[5]));
    merged.push(partition(1), batch(2, &[]));
    assert_eq!(pop(&mut merged), named(1, 2));
}

#[test]
fn a_partition_that_has_caught_up_may_still_have_batches_here() {
    let mut merged = Merged::new(MANY);
    (0..2).for_each(|number| merged.assign(partition(number)));
    merged.push(partition(0), batch(1, &[5]));
    merged.caught_up(&partition(0));
    assert_eq!(pop(&mut merged), None, "the other one may have an earlier event");
    assert!(merged.holds(&partition(0)) && !merged.holds(&partition(1)));
    merged.caught_up(&partition(1));
    assert_eq!(pop(&mut merged), named(0, 1));
    assert!(!merged.holds(&partition(0)));
}
