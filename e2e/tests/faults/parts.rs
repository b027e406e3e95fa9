//! A bucket with more parts than one page of its list has.

use rankwright_e2e::events::cheap_wins;
use rankwright_e2e::program::{command, named};
use rankwright_e2e::{Ended, events};
use serde_json::Value;
use std::process::Command;

const LISTS: i64 = 2_500;

#[test]
fn a_model_learns_from_every_part_of_a_bucket_with_2500() {
    let Some(bucket) = rankwright_object::testing::own_bucket() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (endpoint, name) = (bucket.endpoint.as_deref().unwrap_or_default(), &bucket.bucket);
    let train = format!(
        "train: {{type: s3, bucket: {name}, prefix: parts, region: us-east-1, endpoint: '{endpoint}', partSizeEvents: 1}}\n\
         api: {{host: 127.0.0.1, port: 0}}\n"
    );
    let key = |variable: &str| std::env::var(variable).unwrap_or_default();
    let set_up = |mut command: Command| {
        command.current_dir(folder.path()).env("AWS_ACCESS_KEY_ID", key("RANKWRIGHT_TEST_S3_KEY"));
        command.env("AWS_SECRET_ACCESS_KEY", key("RANKWRIGHT_TEST_S3_SECRET"));
        Ended::of(&mut command)
    };
    std::fs::write(folder.path().join("config.yml"), events::DURABLE.to_owned() + &train).expect("can be written");
    std::fs::write(folder.path().join("events.jsonl"), events::lines(&cheap_wins(LISTS))).expect("can be written");
    set_up(command(&["import", "--config", "config.yml", "--data", "events.jsonl"])).ok();
    let runner = rankwright_object::Runner::start().expect("there is room for a thread");
    let settings = bucket.clone();
    let parts = async move { rankwright_object::Bucket::connect(&settings).await.list("parts/").await };
    assert_eq!(runner.wait(parts).expect("is listed").len() as i64, LISTS);
    let mut job = Command::new(named("training-job"));
    job.args(["--config", "config.yml", "--model", "m"]);
    let ended = set_up(job).ok();
    let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
    let rankings = &report["models"][0]["rankings"];
    let sides = [0, 1].map(|side| rankings[side].as_i64().unwrap_or(0));
    assert_eq!(sides.iter().sum::<i64>(), LISTS, "{report}");
}
