//! Texts of a ranking, or of events, and what models made of them.

use super::{Encode, Models, Task, Vector};
use rankwright_encoder::{EncodeError, key};
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// Texts of one call: those of other threads have their turn between calls.
const AT_ONCE: usize = 64;

/// Texts that have to be computed.
#[derive(Default)]
pub struct Texts {
    models: Models,
    /// By number of the model; a pair has a document.
    wanted: Vec<(usize, u128, String, Option<String>)>,
    known: HashSet<(usize, u128)>,
}

/// What models made of texts.
#[derive(Debug, Default)]
pub struct Encoded {
    known: HashMap<(usize, u128), Vector>,
    absent: usize,
    /// Why the first of them is.
    why: Option<String>,
}

impl Texts {
    pub(crate) fn of(models: &Models) -> Self {
        Self { models: models.clone(), ..Self::default() }
    }

    /// Adds a text, or a pair with a document, that a model is to compute; each once.
    pub(crate) fn add(&mut self, model: usize, text: &str, document: Option<&str>) {
        let key = key(text, document);
        if self.known.insert((model, key)) {
            self.wanted.push((model, key, text.to_owned(), document.map(str::to_owned)));
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// Has them computed, and waits for it: for threads that may. What fails, or is not done by the deadline, is absent.
    pub fn encode(&self, deadline: Option<Instant>) -> Encoded {
        let mut encoded = Encoded::default();
        for (number, model) in self.models.all().enumerate() {
            let mut texts: Vec<(u128, &str, Option<&str>)> = Vec::new();
            for (_, key, text, document) in self.wanted.iter().filter(|(of, ..)| *of == number) {
                texts.push((*key, text, document.as_deref()));
            }
            let known = texts.chunks(AT_ONCE).flat_map(|some| compute(model, some, deadline));
            for ((key, ..), vector) in texts.iter().zip(known) {
                match vector {
                    Ok(vector) => drop(encoded.known.insert((number, *key), vector)),
                    Err(error) => {
                        encoded.absent += 1;
                        encoded.why.get_or_insert_with(|| error.to_string());
                    }
                }
            }
        }
        encoded
    }
}

impl Encoded {
    /// How many texts are not here that were asked for.
    pub fn absent(&self) -> usize {
        self.absent
    }

    /// Why the first of them is absent.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The embedding of a text.
    pub(crate) fn vector(&self, model: usize, text: &str) -> Option<&[f32]> {
        self.known.get(&(model, key(text, None))).map(|vector| &**vector)
    }

    /// The score of a pair.
    pub(crate) fn score(&self, model: usize, query: &str, document: &str) -> Option<f32> {
        self.known.get(&(model, key(query, Some(document))))?.first().copied()
    }
}

/// Some texts of a model. Where that fails, each by itself: what was done by the deadline is still at hand then, and
/// one text that the model refuses keeps no other from being computed.
fn compute(
    model: &dyn Encode,
    texts: &[(u128, &str, Option<&str>)],
    by: Option<Instant>,
) -> Vec<Result<Vector, EncodeError>> {
    let all = |texts: &[(u128, &str, Option<&str>)]| match model.task() {
        Task::Embed => model.embed(&texts.iter().map(|&(_, text, _)| text).collect::<Vec<_>>(), by),
        Task::Score => {
            let pairs: Vec<_> = texts.iter().map(|&(_, text, document)| (text, document.unwrap_or_default())).collect();
            Ok(model.score(&pairs, by)?.into_iter().map(|score| Vector::from([score])).collect())
        }
    };
    match all(texts) {
        Ok(vectors) => vectors.into_iter().map(Ok).collect(),
        Err(failed) => {
            let alone = |text| all(text).and_then(|mut vectors| vectors.pop().ok_or_else(|| failed.clone()));
            texts.chunks(1).map(alone).collect()
        }
    }
}
