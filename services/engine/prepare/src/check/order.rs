//! Whether events come in the order of their times.

use super::report::Check;
use super::{EXAMPLES, length, share};
use rankwright_event::{Event, Timestamp};
use serde_json::json;

/// How late, at most, in milliseconds; and how a report calls it.
const BY: [(i64, &str); 4] = [(1000, "upTo1s"), (60_000, "upTo1m"), (3_600_000, "upTo1h"), (86_400_000, "upTo1d")];
const MORE: &str = "more";

#[derive(Debug)]
pub(super) struct Order {
    newest: Timestamp,
    late: u64,
    /// By how late they are, as [`BY`] says; the last are those that are later.
    by: [u64; BY.len() + 1],
    worst: i64,
    examples: Vec<String>,
}

impl Default for Order {
    fn default() -> Self {
        Self { newest: Timestamp::MIN, late: 0, by: [0; BY.len() + 1], worst: 0, examples: Vec::new() }
    }
}

impl Order {
    pub(super) fn see(&mut self, event: &Event) {
        let at = event.timestamp();
        if at >= self.newest {
            self.newest = at;
            return;
        }
        let late = self.newest.millis_since(at);
        self.late += 1;
        self.worst = self.worst.max(late);
        self.by[BY.iter().position(|(most, _)| late <= *most).unwrap_or(BY.len())] += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{:?} of {at}, {} after a later one", id(event), length(late)));
        }
    }

    pub(super) fn check(&self, events: u64, data: &str) -> Check {
        let message = match self.late {
            0 => format!("{events} events in ascending order of time"),
            _ => format!(
                "{} come after later ones, by up to {}; sort them: rankwright sort --data {} --out sorted.jsonl.gz",
                share(self.late, events, "events"),
                length(self.worst),
                quoted(data)
            ),
        };
        let names = BY.iter().map(|(_, name)| *name).chain([MORE]);
        let by: serde_json::Map<_, _> =
            names.zip(self.by).map(|(name, count)| (name.to_owned(), count.into())).collect();
        let details = json!({ "outOfOrder": self.late, "worstMillis": self.worst, "byLateness": by });
        Check { name: "event ordering", passed: self.late == 0, message, examples: self.examples.clone(), details }
    }
}

/// A word of a shell's command.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:".contains(&byte);
    if word.chars().any(char::is_control) {
        escaped(word)
    } else if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The same without its control characters, as bash and zsh read it.
fn escaped(word: &str) -> String {
    let mut text = "$'".to_owned();
    for sign in word.chars() {
        match sign {
            '\\' | '\'' => text.extend(['\\', sign]),
            _ if sign.is_control() => {
                sign.to_string().bytes().for_each(|byte| text += &format!("\\x{byte:02x}"));
            }
            _ => text.push(sign),
        }
    }
    text + "'"
}

/// The id of an event.
pub(super) fn id(event: &Event) -> &str {
    match event {
        Event::Item(event) => event.id.as_str(),
        Event::User(event) => event.id.as_str(),
        Event::Ranking(event) => event.id.as_str(),
        Event::Interaction(event) => event.id.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_path_is_one_word_of_the_command() {
        assert_eq!(quoted("a/b-1.jsonl.gz"), "a/b-1.jsonl.gz");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted("it's\n\u{1b}[2J\u{9b}m"), r"$'it\'s\x0a\x1b[2J\xc2\x9bm'");
    }
}
