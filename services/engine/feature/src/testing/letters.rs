//! A model of texts that can be worked out by hand.

use crate::encode::{Encode, Encoders};
use parking_lot::Mutex;
use rankwright_config::TextModel;
use rankwright_encoder::{EncodeError, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A text's embedding is how many a's and b's it has; a pair's score is how long both are together. It refuses texts with an
/// exclamation mark.
pub(crate) struct Letters {
    task: Task,
    digest: String,
    /// What it was asked to compute.
    pub(crate) asked: Mutex<Vec<String>>,
    /// Whether it fails for now.
    pub(crate) broken: AtomicBool,
}

/// Opens one model under the handle `a/letters`, another one under any other.
pub(crate) struct Alphabet(pub(crate) Arc<Letters>);

impl Letters {
    pub(crate) fn of(task: Task) -> Alphabet {
        Alphabet(Arc::new(Self::named("letters", task)))
    }

    fn named(digest: &str, task: Task) -> Self {
        Self { task, digest: digest.to_owned(), asked: Mutex::default(), broken: AtomicBool::default() }
    }

    /// Fails after a deadline, and for what it refuses.
    fn ask(&self, text: String, by: Option<Instant>) -> Result<(), EncodeError> {
        if by.is_some_and(|by| Instant::now() >= by) {
            return Err(EncodeError::OutOfTime);
        }
        if text.contains('!') || self.broken.load(Ordering::Relaxed) {
            return Err(EncodeError::Failed { cause: text });
        }
        self.asked.lock().push(text);
        Ok(())
    }
}

impl Encoders for Alphabet {
    fn open(&self, model: &TextModel) -> Result<Arc<dyn Encode>, String> {
        Ok(match model.handle.as_str() {
            "a/letters" => self.0.clone(),
            other => Arc::new(Letters::named(other, self.0.task)),
        })
    }
}

impl Encode for Letters {
    fn task(&self) -> Task {
        self.task
    }

    fn dim(&self) -> usize {
        2
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn embed(&self, texts: &[&str], by: Option<Instant>) -> Result<Vec<Arc<[f32]>>, EncodeError> {
        let count = |text: &str, letter| text.matches(letter).count() as f32;
        let embed =
            |&text: &&str| self.ask(text.to_owned(), by).map(|()| Arc::from([count(text, 'a'), count(text, 'b')]));
        texts.iter().map(embed).collect()
    }

    fn score(&self, pairs: &[(&str, &str)], by: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        let score = |&(query, document): &(&str, &str)| {
            self.ask(format!("{query}|{document}"), by).map(|()| (query.len() + document.len()) as f32)
        };
        pairs.iter().map(score).collect()
    }
}
