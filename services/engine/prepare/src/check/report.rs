//! What the checks came to, as text and as JSON.

use rankwright_state::{Fingerprint, Slot, Usage};
use serde_json::{Value, json};

/// Width of the column of names.
const NAMES: usize = 30;

/// The outcome of all checks.
#[derive(Debug)]
pub struct Report {
    /// Events that were looked at.
    pub events: u64,
    /// The checks of the specification, in its order.
    pub checks: Vec<Check>,
    /// What else there is to know.
    pub facts: Vec<Fact>,
    /// What values will take in Redis, and what its slots mean.
    pub memory: Option<(Usage, Vec<(Fingerprint, Slot)>)>,
}

/// One check.
#[derive(Debug)]
pub struct Check {
    /// As the specification names it.
    pub name: &'static str,
    /// PASS or FAIL.
    pub passed: bool,
    /// What was found, in a sentence.
    pub message: String,
    /// A few of what is wrong.
    pub examples: Vec<String>,
    /// Counts and distributions.
    pub details: Value,
}

/// Something to know that is no check.
#[derive(Debug)]
pub struct Fact {
    /// What it is about.
    pub name: &'static str,
    /// Whether something should be done about it.
    pub warning: bool,
    /// What was found, in a sentence.
    pub message: String,
    /// Counts and distributions.
    pub details: Value,
}

impl Report {
    /// Names of the checks that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        self.checks.iter().filter(|check| !check.passed).map(|check| check.name).collect()
    }

    /// For people: a line for each check and fact, examples beneath.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for check in &self.checks {
            let verdict = if check.passed { "PASS" } else { "FAIL" };
            text += &format!("{verdict}  {:NAMES$}{}\n", check.name, check.message);
            check.examples.iter().for_each(|example| text += &format!("      {:NAMES$}{example}\n", ""));
        }
        text += "\n";
        for fact in &self.facts {
            let mark = if fact.warning { "NOTE" } else { "    " };
            text += &format!("{mark}  {:NAMES$}{}\n", fact.name, fact.message);
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let status = |passed: bool| if passed { "PASS" } else { "FAIL" };
        let check = |check: &Check| {
            json!({
                "name": check.name, "status": status(check.passed), "message": check.message, "examples": check.examples,
                "details": check.details,
            })
        };
        let fact = |fact: &Fact| json!({ "name": fact.name, "warning": fact.warning, "message": fact.message, "details": fact.details });
        json!({
            "status": status(self.failed().is_empty()),
            "events": self.events,
            "checks": self.checks.iter().map(check).collect::<Value>(),
            "facts": self.facts.iter().map(fact).collect::<Value>(),
        })
    }
}
