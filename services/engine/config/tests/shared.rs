//! Configurations written for the upstream service load unchanged. They lie outside of the repository; without them
//! these tests are skipped.

#![allow(clippy::expect_used)]

use rankwright_config::Config;
use rankwright_config::feature::{Kind, Rate, RateScope};
use std::path::PathBuf;

/// A file of the shared folder, or none and a line that says so.
fn shared(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("RANKWRIGHT_SHARED").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| PathBuf::from("../../../../shared"));
    let file = folder.join(path);
    if file.exists() {
        return Some(file);
    }
    let required = std::env::var("RANKWRIGHT_REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(!required, "{} is missing", file.display());
    eprintln!("SKIPPED: {} is missing", file.display());
    None
}

fn load(path: &str) -> Option<Config> {
    let file = shared(path)?;
    let (config, warnings) = Config::load(Some(&file), &Default::default()).unwrap_or_else(|error| panic!("{error}"));
    eprintln!("{path}: {warnings:#?}");
    Some(config)
}

#[test]
fn the_ranklens_configuration_loads_unchanged() {
    let Some(config) = load("data/ranklens.yml") else { return };
    assert_eq!(config.features.len(), 21);
    assert_eq!(config.api.port, 28083);
    let tag = config.features.iter().find(|feature| feature.name == "ctr_tag").expect("the file has it");
    let Kind::Rate(Rate { scope, .. }) = &tag.kind else { panic!("{tag:?}") };
    assert_eq!(*scope, RateScope::ItemField("tag".to_owned()));
}

#[test]
fn the_configurations_of_the_recorded_answers_load_unchanged() {
    for (case, features) in [("counters", 10), ("feedback", 8), ("profile", 7), ("scalars", 17)] {
        let Some(config) = load(&format!("oracle/cases/{case}/config.yml")) else { continue };
        assert_eq!(config.features.len(), features, "{case}");
    }
}
