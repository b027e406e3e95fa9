//! `rankwright generate`: events of a simulated shop, with the configuration that goes with them.
//!
//! Items have prices, tags and texts, and hidden qualities; visitors have hidden tastes. The shop's search shows lists,
//! whose top is looked at more, whatever stands there. Fashions rise and fall, items are released and reduced. The same
//! options give the same events, in the order of time. Memory grows with the number of items and users alone.

mod catalog;
mod choice;
mod clock;
mod configuration;
mod events;
mod listing;
mod output;
mod plan;
mod random;
mod simulation;
mod summary;
mod visit;
mod visitor;
mod vocabulary;

pub(crate) use summary::Summary;

use crate::progress::Progress;
use crate::termfreq::Fields;
use anyhow::{Context, Result, bail};
use output::{Output, Unfinished};
use rankwright_assembly::complain;
use rankwright_event::{Event, json};
use rankwright_text::{DictionaryBuilder, Language};
use simulation::{Simulation, Size};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Events between two reports of progress.
const TOLD: u64 = 4096;

/// How much is generated, and where it goes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Folder for events, config.yml, request.txt (a rank request to try) and terms.dict (the terms of titles, for BM25); created if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Items of the shop
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) items: u32,
    /// Visitors
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) users: u32,
    /// Lists shown; each brings about two clicks
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) rankings: u64,
    /// Days from the first list to the last; if more than a year, a tenth of the days have events
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=18_250))]
    pub(crate) days: u32,
    /// Items of a list
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) length: u32,
    /// Seed: the same one gives the same shop
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// Write events.jsonl in place of events.jsonl.gz
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Simulates the shop and writes its files.
///
/// # Errors
/// A file cannot be written, the folder has files that this command did not write, or it was told to stop.
pub(crate) fn run(options: &Options, stop: &AtomicBool) -> Result<Summary> {
    if options.out.is_file() {
        bail!("--out: {} is a file: name a folder", options.out.display());
    }
    spare_others(options)?;
    fs::create_dir_all(&options.out).with_context(|| format!("cannot create {}", options.out.display()))?;
    let mut simulation = Simulation::new(options.size());
    let mut output = Output::create(&options.events())?;
    let mut summary = Summary::default();
    let mut titles = Fields::named(&["title".to_owned()])?;
    let mut terms = DictionaryBuilder::new(Language::English);
    let mut progress = Progress::new("generate", options.rankings);
    for event in &mut simulation {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted: no events are written");
        }
        summary.count(&event);
        if let Event::Item(item) = &event {
            terms.add(titles.of(item));
        }
        if !output.write(event) {
            break;
        }
        if summary.events().is_multiple_of(TOLD) {
            progress.at(summary.rankings, summary.events(), "events");
        }
    }
    progress.end();
    summary.events_file = output.finish()?;
    let other = options.out.join(options.other_form());
    if other.exists() {
        let folder = options.out.display();
        complain(&format!(
            "an import of {folder} reads {} as well, which was there before: remove it",
            other.display()
        ));
    }
    let mut dictionary = Vec::new();
    terms.write(titles.names(), &mut dictionary)?;
    // not .json: an import of the folder takes that for events
    write(&options.dictionary(), &dictionary)?;
    summary.config_file = write(&options.config(), options.configuration()?)?;
    let request = json::encode(&Event::Ranking(simulation.request())) + "\n";
    summary.request_file = write(&options.request(), &request)?;
    Ok(summary)
}

impl Options {
    fn events(&self) -> PathBuf {
        self.out.join(if self.plain { "events.jsonl" } else { "events.jsonl.gz" })
    }

    fn config(&self) -> PathBuf {
        self.out.join("config.yml")
    }

    fn dictionary(&self) -> PathBuf {
        self.out.join("terms.dict")
    }

    fn request(&self) -> PathBuf {
        self.out.join("request.txt")
    }

    /// The text of `config.yml`, once the folder is there.
    fn configuration(&self) -> Result<String> {
        let folder = self.out.canonicalize().with_context(|| format!("cannot read {}", self.out.display()))?;
        Ok(configuration::text(&folder.join("terms.dict")))
    }

    /// What an earlier run may have left, and an import of the folder would read as well.
    fn other_form(&self) -> &'static str {
        if self.plain { "events.jsonl.gz" } else { "events.jsonl" }
    }

    fn size(&self) -> Size {
        Size {
            items: self.items as usize,
            users: self.users as usize,
            rankings: self.rankings,
            days: self.days,
            length: self.length as usize,
            seed: self.seed,
        }
    }
}

/// Refuses to replace files that this command did not write. It did where the configuration is the one that it writes.
fn spare_others(options: &Options) -> Result<()> {
    let config = options.config();
    match fs::read(&config) {
        Ok(found) if found == options.configuration()?.as_bytes() => return Ok(()),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", config.display())),
    }
    match [config, options.events(), options.dictionary(), options.request()].iter().find(|path| path.exists()) {
        Some(other) => bail!(
            "--out: 'rankwright generate' would replace {}, which you may have written or edited: name another folder",
            other.display()
        ),
        None => Ok(()),
    }
}

fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<PathBuf> {
    let unfinished = Unfinished::of(path);
    fs::write(unfinished.place(), text).with_context(|| format!("cannot write {}", path.display()))?;
    unfinished.complete()
}

#[cfg(test)]
mod tests;
