//! A configuration proposed for events: features that their fields and interactions carry, with the reason for each, and
//! models.
//!
//! One pass over the events. Memory is bounded, however many there are: each field has sketches of its values
//! ([`frequent`], [`distinct`]), and of ids only those of the newest rankings are kept.

mod delays;
mod distinct;
mod draft;
mod field;
mod frequent;
mod language;
mod rules;
mod seen;
mod yaml;

use draft::Draft;
use rankwright_event::Event;
use seen::Seen;
use std::str::FromStr;

/// Which features are proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ruleset {
    /// Those that help as a rule, and cost little.
    #[default]
    Stable,
    /// All that the events carry something for.
    All,
}

/// How events become a configuration.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which features.
    pub ruleset: Ruleset,
    /// A value of a text field is a category where at least this part of its events has it, and at least two of them: over 0, up to 1.
    pub threshold: f64,
    /// What the files of events are called.
    pub data: String,
    /// Options by which commands read these events, as a shell takes them.
    pub events: String,
    /// What the file of the configuration is called in commands.
    pub config: String,
}

/// Neither `stable` nor `all`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown ruleset '{0}': expected stable or all")]
pub struct UnknownRuleset(String);

impl FromStr for Ruleset {
    type Err = UnknownRuleset;

    fn from_str(text: &str) -> Result<Self, UnknownRuleset> {
        match text {
            "stable" => Ok(Self::Stable),
            "all" => Ok(Self::All),
            _ => Err(UnknownRuleset(text.to_owned())),
        }
    }
}

/// Why there is nothing to propose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No rankings.
    #[error(
        "there is nothing to rank: of {events} events none is a ranking; events of type ranking say which items visitors saw"
    )]
    NoRankings {
        /// How many events there are.
        events: u64,
    },
    /// Nothing says which items were relevant.
    #[error(
        "there is nothing to learn from: {rankings} rankings, no interactions{} and no items[].label; events of type interaction say what visitors did with items",
        besides(others)
    )]
    NoRelevance {
        /// How many rankings there are.
        rankings: u64,
        /// Types of interactions that do not say an item was wanted.
        others: Vec<String>,
    },
}

fn besides(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!(" that say an item was wanted (there are {})", others.join(", ")),
    }
}

/// Events on their way to a configuration.
#[derive(Debug)]
pub struct Proposer {
    options: Options,
    seen: Seen,
}

/// A configuration, and what it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The text of the file.
    pub text: String,
    /// Number of features in it.
    pub features: usize,
    /// Names of its models.
    pub models: Vec<String>,
    /// Fields that no feature reads, each with the reason.
    pub left_out: Vec<String>,
    /// Types of interactions that neither models nor features use, because they say that an item was not wanted.
    pub unwanted: Vec<String>,
}

impl Proposer {
    /// Nothing is seen yet.
    pub fn new(options: Options) -> Self {
        // of a list every element counts, of which there may be many an event
        let most = (16.0 / options.threshold).clamp(1024.0, 100_000.0) as usize;
        Self { seen: Seen::new(most), options }
    }

    /// Looks at an event.
    pub fn see(&mut self, event: &Event) {
        self.seen.see(event);
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        let interactions: u64 = self.seen.interactions.values().map(|taken| taken.count).sum();
        self.seen.items.events
            + self.seen.users.events
            + self.seen.rankings.events
            + interactions
            + self.seen.other_interactions
    }

    /// The configuration.
    ///
    /// # Errors
    /// When events have nothing that a model could learn from.
    pub fn propose(self) -> Result<Proposal, Error> {
        let (events, rankings) = (self.events(), self.seen.rankings.events);
        if rankings == 0 {
            return Err(Error::NoRankings { events });
        }
        let kinds = || self.seen.interactions.keys().map(|name| name.as_str());
        if !kinds().any(rules::is_wanted) && self.seen.labelled == 0 {
            return Err(Error::NoRelevance { rankings, others: kinds().map(str::to_owned).collect() });
        }
        let mut draft = Draft::default();
        rules::propose(&self.seen, &self.options, &mut draft);
        Ok(draft.finish(&self.seen, &self.options))
    }
}

#[cfg(test)]
mod tests;
