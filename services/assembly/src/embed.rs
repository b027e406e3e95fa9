//! Embeddings of items, for the training of semantic models.
//!
//! A file has them by item id; or a model computes them from the texts of the items in the state. The model is open for as long
//! as that takes, and apart from those that features compute with, so that requests do not wait behind a catalog.

use crate::encoders::{Encoders, Wanted};
use crate::engine::Engine;
use crate::program::chain;
use anyhow::{Context, Result, bail};
use rankwright_config::TextModel;
use rankwright_config::model::{Encoder, Semantic};
use rankwright_encoder::Vectors;
use rankwright_feature::ItemTexts;
use rankwright_recommend::ItemVectors;
use rankwright_state::Error;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Texts that are in memory and that a model is given at a time, by whose end progress is told.
const AT_ONCE: usize = 256;

/// How often a read of the state is tried: one that fails over answers within seconds, and embedding a catalog takes hours.
const ATTEMPTS: usize = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes of the vectors of a version: a part of it has 4 GiB at most.
const MOST_BYTES: usize = (4 << 30) - (256 << 20);

impl Engine {
    /// The embeddings of all items for a semantic model; `told` is how many are done, and how many there are. To be called on
    /// a thread that may wait, and is none of the runtime's own.
    ///
    /// # Errors
    /// When the state cannot be read, the model or the file is not there or not what is configured, or there are too many items.
    pub fn embed(&self, model: &Semantic, told: &mut dyn FnMut(usize, usize)) -> Result<ItemVectors> {
        let began = Instant::now();
        let items = match &model.encoder {
            Encoder::Csv { dim, path } => of_file(path, *dim)?,
            Encoder::Bert { model: encoder, dim } => self.of_texts(model, encoder, *dim, told)?,
        };
        let elapsed_ms = began.elapsed().as_millis() as u64;
        info!(items = items.len(), elapsed_ms, "embedded the items");
        Ok(items)
    }

    /// Looks whether what semantic models embed with is there, so that a program which trains says so before it begins.
    ///
    /// # Errors
    /// When a model or a file is not there, or not what is configured.
    pub fn check_encoders(&self) -> Result<()> {
        for (name, model) in &self.config.models {
            match model.encoder() {
                None => {}
                Some(Encoder::Csv { dim, path }) => {
                    of_file(path, *dim).with_context(|| format!("models.{name}.encoder.path"))?;
                }
                Some(Encoder::Bert { model, dim }) => drop(self.text_model(model, *dim)?),
            }
        }
        Ok(())
    }

    fn of_texts(
        &self,
        model: &Semantic,
        encoder: &TextModel,
        dim: usize,
        told: &mut dyn FnMut(usize, usize),
    ) -> Result<ItemVectors> {
        let find = || self.runtime.block_on(ItemTexts::find(&*self.state, &model.item_fields, model.ttl));
        let texts = patiently(PAUSE, find)?;
        if texts.without > 0 {
            let fields = model.item_fields.join(", ");
            warn!(items = texts.without, fields, "items without a text are not recommended, nor known in requests");
        }
        let mut items = ItemVectors::new(dim);
        if texts.is_empty() {
            return Ok(items);
        }
        fits(texts.len(), dim)?;
        let encoder = self.text_model(encoder, dim)?;
        let of = texts.len();
        for first in (0..of).step_by(AT_ONCE) {
            told(first, of);
            let some = patiently(PAUSE, || self.runtime.block_on(texts.read(&*self.state, first, AT_ONCE)))?;
            if some.is_empty() {
                bail!(
                    "the state lost its items while their texts were embedded ({first} of {of} were): train again when it is whole"
                );
            }
            let vectors = encoder.embed(&some.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), None)?;
            some.iter().zip(vectors).for_each(|((item, _), vector)| items.push(item.as_str(), &vector));
        }
        told(of, of);
        Ok(items)
    }

    /// The model that a semantic model embeds with. The numbers of a text depend on no other: so those of an item stay the same
    /// when others come or go.
    fn text_model(&self, model: &TextModel, dim: usize) -> Result<Arc<rankwright_encoder::Encoder>> {
        let mut wanted = Wanted::of_models(&self.config);
        wanted.retain(|wanted| wanted.model == *model && wanted.dim == Some(dim));
        let encoders = self.runtime.block_on(Encoders::open(wanted, 1))?;
        encoders.get(model).context("the configuration has no such model")
    }
}

/// Reads, again and again while the state fails.
fn patiently<T>(pause: Duration, mut read: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for attempt in 1..ATTEMPTS {
        match read() {
            Err(error @ Error::Failed { .. }) if attempt == 1 => {
                warn!(error = chain(&error.into()), "failed to read the texts of items, which is tried again");
            }
            Err(Error::Failed { .. }) => {}
            done => return done,
        }
        sleep(pause);
    }
    read()
}

/// The embeddings of a file.
fn of_file(path: &str, dim: usize) -> Result<ItemVectors> {
    let read = Vectors::open(Path::new(path), dim).with_context(|| format!("failed to read the embeddings {path}"))?;
    fits(read.len(), dim)?;
    let duplicates = read.duplicates();
    if duplicates > 0 {
        warn!(path, duplicates, "of items that the file of embeddings has several times, the last embedding counts");
    }
    let mut items = ItemVectors::new(dim);
    read.iter().for_each(|(item, vector)| items.push(item, vector));
    Ok(items)
}

/// Refuses what no version has room for, before hours are spent on it.
fn fits(items: usize, dim: usize) -> Result<()> {
    let most = MOST_BYTES / (dim * size_of::<f32>());
    if items > most {
        bail!("{items} items with embeddings of {dim} numbers are too many: a version has room for {most}");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
