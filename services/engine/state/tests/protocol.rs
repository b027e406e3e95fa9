//! The commit protocol of shared state, explored in every interleaving of steps, crashes, take-overs and repeated
//! messages that the bounds allow. `docs/protocol.md` tells what the protocol is.
//!
//! `cargo test --release -p rankwright-state --test protocol -- --nocapture` prints the sizes; `RANKWRIGHT_TEST_LONG=1` explores more.

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

use protocol::event::{IN_ORDER, LATE_CLICK, LATE_RANKING, NO_RANKING, REPEATED, Story};
use protocol::rules::{Bug, Rules, Variant};
use protocol::search::explore;
use std::time::Instant;

const STORIES: [Story; 5] = [IN_ORDER, LATE_CLICK, LATE_RANKING, NO_RANKING, REPEATED];

fn one_redis(story: Story) -> Rules {
    Rules::new(Variant::OneRedis, story)
}

fn cluster(story: Story) -> Rules {
    Rules::new(Variant::Cluster, story)
}

/// Explores everything there is: as many states as docs/protocol.md says, none of which breaks a promise.
fn keeps_its_promises(rules: Rules, states: usize) {
    let started = Instant::now();
    let explored = explore(&rules).unwrap_or_else(|found| panic!("{rules:?}: {found:#?}"));
    println!("{rules}: {explored:?} in {:?}", started.elapsed());
    assert!(explored.states == states && explored.ends > 0, "{rules}: {explored:?}");
}

/// The same for each story.
fn all_keep_their_promises(rules: impl Fn(Story) -> Rules, states: [usize; STORIES.len()]) {
    STORIES.into_iter().zip(states).for_each(|(story, states)| keeps_its_promises(rules(story), states));
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
    let states = [1_530_942, 660_165, 1_582_540, 98_047, 246_462];
    all_keep_their_promises(|story| one_redis(story).sized(2, 2), states);
}

#[test]
fn a_cluster_keeps_its_promises_through_a_fault() {
    let states = [1_228_777, 337_141, 762_032, 67_218, 337_634];
    all_keep_their_promises(|story| cluster(story).sized(1, 1), states);
    let states = [583_502, 339_917, 830_107, 66_906, 675_124];
    all_keep_their_promises(|story| cluster(story).sized(1, 2).merged(), states);
}

#[test]
fn a_cluster_keeps_its_promises_through_two_faults() {
    let stories = [IN_ORDER, LATE_CLICK, NO_RANKING, REPEATED];
    for (story, states) in stories.into_iter().zip([6_116_405, 3_204_814, 586_539, 3_887_497]) {
        keeps_its_promises(cluster(story).sized(2, 1).merged(), states);
    }
}

/// Takes minutes and gigabytes.
#[test]
fn more_of_the_same_where_long_tests_are_wanted() {
    if std::env::var("RANKWRIGHT_TEST_LONG").as_deref() != Ok("1") {
        return;
    }
    keeps_its_promises(one_redis(IN_ORDER).sized(3, 1), 17_261_544);
    let states = [4_376_466, 2_206_679, 3_534_790, 238_736, 2_173_105];
    all_keep_their_promises(|story| cluster(story).sized(1, 2), states);
    keeps_its_promises(cluster(LATE_RANKING).sized(2, 1).merged(), 9_694_418);
}

const TWICE: &str = "an effect takes place twice";
const AHEAD: &str = "a position is ahead of its effects";
const EARLY: &str = "a watermark is ahead of its effects";
const OTHER: &str = "effects are not those of a run without faults";

#[test]
fn a_position_that_moves_first_is_found() {
    breaks(one_redis(IN_ORDER), Bug::PositionFirst, AHEAD, 3);
    breaks(cluster(IN_ORDER), Bug::PositionFirst, AHEAD, 3);
}

#[test]
fn a_lease_that_nobody_checks_is_found() {
    breaks(one_redis(IN_ORDER), Bug::NoLease, TWICE, 8);
    breaks(cluster(IN_ORDER), Bug::NoLease, "effects are there that no position covers", 14);
}

#[test]
fn an_epoch_that_nobody_checks_is_found_in_a_cluster() {
    breaks(cluster(IN_ORDER), Bug::NoEpoch, EARLY, 17);
}

/// The position is compared and set as well, which is enough where everything happens in one script; in a cluster, the number of
/// the batch.
#[test]
fn nothing_depends_on_the_epoch_alone() {
    keeps_its_promises(one_redis(IN_ORDER).sized(2, 1).with(Bug::NoEpoch), 3_161_527);
    keeps_its_promises(cluster(IN_ORDER).sized(1, 1).merged().with(Bug::NumbersAlone), 530_197);
}

#[test]
fn a_value_that_is_overwritten_unseen_is_found() {
    breaks(one_redis(IN_ORDER), Bug::NoStamps, AHEAD, 8);
    breaks(cluster(IN_ORDER), Bug::NoStamps, EARLY, 21);
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
    breaks(cluster(IN_ORDER), Bug::NumbersRestart, AHEAD, 23);
}

#[test]
fn a_redo_record_that_is_left_alone_is_found() {
    breaks(cluster(IN_ORDER), Bug::RedoLeft, TWICE, 15);
}

#[test]
fn a_late_click_that_joins_at_once_is_found() {
    breaks(one_redis(LATE_CLICK), Bug::NoGuard, "a join record stays", 23);
    breaks(cluster(LATE_CLICK), Bug::NoGuard, "two copies of a click-through differ", 51);
}

#[test]
fn watermarks_that_are_read_last_are_found() {
    breaks(one_redis(IN_ORDER), Bug::WatermarksLast, OTHER, 22);
    breaks(cluster(IN_ORDER), Bug::WatermarksLast, OTHER, 57);
}

#[test]
fn a_watermark_that_is_written_first_is_found() {
    breaks(cluster(IN_ORDER), Bug::WatermarkFirst, EARLY, 5);
}

#[test]
fn a_refusal_that_comes_too_late_is_found() {
    breaks(cluster(REPEATED), Bug::DecideLate, TWICE, 24);
}

#[test]
fn a_record_that_is_sealed_before_waiting_clicks_are_taken_is_found() {
    breaks(one_redis(IN_ORDER), Bug::SealFirst, "a click is missing in its click-through", 25);
}

#[test]
fn a_record_that_is_removed_before_its_click_through_is_durable_is_found() {
    breaks(one_redis(IN_ORDER), Bug::RemoveFirst, "the click-through is lost", 23);
}
