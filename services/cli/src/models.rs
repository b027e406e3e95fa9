//! `models`: which versions there are, and back to an earlier one.

use crate::options::{ModelsCommand, ModelsOptions};
use anyhow::{Result, bail};
use rankwright_assembly::{configuration, open_versions};
use rankwright_config::Config;
use rankwright_model::{VersionId, VersionStore};
use std::fmt::Write;

/// Lists versions, or moves the pointer of a model; what it prints.
pub(crate) fn run(options: &ModelsOptions) -> Result<String> {
    let config = configuration(options.config.as_deref())?;
    if matches!(config.state, rankwright_config::State::Memory) {
        bail!("state is memory: models end with the process that trained them");
    }
    let versions = open_versions(&config)?;
    match &options.command {
        ModelsCommand::List => list(&config, &*versions),
        ModelsCommand::Rollback { model, to } => rollback(&config, &*versions, model, to.as_deref()),
    }
}

/// A line for each version, the oldest first.
fn list(config: &Config, versions: &dyn VersionStore) -> Result<String> {
    let mut lines = String::new();
    for (name, model) in &config.models {
        let (current, pinned) = (versions.current(name)?, pinned(model));
        for id in versions.list(name)? {
            let mark = match &pinned {
                Some(pinned) if *pinned == id.to_string() => "pinned by the configuration",
                _ if current.as_ref() == Some(&id) && pinned.is_some() => "current, not served: another one is pinned",
                _ if current.as_ref() == Some(&id) => "current",
                _ => "",
            };
            writeln!(lines, "{name}\t{id}\t{mark}")?;
        }
    }
    Ok(lines)
}

fn pinned(model: &rankwright_config::Model) -> Option<String> {
    model.learning().and_then(|learning| learning.version.clone())
}

/// Makes a version current: the given one, or the one that was current before.
fn rollback(config: &Config, versions: &dyn VersionStore, model: &str, to: Option<&str>) -> Result<String> {
    let Some(definition) = config.models.get(model) else { bail!("the configuration has no model '{model}'") };
    let id: VersionId = match to {
        Some(id) => id.parse()?,
        None => {
            let Some(id) = versions.previous(model)? else {
                bail!("model '{model}' has no version before the current one")
            };
            id
        }
    };
    versions.select(model, &id)?;
    let mut told = format!(
        "{model}\t{id}\tcurrent; servers take it up within 10 seconds, and the next training that passes its gate takes its \
         place: to stay with it, pin models.{model}.version\n"
    );
    if let Some(pinned) = pinned(definition) {
        writeln!(told, "models.{model}.version pins {pinned}, which is served all the same")?;
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::Timestamp;
    use rankwright_model::{Kind, MemoryVersions, Metadata, Place, Version};

    fn stored(count: i64) -> (Config, MemoryVersions, Vec<String>) {
        let (config, _) = Config::parse("models: {m: {type: noop}}", "test").expect("a valid configuration");
        let versions = MemoryVersions::default();
        let ids = (1..=count).map(|second| {
            let metadata = Metadata {
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
            };
            let version = Version::new(metadata, Vec::new(), Vec::new()).expect("a version");
            versions.publish(&version, Place::Any).expect("is kept");
            version.id().to_string()
        });
        let ids = ids.collect();
        (config, versions, ids)
    }

    #[test]
    fn versions_are_listed_with_the_current_one() {
        let (config, versions, ids) = stored(2);
        let listed = list(&config, &versions).expect("lists");
        assert_eq!(listed, format!("m\t{}\t\nm\t{}\tcurrent\n", ids[0], ids[1]));
    }

    #[test]
    fn rolling_back_goes_one_version_at_a_time_or_to_a_named_one() {
        let (config, versions, ids) = stored(3);
        let current = || versions.current("m").expect("reads").map(|id| id.to_string());
        rollback(&config, &versions, "m", None).expect("rolls back");
        assert_eq!(current().as_ref(), Some(&ids[1]));
        rollback(&config, &versions, "m", None).expect("rolls back");
        assert_eq!(current().as_ref(), Some(&ids[0]));
        assert!(rollback(&config, &versions, "m", None).is_err(), "there is none before the first");
        rollback(&config, &versions, "m", Some(&ids[2])).expect("rolls forward");
        assert_eq!(current().as_ref(), Some(&ids[2]));
        assert!(rollback(&config, &versions, "other", None).is_err());
    }
}
