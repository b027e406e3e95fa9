//! `import`: historical events into the state and the click-through store.

use crate::options::{ImportOptions, SourceOptions, parsed};
use crate::order::Order;
use crate::progress::Progress;
use crate::skipped::Skipped;
use crate::validate;
use anyhow::{Context, Result, bail};
use rankwright_assembly::{
    Engine, Fetched, Imported, Importer, Rebuild, StillOpen, Tally, UnderWay, Units, as_owner, configuration, fetch,
    is_remote, is_stream, now, read_all, runtime,
};
use rankwright_config::{ClickthroughStore, Config, Offset, SourceConfig, State};
use rankwright_event::RankingId;
use rankwright_feature::Coverage;
use rankwright_ingest::{Counters, Recent};
use rankwright_source::{Batch, Files, Marks};
use rankwright_state::{Position, Store};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::runtime::Runtime;
use tracing::{info, warn};

/// Events that are committed together: larger batches fold more writes into one, for a folder,
const DURABLE_BATCH: usize = 32_768;
/// while what a batch writes stays near the processor, in memory.
const BATCH: usize = 8192;
/// Into a state that others use meanwhile.
const SHARED_BATCH: usize = 4096;

/// Reads events into a state that outlives this process.
pub(crate) fn run(options: &ImportOptions) -> Result<()> {
    let config = configuration(options.source.config.as_deref())?;
    if matches!(config.state, State::Memory) {
        warn!(
            "state is memory: what is imported ends with this process; use 'standalone', or 'state: {{type: file, path: ...}}'"
        );
    }
    if !matches!(config.state, State::Memory) && matches!(config.train, Some(ClickthroughStore::Memory)) {
        warn!(
            "train is memory: click-throughs end with this process, and a later import without --rebuild does not read the same events again; use 'standalone', or 'train: {{type: file, path: ...}}'"
        );
    }
    as_owner(&config)?;
    let runtime = runtime()?;
    let _importing = match options.validation {
        true => validate::before(&config, &options.source, &runtime)?,
        false => validate::importing(&runtime),
    };
    if options.rebuild {
        return rebuild(&config, options, &runtime);
    }
    if let Some(untouched) = runtime.block_on(Rebuild::of_untouched(&config))? {
        let problem = read(untouched.engine(), options, &runtime)?;
        if runtime.block_on(untouched.complete())? {
            return whole(problem);
        }
        warn!("another process has written to the state meanwhile: the events are added to it one by one");
    }
    let engine = Arc::new(runtime.block_on(Engine::open(config))?);
    whole(read(&engine, options, &runtime)?)
}

/// An error where not all could be read: what could is imported.
fn whole(problem: Option<String>) -> Result<()> {
    problem.map_or(Ok(()), |problem| bail!("{problem}"))
}

/// Builds a state of its own, and puts it in its place when it is complete.
fn rebuild(config: &Config, options: &ImportOptions, runtime: &Runtime) -> Result<()> {
    let once = options.once.as_deref().filter(|name| !name.is_empty());
    let Some(rebuild) = runtime.block_on(Rebuild::begin(config, options.source.data.as_deref(), once))? else {
        info!(name = once.unwrap_or_default(), "the state was imported under this name already: it stays as it is");
        return Ok(());
    };
    if let Some(problem) = read(rebuild.engine(), options, runtime)? {
        bail!("the state stays as it was: {problem}");
    }
    runtime.block_on(rebuild.complete()).map(drop)
}

/// Reads the events that options or configuration name, and closes what they leave open; what is wrong where not all of
/// them could be read.
pub(crate) fn read(engine: &Arc<Engine>, options: &ImportOptions, runtime: &Runtime) -> Result<Option<String>> {
    if let Some(source) =
        engine.config.source.as_ref().filter(|source| options.source.data.is_none() && is_stream(source))
    {
        return read_stream(engine, source, options, runtime).map(|()| None);
    }
    let latest = now().plus(engine.config.core.ingest.max_ahead);
    let (path, files, _fetched) = files(&engine.config, &options.source, runtime)?;
    let files = files.until(latest); // later events are unit errors, and would close everything
    let ingest = runtime.block_on(Importer::open(engine, &writer(&path)))?;
    let before = before(&ingest)?;
    let mut marks = before.clone().unwrap_or_else(|| Marks::of(&files));
    marks.retain(&files);
    let mut import = Import {
        engine,
        runtime,
        ingest,
        coverage: Coverage::of(&engine.config),
        order: Order::new(engine.settings().session_length),
        units: Units::default(),
        recent: Recent::new(engine.config.core.ingest.event_id_window, now()),
        progress: Progress::new("import", files.bytes()),
        under_way: engine.importing(),
        skipped: Skipped::new(options.strict),
        taken: 0,
        batch_size: batch_size(&*engine.state),
        files: files.clone(),
        marks,
        reached: false,
        continued: before.is_some(),
        events: 0,
        too_old: 0,
    };
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get() - 1).max(1);
    let outcome = files.read_parallel(before.as_ref(), threads, |batch| match import.take(batch) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    });
    import.progress.end();
    if let ControlFlow::Break(error) = outcome? {
        return Err(error);
    }
    import.finish()
}

