//! `purge`: a service goes, and no other.

use rankwright_e2e::many::{FEATURES, day, launch};
use rankwright_e2e::program::command;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, events};
use rankwright_object::testing::own_bucket;
use rankwright_object::{Bucket, Runner};
use std::path::Path;

fn run(arguments: &[&str], service: &str, folder: &Path) -> Ended {
    Ended::of(command(arguments).current_dir(folder).env("RANKWRIGHT_SERVICE", service))
}

#[test]
fn a_purged_service_leaves_nothing_and_others_keep_all() {
    Redis::for_tests().iter().for_each(|redis| leaves_nothing(redis, &["0 ", "2 ", "3 "]));
}

#[test]
fn a_purged_service_leaves_nothing_in_any_node_of_a_cluster() {
    Redis::in_a_cluster().iter().for_each(|redis| leaves_nothing(redis, &["0 "]));
}

/// `databases` are those that it lies in.
fn leaves_nothing(redis: &Redis, databases: &[&str]) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let (shop, other) = (redis.own_service("purged"), redis.own_service("kept"));
    let kept = format!("train: {{type: redis, {}}}", redis.keys());
    let config = rankwright_e2e::many::config(redis);
    let config = config.replace("train: {type: file, path: ./parts, format: json}", &kept);
    let config = config.replace(
        "same: {type: noop}",
        "learned: {type: lambdamart, weights: {click: 1}, features: [clicks, ctr], backend: {type: lightgbm, iterations: 5}}",
    );
    std::fs::write(folder.join("config.yml"), &config).expect("can be written");
    std::fs::write(folder.join("events.jsonl"), events::lines(&day(&mut Random(3), 50))).expect("can be written");
    for service in [&shop, &other] {
        run(&["import", "--config", "config.yml", "--data", "events.jsonl"], service, folder).ok();
    }
    let kept = redis.values(&other);
    assert!(!redis.values(&shop).is_empty() && !kept.is_empty());
    run(&["train", "--config", "config.yml"], &shop, folder).ok();
    for database in databases {
        assert!(redis.names(&shop).iter().any(|name| name.starts_with(database)), "{:?}", redis.names(&shop));
    }

    let unasked = run(&["purge", "--config", "config.yml"], &shop, folder).refused();
    assert!(unasked.stderr.contains("confirm with --yes"), "{}", unasked.stderr);
    assert!(!redis.values(&shop).is_empty(), "nothing goes without a yes");
    let purged = run(&["purge", "--config", "config.yml", "--yes"], &shop, folder).ok();
    assert!(purged.stdout.contains("removed ") && purged.stdout.contains(" keys in "), "{}", purged.stdout);
    assert_eq!(redis.names(&shop), Vec::<String>::new());
    assert!(redis.values(&other) == kept, "another service keeps its state");

    let local = format!("state: {{type: file, path: ./state}}\n{FEATURES}");
    std::fs::write(folder.join("local.yml"), local).expect("can be written");
    let nothing = run(&["purge", "--config", "local.yml", "--yes"], &shop, folder).refused();
    assert!(nothing.stderr.contains("lies in Redis or S3"), "{}", nothing.stderr);
    let again = launch("rank-server", &config, &shop, folder);
    assert_eq!(again.status()["store"]["answers"], true, "the service can begin anew");
}

#[test]
fn parts_of_a_purged_service_go_from_a_bucket_that_it_shares() {
    let (Some(redis), Some(settings)) = (Redis::for_tests(), own_bucket()) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let key = |variable: &str| std::env::var(variable).unwrap_or_default();
    let place = format!(
        "bucket: {}, prefix: p, region: us-east-1, endpoint: '{}', cloudKey: {}, cloudKeySecret: {}",
        settings.bucket,
        settings.endpoint.as_deref().unwrap_or_default(),
        key("RANKWRIGHT_TEST_S3_KEY"),
        key("RANKWRIGHT_TEST_S3_SECRET")
    );
    let config = rankwright_e2e::many::config(&redis);
    let config = config.replace("{type: file, path: ./parts, format: json}", &format!("{{type: s3, {place}}}"));
    std::fs::write(folder.join("config.yml"), &config).expect("can be written");
    std::fs::write(folder.join("events.jsonl"), events::lines(&day(&mut Random(3), 50))).expect("can be written");
    let (shop, other) = (redis.own_service("purged-parts"), redis.own_service("kept-parts"));
    let runner = Runner::start().expect("there is room for a thread");
    let parts = || {
        let settings = settings.clone();
        let listed = runner.wait(async move { Bucket::connect(&settings).await.list("p/").await });
        listed.expect("the server lists").len()
    };
    run(&["import", "--config", "config.yml", "--data", "events.jsonl"], &shop, folder).ok();
    let of_shop = parts();
    run(&["import", "--config", "config.yml", "--data", "events.jsonl"], &other, folder).ok();
    let of_both = parts();
    assert!(0 < of_shop && of_shop < of_both, "{of_shop} {of_both}");
    let purged = run(&["purge", "--config", "config.yml", "--yes"], &shop, folder).ok();
    let told = format!("removed {of_shop} parts in s3://{}/p", settings.bucket);
    assert!(purged.stdout.contains(&told), "{told}: {}", purged.stdout);
    assert_eq!(parts(), of_both - of_shop);
    let again = run(&["purge", "--config", "config.yml", "--yes"], &shop, folder).ok();
    assert!(again.stdout.contains("removed 0 parts"), "{}", again.stdout);
}

#[test]
fn programs_of_another_service_or_cluster_neither_write_to_a_state_nor_remove_it_unless_told_to() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let service = redis.own_service("owned");
    std::fs::write(folder.join("config.yml"), rankwright_e2e::many::config(&redis)).expect("can be written");
    std::fs::write(folder.join("events.jsonl"), events::lines(&day(&mut Random(3), 20))).expect("can be written");
    let run = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = command(arguments);
        Ended::of(command.current_dir(folder).env("RANKWRIGHT_SERVICE", &service).envs(environment.iter().copied()))
    };
    let import = ["import", "--config", "config.yml", "--data", "events.jsonl"];
    let purge = ["purge", "--config", "config.yml", "--yes"];
    let owner = |mark| ("RANKWRIGHT_OWNER", mark);
    let [ours, theirs, beside] = ["c1/search/shop", "c2/search/shop", "c1/search/blog"].map(owner);
    run(&import, &[ours]).ok();
    let there = redis.values(&service);
    let other = "another cluster (c1)";
    for (stranger, of) in [(&[theirs][..], other), (&[][..], other), (&[beside][..], "this cluster")] {
        let refused = run(&import, stranger).refused().stderr;
        assert!(refused.contains(&format!("belongs to RankingService search/shop of {of}")), "{refused}");
        assert!(refused.contains("RANKWRIGHT_TAKE_OVER=true"), "{refused}");
        let refused = run(&purge, stranger).refused().stderr;
        assert!(refused.contains("nothing was removed") && refused.contains("--take-over"), "{refused}");
    }
    assert!(redis.values(&service) == there, "nothing has changed");
    run(&import, &[theirs, ("RANKWRIGHT_TAKE_OVER", "true")]).ok();
    run(&purge, &[ours]).refused();
    run(&[&purge[..], &["--take-over"]].concat(), &[]).ok();
    assert_eq!(redis.names(&service), Vec::<String>::new());
}
