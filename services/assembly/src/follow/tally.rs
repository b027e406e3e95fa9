//! What is known of the partitions that this process reads: as metrics, and for `/status`.

use crate::units::Units;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::Counters;
use rankwright_serve::Status;
use rankwright_serve::clock::now;
use rankwright_source::{BadLine, Batch, Lag, LettersLost, Merged, Partition, Position};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tracing::{debug, error, warn};

/// Warnings about messages that cannot be read; further ones are logged on level `debug`.
const SHOWN: u64 = 100;

/// From an event's time to the commit of its effects, in seconds.
const VISIBLE: [f64; 12] = [0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 600.0, 3600.0];

/// Counts what is read of a stream.
pub struct Tally {
    lag_events: IntGaugeVec,
    lag_seconds: IntGaugeVec,
    waiting: IntGaugeVec,
    events: IntCounterVec,
    late: IntCounterVec,
    unreadable: IntCounterVec,
    unkept: IntCounter,
    visible: Histogram,
    /// Events whose rankings have closed, by `core.clickthrough.maxSessionLength`.
    session: Duration,
    partitions: Mutex<BTreeMap<Partition, Known>>,
    /// Events whose effects can be seen, by their kinds.
    taken: Mutex<Counters>,
    units: Mutex<Units>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// Newest event time.
    newest: Timestamp,
    /// Where its next message is.
    position: u64,
    /// How far its end is.
    lag: Lag,
    /// Events that wait for those of other partitions.
    waiting: usize,
    events: u64,
    unreadable: u64,
}

/// Events that are about to be committed: their times, and how many there are of each kind.
pub(crate) struct Seen {
    times: Vec<Timestamp>,
    counted: Counters,
}

