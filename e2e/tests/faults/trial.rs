//! A day of events in a topic, and what it should come to.

use rankwright_e2e::crew::{Crew, source};
use rankwright_e2e::kafka::{make_topic, produce, spread};
use rankwright_e2e::many::{ITEMS, config, day_of_changes, import};
use rankwright_e2e::outcome::Outcome;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::wait::is_long;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where a service has its state, its events and its click-throughs, and what it is configured with.
pub(crate) struct Trial {
    pub(crate) random: Random,
    pub(crate) service: String,
    pub(crate) expected: Outcome,
    /// Messages of each partition.
    pub(crate) partitions: Vec<Vec<String>>,
    folder: tempfile::TempDir,
}

/// A short run lies in one commit as large as they become, before which no fault has anything to disturb.
fn small_commits(config: &str) -> String {
    if is_long() || config.contains("pipeline:") {
        return config.to_owned();
    }
    config.replace("state: {", "state: {pipeline: {maxSize: 200}, ")
}

impl Trial {
    /// This number of rankings on this number of partitions. `reference` is a server without faults.
    pub(crate) fn new(reference: &Redis, name: &str, rankings: i64, partitions: usize) -> Self {
        let mut random = Random::seeded();
        let events = day_of_changes(&mut random, rankings);
        let spread = |rest: &[Value], random: &mut Random| spread(rest, partitions, random);
        Self::of(reference, name, random, &config(reference), &events, spread)
    }

    /// These events after a catalogue, spread as told.
    pub(crate) fn of(
        reference: &Redis,
        name: &str,
        mut random: Random,
        plain: &str,
        events: &[Value],
        spread: impl Fn(&[Value], &mut Random) -> Vec<Vec<String>>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let expected = Outcome::undisturbed(reference, plain, events, folder.path());
        assert!(expected.records.len() > events.len() / 5, "{}", expected.records.len());
        let partitions = spread(&events[ITEMS..], &mut random);
        let service = reference.own_service(name);
        std::fs::write(folder.path().join("catalogue.jsonl"), rankwright_e2e::events::lines(&events[..ITEMS]))
            .expect("can be written");
        Self { random, service, expected, partitions, folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.partitions.iter().map(Vec::len).sum()
    }

    /// Imports the catalogue, and fills the topic: a crew without workers.
    pub(crate) fn crew(&self, config: &str, broker: &str) -> Crew {
        self.crew_behind(config, broker, broker)
    }

    /// The same, of workers who reach the broker by another address.
    pub(crate) fn crew_behind(&self, config: &str, broker: &str, theirs: &str) -> Crew {
        let catalogue = std::fs::read_to_string(self.path().join("catalogue.jsonl")).expect("was written");
        let catalogue: Vec<Value> = catalogue.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        import(config, &self.service, &catalogue, &self.path().join("catalogue"));
        make_topic(broker, &self.service, self.partitions.len());
        produce(broker, &self.service, &self.partitions);
        let source = source(theirs, &self.service);
        let config = format!("{}{source}", small_commits(config));
        Crew::new(config, &self.service, self.path(), &self.partitions)
    }

    /// Has a server asked for rankings as long as the crew works, by a model of the undisturbed run.
    pub(crate) fn ranks(&self, crew: &mut Crew, may_go_away: bool) {
        crew.ranks(&self.path().join("alone/parts"), may_go_away);
    }

    /// This number of points of a run, in order.
    pub(crate) fn moments(&mut self, count: usize) -> Vec<usize> {
        let messages = self.len();
        let mut moments: Vec<usize> = (0..count).map(|_| self.random.below(messages * 9 / 10)).collect();
        moments.sort_unstable();
        moments
    }

    /// Asserts that all came to what it should.
    pub(crate) fn assert_came_to(&self, redis: &Redis, folders: &[PathBuf]) {
        Outcome::of(redis, &self.service, folders).assert_is(&self.expected);
    }
}
