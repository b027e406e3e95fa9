//! Builders for this module's tests.

use rankwright_config::Config;
use rankwright_event::Timestamp;
use rankwright_model::{Kind, MemoryVersions, Metadata, Place, Version, VersionStore};

/// What is known about a version of the model `m`, trained at this second.
pub(super) fn metadata(second: i64) -> Metadata {
    Metadata {
        model: "m".into(),
        kind: Kind::Noop,
        created_at: Timestamp::from_millis(second * 1000),
        columns: Vec::new(),
        metrics: Default::default(),
        iterations: 0,
        weights: Vec::new(),
        trained_on: None,
        settings: Default::default(),
        replaced: None,
        record: Default::default(),
    }
}

/// `count` versions of `m`, with their ids.
pub(super) fn stored(count: i64) -> (Config, MemoryVersions, Vec<String>) {
    let (config, _) = Config::parse("models: {m: {type: noop}}", "test").expect("a valid configuration");
    let versions = MemoryVersions::default();
    let ids = (1..=count).map(|second| {
        let version = Version::new(metadata(second), Vec::new(), Vec::new()).expect("a version");
        versions.publish(&version, Place::Any).expect("is kept");
        version.id().to_string()
    });
    let ids = ids.collect();
    (config, versions, ids)
}
