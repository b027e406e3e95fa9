//! By scores of pairs: of the query and the item's text, as a cross-encoder gives them.
//!
//! They come from a file. A model computes those that it lacks, when the ranking comes.

use super::{text, with_queries};
use crate::caches::{self, Cache};
use crate::candidates::Candidates;
use crate::encode::Texts;
use crate::extractor::compiler::{Compiled, Compiler};
use crate::extractor::field::FieldReader;
use crate::extractor::{Columns, Extractor, MISSING};
use crate::slot::Slots;
use rankwright_config::feature::{FieldMatch, Source};
use rankwright_encoder::Scores;
use rankwright_state::FieldValue;
use std::sync::Arc;
use std::time::Duration;

/// The score of a pair; missing where it is unknown.
struct Pairs {
    query: FieldReader,
    item: FieldReader,
    cache: Option<Arc<Cache<Scores>>>,
    /// Its number and its digest.
    model: Option<(usize, String)>,
}

/// The item's text.
pub(super) fn need(feature: &FieldMatch, ttl: Duration, slots: &mut Slots) {
    FieldReader::need(&Source::item(&feature.item_field), ttl, slots);
}

/// Compiles a feature with its file and its model.
pub(super) fn extractor(feature: &FieldMatch, cache: Option<&str>, compiler: &mut Compiler<'_>) -> Compiled {
    let cache = cache.map(|path| caches::scores(path, compiler.name)).transpose()?;
    let (query, item) = (compiler.request(&feature.ranking_field), compiler.item(&feature.item_field));
    let model = feature.model().and_then(|model| compiler.models.get(model));
    let model = model.map(|(number, model)| (number, model.digest().to_owned()));
    Ok(Box::new(Pairs { query, item, cache, model }))
}

impl Pairs {
    fn score(&self, candidates: &Candidates<'_>, query: &str, document: Option<&FieldValue>) -> Option<f32> {
        let document = text(document?)?;
        let computed = || candidates.encoded?.score(self.model.as_ref()?.0, query, &document);
        self.known(query, &document).or_else(computed)
    }

    fn known(&self, query: &str, document: &str) -> Option<f32> {
        self.cache.as_ref()?.known.get(query, document)
    }
}

impl Extractor for Pairs {
    fn meaning(&self) -> String {
        let cache = self.cache.as_ref().map(|cache| format!(" in {:016x}", cache.digest)).unwrap_or_default();
        let model = self.model.as_ref().map(|(_, digest)| format!(" else by {digest}")).unwrap_or_default();
        cache + &model
    }

    fn encodes(&self) -> bool {
        self.model.is_some()
    }

    fn texts(&self, candidates: &Candidates<'_>, texts: &mut Texts) {
        let Some((model, _)) = self.model else { return };
        let documents = self.item.all(candidates);
        with_queries(&self.query, candidates, text, |item, query| {
            if let (Some(query), Some(document)) = (query, documents[item].and_then(text))
                && self.known(query, &document).is_none()
            {
                texts.add(model, query, Some(&document));
            }
        });
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let documents = self.item.all(candidates);
        with_queries(&self.query, candidates, text, |item, query| {
            let score = query.and_then(|query| self.score(candidates, query, documents[item]));
            columns.set(item, 0, score.map_or(MISSING, f64::from));
        });
    }
}

#[cfg(test)]
mod tests;
