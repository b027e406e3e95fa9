//! Requests that run through everything that may happen to Redis: each is answered, in time; the incoming order comes while
//! Redis is away, and only then.

use rankwright_e2e::events::{cheap_wins, ranking};
use rankwright_e2e::many::{import, launch, text_features};
use rankwright_e2e::program::command;
use rankwright_e2e::proxy::{Mode, Proxy};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::{OwnCluster, Redis};
use rankwright_e2e::{Ended, Service, wait};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) const SERVICE: &str = "shop";
/// What a ranking waits for each of its reads of the state, by default.
const READ: Duration = Duration::from_secs(1);
/// It reads the state once or twice; only where the machine stands still does an answer take longer,
const USUAL: Duration = Duration::from_secs(4);
/// and never this long.
const LIMIT: Duration = Duration::from_secs(60);

/// Asks with visitors that were not there before, so that no cache can answer.
pub(crate) struct Visitors<'a> {
    pub(crate) server: &'a Service,
    pub(crate) number: AtomicUsize,
    /// Answers that took longer than usual.
    pub(crate) slow: AtomicUsize,
}

impl Visitors<'_> {
    /// Whether the answer is the model's; it has to be one.
    fn ranked(&self) -> bool {
        let user = format!("visitor {}", self.number.fetch_add(1, Ordering::Relaxed));
        let began = Instant::now();
        let request = with_texts(ranking("q", 500, &user, &["i9", "i3", "i6"]));
        let answer = self.server.post("/rank/m", &request).ok().json();
        assert!(began.elapsed() < LIMIT, "{:?} for {answer}", began.elapsed());
        self.slow.fetch_add(usize::from(began.elapsed() > USUAL), Ordering::Relaxed);
        let order = rankwright_e2e::events::order(&answer);
        let ranked = answer["fallback"] == Value::Null;
        assert_eq!(order, if ranked { ["i3", "i6", "i9"] } else { ["i9", "i3", "i6"] }, "{answer}");
        ranked
    }

    /// Waits until answers are the model's, or are not.
    pub(crate) fn until(&self, ranked: bool) {
        let what = if ranked { "ranked by the model again" } else { "answered with the incoming order" };
        wait::until(what, || self.server.log(), || self.ranked() == ranked);
    }

    /// Asks on and on beside what is done.
    fn all_along(&self, done: impl FnOnce()) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let others = scope.spawn(|| {
                let mut answers = 0;
                while !over.load(Ordering::Relaxed) {
                    self.ranked();
                    answers += 1;
                }
                answers
            });
            let end = Flag(&over);
            done();
            drop(end);
            assert!(others.join().expect("every answer was one") > 100);
        });
        let slow = self.slow.load(Ordering::Relaxed);
        assert!(slow <= wait::scaled(3, 30), "{slow} answers took over {USUAL:?}");
    }

    pub(crate) fn stay_ranked(&self) {
        for _ in 0..50 {
            let began = Instant::now();
            // where a read took its whole time, the machine stood still: the next answer is the model's
            let ranked = self.ranked() || (began.elapsed() >= READ && self.ranked());
            assert!(ranked, "the incoming order, though redis is there:\n{}", self.server.log());
        }
    }
}

/// A list with a query, an item with a brand.
fn with_texts(mut event: Value) -> Value {
    let id = event["item"].as_str().unwrap_or_default();
    let brand = json!({"name": "brand", "value": format!("brand {}", id.len())});
    match event["event"].as_str() {
        Some("ranking") => event["fields"] = json!([{"name": "query", "value": "a brand such as 2"}]),
        Some("item") => event["fields"].as_array_mut().expect("it has a price").push(brand),
        _ => {}
    }
    event
}

/// Imports, and trains a model that likes what is cheap.
pub(crate) fn trained(config: &str, folder: &Path) {
    let events: Vec<Value> = cheap_wins(400).into_iter().map(with_texts).collect();
    import(config, SERVICE, &events, folder);
    let mut train = command(&["train", "--config", "config.yml", "--model", "m"]);
    Ended::of(train.current_dir(folder).env("RANKWRIGHT_SERVICE", SERVICE)).ok();
}

