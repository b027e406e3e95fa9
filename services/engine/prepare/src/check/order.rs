//! Whether events come in the order of their times.

use super::report::Check;
use super::{EXAMPLES, length, share};
use crate::{Target, shell};
use rankwright_config::EventFormat;
use rankwright_event::{Event, Timestamp};
use serde_json::json;
use std::path::{Path, PathBuf};

/// How late, at most, in milliseconds; and how a report calls it.
const BY: [(i64, &str); 4] = [(1000, "upTo1s"), (60_000, "upTo1m"), (3_600_000, "upTo1h"), (86_400_000, "upTo1d")];
const MORE: &str = "more";

#[derive(Debug)]
pub(super) struct Order {
    newest: Timestamp,
    late: u64,
    /// By how late they are, as [`BY`] says; the last are those that are later.
    by: [u64; BY.len() + 1],
    worst: i64,
    examples: Vec<String>,
}

impl Default for Order {
    fn default() -> Self {
        Self { newest: Timestamp::MIN, late: 0, by: [0; BY.len() + 1], worst: 0, examples: Vec::new() }
    }
}

impl Order {
    pub(super) fn see(&mut self, event: &Event) {
        let at = event.timestamp();
        if at >= self.newest {
            self.newest = at;
            return;
        }
        let late = self.newest.millis_since(at);
        self.late += 1;
        self.worst = self.worst.max(late);
        self.by[BY.iter().position(|(most, _)| late <= *most).unwrap_or(BY.len())] += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{:?} of {at}, {} after a later one", id(event), length(late)));
        }
    }

    /// `sort` is the command that mends it.
    pub(super) fn check(&self, events: u64, sort: &str) -> Check {
        let message = match self.late {
            0 => format!("{events} events in ascending order of time"),
            _ => format!(
                "{} come after later ones, by up to {}; sort them: {sort}",
                share(self.late, events, "events"),
                length(self.worst)
            ),
        };
        let names = BY.iter().map(|(_, name)| *name).chain([MORE]);
        let by: serde_json::Map<_, _> =
            names.zip(self.by).map(|(name, count)| (name.to_owned(), count.into())).collect();
        let details = json!({ "outOfOrder": self.late, "worstMillis": self.worst, "byLateness": by });
        Check { name: "event ordering", passed: self.late == 0, message, examples: self.examples.clone(), details }
    }
}

/// The command that sorts these files, with an output that it takes: one beside what it reads.
pub(super) fn sort(data: &Path, format: EventFormat) -> String {
    let name = if format == EventFormat::SnowplowTsv { "sorted.tsv.gz" } else { "sorted.jsonl.gz" };
    let places = [PathBuf::from(name), Path::new("..").join(name), std::env::temp_dir().join(name)];
    let place = places.iter().find(|place| Target::of(place, data).is_ok()).unwrap_or(&places[0]);
    let (data, out) = (data.to_string_lossy(), place.to_string_lossy());
    let format = if format == EventFormat::Json { vec![] } else { vec!["--format", format.name()] };
    shell::words([&["rankwright", "sort", "--data", &data][..], &format, &["--out", &out]].concat())
}

/// The id of an event.
pub(super) fn id(event: &Event) -> &str {
    match event {
        Event::Item(event) => event.id.as_str(),
        Event::User(event) => event.id.as_str(),
        Event::Ranking(event) => event.id.as_str(),
        Event::Interaction(event) => event.id.as_str(),
    }
}
