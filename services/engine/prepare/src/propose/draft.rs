//! The configuration as it is put together, and how it is written.

use super::rules::is_unwanted;
use super::seen::Seen;
use super::yaml::{comment, count, word};
use super::{Options, Proposal, Ruleset};
use crate::shell;
use std::collections::HashSet;
use std::fmt::Write;

/// What is proposed so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    names: HashSet<String>,
    entries: Vec<Entry>,
    models: Vec<Model>,
    /// How long a ranking stays open where the usual time is wrong, and why.
    session: Option<(&'static str, String)>,
    /// Lines of weights, each with its reason.
    pub(super) weights: Vec<(String, String)>,
    left_out: Vec<String>,
    features: usize,
}

#[derive(Debug)]
enum Entry {
    /// A title over what follows.
    Section(&'static str),
    Feature(Feature),
}

#[derive(Debug)]
struct Feature {
    name: String,
    /// All keys but the name, as YAML.
    keys: String,
    why: String,
    /// What to do before it can be used; it is written as a comment then.
    before: Vec<String>,
}

/// A model that needs no features.
#[derive(Debug)]
struct Model {
    name: &'static str,
    keys: Vec<String>,
    why: String,
    /// As that of a feature.
    before: Vec<String>,
}

/// The model that ranks.
pub(super) const RANKER: &str = "default";

impl Draft {
    /// Begins a section of features.
    pub(super) fn section(&mut self, title: &'static str) {
        self.entries.push(Entry::Section(title));
    }

    /// Proposes a feature: its keys but the name, and why it is here.
    pub(super) fn feature(&mut self, name: &str, keys: String, why: String) {
        let name = self.free(name);
        self.features += 1;
        self.entries.push(Entry::Feature(Feature { name, keys, why, before: Vec::new() }));
    }

    /// Proposes a feature that needs something first: its lines say what.
    pub(super) fn hint(&mut self, name: &str, keys: String, why: String, before: Vec<String>) {
        let name = self.free(name);
        self.entries.push(Entry::Feature(Feature { name, keys, why, before }));
    }

    /// Proposes a model besides the one that ranks.
    pub(super) fn model(&mut self, name: &'static str, keys: Vec<String>, why: String) {
        self.models.push(Model { name, keys, why, before: Vec::new() });
    }

    /// Proposes one that needs something first: its lines say what.
    pub(super) fn model_hint(&mut self, name: &'static str, keys: Vec<String>, why: String, before: Vec<String>) {
        self.models.push(Model { name, keys, why, before });
    }

    /// Proposes how long a ranking waits for interactions.
    pub(super) fn session(&mut self, length: &'static str, why: String) {
        self.session = Some((length, why));
    }

    /// Notes a field that no feature reads, and why.
    pub(super) fn leave_out(&mut self, field: &str, why: String) {
        self.left_out.push(format!("{field}: {why}"));
    }

    /// A name of letters, digits and underscores that is not taken.
    fn free(&mut self, name: &str) -> String {
        let mut name: String = name.chars().map(|char| if char.is_alphanumeric() { char } else { '_' }).collect();
        while !self.names.insert(name.clone()) {
            name.push_str("_2");
        }
        name
    }

    /// The file.
    pub(super) fn finish(self, seen: &Seen, options: &Options) -> Proposal {
        let mut text = head(seen, options);
        if let Some((length, why)) = &self.session {
            text.push_str("core:\n  clickthrough:\n");
            line_of(&mut text, 4, why);
            let _ = writeln!(text, "    maxSessionLength: {length}\n");
        }
        self.write_models(&mut text);
        self.write_features(&mut text);
        if !self.left_out.is_empty() {
            text.push_str("\n# No feature reads these fields:\n");
            self.left_out.iter().for_each(|line| line_of(&mut text, 0, &format!("- {line}")));
        }
        let unwanted = seen.interactions.keys().filter(|name| is_unwanted(name)).map(ToString::to_string).collect();
        let others = self.models.iter().filter(|model| model.before.is_empty()).map(|model| model.name);
        let models = std::iter::once(RANKER).chain(others);
        Proposal {
            text,
            features: self.features,
            models: models.map(str::to_owned).collect(),
            left_out: self.left_out,
            unwanted,
        }
    }

