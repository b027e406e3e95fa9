//! `validate`: a configuration, and events for it, checked before they are imported.

use crate::import::files;
use crate::options::{ReportForm, SourceOptions, ValidateOptions};
use crate::progress::Progress;
use crate::stop::{self, AtOnce};
use anyhow::{Context, Result, bail};
use rankwright_assembly::{Size, Units, configuration, is_stream, now, print, runtime, with_dictionaries};
use rankwright_config::Config;
use rankwright_prepare::check::{Checker, Fact, Report};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::runtime::Runtime;
use tracing::{info, warn};

/// Prints what checks came to; an error where one failed.
pub(crate) fn run(options: &ValidateOptions) -> Result<()> {
    let config = configuration(options.source.config.as_deref())?;
    if !options.validation {
        return print(&match options.output {
            ReportForm::Text => format!("{}; no events were read\n", valid(&config)),
            ReportForm::Json => {
                format!("{:#}\n", json!({ "status": "PASS", "events": Value::Null, "checks": [], "facts": [] }))
            }
        });
    }
    let runtime = runtime()?;
    let stop = stop::told(&runtime);
    let report = report(&config, &options.source, &[], &runtime, &stop)?;
    print(&match options.output {
        ReportForm::Text => text(&report, &config)?,
        ReportForm::Json => format!("{:#}\n", in_json(&report, &config)?),
    })?;
    passed(&report)
}

/// Checks events before they are imported, as [`check`] does. As long as the value is kept, the program ends with a sentence when
/// it is told to stop.
pub(crate) fn before(config: &Config, options: &SourceOptions, runtime: &Runtime) -> Result<AtOnce> {
    let checking = stop::at_once(runtime, "interrupted: nothing was imported");
    check(config, options, &[], runtime, &AtomicBool::new(false))
        .context("nothing was imported (import without --validation to take the events as they are)")?;
    drop(checking);
    Ok(importing(runtime))
}

/// As long as the value is kept, an import that is told to stop ends with a sentence.
pub(crate) fn importing(runtime: &Runtime) -> AtOnce {
    stop::at_once(runtime, "interrupted: the import is not complete")
}

/// Logs what there is to say of events, and fails where a check does. The configuration leaves interactions of some types out on
/// purpose.
pub(crate) fn check(
    config: &Config,
    options: &SourceOptions,
    left_out: &[String],
    runtime: &Runtime,
    stop: &AtomicBool,
) -> Result<()> {
    let report = report(config, options, left_out, runtime, stop)?;
    for check in &report.checks {
        let examples =
            if check.examples.is_empty() { String::new() } else { format!(" ({})", check.examples.join("; ")) };
        match check.passed {
            true => info!("PASS {}: {}", check.name, check.message),
            false => warn!("FAIL {}: {}{examples}", check.name, check.message),
        }
    }
    for fact in &report.facts {
        match fact.warning {
            false => info!("{}: {}", fact.name, fact.message),
            true => warn!("{}: {}", fact.name, fact.message),
        }
    }
    passed(&report)
}

fn passed(report: &Report) -> Result<()> {
    let failed = report.failed();
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{} of {} checks failed: {}", failed.len(), report.checks.len(), failed.join(", "))
}