/// A service with this Redis and that model, which reads texts as well.
pub(crate) fn config(redis: &str, parts: &Path) -> String {
    let state =
        format!("state: {{type: redis, {redis}}}\ntrain: {{type: file, path: '{}', format: json}}", parts.display());
    let plain = rankwright_e2e::events::DURABLE.replace("state: {type: file, path: ./data}", &state);
    let texts = text_features();
    let names = ["weighed", "meaning"].into_iter().filter(|name| texts.contains(name));
    let names = ["price", "clicks", "recent"].into_iter().chain(names).collect::<Vec<_>>().join(", ");
    plain.replace("price, clicks", &names)
        + "  - {name: recent, type: interacted_with, interaction: click, field: item.price, scope: user}\n"
        + &texts
}

#[test]
fn requests_are_answered_in_time_whatever_happens_to_redis() {
    let Some(mut redis) = Redis::of_its_own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let proxy = Proxy::to(redis.port());
    let config = config(&format!("host: 127.0.0.1, port: {}", proxy.port()), &folder.path().join("parts"));
    trained(&config, &folder.path().join("import"));
    let server = launch("rank-server", &config, SERVICE, &folder.path().join("server"));
    let visitors = Visitors { server: &server, number: AtomicUsize::new(0), slow: AtomicUsize::new(0) };
    visitors.all_along(|| {
        for round in 0..wait::scaled(1, 15) {
            visitors.until(true);
            visitors.stay_ranked();
            proxy.set(Mode::Delay(Duration::from_millis(20)));
            visitors.stay_ranked();
            for away in [
                Mode::BlackHole,
                Mode::Reset(random.below(200)),
                Mode::Cut(random.below(200)),
                Mode::Delay(Duration::from_millis(1500)),
            ] {
                proxy.set(away);
                visitors.until(false);
                proxy.set(Mode::Pass);
                visitors.until(true);
                visitors.stay_ranked();
            }
            let killed = redis.killed();
            visitors.until(false);
            std::thread::sleep(outage(round));
            redis = killed.started();
            visitors.until(true);
            visitors.stay_ranked();
        }
    });
}

#[test]
fn a_ranking_waits_for_redis_as_long_as_it_was_told() {
    let Some(redis) = Redis::of_its_own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let proxy = Proxy::to(redis.port());
    let with = |command: &str| {
        let limits = format!("{{connect: 30s, socket: 60s, command: {command}}}");
        let redis = format!("host: 127.0.0.1, port: {}, timeout: {limits}", proxy.port());
        config(&redis, &folder.path().join("parts"))
    };
    trained(&with("60s"), &folder.path().join("import"));
    let number = AtomicUsize::new(0);
    let ranked = |server: &Service| {
        let user = format!("visitor {}", number.fetch_add(1, Ordering::Relaxed)); // no cache has it
        let answer = server.post("/rank/m", &ranking("q", 500, &user, &["i9", "i3", "i6"])).ok().json();
        answer["fallback"] == Value::Null
    };
    let [patient, hasty] =
        ["60s", "500ms"].map(|command| launch("rank-server", &with(command), SERVICE, &folder.path().join(command)));
    for server in [&patient, &hasty] {
        wait::until("ranked by the model", || server.log(), || ranked(server));
    }
    proxy.set(Mode::Delay(Duration::from_secs(2)));
    assert!(ranked(&patient), "{}", patient.log());
    assert!(!ranked(&hasty), "{}", hasty.log());
}

#[test]
fn requests_are_answered_in_time_whatever_happens_to_a_cluster() {
    let Some(mut cluster) = OwnCluster::started() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let config = config(&cluster.redis().keys(), &folder.path().join("parts"));
    trained(&config, &folder.path().join("import"));
    let server = launch("rank-server", &config, SERVICE, &folder.path().join("server"));
    let visitors = Visitors { server: &server, number: AtomicUsize::new(0), slow: AtomicUsize::new(0) };
    visitors.all_along(|| {
        for _ in 0..wait::scaled(1, 10) {
            visitors.until(true);
            visitors.stay_ranked();
            let held = random.below(3);
            cluster.hold(held);
            visitors.until(false);
            cluster.let_go(held);
            visitors.until(true);
            visitors.stay_ranked();
            cluster.kill();
            visitors.until(false);
            cluster.start();
            visitors.until(true);
            visitors.stay_ranked();
        }
    });
}

/// How long a server stays away: in long tests, five minutes the first time.
pub(crate) fn outage(round: usize) -> Duration {
    if round == 0 { wait::scaled(Duration::ZERO, Duration::from_mins(5)) } else { Duration::ZERO }
}

/// Set when this goes, also by a panic.
struct Flag<'a>(&'a AtomicBool);

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