/// Reads what a stream holds now.
fn read_stream(engine: &Arc<Engine>, source: &SourceConfig, options: &ImportOptions, runtime: &Runtime) -> Result<()> {
    if options.source.format.is_some() || options.source.sort_files_by.is_some() || options.strict {
        bail!("--format, --sort-files-by and --strict are for files; the source is a stream");
    }
    let offset = parsed(options.source.offset.as_deref(), "--offset")?.unwrap_or(source.offset);
    let source = SourceConfig { offset, ..source.clone() };
    let tally = Arc::new(Tally::registered(&prometheus::Registry::new(), engine.settings().session_length)?);
    let (_under_way, began) = (engine.importing(), std::time::Instant::now());
    let (counters, examples) = runtime.block_on(read_all(engine.clone(), &source, tally.clone()))?;
    told(&counters, tally.unreadable(), tally.read(), began.elapsed());
    unknown(&counters, &examples).iter().for_each(|complaint| warn!("{complaint}"));
    let _first = engine.imported.set(Imported { counters, unknown: examples });
    Ok(())
}

/// Says what was imported.
fn told(counters: &Counters, skipped: u64, events: u64, elapsed: Duration) {
    let (items, users, rankings) = (counters.items, counters.users, counters.rankings);
    let (interactions, clickthroughs) = (counters.interactions, counters.clickthroughs);
    info!(items, users, rankings, interactions, clickthroughs, skipped, "imported");
    info!(events, elapsed_ms = millis(elapsed), rate = rate(events, elapsed), "import took");
    if counters.evicted > 0 {
        let evicted = counters.evicted;
        warn!(
            evicted,
            "rankings were closed early: maxParallelSessions or maxOpenBytes of core.clickthrough is too small for this data"
        );
    }
}

/// What to say of interactions that waited for their rankings in vain.
fn unknown(counters: &Counters, examples: &[RankingId]) -> Option<String> {
    let (count, all) = (counters.unknown, counters.interactions.max(counters.unknown));
    let examples: Vec<String> = examples.iter().map(|id| format!("{:?}", id.as_str())).collect();
    let such = if examples.is_empty() { String::new() } else { format!(", such as {}", examples.join(" and ")) };
    (count > 0).then(|| {
        format!(
            "{count} of {all} interactions ({:.1} %) name a ranking that did not come, or had closed{such}: they are in no \
             click-through; `ranking` of an interaction has to be the `id` of a ranking event",
            count as f64 / all as f64 * 100.0
        )
    })
}

/// One import.
struct Import<'a> {
    engine: &'a Engine,
    runtime: &'a Runtime,
    ingest: Importer,
    coverage: Coverage,
    order: Order,
    units: Units,
    recent: Recent,
    progress: Progress,
    under_way: UnderWay,
    skipped: Skipped,
    /// Events that are not committed yet, and how far the files are read with them.
    taken: usize,
    batch_size: usize,
    files: Files,
    marks: Marks,
    /// Whether anything was read since the last commit.
    reached: bool,
    /// Whether an earlier import has read a part of them.
    continued: bool,
    events: u64,
    /// Events that were left out because they are older than the offset.
    too_old: u64,
}

