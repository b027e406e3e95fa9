//! The models of a plan.

use super::{Encode, Encoders};
use crate::caches::Cache;
use rankwright_config::TextModel;
use rankwright_encoder::Vectors;
use std::sync::Arc;

/// Models by number.
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

    /// The models, in the order of their numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = &dyn Encode> {
        self.open.iter().map(|(_, model)| &**model)
    }

    fn number(&self, model: &TextModel) -> Option<usize> {
        self.open.iter().position(|(known, _)| known == model)
    }
}