impl Tally {
    /// Registers the metrics; events that are older than `session` before the newest of their partition are late.
    ///
    /// # Errors
    /// When their names are taken.
    pub fn registered(registry: &Registry, session: Duration) -> Result<Self, prometheus::Error> {
        let by_partition = |name: &str, help: &str| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), &["partition"])?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let counted = |name: &str, help: &str| {
            let counter = IntCounterVec::new(Opts::new(name, help), &["partition"])?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        let name = "service_ingest_dead_letters_lost_total";
        let unkept = IntCounter::new(name, "Unreadable messages that source.deadLetter did not take.")?;
        registry.register(Box::new(unkept.clone()))?;
        let name = "service_ingest_event_to_visible_seconds";
        let help = "From an event's time to the commit of its effects.";
        let visible = Histogram::with_opts(HistogramOpts::new(name, help).buckets(VISIBLE.to_vec()))?;
        registry.register(Box::new(visible.clone()))?;
        Ok(Self {
            lag_events: by_partition(
                "service_ingest_partition_lag_events",
                "Events ahead in the partition, where the broker counts them; for Pulsar its entries that are not acknowledged, of one or more events.",
            )?,
            lag_seconds: by_partition(
                "service_ingest_partition_lag_seconds",
                "Age of the newest event read, or of the next one where the broker reports it, while events are ahead; 0 at the partition's end.",
            )?,
            waiting: by_partition(
                "service_ingest_partition_waiting_events",
                "Events read that wait for earlier ones of other partitions.",
            )?,
            events: counted("service_ingest_partition_events_total", "Events read.")?,
            late: counted(
                "service_ingest_partition_late_events_total",
                "Events older than maxSessionLength before the newest of their partition.",
            )?,
            unreadable: counted("service_ingest_partition_unreadable_total", "Messages that are no events.")?,
            unkept,
            visible,
            session,
            partitions: Mutex::default(),
            taken: Mutex::default(),
            units: Mutex::default(),
        })
    }

    /// A partition is read from this position on.
    pub(crate) fn begun(&self, partition: &Partition, position: &Position) {
        let mut all = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(partition.clone()).or_insert(Known::NOTHING).position = position.line;
    }

    /// Notes a batch that is about to be committed.
    pub(crate) fn batch(&self, partition: &Partition, batch: &Batch) -> Seen {
        let Batch { events, position, .. } = batch;
        let news = self.units.lock().unwrap_or_else(PoisonError::into_inner).news(events);
        news.iter().for_each(|news| warn!("{news}"));
        let times: Vec<Timestamp> = events.iter().map(Event::timestamp).collect();
        let mut known = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(partition.clone()).or_insert(Known::NOTHING);
        let mut late = 0;
        for &at in &times {
            late += u64::from(at.plus(self.session) < known.newest);
            known.newest = known.newest.max(at);
        }
        known.events += times.len() as u64;
        known.position = position.line;
        self.late.with_label_values(&[partition.as_str()]).inc_by(late);
        self.events.with_label_values(&[partition.as_str()]).inc_by(times.len() as u64);
        // it is there before the first one, whose increase would not be seen otherwise
        self.unreadable.with_label_values(&[partition.as_str()]).inc_by(0);
        Seen { times, counted: Counters::of(events) }
    }

    /// Their effects can be seen.
    pub(crate) fn committed(&self, seen: Seen, wall: Timestamp) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.and(seen.counted);
        for at in seen.times {
            self.visible.observe(wall.millis_since(at).max(0) as f64 / 1000.0);
        }
    }

    /// Notes and tells what is no event.
    pub(crate) fn bad(&self, partition: &Partition, bad: &[BadLine]) {
        if bad.is_empty() {
            return;
        }
        let mut known = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(partition.clone()).or_insert(Known::NOTHING);
        for bad in bad {
            known.unreadable += 1;
            match known.unreadable {
                1..=SHOWN => warn!("skipped {bad}"),
                _ => debug!("skipped {bad}"),
            }
        }
        self.unreadable.with_label_values(&[partition.as_str()]).inc_by(bad.len() as u64);
    }

    /// Notes and tells what `source.deadLetter` did not take.
    pub(crate) fn lost(&self, lost: &LettersLost) {
        error!("{lost}");
        self.unkept.inc_by(lost.count as u64);
    }

    /// Notes how much is read and waits for other partitions.
    pub(crate) fn waiting(&self, merged: &Merged) {
        let mut all = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        for (partition, waiting) in merged.waiting() {
            all.entry(partition.clone()).or_insert(Known::NOTHING).waiting = waiting;
            self.waiting.with_label_values(&[partition.as_str()]).set(i64::try_from(waiting).unwrap_or(i64::MAX));
        }
    }

    /// Notes how much is ahead.
    pub(crate) fn lag(&self, ahead: &[(Partition, Lag)]) {
        let wall = now();
        let mut all = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        for (partition, lag) in ahead {
            let known = all.entry(partition.clone()).or_insert(Known::NOTHING);
            known.lag = *lag;
            let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            if let Some(events) = lag.events {
                self.lag_events.with_label_values(&[partition.as_str()]).set(whole(events));
            }
            if let Some(seconds) = known.lag_seconds(wall) {
                self.lag_seconds.with_label_values(&[partition.as_str()]).set(whole(seconds));
            }
        }
    }

    /// Another process reads a partition from now on.
    pub(crate) fn left(&self, partition: &Partition) {
        let labels = [partition.as_str()];
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner).remove(partition);
        let _ = self.lag_events.remove_label_values(&labels); // it may never have had one
        let _ = self.lag_seconds.remove_label_values(&labels);
        let _ = self.waiting.remove_label_values(&labels);
    }

    /// Events that this process has read and committed, by their kinds.
    pub(crate) fn taken(&self) -> Counters {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many messages were no events, in all partitions that are read.
    pub fn unreadable(&self) -> u64 {
        let known = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|known| known.unreadable).sum()
    }

    /// How many events were read, in all partitions that are read.
    pub fn read(&self) -> u64 {
        let known = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|known| known.events).sum()
    }
}

impl Known {
    const NOTHING: Self = Self {
        newest: Timestamp::MIN,
        position: 0,
        lag: Lag { events: None, age: None },
        waiting: 0,
        events: 0,
        unreadable: 0,
    };

    /// `None` where the broker has not told yet how far its end is.
    fn lag_seconds(&self, wall: Timestamp) -> Option<u64> {
        match self.lag {
            Lag { age: Some(age), .. } => Some(age.as_secs()),
            Lag { events: None, .. } => None,
            Lag { events: Some(0), .. } => Some(0),
            _ if self.newest == Timestamp::MIN => Some(0), // nothing that was read could have an age
            _ => Some(u64::try_from(wall.millis_since(self.newest)).unwrap_or(0) / 1000),
        }
    }
}