impl Import<'_> {
    fn take(&mut self, batch: Batch) -> Result<()> {
        for bad in &batch.bad {
            self.skipped.see(bad)?;
        }
        for event in &batch.events {
            self.coverage.see(event);
            self.order.see(event.timestamp());
            self.units.see(event.timestamp());
            self.recent.see(event);
        }
        self.too_old += batch.before_offset;
        self.events += batch.events.len() as u64;
        self.taken += batch.events.len();
        self.runtime.block_on(self.ingest.take(batch.events))?;
        self.marks.reach(&self.files, &batch.position);
        self.reached = true;
        if self.taken >= self.batch_size {
            self.commit()?;
        }
        self.progress.at(batch.progress.read, self.events, "events");
        self.under_way.read(self.events);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if !self.reached {
            return Ok(());
        }
        self.reached = false;
        self.taken = 0;
        let to = Position(serde_json::to_string(&self.marks)?);
        self.runtime.block_on(self.ingest.commit(to))?;
        Ok(())
    }

    fn finish(mut self) -> Result<Option<String>> {
        self.commit()?;
        self.runtime.block_on(self.ingest.remember(&self.recent.ids()))?;
        if !self.runtime.block_on(self.ingest.finish())? {
            return Err(StillOpen.into());
        }
        let (counters, examples) = (self.ingest.counters(), self.ingest.unknown_rankings().to_vec());
        told(&counters, self.skipped.count(), self.events, self.progress.elapsed());
        let complaints =
            [unknown(&counters, &examples), self.order.complaint(), self.units.complaint(), self.recent.complaint()];
        complaints.iter().flatten().for_each(|complaint| warn!("{complaint}"));
        let _first = self.engine.imported.set(Imported { counters, unknown: examples });
        // what an earlier import has read is not known here
        if self.events > 0 && !self.continued {
            self.coverage.gaps(&self.engine.config).iter().for_each(|gap| warn!("{gap}"));
        }
        Ok(self.problem())
    }

    /// What is wrong where not all could be read.
    fn problem(&self) -> Option<String> {
        if !self.skipped.damaged().is_empty() {
            return Some(format!(
                "{} is damaged or was cut short: only what could be read of it was taken in; read it again when it is complete",
                self.skipped.damaged().join(", ")
            ));
        }
        let nothing = self.events == 0 && self.too_old == 0;
        let bad = self.skipped.count();
        (nothing && bad > 0).then(|| format!("nothing was imported: none of {bad} lines is an event"))
    }
}

fn batch_size(state: &dyn Store) -> usize {
    match (state.shared(), state.durable()) {
        (true, _) => SHARED_BATCH,
        (false, true) => DURABLE_BATCH,
        (false, false) => BATCH,
    }
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

fn rate(events: u64, elapsed: Duration) -> String {
    format!("{:.0} events/s", events as f64 / elapsed.as_secs_f64().max(1e-6))
}

/// The writer that keeps how far a file or folder was read.
fn writer(path: &Path) -> String {
    match path.to_str().filter(|_| is_remote(path)) {
        Some(url) => format!("import {}", url.trim_end_matches('/')),
        None => format!("import {}", path.canonicalize().unwrap_or_else(|_| path.to_owned()).display()),
    }
}

/// How far earlier imports of the same files came.
fn before(ingest: &Importer) -> Result<Option<Marks>> {
    let position = &ingest.position().0;
    if position.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(position).map(Some).context("the state's position in these files cannot be read")
}

/// The files to read, and the path that names them. What the configuration says of its source does not count for others.
pub(crate) fn files(
    config: &Config,
    options: &SourceOptions,
    runtime: &Runtime,
) -> Result<(PathBuf, Files, Option<Fetched>)> {
    let source = config.source.as_ref().filter(|_| options.data.is_none());
    let format = parsed(options.format.as_deref(), "--format")?.or(source.map(|source| source.format));
    let offset = parsed(options.offset.as_deref(), "--offset")?.or(source.map(|source| source.offset));
    let order = parsed(options.sort_files_by.as_deref(), "--sort-files-by")?;
    let (path, order) = match (&options.data, source.map(|source| &source.kind)) {
        (Some(path), _) => (path, order),
        (None, Some(rankwright_config::SourceKind::File { path: Some(path), sort })) => (path, order.or(Some(*sort))),
        _ => bail!(
            "there are no events to read: name a file or folder with --data, or as source.path in the configuration"
        ),
    };
    let offset = offset.unwrap_or(Offset::Earliest);
    let fetched = is_remote(path).then(|| runtime.block_on(fetch(&path.to_string_lossy()))).transpose()?;
    let local = fetched.as_ref().map_or(path.as_path(), Fetched::path);
    let files = Files::open(local, format.unwrap_or_default(), order.unwrap_or_default(), offset, now())?;
    Ok((path.clone(), files, fetched))
}