    fn write_models(&self, text: &mut String) {
        let _ = writeln!(text, "models:\n  {RANKER}:\n    type: lambdamart");
        text.push_str("    backend:\n      type: xgboost\n");
        line_of(text, 6, "training ends earlier, once the test split gets no better");
        text.push_str("      iterations: 300\n      maxDepth: 6\n");
        line_of(text, 6, "the same data give the same model");
        text.push_str("      seed: 0\n    weights:");
        if self.weights.is_empty() {
            text.push_str(" {}");
        }
        text.push('\n');
        for (weight, why) in &self.weights {
            line_of(text, 6, why);
            if !weight.is_empty() {
                let _ = writeln!(text, "      {weight}");
            }
        }
        text.push_str("    features:\n");
        for entry in &self.entries {
            if let Entry::Feature(feature) = entry {
                let mark = if feature.before.is_empty() { "" } else { "# " };
                let _ = writeln!(text, "      {mark}- {}", word(&feature.name));
            }
        }
        for model in &self.models {
            line_of(text, 2, &model.why);
            model.before.iter().for_each(|line| line_of(text, 2, line));
            let mark = if model.before.is_empty() { "" } else { "# " };
            let _ = writeln!(text, "  {mark}{}:", model.name);
            for key in &model.keys {
                let _ = writeln!(text, "  {mark}  {key}");
            }
        }
    }

    fn write_features(&self, text: &mut String) {
        text.push_str("\nfeatures:");
        if self.entries.iter().all(|entry| matches!(entry, Entry::Section(_))) {
            text.push_str(" []");
        }
        text.push('\n');
        let mut title = None;
        for entry in &self.entries {
            match entry {
                Entry::Section(section) => title = Some(section),
                Entry::Feature(feature) => {
                    if let Some(title) = title.take() {
                        let _ = writeln!(text, "\n  ## {title}\n");
                    }
                    line_of(text, 2, &feature.why);
                    feature.before.iter().for_each(|line| line_of(text, 2, line));
                    let mark = if feature.before.is_empty() { "" } else { "# " };
                    let _ = writeln!(text, "  {mark}- {{name: {}, {}}}", word(&feature.name), feature.keys);
                }
            }
        }
    }
}

/// A comment on a line of its own.
fn line_of(text: &mut String, indent: usize, line: &str) {
    let _ = writeln!(text, "{:indent$}# {}", "", comment(line));
}

fn head(seen: &Seen, options: &Options) -> String {
    let Options { data, events, config, .. } = options;
    let ruleset = match options.ruleset {
        Ruleset::Stable => "stable",
        Ruleset::All => "all",
    };
    let interactions: u64 = seen.interactions.values().map(|taken| taken.count).sum();
    let span = seen.span.map_or_else(String::new, |(first, last)| format!(", from {first} to {last}"));
    let threshold = options.threshold;
    let lines = [
        format!(
            "Proposed by 'rankwright autofeature' (ruleset {ruleset}, category threshold {threshold}) from {data}:"
        ),
        format!(
            "{} item events of about {} items, {} user events, {} rankings of {:.1} items, {} interactions{span}.",
            count(seen.items.events),
            count(seen.item_ids.count()),
            count(seen.users.events),
            count(seen.rankings.events),
            seen.shown.events as f64 / seen.rankings.events.max(1) as f64,
            count(interactions)
        ),
        "The line above each feature says why it is here, with figures of the events. Change what you know better."
            .to_owned(),
        String::new(),
        format!("  rankwright standalone {} {events}", shell::words(["--config", config])),
    ];
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{}", format!("# {}", comment(&line)).trim_end());
    }
    text.push_str("\nstate:\n  # values and models end with the process; {type: file, path: FOLDER} keeps them\n  type: memory\n\n");
    text
}
