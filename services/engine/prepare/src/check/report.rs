//! What the checks came to, as text and as JSON.

use rankwright_source::shown;
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

    /// For people: a line for each check and fact, examples beneath. Names and ids come from outside: none of them adds a line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for check in &self.checks {
            let verdict = if check.passed { "PASS" } else { "FAIL" };
            text += &format!("{verdict}  {:NAMES$}{}\n", check.name, shown(&check.message));
            check.examples.iter().for_each(|example| text += &format!("      {:NAMES$}{}\n", "", shown(example)));
        }
        text += "\n";
        for fact in &self.facts {
            let mark = if fact.warning { "NOTE" } else { "    " };
            text += &format!("{mark}  {:NAMES$}{}\n", fact.name, shown(&fact.message));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_and_ids_add_no_lines_to_the_text() {
        let message = "a\nPASS  all is well".to_owned();
        let example = "x\u{1b}[2J.jsonl:1: expected an event".to_owned();
        let check = Check {
            name: "event types",
            passed: false,
            message: message.clone(),
            examples: vec![example],
            details: json!({}),
        };
        let fact = Fact { name: "no events", warning: true, message, details: json!({}) };
        let text = Report { events: 0, checks: vec![check], facts: vec![fact], memory: None }.text();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("x\\u{1b}[2J.jsonl:1") && !text.contains('\u{1b}'), "{text}");
    }
}
