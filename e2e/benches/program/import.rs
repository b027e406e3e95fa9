//! Import: events a second, processor time, memory; beside it, reading the same file and doing nothing with it.

use crate::load::Load;
use crate::process::{self, Cost};
use crate::table::Table;
use crate::{Effort, median};
use rankwright_config::{EventFormat, FileOrder, Offset};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{program, shared};
use rankwright_event::Timestamp;
use rankwright_source::Files;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What imports of one file came to.
pub(crate) struct Imports {
    /// Events of the file.
    pub events: u64,
    /// Events a second, by the program's own clock.
    pub rate: f64,
    /// Processor time in seconds.
    pub cpu: f64,
    /// Most resident memory in MB.
    pub peak: f64,
    /// Events a second when they are only read.
    pub parsing: f64,
}

/// How often an import that takes half a second is measured where longer ones are once: a busy neighbour for a moment
/// doubles it.
pub(crate) const SHORT_RUNS: usize = 5;

/// Fills the rows on import.
pub(crate) fn measure(load: &Load, effort: Effort, folder: &Path, table: &mut Table) {
    let short = Effort { runs: SHORT_RUNS * effort.runs, ..effort };
    let once = imports(&load.config_file, &load.events, short);
    let limit = |of: &Imports| format!("parsing alone {:.0} events/s", of.parsing);
    let measured = format!("{:.0} events/s, {:.2} CPU s for {} events", once.rate, once.cpu, once.events);
    table.add("import with all features", measured, "100,000 events/s", limit(&once));
    into_redis(load, effort, folder, table);
    long_history(effort, folder, table);
    let Some((script, path)) = shared::path("data/multiply.py").zip(shared::path("data/ranklens_events.jsonl.gz"))
    else {
        return;
    };
    let six = folder.join("six.jsonl");
    let multiplied = Command::new("python3").arg(script).arg(path).arg("6").arg(&six).status();
    assert!(multiplied.is_ok_and(|status| status.success()), "the events could not be multiplied");
    // in turns, as the machine is faster in some minutes than in others
    let (mut costs, mut shares, mut parsing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.runs {
        let before = imports(&load.config_file, &load.events, short);
        let more = self::once(&load.config_file, &six);
        let after = imports(&load.config_file, &load.events, short);
        shares.push(2.0 * rate(&more) / (before.rate + after.rate));
        parsing.push(parse(&six));
        costs.push(more);
    }
    let of = |part: &dyn Fn(&Cost) -> f64| median(costs.iter().map(part).collect());
    let (rate, cpu, peak) = (of(&rate), of(&|cost| cost.cpu), of(&|cost| cost.peak));
    let share = median(shares);
    let measured =
        format!("{rate:.0} events/s, {share:.2} of that of one in turns with it, {cpu:.2} CPU s, {peak:.0} MB at most");
    let limit = format!("parsing alone {:.0} events/s", median(parsing));
    table.add("the same, RankLens times 6", measured, "as fast per event, 400 MB", limit);
}

/// Features of a generated shop, as many and of the kinds that RankLens is ranked by.
const USUAL: [&str; 18] = [
    "price",
    "discount",
    "rating",
    "available",
    "category",
    "brand",
    "color",
    "tags",
    "tag_count",
    "title_words",
    "age",
    "relevancy",
    "ctr",
    "conversion",
    "clicks",
    "session_clicks",
    "recent_clicks",
    "liked",
];

/// A generated configuration with these features alone.
fn with_features(config: &str, wanted: &[&str]) -> String {
    let stays = |line: &&str| {
        let Some(entry) = line.trim_start().strip_prefix("- ") else { return true };
        match entry.strip_prefix("{name: ") {
            Some(feature) => feature.split(',').next().is_some_and(|name| wanted.contains(&name)),
            None => entry.starts_with('{') || wanted.contains(&entry),
        }
    };
    config.lines().filter(stays).flat_map(|line| [line, "\n"]).collect()
}

/// As many events within a month and over 22 years, with the state in memory and in a folder: how long a history is costs nothing.
fn long_history(effort: Effort, folder: &Path, table: &mut Table) {
    for (state, wanted) in [("memory", "100,000"), ("file", "50,000")] {
        let import = |name: &str, days: &str| {
            let shop = folder.join(format!("{name} {state}"));
            let out = shop.to_string_lossy();
            let size = ["--items", "9724", "--rankings", "12000", "--days", days];
            program::run(&[&["generate", "--out", &out][..], &size].concat()).ok();
            let config = shop.join("config.yml");
            let mut text = with_features(&std::fs::read_to_string(&config).expect("was written"), &USUAL);
            if state == "file" {
                let kept = format!("type: file\n  path: '{}'", shop.join("state").display());
                text = text.replacen("type: memory", &kept, 1);
            }
            std::fs::write(&config, text).expect("can be written");
            let import = || {
                let _ = std::fs::remove_dir_all(shop.join("state"));
                rate(&once(&config, &shop.join("events.jsonl.gz")))
            };
            median((0..SHORT_RUNS * effort.runs).map(|_| import()).collect())
        };
        let (month, years) = (import("month", "30"), import("years", "8030"));
        let measured = format!("{years:.0} events/s; {:.2} times as long as within a month", month / years);
        let limit = format!("within a month {month:.0} events/s");
        table.add(
            &format!("import of 22 years, state in {state}"),
            measured,
            &format!("{wanted} events/s, 1.3"),
            limit,
        );
    }
}

/// The first import into an empty state in Redis, which is brought there when it is complete.
fn into_redis(load: &Load, effort: Effort, folder: &Path, table: &mut Table) {
    let (redis, path) = (Redis::on_disk(), folder.join("redis.yml"));
    std::fs::write(&path, over_redis(&load.config, &redis, folder)).expect("can be written");
    let mut rates: Vec<[f64; 2]> = Vec::new();
    for _ in 0..effort.runs {
        let mut command = importing(&path, &load.events);
        command.env("RANKWRIGHT_SERVICE", redis.own_service("bench"));
        let log = process::run(command).log;
        let (events, read) = (told(&log, "import took", "events"), told(&log, "import took", "elapsed_ms"));
        let brought = told(&log, "the new state is live", "elapsed_ms");
        rates.push([events / (read + brought) * 1e3, brought]);
    }
    let middle = |part: usize| median(rates.iter().map(|rate| rate[part]).collect());
    let measured = format!("{:.0} events/s", middle(0));
    let limit = format!("of which bringing it to Redis took {:.0} ms", middle(1));
    table.add("first import into Redis", measured, "50,000 events/s", limit);
}

/// The same configuration with its state in a server, and click-throughs in a folder.
pub(crate) fn over_redis(config: &str, redis: &Redis, folder: &Path) -> String {
    let mut left_out = false;
    let own = config.lines().filter(|line| {
        if !line.starts_with([' ', '#']) && !line.is_empty() {
            left_out = line.starts_with("state:") || line.starts_with("train:");
        }
        !left_out
    });
    let own: String = own.map(|line| format!("{line}\n")).collect();
    let parts = folder.join("parts of redis");
    format!("{own}\nstate: {{type: redis, {}}}\ntrain: {{type: file, path: '{}'}}\n", redis.keys(), parts.display())
}

/// Imports a file several times, in turns with reading it alone.
pub(crate) fn imports(config: &Path, events: &Path, effort: Effort) -> Imports {
    let (mut costs, mut parsing) = (Vec::new(), Vec::new());
    for _ in 0..effort.runs {
        costs.push(once(config, events));
        parsing.push(parse(events));
    }
    let of = |part: &dyn Fn(&Cost) -> f64| median(costs.iter().map(part).collect());
    Imports {
        events: told(&costs[0].log, "import took", "events") as u64,
        rate: of(&rate),
        cpu: of(&|cost| cost.cpu),
        peak: of(&|cost| cost.peak),
        parsing: median(parsing),
    }
}

/// Events a second, by the program's own clock.
fn rate(cost: &Cost) -> f64 {
    told(&cost.log, "import took", "events") / told(&cost.log, "import took", "elapsed_ms") * 1e3
}

/// How long it takes to read a file and do nothing with it, in seconds.
pub(crate) fn reading(path: &Path) -> f64 {
    let began = Instant::now();
    parse(path);
    began.elapsed().as_secs_f64()
}

fn once(config: &Path, events: &Path) -> Cost {
    process::run(importing(config, events))
}

fn importing(config: &Path, events: &Path) -> Command {
    let mut command = program::command(&["import"]);
    command.arg("--config").arg(config).arg("--data").arg(events);
    command
}

/// A number of the line of a log that has some words.
pub(crate) fn told(log: &str, words: &str, name: &str) -> f64 {
    let line = log.lines().find(|line| line.contains(words)).unwrap_or_default();
    let value = line.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
}

/// Events a second, read with as many threads as an import takes.
pub(crate) fn parse(path: &Path) -> f64 {
    let (began, mut events) = (Instant::now(), 0);
    let files = Files::open(path, EventFormat::Json, FileOrder::Name, Offset::Earliest, Timestamp::MAX);
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get() - 1).max(1);
    let read = files.expect("the file can be read").read_parallel(None, threads, |batch| {
        events += batch.events.len();
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(read.is_ok(), "the file can be read to its end");
    events as f64 / began.elapsed().as_secs_f64()
}
