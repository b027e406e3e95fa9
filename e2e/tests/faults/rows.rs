//! Feature values that rankings saw, where one worker at a time has all partitions.

use crate::trial::Trial;
use rankwright_e2e::kafka::{broker, spread, until_deserted};
use rankwright_e2e::many::{click_throughs_with_rows, config, day_of_changes};
use rankwright_e2e::program::models_for_tests;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::wait;
use serde_json::Value;

const PARTITIONS: usize = 4;
/// They change when rankings close, which a worker does in its own time.
const RATES: [&str; 2] = ["ctr", "brand_ctr"];

#[test]
fn rankings_see_the_state_of_their_time_though_the_worker_is_killed() {
    let (Some(redis), Some(broker), Some(_)) = (Redis::for_tests(), broker(), models_for_tests()) else { return };
    let (rankings, kills) = wait::scaled((2_000, 3), (40_000, 20));
    let mut random = Random::seeded();
    let plain = config(&redis);
    let events = day_of_changes(&mut random, rankings);
    let mut trial = Trial::of(&redis, "rows", random, &plain, &events, |rest, random| spread(rest, PARTITIONS, random));
    let expected = click_throughs_with_rows(&[trial.path().join("alone")], &RATES);
    let mut crew = trial.crew(&plain, &broker);
    trial.ranks(&mut crew, false);
    crew.join();
    for moment in trial.moments(kills) {
        crew.until_read(&redis, moment);
        crew.kill_one(&mut trial.random);
        until_deserted(&broker, &trial.service); // or the next one would begin with some of the partitions
        crew.join();
    }
    crew.until_done(&redis);
    let folders = crew.dismissed();
    trial.assert_came_to(&redis, &folders);
    let found = click_throughs_with_rows(&folders, &RATES);
    for (id, record) in &expected {
        assert_eq!(found.get(id), Some(record), "the click-through {id}");
    }
    // both are known, of most items
    let known = |row: &Value| row.as_array().is_some_and(|row| row.iter().rev().take(2).all(|value| !value.is_null()));
    let items = expected.values().flat_map(|record| record["items"].as_array().into_iter().flatten());
    let (with, all) = items.fold((0, 0), |(with, all), item| (with + usize::from(known(&item["row"])), all + 1));
    assert!(2 * with > all && all > 0, "{with} of {all} rows have the last two values");
}
