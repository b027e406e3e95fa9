//! Servers that are killed under their clients, and come back with what they had answered.

use crate::ranking::outage;
use crate::trial::Trial;
use rankwright_e2e::kafka::broker;
use rankwright_e2e::many::config;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::server::Server;
use rankwright_e2e::wait;
use std::time::Duration;

const PARTITIONS: usize = 4;

/// How long a server is away.
fn away(trial: &mut Trial) {
    std::thread::sleep(Duration::from_millis(trial.random.below(1500) as u64));
}

#[test]
fn a_redis_that_is_killed_under_workers_loses_and_doubles_nothing() {
    let (Some(reference), Some(broker), Some(mut redis)) = (Redis::for_tests(), broker(), Redis::of_its_own()) else {
        return;
    };
    let (rankings, kills) = wait::scaled((1_500, 3), (40_000, 30));
    let mut trial = Trial::new(&reference, "redis-killed", rankings, PARTITIONS);
    let mut crew = trial.crew(&config(&redis), &broker);
    trial.ranks(&mut crew, true);
    (0..2).for_each(|_| crew.join());
    for (round, moment) in trial.moments(kills).into_iter().enumerate() {
        crew.until_read(&redis, moment);
        let killed = crew.until_said(&["waiting for the state store", "rankings are closed later"], || redis.killed());
        away(&mut trial);
        std::thread::sleep(outage(round));
        redis = killed.started();
    }
    crew.until_done(&redis);
    trial.assert_came_to(&redis, &crew.dismissed());
}

#[test]
fn a_broker_that_is_killed_under_workers_loses_and_doubles_nothing() {
    let (Some(redis), Some(kafka)) = (Redis::for_tests(), Server::kafka()) else { return };
    let (rankings, kills) = wait::scaled((3_000, 1), (60_000, 10));
    let mut trial = Trial::new(&redis, "broker-killed", rankings, PARTITIONS);
    let mut crew = trial.crew(&config(&redis), &kafka.address());
    trial.ranks(&mut crew, false);
    (0..2).for_each(|_| crew.join());
    for (number, moment) in trial.moments(kills).into_iter().enumerate() {
        crew.until_read(&redis, moment);
        match number {
            0 => crew.until_said(&["no broker answers"], || kafka.killed()),
            _ => kafka.killed(), // who has not read since then does not say it again
        }
        away(&mut trial);
        kafka.started();
    }
    crew.until_done(&redis);
    trial.assert_came_to(&redis, &crew.dismissed());
}

/// Click-throughs in the bucket of a server.
pub(crate) fn in_bucket(address: &str) -> String {
    format!(
        "type: s3, bucket: bucket, prefix: parts, region: us-east-1, endpoint: 'http://{address}', compress: none, \
         cloudKey: test, cloudKeySecret: testsecret, partSizeEvents: 50, partInterval: 1s"
    )
}

#[test]
fn click_throughs_wait_for_a_bucket_whose_service_is_killed() {
    let (Some(redis), Some(broker), Some(s3)) = (Redis::for_tests(), broker(), Server::s3("bucket")) else { return };
    let (rankings, kills) = wait::scaled((2_000, 3), (40_000, 20));
    let mut trial = Trial::new(&redis, "s3-killed", rankings, PARTITIONS);
    let config = config(&redis).replace("type: file, path: ./parts", &in_bucket(&s3.address()));
    let mut crew = trial.crew(&config, &broker);
    trial.ranks(&mut crew, false);
    (0..2).for_each(|_| crew.join());
    for moment in trial.moments(kills) {
        crew.until_read(&redis, moment);
        crew.until_said(&["cannot be reached"], || s3.killed());
        away(&mut trial);
        s3.started();
    }
    crew.until_done(&redis);
    crew.dismissed();
    trial.assert_came_to(&redis, &[s3.folder().join("versitygw/bucket")]);
}
