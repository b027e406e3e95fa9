//! Items with similar texts: embeddings that were computed elsewhere, and an index of their neighbours.
//!
//! Nothing is learned from interactions. They measure a version as they do any recommender's, so that the gate can compare.

use crate::error::Error;
use crate::recommending::Fit;
use crate::settings::{self, Settings};
use crate::train::Progress;
use rankwright_config::model::{Encoder, Semantic};
use rankwright_model::{Kind, Recommender};
use rankwright_recommend::{Build, HeldOut, Interactions, ItemVectors, Similar};

/// Why there are no embeddings.
pub type EmbedError = Box<dyn std::error::Error + Send + Sync>;

/// Gives the embeddings of all items for a model; `told` is how many are done, and how many there are.
pub type Embed<'a> = dyn Fn(&Semantic, &mut dyn FnMut(usize, usize)) -> Result<ItemVectors, EmbedError> + Sync + 'a;

/// For trainings of other types of models: embeds nothing.
///
/// # Errors
/// Always.
pub fn no_embeddings(_: &Semantic, _: &mut dyn FnMut(usize, usize)) -> Result<ItemVectors, EmbedError> {
    Err("this program embeds no items".into())
}

/// A semantic model, and where its embeddings come from.
pub(crate) struct Embedding<'a> {
    pub(crate) config: &'a Semantic,
    pub(crate) embed: &'a Embed<'a>,
}

impl Fit for Embedding<'_> {
    fn kind(&self) -> Kind {
        Kind::Semantic
    }

    fn interactions(&self) -> Option<Vec<&str>> {
        None
    }

    fn needs_visitors(&self) -> bool {
        false
    }

    fn fit(
        &self,
        model: &str,
        _: &Interactions,
        _: &HeldOut,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Recommender, Error> {
        let failed = |source| Error::Embed { model: model.to_owned(), source };
        let mut told = |done, of| progress(Progress::Embedding { done, of });
        let items = (self.embed)(self.config, &mut told).map_err(failed)?;
        if items.is_empty() {
            return Err(Error::NoItems { model: model.to_owned(), why: nothing(self.config) });
        }
        let similar = Similar::of(items, &Build::default()).map_err(|error| failed(error.into()))?;
        Ok(Recommender::Similar(similar))
    }

    fn is_quick(&self) -> bool {
        false
    }

    fn settings(&self) -> Settings {
        settings::of_semantic(self.config)
    }
}

/// Why no item has an embedding.
fn nothing(config: &Semantic) -> String {
    match &config.encoder {
        Encoder::Bert { .. } => format!(
            "no item in the state has a text in {}; texts are stored from the first start with this configuration on, so \
             import item events again, with --rebuild where they were imported before",
            config.item_fields.join(" or ")
        ),
        Encoder::Csv { path, .. } => format!("the file of embeddings {path} has no line"),
    }
}

#[cfg(test)]
mod tests;
