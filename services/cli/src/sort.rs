//! `sort`: event files in order of time.

use crate::options::{SortOptions, parsed};
use crate::progress::Progress;
use crate::skipped::Skipped;
use crate::stop;
use anyhow::{Context, Result, bail};
use rankwright_assembly::{Fetched, fetch, is_remote, now, runtime};
use rankwright_config::{FileOrder, Offset};
use rankwright_prepare::Target;
use rankwright_prepare::sort::{Options, Sorted, Stage, Watch, sort};
use rankwright_source::{BadLine, Files, shown};
use std::thread;
use std::time::Duration;
use tracing::info;

/// Sorts the files that options name, and says what was done.
pub(crate) fn run(options: &SortOptions) -> Result<()> {
    let target = Target::of(&options.out, &options.data).context("--out")?;
    if let Some(temp) = options.temp.as_ref().filter(|temp| !temp.is_dir()) {
        bail!("--temp: {} is no folder", shown(temp));
    }
    let runtime = runtime()?;
    let stop = stop::told(&runtime);
    let remote = is_remote(&options.data);
    let fetched = remote.then(|| runtime.block_on(fetch(&options.data.to_string_lossy()))).transpose()?;
    let local = fetched.as_ref().map_or(options.data.as_path(), Fetched::path);
    let format = parsed(options.format.as_deref(), "--format")?.unwrap_or_default();
    let files = Files::open(local, format, FileOrder::Name, Offset::Earliest, now())?;
    let how = Options {
        memory: options.memory,
        runs: options.temp.clone(),
        skip_invalid: options.skip_invalid,
        threads: thread::available_parallelism().map_or(1, |cores| cores.get() - 1).max(1),
    };
    let mut watching =
        Watching { reading: Progress::new("sort", files.bytes()), writing: None, skipped: Skipped::new(false) };
    let sorted = sort(&files, &target, &how, &mut watching, &stop)?;
    let elapsed = watching.reading.elapsed();
    drop(watching);
    told(&sorted, &target, elapsed);
    Ok(())
}

fn told(sorted: &Sorted, target: &Target, elapsed: Duration) {
    let Sorted { events, out_of_order, invalid, others, runs, span } = *sorted;
    let span = span.map_or_else(String::new, |(first, last)| format!("{first} to {last}"));
    info!(events, out_of_order, invalid, others, span, out = target.name(), "sorted");
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let rate = format!("{:.0} events/s", events as f64 / elapsed.as_secs_f64().max(1e-6));
    info!(events, elapsed_ms, rate, runs, "sort took");
}

/// Shows how far it is.
struct Watching {
    reading: Progress,
    writing: Option<Progress>,
    skipped: Skipped,
}

impl Watch for Watching {
    fn at(&mut self, stage: Stage) {
        match stage {
            Stage::Reading { progress, events } => self.reading.at(progress.read, events, "events read"),
            Stage::Writing { done, total } => {
                let reading = &self.reading;
                let writing = self.writing.get_or_insert_with(|| {
                    reading.end();
                    Progress::new("sort", total)
                });
                writing.at(done, done, "events written");
            }
        }
    }

    fn skipped(&mut self, bad: &BadLine) {
        let _ = self.skipped.see(bad); // an error of strict reading alone
    }
}
