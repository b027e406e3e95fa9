//! The models of texts that features name, and the files of what those need not compute, opened once each.

use super::Error;
use crate::caches;
use crate::encode::{Encode, Encoders, Models};
use rankwright_config::feature::{Feature, Kind, MatchMethod};
use rankwright_encoder::Task;

/// Those of all features that have one which opens.
pub(super) fn open(features: &[Feature], encoders: &dyn Encoders) -> Result<Models, Error> {
    let opens = |feature: &&Feature| match &feature.kind {
        Kind::FieldMatch(compared) => compared.model().is_some_and(|model| encoders.open(model).is_ok()),
        _ => false,
    };
    of(features.iter().filter(opens), encoders)
}

/// Those of some features.
pub(super) fn of<'f>(
    features: impl IntoIterator<Item = &'f Feature>,
    encoders: &dyn Encoders,
) -> Result<Models, Error> {
    let mut models = Models::default();
    for feature in features {
        let Kind::FieldMatch(compared) = &feature.kind else { continue };
        let Some(model) = compared.model() else { continue };
        if let MatchMethod::BiEncoder { dim, item_field_cache: Some(path), .. } = &compared.method {
            models.keep(path, *dim, caches::vectors(path, *dim, &feature.name)?);
        }
        let opened = models.add(model, encoders).and_then(|opened| check(opened, &compared.method));
        opened.map_err(|cause| Error::Model { feature: feature.name.clone(), model: model.handle.clone(), cause })?;
    }
    Ok(models)
}

/// Whether a model computes what a method is about.
fn check(model: &dyn Encode, method: &MatchMethod) -> Result<(), String> {
    match (method, model.task()) {
        (MatchMethod::BiEncoder { dim, .. }, Task::Embed) if *dim != model.dim() => {
            Err(format!("its embeddings have {} dimensions, not {dim}", model.dim()))
        }
        (MatchMethod::BiEncoder { .. }, Task::Score) => {
            Err("it computes scores of pairs: it is a cross-encoder".to_owned())
        }
        (MatchMethod::CrossEncoder { .. }, Task::Embed) => Err("it computes embeddings: it is a bi-encoder".to_owned()),
        _ => Ok(()),
    }
}
