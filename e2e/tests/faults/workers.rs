//! Workers that are killed, leave, join, and wake up when their work has long been done by others.

use crate::trial::Trial;
use rankwright_e2e::crew::Crew;
use rankwright_e2e::kafka::broker;
use rankwright_e2e::many::config;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::wait;

const PARTITIONS: usize = 8;

#[test]
fn workers_that_are_killed_at_any_moment_lose_and_double_nothing() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let (rankings, kills) = wait::scaled((3_000, 6), (100_000, 50));
    let mut trial = Trial::new(&redis, "kills", rankings, PARTITIONS);
    let mut crew = trial.crew(&config(&redis), &broker);
    trial.ranks(&mut crew, false);
    (0..2).for_each(|_| crew.join());
    for (number, moment) in trial.moments(kills).into_iter().enumerate() {
        crew.until_read(&redis, moment);
        crew.kill_one(&mut trial.random);
        crew.join();
        match number % 5 {
            2 => crew.join(),
            4 => crew.dismiss_one(&mut trial.random),
            _ => {}
        }
    }
    crew.until_done(&redis);
    trial.assert_came_to(&redis, &crew.dismissed());
}

/// Lets a worker sleep until others have read on in all partitions that are not at their end.
fn sleeps_through(crew: &Crew, redis: &Redis, sleeper: usize) {
    crew.workers[sleeper].pause();
    let before = crew.read(redis);
    let moved = |place: usize, now: usize| now > before[place] || now == crew.sizes()[place];
    let moved_on = || crew.read(redis).into_iter().enumerate().all(|(place, now)| moved(place, now));
    wait::until("all partitions read on by others", || crew.log(), moved_on);
    crew.workers[sleeper].resume();
}

#[test]
fn a_worker_that_wakes_up_when_others_have_its_partitions_changes_nothing() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    wake_up_too_late(&redis, &redis, &broker, wait::scaled((4_000, 2), (60_000, 20)));
}

#[test]
fn it_changes_nothing_in_a_cluster_either() {
    let (Some(reference), Some(cluster), Some(broker)) = (Redis::for_tests(), Redis::in_a_cluster(), broker()) else {
        return;
    };
    wake_up_too_late(&reference, &cluster, &broker, wait::scaled((3_000, 2), (30_000, 10)));
}

/// Workers sleep `pauses` times while others do their work.
fn wake_up_too_late(reference: &Redis, redis: &Redis, broker: &str, (rankings, pauses): (i64, usize)) {
    let mut trial = Trial::new(reference, "zombies", rankings, PARTITIONS);
    let mut crew = trial.crew(&config(redis), broker);
    trial.ranks(&mut crew, false);
    (0..2).for_each(|_| crew.join());
    for moment in trial.moments(pauses) {
        crew.until_read(redis, moment / 2);
        sleeps_through(&crew, redis, trial.random.below(2));
    }
    crew.until_done(redis);
    trial.assert_came_to(redis, &crew.dismissed());
}

#[test]
fn a_worker_that_wakes_up_while_it_takes_partitions_over_changes_nothing() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let trial = Trial::new(&redis, "takeover", 4_000, PARTITIONS);
    let mut crew = trial.crew(&config(&redis), &broker);
    trial.ranks(&mut crew, false);
    crew.join();
    // each of them gets one
    for newcomer in 1..wait::scaled(3, PARTITIONS) {
        crew.join();
        let begins = || crew.workers[newcomer].log().contains("reading partition=");
        wait::until("a partition taken over", || crew.log(), begins);
        sleeps_through(&crew, &redis, newcomer);
    }
    crew.until_done(&redis);
    trial.assert_came_to(&redis, &crew.dismissed());
}
