//! Import: events a second, processor time, memory; beside it, reading the same file and doing nothing with it.

use crate::load::Load;
use crate::process::{self, Cost};
use crate::table::Table;
use crate::{Effort, median};
use rankwright_config::{EventFormat, FileOrder, Offset};
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

/// Fills the rows on import.
pub(crate) fn measure(load: &Load, effort: Effort, folder: &Path, table: &mut Table) {
    let once = imports(&load.config_file, &load.events, effort);
    let limit = |of: &Imports| format!("parsing alone {:.0} events/s", of.parsing);
    let measured = format!("{:.0} events/s, {:.2} CPU s for {} events", once.rate, once.cpu, once.events);
    table.add("import with all features", measured, "100,000 events/s", limit(&once));
    let Some((script, path)) = shared::path("data/multiply.py").zip(shared::path("data/ranklens_events.jsonl.gz"))
    else {
        return;
    };
    let six = folder.join("six.jsonl");
    let multiplied = Command::new("python3").arg(script).arg(path).arg("6").arg(&six).status();
    assert!(multiplied.is_ok_and(|status| status.success()), "the events could not be multiplied");
    let more = imports(&load.config_file, &six, effort);
    let measured = format!("{:.0} events/s, {:.2} CPU s, {:.0} MB at most", more.rate, more.cpu, more.peak);
    table.add("the same, RankLens times 6", measured, "as fast per event, 400 MB", limit(&more));
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
        events: told(&costs[0].log, "events") as u64,
        rate: of(&|cost| told(&cost.log, "events") / told(&cost.log, "elapsed_ms") * 1e3),
        cpu: of(&|cost| cost.cpu),
        peak: of(&|cost| cost.peak),
        parsing: median(parsing),
    }
}

fn once(config: &Path, events: &Path) -> Cost {
    let mut command = program::command(&["import"]);
    command.arg("--config").arg(config).arg("--data").arg(events);
    process::run(command)
}

/// A number of the line that tells how long an import took.
fn told(log: &str, name: &str) -> f64 {
    let line = log.lines().find(|line| line.contains("import took ")).unwrap_or_default();
    let value = line.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
}

/// Events a second, read with as many threads as an import takes.
fn parse(path: &Path) -> f64 {
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
