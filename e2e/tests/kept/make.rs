//! Taking the sample of a release.

use crate::bucket::Bucket;
use crate::going_on::{end, gone_on, list};
use crate::home::Home;
use crate::sample::{Place, Sample, copy};
use crate::story::Story;
use flate2::read::GzDecoder;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::run;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Writes the sample of the programs there are, all of it or nothing.
pub(crate) fn sample(place: &Sample) {
    const SERVERS: &str = "a sample is taken where Redis, a cluster of it and S3 are";
    let (redis, cluster) = (Redis::of_its_own().expect(SERVERS), Redis::in_a_cluster().expect(SERVERS));
    let (bucket, folder) = (Bucket::own().expect(SERVERS), crate::folder());
    let within = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir(&path).expect("can be made");
        path
    };
    let sample = Sample { folder: within("sample") };
    begin(&sample, &within("shop"));
    let told = json!({
        "redis": taken(&sample, &Home::in_redis(&sample, &redis, &within("redis")), Place::Redis),
        "cluster": taken(&sample, &Home::in_redis(&sample, &cluster, &within("cluster")), Place::Cluster),
        "state": taken(&sample, &Home::in_a_folder(&sample, &within("folder")), Place::Folder),
        "bucket": imported(&sample, &Home::with_a_bucket(&sample, &bucket, &within("bucket")), &bucket),
    });
    sample.write("told.json", &format!("{told:#}\n"));
    sample.seal();
    copy(&sample.folder, &place.folder);
}

/// Events, a configuration, and what comes after.
fn begin(sample: &Sample, shop: &Path) {
    let size = ["--items", "16", "--users", "8", "--rankings", "60", "--length", "6", "--days", "5"];
    run(&[&["generate", "--out", &shop.to_string_lossy()], &size[..]].concat()).ok();
    for name in ["events.jsonl.gz", "terms.dict"] {
        copy(&shop.join(name), &sample.folder.join(name));
    }
    sample.write("features.yml", include_str!("features.yml"));
    let story = Story { begin: newest(&shop.join("events.jsonl.gz")) };
    let (closed, open, next, asked) = (story.closed(), story.open(), story.next(), story.asked());
    let story = json!({"closed": closed, "open": open, "next": next, "asked": asked});
    sample.write("story.json", &format!("{story:#}\n"));
}

/// The time of the last event of a file.
fn newest(events: &Path) -> i64 {
    let lines = BufReader::new(GzDecoder::new(File::open(events).expect("is there"))).lines();
    let event = |line: String| serde_json::from_str::<Value>(&line).expect("is JSON");
    let time = |event: Value| event["timestamp"].as_str().and_then(|time| time.parse::<i64>().ok()).expect("a time");
    lines.map(|line| time(event(line.expect("is text")))).max().expect("there are events")
}

/// Has the story begin in an empty home, and keeps what is there and what it comes to; what there is to train on then.
fn taken(sample: &Sample, home: &Home<'_>, place: Place) -> Value {
    let story = sample.story();
    home.clear();
    home.import(sample);
    home.run(&["train"]).ok();
    let mut programs = home.start();
    programs[0].feedback(list(&story["closed"]));
    home.until_closed(&programs);
    if home.is_shared() {
        programs.pop().expect("the one that closes").kill(); // so that what was closed stays on its way
    }
    programs[0].feedback(list(&story["open"]));
    end(programs);
    home.keep(sample, place);
    home.clear();
    home.fill(sample, place);
    let told = gone_on(home, sample);
    home.clear();
    for (moment, answers) in [("first", told.first), ("then", told.then)] {
        let lines: String = answers.iter().map(|answer| format!("{}\n", answer.trim_end())).collect();
        sample.write(&place.answers(moment), &lines);
    }
    told.trained
}

/// Keeps the parts that an import makes; what there is to train on in them.
fn imported(sample: &Sample, home: &Home<'_>, bucket: &Bucket) -> Value {
    home.import(sample);
    bucket.get_all(&sample.folder.join("bucket"));
    home.trained()["rankings"].take()
}
