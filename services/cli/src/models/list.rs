//! Which versions there are.

use super::pinned;
use anyhow::Result;
use rankwright_config::Config;
use rankwright_model::VersionStore;
use std::fmt::Write;

/// A line for each version, the oldest first.
pub(super) fn of(config: &Config, versions: &dyn VersionStore) -> Result<String> {
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

#[cfg(test)]
mod tests {
    use super::super::testing::stored;
    use super::*;

    #[test]
    fn versions_are_listed_with_the_current_one() {
        let (config, versions, ids) = stored(2);
        let listed = of(&config, &versions).expect("lists");
        assert_eq!(listed, format!("m\t{}\t\nm\t{}\tcurrent\n", ids[0], ids[1]));
    }
}
