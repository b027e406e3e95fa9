//! `sort` and `validate` as a user runs them, and what they say where something is wrong.

#[cfg(target_os = "linux")]
mod memory;
mod sort;
mod validation;

use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_e2e::{Ended, program};
use serde_json::Value;
use std::io::Write;
use std::path::Path;

fn validate(config: &Path, data: &Path, more: &[&str]) -> Ended {
    program::run_on("validate", config, data, more)
}

/// The report as JSON.
fn report(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("no JSON: {}{}", ended.stdout, ended.stderr))
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("a list of checks");
    checks.iter().find(|check| check["name"] == *name).unwrap_or_else(|| panic!("no check {name}: {report}"))
}

fn fact<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["facts"].as_array().expect("a list of facts").iter().find(|fact| fact["name"] == *name)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}
