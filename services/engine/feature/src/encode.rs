//! Models of texts that features compute with, and what they compute for a ranking.
//!
//! A model takes milliseconds for a text, so that rows are computed in three steps: the plan says which texts it needs
//! ([`crate::Plan::texts`]), threads that may wait have them computed ([`Texts::encode`]), and the plan reads the results
//! ([`crate::Plan::rows_with`]).

use crate::caches::Cache;
use rankwright_config::TextModel;
use rankwright_encoder::{EncodeError, Encoder, Task, Vectors, key};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Texts of one call: those of other threads have their turn between calls.
const AT_ONCE: usize = 64;

/// A number for each text of a model: an embedding, or one score.
type Vector = Arc<[f32]>;

/// A model of texts that is open. A text has to give the same numbers whichever others are computed beside it:
/// [`Settings::batch`](rankwright_encoder::Settings) is 1.
pub trait Encode: Send + Sync {
    /// What it computes.
    fn task(&self) -> Task;

    /// The dimensions of an embedding.
    fn dim(&self) -> usize;

    /// Of all that its numbers depend on.
    fn digest(&self) -> &str;

    /// Embeddings of texts, in their order.
    ///
    /// # Errors
    /// When the deadline passes first, or the model fails.
    fn embed(&self, texts: &[&str], deadline: Option<Instant>) -> Result<Vec<Vector>, EncodeError>;

    /// Scores of pairs of a query and a document, in their order.
    ///
    /// # Errors
    /// As [`Encode::embed`].
    fn score(&self, pairs: &[(&str, &str)], deadline: Option<Instant>) -> Result<Vec<f32>, EncodeError>;
}

impl Encode for Encoder {
    fn task(&self) -> Task {
        Self::task(self)
    }

    fn dim(&self) -> usize {
        Self::dim(self)
    }

    fn digest(&self) -> &str {
        Self::digest(self)
    }

    fn embed(&self, texts: &[&str], deadline: Option<Instant>) -> Result<Vec<Vector>, EncodeError> {
        Self::embed(self, texts, deadline)
    }

    fn score(&self, pairs: &[(&str, &str)], deadline: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        Self::score(self, pairs, deadline)
    }
}

/// Where a plan gets its models from.
pub trait Encoders: Send + Sync {
    /// The model that a configuration names so, opened once for all that name it.
    ///
    /// # Errors
    /// Says why there is none.
    fn open(&self, model: &TextModel) -> Result<Arc<dyn Encode>, String>;
}

/// Has no models.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEncoders;

impl Encoders for NoEncoders {
    fn open(&self, _: &TextModel) -> Result<Arc<dyn Encode>, String> {
        Err("this program opens no models of texts".to_owned())
    }
}

/// The models of a plan, by number.
#[derive(Clone, Default)]
pub(crate) struct Models {
    open: Vec<(TextModel, Arc<dyn Encode>)>,
    /// Files of items' embeddings that they do not have to compute, by path and dimensions.
    files: Vec<(String, usize, Arc<Cache<Vectors>>)>,
}

impl Models {
    /// Adds a model, unless it is known.
    pub(crate) fn add(&mut self, model: &TextModel, open: &dyn Encoders) -> Result<&dyn Encode, String> {
        let place = match self.number(model) {
            Some(known) => known,
            None => {
                self.open.push((model.clone(), open.open(model)?));
                self.open.len() - 1
            }
        };
        Ok(&*self.open[place].1)
    }

    /// Keeps a file.
    pub(crate) fn keep(&mut self, path: &str, dim: usize, file: Arc<Cache<Vectors>>) {
        self.files.push((path.to_owned(), dim, file));
    }

    /// A file that is kept: the first one under its path, so that all features know the same.
    pub(crate) fn file(&self, path: &str, dim: usize) -> Option<Arc<Cache<Vectors>>> {
        let found = self.files.iter().find(|(known, width, _)| known == path && *width == dim);
        found.map(|(_, _, file)| file.clone())
    }

    /// The number of a model, and the model.
    pub(crate) fn get(&self, model: &TextModel) -> Option<(usize, Arc<dyn Encode>)> {
        self.number(model).map(|number| (number, self.open[number].1.clone()))
    }

    fn number(&self, model: &TextModel) -> Option<usize> {
        self.open.iter().position(|(known, _)| known == model)
    }
}

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
        for (number, (_, model)) in self.models.open.iter().enumerate() {
            let mut texts: Vec<(u128, &str, Option<&str>)> = Vec::new();
            for (_, key, text, document) in self.wanted.iter().filter(|(of, ..)| *of == number) {
                texts.push((*key, text, document.as_deref()));
            }
            let known = texts.chunks(AT_ONCE).flat_map(|some| compute(&**model, some, deadline));
            for ((key, ..), vector) in texts.iter().zip(known) {
                match vector {
                    Some(vector) => drop(encoded.known.insert((number, *key), vector)),
                    None => encoded.absent += 1,
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
fn compute(model: &dyn Encode, texts: &[(u128, &str, Option<&str>)], by: Option<Instant>) -> Vec<Option<Vector>> {
    let all = |texts: &[(u128, &str, Option<&str>)]| match model.task() {
        Task::Embed => model.embed(&texts.iter().map(|&(_, text, _)| text).collect::<Vec<_>>(), by),
        Task::Score => {
            let pairs: Vec<_> = texts.iter().map(|&(_, text, document)| (text, document.unwrap_or_default())).collect();
            Ok(model.score(&pairs, by)?.into_iter().map(|score| Vector::from([score])).collect())
        }
    };
    match all(texts) {
        Ok(vectors) => vectors.into_iter().map(Some).collect(),
        Err(_) => texts.chunks(1).map(|text| all(text).ok()?.pop()).collect(),
    }
}
