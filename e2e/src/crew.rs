//! Ingest workers on a topic of Kafka, which come and go, beside a server that is asked for rankings all the while.

use crate::asking::Asking;
use crate::many::launch;
use crate::random::Random;
use crate::redis::Redis;
use crate::{Service, wait};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Workers of a service.
pub struct Crew {
    config: String,
    service: String,
    folder: PathBuf,
    /// Those that are there.
    pub workers: Vec<Service>,
    /// Of all that there were.
    folders: Vec<PathBuf>,
    /// How many messages each partition has.
    sizes: Vec<usize>,
    asking: Option<Asking>,
}

/// The part of a configuration that names a topic, as a crew reads it.
pub fn source(broker: &str, topic: &str) -> String {
    let options = "{session.timeout.ms: '2000', heartbeat.interval.ms: '500', reconnect.backoff.max.ms: '500'}";
    format!(
        "\nsource: {{type: kafka, brokers: ['{broker}'], topic: {topic}, groupId: {topic}, offset: earliest, options: {options}}}\n"
    )
}

impl Crew {
    /// A crew without workers, for a topic of the service's name with these messages.
    pub fn new(config: String, service: &str, folder: &Path, partitions: &[Vec<String>]) -> Self {
        let (workers, folders, sizes) = (Vec::new(), Vec::new(), partitions.iter().map(Vec::len).collect());
        let (service, folder) = (service.to_owned(), folder.to_owned());
        Self { config, service, folder, workers, folders, sizes, asking: None }
    }

    /// From now on a server is asked for rankings by a model that is trained on `parts`: each is answered in time, and by the
    /// model unless state may `go_away`.
    ///
    /// # Panics
    /// When the model cannot be trained, or the server does not come up.
    pub fn ranks(&mut self, parts: &Path, may_go_away: bool) {
        self.asking = Some(Asking::of(&self.config, &self.service, parts, &self.folder, may_go_away));
    }

    /// One more.
    pub fn join(&mut self) {
        let folder = self.folder.join(format!("worker {}", self.folders.len()));
        self.folders.push(folder.clone());
        self.workers.push(launch("ingest-worker", &self.config, &self.service, &folder));
    }

    /// One less, without a word.
    pub fn kill_one(&mut self, random: &mut Random) {
        let doomed = self.workers.remove(random.below(self.workers.len()));
        assert_well(&doomed);
        doomed.kill();
    }

    /// One is told to go, and does.
    ///
    /// # Panics
    /// When it does not end well.
    pub fn dismiss_one(&mut self, random: &mut Random) {
        let leaving = self.workers.remove(random.below(self.workers.len()));
        assert_well(&leaving);
        leaving.terminate();
        assert_eq!(leaving.wait(), Some(0), "a worker that is told to ends well");
    }

    /// How many messages each partition has.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// How many messages lie behind each partition's position.
    pub fn read(&self, redis: &Redis) -> Vec<usize> {
        (0..self.sizes.len()).map(|number| self.read_of(redis, number)).collect()
    }

    fn read_of(&self, redis: &Redis, number: usize) -> usize {
        let position = redis.position(&self.service, &format!("kafka:{}/{number}", self.service));
        let position: Value = serde_json::from_str(&position).unwrap_or_default();
        position["line"].as_u64().unwrap_or(0) as usize
    }

    /// Waits until this number of messages was read.
    ///
    /// # Panics
    /// When that takes too long.
    pub fn until_read(&self, redis: &Redis, count: usize) {
        let read = || self.read(redis).iter().sum::<usize>();
        wait::until(
            &format!("{count} messages read"),
            || format!("{} are\n{}", read(), self.log()),
            || read() >= count,
        );
    }

    /// Waits until everything is read and closed.
    ///
    /// # Panics
    /// When that takes too long.
    pub fn until_done(&self, redis: &Redis) {
        let done = || self.read(redis) == self.sizes && redis.is_settled(&self.service);
        wait::until(
            "all read and closed",
            || format!("{:?} of {:?} read\n{}", self.read(redis), self.sizes, self.log()),
            done,
        );
    }

    /// Waits until a worker logs these words once more, in reaction to what the caller has `done`.
    ///
    /// # Panics
    /// When none does.
    pub fn until_said<T>(&self, words: &[&str], done: impl FnOnce() -> T) -> T {
        let said = || words.iter().map(|words| self.log().matches(words).count()).sum::<usize>();
        let before = said();
        let done = done();
        wait::until(&format!("one of {words:?} said"), || self.log(), || said() > before);
        done
    }

    /// What those have logged that are there.
    pub fn log(&self) -> String {
        self.workers.iter().map(Service::log).collect()
    }

    /// Tells all to go. Where they kept click-throughs.
    ///
    /// # Panics
    /// When one does not end well, or has said that it panicked; when a ranking was not answered as it should be.
    pub fn dismissed(mut self) -> Vec<PathBuf> {
        if let Some(asking) = self.asking.take() {
            asking.end();
        }
        while !self.workers.is_empty() {
            self.dismiss_one(&mut Random(0));
        }
        self.folders
    }
}

fn assert_well(worker: &Service) {
    let log = worker.log();
    assert!(!log.contains("panicked"), "{log}");
}