/// Reads all events.
fn report(
    config: &Config,
    options: &SourceOptions,
    left_out: &[String],
    runtime: &Runtime,
    stop: &AtomicBool,
) -> Result<Report> {
    if config.source.as_ref().is_some_and(|source| options.data.is_none() && is_stream(source)) {
        bail!(
            "events are checked in files, and the source of the configuration is a stream: name a file or folder with --data"
        );
    }
    let (path, files, _fetched) = files(config, options, runtime)?;
    let files = files.until(now().plus(config.core.ingest.max_ahead)); // as an import does
    let complete = runtime.block_on(with_dictionaries(config.clone())).unwrap_or_else(|error| {
        warn!("{error:#}");
        config.clone()
    });
    let mut checker = runtime.block_on(Checker::new(&complete, &path, files.format())).leaving_out(left_out);
    let (mut units, mut too_old) = (Units::default(), 0);
    let mut progress = Progress::new("validate", files.bytes());
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get() - 1).max(1);
    let outcome = files.read_parallel(None, threads, |batch| {
        if stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        batch.bad.iter().for_each(|bad| checker.bad(bad));
        batch.events.iter().for_each(|event| units.see(event.timestamp()));
        checker.see(batch.events);
        too_old += batch.before_offset;
        progress.at(batch.progress.read, checker.events(), "events");
        ControlFlow::Continue(())
    });
    let elapsed = progress.elapsed();
    progress.end();
    if outcome?.is_break() {
        bail!("interrupted: the events were not checked to their end");
    }
    let events = checker.events();
    let mut report = checker.report();
    if events == 0 {
        report.facts.push(empty(too_old, &path.display().to_string()));
    }
    if let Some(message) = units.complaint() {
        report.facts.push(Fact { name: "timestamps", warning: true, message, details: json!({}) });
    }
    took(events, elapsed);
    Ok(report)
}

fn empty(too_old: u64, path: &str) -> Fact {
    let message = match too_old {
        0 => format!("{path} holds no events"),
        _ => format!("{path} holds {too_old} events, all of them before --offset"),
    };
    Fact { name: "no events", warning: true, message, details: json!({ "beforeOffset": too_old }) }
}

fn took(events: u64, elapsed: Duration) {
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let rate = format!("{:.0} events/s", events as f64 / elapsed.as_secs_f64().max(1e-6));
    info!(events, elapsed_ms, rate, "validate took");
}

fn valid(config: &Config) -> String {
    let names: Vec<&str> = config.models.keys().map(String::as_str).collect();
    let (features, models) = (config.features.len(), names.len());
    let named = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!("the configuration is valid: {features} features, {models} models{named}")
}

fn text(report: &Report, config: &Config) -> Result<String> {
    let mut text = format!("{}\n\n{}", valid(config), report.text());
    if let Some(size) = size(report, config)? {
        text += "\nmemory in Redis by feature:\n";
        text += &crate::status::of_size(&size);
    }
    Ok(text)
}

fn in_json(report: &Report, config: &Config) -> Result<Value> {
    let mut whole = report.json();
    if let Some(size) = size(report, config)? {
        whole["memory"] = size.json();
    }
    Ok(whole)
}

/// What values of features will take, as `status` tells it of values that are there.
fn size(report: &Report, config: &Config) -> Result<Option<Size>> {
    let Some((usage, known)) = report.memory.clone() else { return Ok(None) };
    Ok(Some(Size::foreseen(usage, &known, config)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_without_models_has_no_names_to_list() {
        assert_eq!(valid(&Config::default()), "the configuration is valid: 0 features, 0 models");
    }

    #[test]
    fn a_check_before_something_else_ends_when_the_program_is_told_to_stop() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let data = folder.path().join("events.jsonl");
        let event = r#"{"event":"item","id":"1","item":"a","timestamp":"1","fields":[]}"#;
        std::fs::write(&data, format!("{event}\n")).expect("can be written");
        let source = SourceOptions { config: None, data: Some(data), format: None, offset: None, sort_files_by: None };
        let runtime = runtime().expect("a runtime");
        let model = "models: {m: {type: lambdamart, weights: {click: 1}, features: [p]}}\n\
                     features: [{name: p, type: position, position: 1}]";
        let (config, _) = Config::parse(model, "test").expect("a valid configuration");
        let check = |stop| check(&config, &source, &[], &runtime, &AtomicBool::new(stop));
        let error = |stop| check(stop).expect_err("an item alone teaches nothing").to_string();
        assert!(error(false).contains("checks failed"), "{}", error(false));
        let error = error(true);
        assert_eq!(error, "interrupted: the events were not checked to their end");
    }
}
