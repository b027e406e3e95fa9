//! `termfreq`: how many items have each term, the dictionary of BM25.
//!
//! Each item event with one of the fields is a document. An item that changed is counted once for each of its events: memory
//! would have to grow with the number of items to count the newest alone.

mod fields;

use crate::options::{TermfreqOptions, parsed, past};
use crate::progress::Progress;
use crate::skipped::Skipped;
use crate::stop;
use anyhow::{Context, Result, bail};
pub(crate) use fields::Fields;
use rankwright_assembly::{Fetched, fetch, is_remote, now, runtime};
use rankwright_event::Event;
use rankwright_prepare::{Target, output};
use rankwright_source::{Batch, Compression, Files};
use rankwright_text::{DictionaryBuilder, Language};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tokio::runtime::Runtime;
use tracing::warn;

/// Counts the terms of the fields that options name, writes the dictionary, and says what is in it.
pub(crate) fn run(options: &TermfreqOptions) -> Result<String> {
    let language: Language = options.language.parse().context("--language")?;
    let fields = Fields::named(&options.fields)?;
    let target = Target::of(&options.out, &options.data).context("--out")?;
    if Compression::of(&options.out) == Compression::Zstd {
        bail!("--out: a dictionary is plain or compressed with gzip: name it .json or .json.gz");
    }
    let runtime = runtime()?;
    let stop = stop::told(&runtime);
    let (files, _fetched) = files(options, &runtime)?;
    let counting = Counting {
        fields,
        builder: DictionaryBuilder::new(language),
        skipped: Skipped::new(options.strict),
        progress: Progress::new("termfreq", files.bytes()),
        events: 0,
        items: 0,
        too_old: 0,
        stop,
    };
    counting.all(&files)?.write(&target, options)
}

/// One run.
struct Counting {
    fields: Fields,
    builder: DictionaryBuilder,
    skipped: Skipped,
    progress: Progress,
    events: u64,
    /// Events of items.
    items: u64,
    /// Events that were left out because they are older than the offset.
    too_old: u64,
    stop: Arc<AtomicBool>,
}

impl Counting {
    /// Counts what the files hold.
    fn all(mut self, files: &Files) -> Result<Self> {
        let threads = thread::available_parallelism().map_or(1, |cores| cores.get() - 1).max(1);
        let outcome = files.read_parallel(None, threads, |batch| match self.take(&batch) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        });
        self.progress.end();
        match outcome? {
            ControlFlow::Continue(()) => Ok(self),
            ControlFlow::Break(error) => Err(error),
        }
    }

    fn take(&mut self, batch: &Batch) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted: no dictionary is written");
        }
        for bad in &batch.bad {
            self.skipped.see(bad)?;
        }
        if let Some(file) = self.skipped.damaged().first() {
            bail!("{file} is damaged or was cut short: no dictionary is written");
        }
        for event in &batch.events {
            if let Event::Item(item) = event {
                self.items += 1;
                self.builder.add(self.fields.of(item));
            }
        }
        self.events += batch.events.len() as u64;
        self.too_old += batch.before_offset;
        self.progress.at(batch.progress.read, self.events, "events");
        Ok(())
    }

    /// What is wrong where there is nothing to write.
    fn check(&self, data: &Path) -> Result<()> {
        if self.items == 0 {
            bail!("{} holds no item events{}", data.display(), self.skipped.instead(self.events, self.too_old));
        }
        self.fields.check()?;
        if self.builder.documents() == 0 {
            bail!("the fields hold no words but stop words: there is nothing to count");
        }
        Ok(())
    }

    fn write(self, target: &Target, options: &TermfreqOptions) -> Result<String> {
        self.check(&options.data)?;
        let builder = &self.builder;
        if builder.dropped() > 0 {
            let (terms, missed) = (builder.dropped(), builder.missed());
            warn!(
                terms,
                "there are too many distinct terms: the rarest ones were dropped, so that a term may be in up to {missed} documents \
                 more than the dictionary says"
            );
        }
        let stopped = || self.stop.load(Ordering::Relaxed);
        let written = output::write(target, &stopped, |to| builder.write(self.fields.names(), to));
        if !written.with_context(|| format!("cannot write {}", target.name()))? {
            bail!("interrupted: no dictionary is written");
        }
        let (documents, terms, average) = (builder.documents(), builder.terms(), builder.average_length());
        let (fields, language, out) =
            (self.fields.names().join(", "), options.language.as_str(), options.out.display());
        Ok(format!(
            "{documents} documents of {items} item events, {terms} terms, {average:.2} terms in a text on average ({fields}; {language})\n{out}\n",
            items = self.items,
        ))
    }
}

/// The files to read; those of a bucket are here as long as the second.
fn files(options: &TermfreqOptions, runtime: &Runtime) -> Result<(Files, Option<Fetched>)> {
    let format = parsed(options.format.as_deref(), "--format")?.unwrap_or_default();
    let offset = past(options.offset.as_deref())?;
    let order = parsed(options.sort_files_by.as_deref(), "--sort-files-by")?.unwrap_or_default();
    let path = options.data.as_path();
    let fetched = if is_remote(path) { Some(runtime.block_on(fetch(&path.to_string_lossy()))?) } else { None };
    let local = fetched.as_ref().map_or(path, Fetched::path);
    Ok((Files::open(local, format, order, offset, now())?, fetched))
}

#[cfg(test)]
mod tests;
