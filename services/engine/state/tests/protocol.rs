//! The commit protocol of shared state, explored in every interleaving of steps, crashes, take-overs and repeated
//! messages that the bounds allow. `docs/protocol.md` tells what the protocol is.
//!
//! `cargo test --release -p rankwright-state --test protocol -- --nocapture` prints the sizes; `--ignored` explores more.

mod protocol {
    pub(crate) mod event;
    pub(crate) mod holder;
    pub(crate) mod plan;
    pub(crate) mod promise;
    pub(crate) mod rules;
    pub(crate) mod search;
    pub(crate) mod step;
    pub(crate) mod store;
    pub(crate) mod value;
    pub(crate) mod world;
}

use protocol::event::{IN_ORDER, LATE_CLICK, LATE_RANKING, NO_RANKING, Story};
use protocol::rules::{Bug, Rules, Variant};
use protocol::search::explore;
use std::time::Instant;

const STORIES: [Story; 4] = [IN_ORDER, LATE_CLICK, LATE_RANKING, NO_RANKING];

fn one_redis(story: Story) -> Rules {
    Rules::new(Variant::OneRedis, story)
}

fn cluster(story: Story) -> Rules {
    Rules::new(Variant::Cluster, story)
}

/// Explores everything there is, which must be more than some states and hold no broken promise.
fn keeps_its_promises(rules: Rules, at_least: usize) {
    let started = Instant::now();
    let explored = explore(&rules).unwrap_or_else(|found| panic!("{rules:?}: {found:#?}"));
    println!("{rules}: {explored:?} in {:?}", started.elapsed());
    assert!(explored.states > at_least && explored.ends > 0, "{rules}: {explored:?}");
}

/// With a bug, a batch of one event and at most one fault, a shortest way to a broken promise has this many steps.
fn breaks(rules: Rules, bug: Bug, promise: &str, steps: usize) {
    let rules = rules.sized(1, 1).with(bug);
    let found = explore(&rules).expect_err("the bug breaks a promise");
    println!("{rules}: {} after {} steps\n{:#?}", found.broken, found.actions.len(), found.actions);
    assert_eq!((found.broken, found.actions.len()), (promise, steps), "{rules}");
}

#[test]
fn one_redis_keeps_its_promises_through_two_faults() {
    STORIES.into_iter().for_each(|story| keeps_its_promises(one_redis(story).sized(2, 2), 50_000));
}

#[test]
fn a_cluster_keeps_its_promises_through_a_fault() {
    STORIES.into_iter().for_each(|story| keeps_its_promises(cluster(story).sized(1, 1), 20_000));
    STORIES.into_iter().for_each(|story| keeps_its_promises(cluster(story).sized(1, 2).merged(), 20_000));
}

#[test]
fn a_cluster_keeps_its_promises_through_two_faults() {
    [IN_ORDER, LATE_CLICK, NO_RANKING]
        .into_iter()
        .for_each(|story| keeps_its_promises(cluster(story).sized(2, 1).merged(), 100_000));
}

#[test]
#[ignore = "takes four minutes and 2.3 GB"]
fn more_of_the_same() {
    keeps_its_promises(one_redis(IN_ORDER).sized(3, 1), 1_000_000);
    STORIES.into_iter().for_each(|story| keeps_its_promises(cluster(story).sized(1, 2), 100_000));
    keeps_its_promises(cluster(LATE_RANKING).sized(2, 1).merged(), 1_000_000);
}

const TWICE: &str = "an effect takes place twice";
const AHEAD: &str = "a position is ahead of its effects";
const OTHER: &str = "effects are not those of a run without faults";

#[test]
fn a_position_that_moves_first_is_found() {
    breaks(one_redis(IN_ORDER), Bug::PositionFirst, AHEAD, 3);
    breaks(cluster(IN_ORDER), Bug::PositionFirst, AHEAD, 3);
}

#[test]
fn a_lease_that_nobody_checks_is_found() {
    breaks(one_redis(IN_ORDER), Bug::NoLease, TWICE, 8);
    breaks(cluster(IN_ORDER), Bug::NoLease, "effects are there that no position covers", 12);
}

#[test]
fn an_epoch_that_nobody_checks_is_found_in_a_cluster() {
    breaks(cluster(IN_ORDER), Bug::NoEpoch, TWICE, 15);
}

/// The position is compared and set as well, which is enough where everything happens in one script.
#[test]
fn one_redis_does_not_depend_on_the_epoch() {
    keeps_its_promises(one_redis(IN_ORDER).sized(2, 1).with(Bug::NoEpoch), 100_000);
}

#[test]
fn a_value_that_is_overwritten_unseen_is_found() {
    breaks(one_redis(IN_ORDER), Bug::NoStamps, AHEAD, 8);
    breaks(cluster(IN_ORDER), Bug::NoStamps, AHEAD, 18);
}

#[test]
fn a_batch_that_nobody_remembers_is_found() {
    breaks(cluster(IN_ORDER), Bug::NoMarkers, TWICE, 13);
}

#[test]
fn a_memory_that_goes_away_with_its_value_is_found() {
    breaks(cluster(IN_ORDER), Bug::MarkersInValues, TWICE, 28);
}

#[test]
fn batch_numbers_that_begin_anew_are_found() {
    breaks(cluster(IN_ORDER), Bug::NumbersRestart, AHEAD, 19);
}

#[test]
fn a_redo_record_that_is_left_alone_is_found() {
    breaks(cluster(IN_ORDER), Bug::RedoLeft, TWICE, 15);
}

#[test]
fn a_late_click_that_joins_at_once_is_found() {
    breaks(one_redis(LATE_CLICK), Bug::NoGuard, "a join record stays", 23);
    breaks(cluster(LATE_CLICK), Bug::NoGuard, "two copies of a click-through differ", 44);
}

#[test]
fn watermarks_that_are_read_last_are_found() {
    breaks(one_redis(IN_ORDER), Bug::WatermarksLast, OTHER, 22);
    breaks(cluster(IN_ORDER), Bug::WatermarksLast, OTHER, 47);
}

#[test]
fn a_record_that_is_sealed_before_waiting_clicks_are_taken_is_found() {
    breaks(one_redis(IN_ORDER), Bug::SealFirst, "a click is missing in its click-through", 25);
}

#[test]
fn a_record_that_is_removed_before_its_click_through_is_durable_is_found() {
    breaks(one_redis(IN_ORDER), Bug::RemoveFirst, "the click-through is lost", 23);
}