impl Status for Tally {
    fn status(&self) -> Value {
        let wall = now();
        let known = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = known.iter().map(|(partition, known)| {
            let entry = json!({
                "position": known.position,
                "waiting": known.waiting,
                "lagEvents": known.lag.events,
                "lagSeconds": known.lag_seconds(wall),
                "events": known.events,
                "unreadable": known.unreadable,
            });
            (partition.as_str().to_owned(), entry)
        });
        json!({ "partitions": shown.collect::<serde_json::Map<_, _>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_source::Progress;

    #[test]
    fn how_far_behind_is_told_as_far_as_the_broker_tells() {
        let wall = Timestamp::from_millis(100_000);
        let seconds =
            |lag: Lag| Known { newest: Timestamp::from_millis(40_000), lag, ..Known::NOTHING }.lag_seconds(wall);
        assert_eq!(seconds(Lag::default()), None, "nobody knows");
        assert_eq!(seconds(Lag::of(0)), Some(0), "at the end");
        assert_eq!(seconds(Lag::of(7)), Some(60), "as old as what was read last");
        let age = |seconds| Lag { events: None, age: Some(Duration::from_secs(seconds)) };
        assert_eq!((seconds(age(5)), seconds(age(0))), (Some(5), Some(0)), "as the broker says");
        assert_eq!(Known { lag: Lag::of(7), ..Known::NOTHING }.lag_seconds(wall), Some(0), "nothing was read");
    }

    #[test]
    fn each_partition_has_figures_of_its_own_which_go_with_it() {
        let registry = Registry::new();
        let tally = Tally::registered(&registry, Duration::from_secs(10)).expect("new names");
        let value = |name: &str, partition: &str| {
            let families = registry.gather();
            let family = families.iter().find(|family| family.name() == format!("service_ingest_partition_{name}"))?;
            let of_it = |metric: &&prometheus::proto::Metric| metric.get_label()[0].value() == partition;
            let metric = family.get_metric().iter().find(of_it)?;
            Some(metric.get_gauge().get_value() + metric.get_counter().get_value())
        };
        let batch = |seconds: &[i64]| {
            let event = |second: &i64| {
                let time = second * 1000;
                let event =
                    json!({"event": "item", "id": "e", "timestamp": time.to_string(), "item": "i", "fields": []});
                rankwright_event::json::decode(event.to_string().as_bytes()).expect("an event")
            };
            let (events, bad, cuts) = (seconds.iter().map(event).collect(), Vec::new(), Vec::new());
            let (position, progress) = (Position::new("events", 0), Progress::default());
            Batch { events, bad, before_offset: 0, position, progress, bytes: 0, cuts }
        };
        let [one, other] = ["events/0", "events/1"].map(Partition::new);
        let bad = |line| BadLine { file: "events".into(), line, reason: String::new(), content: Box::default() };
        let mut merged = Merged::new(10);
        merged.push(one.clone(), batch(&[1, 2]));
        merged.push(other.clone(), batch(&[3]));
        tally.waiting(&merged);
        let seen = tally.batch(&one, &batch(&[100, 80, 90, 101]));
        assert_eq!(tally.taken().items, 0, "they are not committed yet");
        tally.committed(seen, now());
        tally.batch(&other, &batch(&[80]));
        assert_eq!(tally.taken(), Counters { items: 4, ..Counters::default() });
        tally.bad(&other, &[bad(1), bad(2)]);
        tally.lag(&[(one.clone(), Lag::of(7)), (other.clone(), Lag::of(0))]);
        let of = |partition| {
            ["events_total", "late_events_total", "unreadable_total", "waiting_events", "lag_events"]
                .map(|name| value(name, partition))
        };
        assert_eq!(of("events/0"), [4.0, 1.0, 0.0, 2.0, 7.0].map(Some), "80 is late, 90 is not");
        assert_eq!(of("events/1"), [1.0, 0.0, 2.0, 1.0, 0.0].map(Some));
        assert!(value("lag_seconds", "events/0") > Some(1e9) && value("lag_seconds", "events/1") == Some(0.0));
        tally.left(&one);
        assert_eq!(of("events/0"), [Some(4.0), Some(1.0), Some(0.0), None, None], "what was counted stays");
        assert_eq!(of("events/1"), [1.0, 0.0, 2.0, 1.0, 0.0].map(Some));
    }

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let registry = Registry::new();
        let tally = Tally::registered(&registry, Duration::ZERO).expect("new names");
        for gauge in [&tally.lag_events, &tally.lag_seconds, &tally.waiting] {
            gauge.with_label_values(&["events/0"]);
        }
        for counter in [&tally.events, &tally.late, &tally.unreadable] {
            counter.with_label_values(&["events/0"]);
        }
        crate::listed::assert_listed("assembly/tally", &registry);
    }
}
