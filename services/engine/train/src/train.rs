//! One training, from click-throughs to a published version.

use crate::booster::Iteration;
use crate::error::Error;
use crate::quality::{Candidate, Running};
use crate::recommending::{MOST, Recommending};
use crate::report::Trained;
use crate::semantic::{Embed, Embedding, no_embeddings};
use crate::trees::Trees;
use rankwright_clickthrough::ClickthroughStore;
use rankwright_config::Model;
use rankwright_config::model::LambdaMart;
use rankwright_event::Timestamp;
use rankwright_model::{Column, Place, StoreError, VersionId, VersionStore};
use std::collections::{BTreeMap, HashMap};

/// How far a training has come.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Click-throughs are being read.
    Reading {
        /// Rankings read so far.
        rankings: u64,
    },
    /// A round of boosting has ended.
    Fitting {
        /// The round.
        iteration: &'a Iteration,
        /// The most rounds there will be.
        limit: usize,
    },
    /// Items are being embedded.
    Embedding {
        /// Items that have their vector.
        done: usize,
        /// All items.
        of: usize,
    },
}

/// What is to be trained.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// Name of the model.
    pub name: &'a str,
    /// Its configuration.
    pub model: &'a Model,
    /// All columns there are; the model's own are those of its features.
    pub columns: &'a [Column],
    /// What serving puts into the columns of some features, such as a `position` feature's constant, by feature name.
    pub served: &'a BTreeMap<String, f32>,
    /// Where embeddings of items come from; a semantic model alone needs it.
    pub embed: &'a Embed<'a>,
    /// Time of the version.
    pub now: Timestamp,
}

/// Trains a model on a store's click-throughs alone, and publishes it as the current version.
///
/// Runs for seconds and uses all cores: call it on a thread of its own.
///
/// # Errors
/// Says what is missing where there is nothing to learn from; nothing is published then.
pub fn train_model(
    name: &str,
    model: &Model,
    columns: &[Column],
    store: &dyn ClickthroughStore,
    versions: &dyn VersionStore,
    now: Timestamp,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Trained, Error> {
    Training { name, model, columns, served: &BTreeMap::new(), embed: &no_embeddings, now }
        .run(store, versions, progress)
}

/// The columns of a model's features, in the order of the features.
///
/// # Errors
/// Names a feature that no column belongs to; another one says that there is no column at all.
pub fn model_columns(name: &str, config: &LambdaMart, columns: &[Column]) -> Result<Vec<Column>, Error> {
    let mut of_features = HashMap::<&str, Vec<&Column>>::new();
    columns.iter().for_each(|column| of_features.entry(&column.feature).or_default().push(column));
    let mut chosen = Vec::new();
    for feature in &config.features {
        let unknown = || Error::UnknownFeature { model: name.to_owned(), feature: feature.clone() };
        chosen.extend(of_features.get(feature.as_str()).ok_or_else(unknown)?.iter().copied().cloned());
    }
    if chosen.is_empty() { Err(Error::NoColumns { model: name.to_owned() }) } else { Ok(chosen) }
}

impl Training<'_> {
    /// As [`train_model`].
    ///
    /// # Errors
    /// As there.
    pub fn run(
        &self,
        store: &dyn ClickthroughStore,
        versions: &dyn VersionStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Trained, Error> {
        let mut trained = self.candidate(store, None, progress)?.trained;
        self.publish(&mut trained, &versions.current(self.name), versions)?;
        Ok(trained)
    }

    /// Trains a model without publishing it, and measures the running version by the same lists or visitors. The table of
    /// trainers by kind of model.
    ///
    /// # Errors
    /// As [`train_model`].
    pub fn candidate(
        &self,
        store: &dyn ClickthroughStore,
        running: Option<Running>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Candidate, Error> {
        let Self { name, columns, served, embed, now, .. } = *self;
        // a version of a type that the model had before is none of this one
        let is_of_another = |running: &Running| match running {
            Running::Version(version) => version.metadata().kind.type_name() != self.model.type_name(),
            Running::Unreadable(_) => false,
        };
        let running = running.filter(|running| !is_of_another(running));
        match self.model {
            Model::LambdaMart(config) => {
                Trees { name, config, columns, served, share: 1.0, now }.candidate(store, running, progress)
            }
            Model::Als(by) => {
                Recommending { name, learning: &by.learning, by, now, most: MOST }.candidate(store, running, progress)
            }
            Model::Trending(by) => {
                Recommending { name, learning: &by.learning, by, now, most: MOST }.candidate(store, running, progress)
            }
            Model::Semantic(config) => {
                let by = &Embedding { config, embed };
                Recommending { name, learning: &config.learning, by, now, most: MOST }
                    .candidate(store, running, progress)
            }
            Model::Shuffle { .. } | Model::Noop => {
                Err(Error::NothingToTrain { model: name.to_owned(), kind: self.model.type_name() })
            }
        }
    }

    /// Makes a version the current one, in place of the one that was so `before`, or of none; where that is not known, of any. Old versions go; the one that it follows stays,
    /// and one that the configuration names.
    ///
    /// # Errors
    /// When it cannot be stored, or another one became current in place of that `before`; the model then keeps its current version,
    /// and all others.
    pub fn publish(
        &self,
        trained: &mut Trained,
        before: &Result<Option<VersionId>, StoreError>,
        versions: &dyn VersionStore,
    ) -> Result<(), Error> {
        let failed = |source| Error::Publish { model: self.name.to_owned(), source };
        if let Ok(Some(before)) = before {
            let version = trained.version.clone().in_place_of(before.clone());
            trained.version = version.map_err(|error| failed(error.into()))?;
        }
        let place = before.as_ref().map_or(Place::Any, |_| Place::Told);
        versions.publish(&trained.version, place).map_err(failed)?;
        let told = |error: &StoreError| tracing::warn!(model = self.name, %error, "failed to remove old versions");
        match before {
            Ok(previous) => {
                let Some(learning) = self.model.learning() else { return Ok(()) };
                let pinned = learning.version.as_deref().and_then(|id| id.parse().ok());
                let spared: Vec<VersionId> = previous.iter().cloned().chain(pinned).collect();
                let removed = versions.keep(self.name, learning.keep_versions, &spared);
                removed.unwrap_or_else(|error| told(&error));
            }
            Err(error) => told(error),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
