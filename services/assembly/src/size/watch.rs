//! Looks now and then what the state takes: for `GET /status`, and as metrics.

use super::Size;
use super::forecast::{Forecast, History};
use super::growth::Growth;
use crate::engine::Engine;
use crate::program::chain;
use anyhow::{Context, Result};
use prometheus::{GaugeVec, IntGauge, IntGaugeVec, Opts, Registry};
use rankwright_serve::Status;
use rankwright_serve::clock::now;
use rankwright_state::{Memory, Room};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tracing::debug;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(300);
/// Keys that are sampled of each server.
const KEYS: usize = 1_000;
/// Keys that are sampled of a state of this process, which costs less.
const OWN_KEYS: usize = 50_000;

/// Tells what the state takes.
pub(crate) struct Watch {
    engine: Arc<Engine>,
    gauges: Gauges,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    history: History,
    last: Option<(Instant, Size)>,
    problem: Option<String>,
}

struct Gauges {
    bytes: IntGaugeVec,
    values: IntGaugeVec,
    other: IntGaugeVec,
    keys: IntGauge,
    sampled: IntGauge,
    at: IntGauge,
    used: GaugeVec,
    limit: GaugeVec,
    growth: GaugeVec,
    full: GaugeVec,
}

impl Watch {
    /// Registers the metrics; nothing is known yet.
    pub(crate) fn registered(engine: Arc<Engine>, registry: &Registry) -> Result<Self, prometheus::Error> {
        Ok(Self { engine, gauges: Gauges::registered(registry)?, seen: Mutex::default() })
    }

    /// Looks at once, and then every five minutes.
    pub(crate) async fn run(self: Arc<Self>) {
        let (began, mut clock) = (Instant::now(), tokio::time::interval(EVERY));
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            let looked = self.look().await;
            if let Some(forecast) = self.note(began.elapsed(), looked) {
                self.leave_word(&forecast).await;
            }
        }
    }

    /// What is expected from now on; `None` where nothing was seen.
    fn note(&self, at: Duration, looked: Result<Size>) -> Option<Forecast> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match looked {
            Ok(size) => {
                seen.history.note(at, &size.usage);
                let forecast = seen.history.forecast();
                self.gauges.note(&size, &forecast);
                (seen.last, seen.problem) = (Some((Instant::now(), size)), None);
                Some(forecast)
            }
            Err(error) => {
                debug!(error = chain(&error), "what the state takes is asked later");
                seen.problem = Some(chain(&error));
                None
            }
        }
    }

    /// For those who look once; who knows no rate yet, or less than others, leaves what they know.
    async fn leave_word(&self, forecast: &Forecast) {
        let Some(growth) = Growth::of(now(), forecast) else { return };
        if let Err(error) = self.leave(&growth).await {
            debug!(error = chain(&error.into()), "the growth of the state is not published");
        }
    }

    async fn leave(&self, growth: &Growth) -> Result<(), rankwright_state::Error> {
        let state = &self.engine.state;
        let former = state.growth().await?.and_then(|word| Growth::read(&word));
        if former.is_some_and(|former| former.says_more_than(growth)) {
            return Ok(());
        }
        state.tell_growth(growth.word()).await
    }

    /// A state of this process is read on another thread, so that no request waits.
    async fn look(&self) -> Result<Size> {
        let engine = self.engine.clone();
        if engine.state.shared() {
            return Ok(Size::of(&*engine.state, engine.plan.readers(), KEYS).await?);
        }
        let runtime = Handle::current();
        let looking = tokio::task::spawn_blocking(move || {
            runtime.block_on(Size::of(&*engine.state, engine.plan.readers(), OWN_KEYS))
        });
        Ok(looking.await.context("the look at the state's size ended early")??)
    }
}

impl Status for Watch {
    fn status(&self) -> Value {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut status, age) = match &seen.last {
            Some((at, size)) => (size.json(), Some(at.elapsed().as_secs())),
            None => (json!({}), None),
        };
        status["ageSeconds"] = json!(age);
        status["forecast"] = seen.history.forecast().json();
        status["problem"] = json!(seen.problem);
        status
    }
}

impl Gauges {
    fn registered(registry: &Registry) -> Result<Self, prometheus::Error> {
        let whole = |name, help| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        let by = |name: &str, help: &str, label| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), &[label])?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        // without a value until there is one
        let perhaps = |name: &str, help: &str| {
            let gauge = GaugeVec::new(Opts::new(name, help), &[])?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        Ok(Self {
            bytes: by("service_state_bytes", "What a feature's values take in the state, by a sample.", "feature")?,
            values: by("service_state_values", "Values of a feature in the state, by a sample.", "feature")?,
            other: by("service_state_other_bytes", "What else takes room in the state, by a sample.", "kind")?,
            keys: whole("service_state_keys", "Keys of the state, by a sample.")?,
            sampled: whole("service_state_sampled_keys", "Keys that were looked at.")?,
            at: whole("service_state_sampled_timestamp_seconds", "When they were looked at.")?,
            used: perhaps("service_state_memory_used_bytes", "Memory in use of the server that is nearest to full.")?,
            limit: perhaps("service_state_memory_limit_bytes", "Its maxmemory; absent where there is none.")?,
            growth: perhaps("service_state_growth_bytes_per_day", "Growth at the present rate.")?,
            full: perhaps("service_state_full_in_seconds", "Until the first server is full at the present rate.")?,
        })
    }

    fn note(&self, size: &Size, forecast: &Forecast) {
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for (feature, Room { values, bytes }) in &size.features {
            self.bytes.with_label_values(&[feature]).set(whole(*bytes));
            self.values.with_label_values(&[feature]).set(whole(*values));
        }
        self.other.reset();
        for (kind, room) in &size.other {
            self.other.with_label_values(&[kind]).set(whole(room.bytes));
        }
        self.keys.set(whole(size.usage.keys));
        self.sampled.set(whole(size.usage.sampled));
        self.at.set(now().millis() / 1000);
        let fullest = size.usage.servers.iter().max_by(|one, other| fullness(one).total_cmp(&fullness(other)));
        perhaps(&self.used, fullest.map(|server| server.used as f64));
        perhaps(&self.limit, fullest.and_then(|server| server.limit).map(|limit| limit as f64));
        perhaps(&self.growth, forecast.bytes_per_day);
        perhaps(&self.full, forecast.full_in_days.map(|days| days * 86_400.0));
    }
}

