//! Types of interactions, and which of them the configuration knows.

use super::report::Check;
use super::{EXAMPLES, share};
use compact_str::CompactString;
use rankwright_config::{Config, Model};
use rankwright_event::Interaction;
use rankwright_feature::effect::IMPRESSION;
use serde_json::json;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Distinct types that are counted.
const MOST: usize = 1000;
/// Types that are listed, the most frequent ones.
const LISTED: usize = 50;

#[derive(Debug)]
pub(super) struct Types {
    known: BTreeSet<CompactString>,
    /// Whether the configuration uses interactions of any type.
    any: bool,
    counts: BTreeMap<CompactString, u64>,
    total: u64,
    unknown: u64,
    examples: Vec<String>,
}

impl Types {
    /// Those that models learn from or leave out by, and features count.
    pub(super) fn of(config: &Config) -> Self {
        let weighed = config.models.values().flat_map(|model| model.interactions().1);
        let seen = || config.models.values().filter_map(Model::exclude_seen);
        let left_out = seen().flat_map(|seen| seen.interactions.iter().map(String::as_str));
        let counted = config.features.iter().flat_map(|feature| feature.kind.interactions());
        let known = weighed.chain(left_out).chain(counted).chain([IMPRESSION]).map(CompactString::from).collect();
        let any = seen().any(|seen| seen.interactions.is_empty());
        Self { known, any, counts: BTreeMap::new(), total: 0, unknown: 0, examples: Vec::new() }
    }

    /// These are known as well.
    pub(super) fn accept(&mut self, types: &[String]) {
        self.known.extend(types.iter().map(CompactString::from));
    }

    pub(super) fn see(&mut self, interaction: &Interaction) {
        self.total += 1;
        if let Some(count) = self.counts.get_mut(&interaction.kind) {
            *count += 1;
        } else if self.counts.len() < MOST {
            self.counts.insert(interaction.kind.clone(), 1);
        }
        if !self.any && !self.known.contains(&interaction.kind) {
            self.unknown += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.push(format!("{:?} (type {:?})", interaction.id.as_str(), interaction.kind));
            }
        }
    }

    pub(super) fn check(&self) -> Check {
        let listed = self.listed();
        let further = self.total - listed.iter().map(|(_, count)| **count).sum::<u64>();
        let mut counts: Vec<String> = listed.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        counts.extend((further > 0).then(|| format!("{further} of further types")));
        let known: Vec<&str> =
            self.known.iter().map(CompactString::as_str).filter(|kind| *kind != IMPRESSION).collect();
        let message = match self.unknown {
            0 if counts.is_empty() => "there are no interactions".to_owned(),
            0 => counts.join(", "),
            _ => format!(
                "{} are of types that no model and no feature uses (these use {}): {}",
                share(self.unknown, self.total, "interactions"),
                if known.is_empty() { "none".to_owned() } else { known.join(", ") },
                counts.join(", ")
            ),
        };
        let counts: BTreeMap<_, _> = listed.into_iter().collect();
        let details = json!({ "counts": counts, "further": further, "unknown": self.unknown, "configured": known });
        Check { name: "interaction type", passed: self.unknown == 0, message, examples: self.examples.clone(), details }
    }

    /// The most frequent types first, equally frequent ones by name.
    fn listed(&self) -> Vec<(&CompactString, &u64)> {
        let mut listed: Vec<_> = self.counts.iter().collect();
        listed.sort_by_key(|(_, count)| Reverse(**count)); // stable: names are in order
        listed.truncate(LISTED);
        listed
    }
}
