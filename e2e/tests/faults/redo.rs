//! Workers, and a cluster of Redis, that are killed when a batch is half done: its redo record is written, its position is not.

use crate::trial::Trial;
use rankwright_e2e::kafka::broker;
use rankwright_e2e::many::config;
use rankwright_e2e::redis::{OwnCluster, Redis};
use rankwright_e2e::wait;

const PARTITIONS: usize = 4;

#[test]
fn batches_that_are_half_done_when_workers_or_a_cluster_are_killed_are_done_once() {
    let (Some(reference), Some(broker), Some(mut cluster)) = (Redis::for_tests(), broker(), OwnCluster::started())
    else {
        return;
    };
    let (rankings, kills) = wait::scaled((2_000, 4), (40_000, 40));
    let mut trial = Trial::new(&reference, "redo", rankings, PARTITIONS);
    let redis = cluster.redis();
    // many small batches, so that there is always one on its way
    let config = config(&redis).replace("state: {", "state: {pipeline: {maxSize: 20}, ");
    let mut crew = trial.crew(&config, &broker);
    trial.ranks(&mut crew, true);
    (0..2).for_each(|_| crew.join());
    for (number, moment) in trial.moments(kills).into_iter().enumerate() {
        crew.until_read(&redis, moment);
        let held = trial.random.below(3);
        cluster.held_up(&trial.service, held, || crew.log());
        if number % 2 == 0 {
            (0..2).for_each(|_| crew.kill_one(&mut trial.random));
            cluster.let_go(held);
            (0..2).for_each(|_| crew.join());
        } else {
            cluster.killed_and_started();
        }
    }
    crew.until_done(&redis);
    let writers = (0..PARTITIONS).map(|number| format!("kafka:{}/{number}", trial.service));
    let batches: u64 = writers.map(|writer| redis.batches(&trial.service, &writer)).sum();
    assert!(batches < trial.len() as u64 / 2, "{batches} commits for {} messages", trial.len());
    trial.assert_came_to(&redis, &crew.dismissed());
}
