//! Keeps messages that cannot be read, with the reason.
//!
//! Letters are written before the position moves past them, so each is kept at least once. If their place cannot be written to,
//! the stream continues, and the caller reports what was lost.

mod file;
#[cfg(feature = "streams")]
mod topic;

use crate::{BadLine, Error};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use file::Lines;
use rankwright_config::{DeadLetter, SourceConfig, SourceKind};
use serde_json::{Value, json};
#[cfg(feature = "streams")]
use topic::Topic;

/// Where unreadable messages go.
pub struct DeadLetters(Place);

enum Place {
    Nowhere,
    File(Lines),
    #[cfg(feature = "streams")]
    Topic(Topic),
}

/// Why a letter is not kept.
#[derive(Debug, thiserror::Error)]
#[error("{count} unreadable messages are not kept in {place}: {reason}")]
pub struct LettersLost {
    /// How many.
    pub count: usize,
    /// Where they should have gone.
    pub place: String,
    /// Why they have not.
    pub reason: String,
}

impl DeadLetters {
    /// Opens what a source names.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(source: &SourceConfig) -> Result<Self, Error> {
        let place = match (&source.dead_letter, &source.kind) {
            (None, _) => Place::Nowhere,
            (Some(DeadLetter::File(path)), _) => Place::File(Lines::open(path)?),
            #[cfg(feature = "streams")]
            (Some(DeadLetter::Topic(topic)), SourceKind::Kafka { brokers, options, .. }) => {
                Place::Topic(Topic::open(&brokers.join(","), topic, options)?)
            }
            #[cfg(not(feature = "streams"))]
            (Some(DeadLetter::Topic(_)), SourceKind::Kafka { .. }) => return Err(Error::NotBuilt),
            (Some(DeadLetter::Topic(_)), _) => {
                return Err(Error::Unavailable { what: "a dead-letter topic of another source than kafka".to_owned() });
            }
        };
        Ok(Self(place))
    }

    /// Keeps letters.
    ///
    /// # Errors
    /// When not all of them are kept.
    pub async fn put(&mut self, letters: &[BadLine]) -> Result<(), LettersLost> {
        match &mut self.0 {
            _ if letters.is_empty() => Ok(()),
            Place::Nowhere => Ok(()),
            Place::File(lines) => lines.put(letters),
            #[cfg(feature = "streams")]
            Place::Topic(topic) => topic.put(letters).await,
        }
    }
}

/// A letter as a line of JSON: where it was, why it is no event, and what it is (as text, or in base64).
fn line(letter: &BadLine) -> Value {
    let mut line = json!({"source": &*letter.file, "position": letter.line, "reason": letter.reason});
    match std::str::from_utf8(&letter.content) {
        Ok(text) => line["message"] = text.into(),
        Err(_) => line["base64"] = STANDARD.encode(&letter.content).into(),
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_letter_tells_where_why_and_what() {
        let letter = |content: &[u8]| BadLine {
            file: "kafka:events/3".into(),
            line: 7,
            reason: "no event".into(),
            content: content.into(),
        };
        let expected = json!({"source": "kafka:events/3", "position": 7, "reason": "no event", "message": "{\"a\":1"});
        assert_eq!(line(&letter(b"{\"a\":1")), expected);
        assert_eq!(line(&letter(b"\xff\x00"))["base64"], "/wA=");
    }
}