/// Share of its limit; without one, a server is less full than any that has one.
fn fullness(server: &Memory) -> f64 {
    match server.limit {
        Some(limit) => 1.0 + server.used as f64 / limit as f64,
        None => server.used as f64 / u64::MAX as f64,
    }
}

fn perhaps(gauge: &GaugeVec, value: Option<f64>) {
    gauge.reset();
    if let Some(value) = value {
        gauge.with_label_values::<&str>(&[]).set(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::TextEncoder;
    use rankwright_state::{RedisOptions, RedisStore, Usage};

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let registry = Registry::new();
        let gauges = Gauges::registered(&registry).expect("new names");
        let mut size = Size { usage: Usage::default(), features: Default::default(), other: Default::default() };
        size.features.insert("ctr".to_owned(), Room { values: 2, bytes: 300 });
        size.other.insert("joins", Room { values: 1, bytes: 40 });
        size.usage.servers = vec![Memory { server: String::new(), used: 10, limit: Some(100) }];
        let forecast = Forecast { bytes_per_day: Some(1.0), full_in_days: Some(90.0), ..Forecast::default() };
        gauges.note(&size, &forecast);
        crate::listed::assert_listed("assembly/watch", &registry);
    }

    fn held(used: u64) -> Size {
        let usage = Usage { servers: vec![Memory { server: String::new(), used, limit: None }], ..Usage::default() };
        Size { usage, features: Default::default(), other: Default::default() }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn word_is_left_of_a_rate_that_is_known_and_that_of_who_has_watched_for_longer_stays() {
        let Some(settings) = rankwright_redis::testing::server() else { return };
        let service = format!("watch-{}", crate::serving::identity());
        let store = RedisStore::open(settings, RedisOptions::default(), &service).await.expect("opens");
        let text = "state: {type: memory}\ntrain: {type: discard}\nmodels: {m: {type: noop}}\nfeatures:\n- {name: price, type: number, field: item.price}";
        let config = rankwright_config::Config::parse(text, "test").expect("a configuration").0;
        let engine = Arc::new(Engine::over(config, Arc::new(store)).await.expect("needs nothing else"));
        let watch = || Watch::registered(engine.clone(), &Registry::new()).expect("new names");
        let (short, long) = (watch(), watch());
        let over = async |watch: &Watch, minute: u64| {
            let forecast = watch.note(Duration::from_secs(minute * 60), Ok(held(1_000_000 + minute * 1_000)));
            watch.leave_word(&forecast.expect("something was seen")).await;
            let word = engine.state.growth().await.expect("answers")?;
            Some(Growth::read(&word).expect("it is ours").over_seconds / 60)
        };
        for (minute, told) in [(0, None), (15, None), (25, None), (35, Some(35))] {
            assert_eq!(over(&short, minute).await, told, "after {minute} minutes");
        }
        for (minute, told) in [(0, 35), (20, 35), (40, 40)] {
            assert_eq!(over(&long, minute).await, Some(told), "after {minute} minutes");
        }
        assert_eq!(over(&short, 37).await, Some(40), "another has watched it for longer");
        assert_eq!(over(&short, 45).await, Some(45));
    }

    #[test]
    fn metrics_that_are_not_known_are_absent() {
        let registry = Registry::new();
        let gauges = Gauges::registered(&registry).expect("new names");
        let text = || TextEncoder::new().encode_to_string(&registry.gather()).expect("text");
        let server = |used, limit| Memory { server: String::new(), used, limit };
        let mut size = Size { usage: Usage::default(), features: Default::default(), other: Default::default() };
        size.features.insert("ctr".to_owned(), Room { values: 2, bytes: 300 });
        size.other.insert("joins", Room { values: 1, bytes: 40 });
        size.usage.servers = vec![server(900, None), server(10, Some(100)), server(9, Some(100))];
        gauges.note(&size, &Forecast::default());
        let shown = text();
        for line in [
            "service_state_bytes{feature=\"ctr\"} 300",
            "service_state_values{feature=\"ctr\"} 2",
            "service_state_other_bytes{kind=\"joins\"} 40",
            "service_state_memory_used_bytes 10",
            "service_state_memory_limit_bytes 100",
        ] {
            assert!(shown.contains(line), "{line} in {shown}");
        }
        assert!(!shown.contains("service_state_full_in_seconds "), "{shown}");
        size.other.clear();
        gauges.note(&size, &Forecast { full_in_days: Some(2.5), ..Forecast::default() });
        assert!(text().contains("service_state_full_in_seconds 216000"), "{}", text());
        assert!(!text().contains("kind=\"joins\""), "{}", text());
    }
}
