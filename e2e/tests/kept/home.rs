//! Where programs find what was kept.

use crate::bucket::Bucket;
use crate::sample::{Place, Sample, copy};
use rankwright_e2e::program::{clean, command, named};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the folder stood in what is kept.
const FOLDER: &str = "{folder}";

/// Whose data it is.
pub(crate) const SERVICE: &str = "kept";

/// A configuration in a folder, over a state somewhere.
pub(crate) struct Home<'a> {
    folder: PathBuf,
    config: String,
    /// With a name for the machine, which the names of writers begin with.
    environment: Vec<(&'a str, &'a str)>,
    /// Where the state is, if it is not in the folder.
    redis: Option<&'a Redis>,
}

impl<'a> Home<'a> {
    pub(crate) fn in_redis(sample: &Sample, redis: &'a Redis, folder: &Path) -> Self {
        let server = format!("type: redis, {}", redis.patient());
        // the index of parts says, by the wall clock, when they are given up
        let stores = format!("state: {{{server}}}\ntrain: {{{server}, ttl: 36500d}}");
        Self { redis: Some(redis), ..Self::new(sample, &stores, folder) }
    }

    pub(crate) fn in_a_folder(sample: &Sample, folder: &Path) -> Self {
        Self::new(sample, "state: {type: file, path: ./state}", folder)
    }

    /// The state is in the folder, and click-throughs in a bucket.
    pub(crate) fn with_a_bucket(sample: &Sample, bucket: &'a Bucket, folder: &Path) -> Self {
        let stores = format!("state: {{type: file, path: ./state}}\ntrain: {{type: s3, {}}}", bucket.keys());
        let mut home = Self::new(sample, &stores, folder);
        home.environment.extend(bucket.credentials());
        home
    }

    fn new(sample: &Sample, stores: &str, folder: &Path) -> Self {
        let folder = folder.canonicalize().expect("is there");
        let config = format!("{stores}\napi: {{host: 127.0.0.1, port: 0}}\n{}", sample.text("features.yml"));
        std::fs::write(folder.join("config.yml"), &config).expect("can be written");
        let terms = sample.folder.join("terms.dict"); // older samples have none
        if terms.exists() {
            copy(&terms, &folder.join("terms.dict"));
        }
        Self { folder, config, environment: vec![("RANKWRIGHT_SERVICE", SERVICE), ("HOSTNAME", SERVICE)], redis: None }
    }

    /// Removes what lies there.
    pub(crate) fn clear(&self) {
        match self.redis {
            Some(_) => drop(self.run(&["purge", "--yes"]).ok()),
            None => drop(std::fs::remove_dir_all(self.folder.join("state"))), // there may be none yet
        }
    }

    /// Whether several programs share the state.
    pub(crate) fn is_shared(&self) -> bool {
        self.redis.is_some()
    }

    /// Puts there what is kept. An import knows its files by their path, which is in this folder from now on.
    pub(crate) fn fill(&self, sample: &Sample, place: Place) {
        match self.redis {
            Some(redis) => redis.restore(&sample.text(&dump(place)).replace(FOLDER, &self.path())),
            None => copy(&sample.folder.join(place.name()), &self.folder.join("state")),
        }
    }

    /// Keeps what is there.
    pub(crate) fn keep(&self, sample: &Sample, place: Place) {
        match self.redis {
            Some(redis) => sample.write(&dump(place), &redis.dump(SERVICE).replace(&self.path(), FOLDER)),
            None => copy(&self.folder.join("state"), &sample.folder.join(place.name())),
        }
    }

    /// The folder as dumps have it.
    fn path(&self) -> String {
        self.folder.as_os_str().as_encoded_bytes().escape_ascii().to_string()
    }

    /// The programs of a service: the first takes events and answers, the last closes rankings.
    pub(crate) fn start(&self) -> Vec<Service> {
        let mut programs = vec![self.start_first()];
        programs.extend(self.start_last());
        programs
    }

    /// The one that takes events and answers.
    pub(crate) fn start_first(&self) -> Service {
        self.start_one(if self.is_shared() { "rank-server" } else { "serve" })
    }

    /// The one that closes rankings, where the first does not.
    pub(crate) fn start_last(&self) -> Option<Service> {
        self.is_shared().then(|| self.start_one("ingest-worker"))
    }

    fn start_one(&self, program: &str) -> Service {
        let (config, folder, environment) = (&self.config, &self.folder, &self.environment);
        Launch { subcommand: program, config, data: None, folder, environment }.start()
    }

    /// Waits until all rankings are closed.
    pub(crate) fn until_closed(&self, programs: &[Service]) {
        let Some(redis) = self.redis else { return programs[0].settle() };
        programs[0].until("all rankings closed", || redis.has_closed(SERVICE));
    }

    /// Runs a subcommand to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.ended(&mut command(&[arguments, &["--config", "config.yml"]].concat()))
    }

    fn ended(&self, command: &mut Command) -> Ended {
        Ended::of(command.current_dir(&self.folder).envs(self.environment.iter().copied()))
    }

    /// What the import of the events says.
    pub(crate) fn import(&self, sample: &Sample) -> String {
        copy(&sample.folder.join("events.jsonl.gz"), &self.folder.join("events.jsonl.gz"));
        self.run(&["import", "--data", "events.jsonl.gz"]).ok().stderr
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.run(&["status", "--json"]).ok().stdout).expect("is JSON")
    }

    /// What a training job says of a model.
    pub(crate) fn trained(&self) -> Value {
        let mut job = clean(Command::new(named("training-job")));
        let ended = self.ended(job.args(["--config", "config.yml", "--model", "lightgbm"])).ok();
        let mut report: Value = serde_json::from_str(&ended.stdout).expect("is JSON");
        report["models"][0].take()
    }
}

/// The file with the keys of a state in Redis.
fn dump(place: Place) -> String {
    format!("{}.txt", place.name())
}
