//! By scores of pairs: of the query and the item's text, as a cross-encoder gave them.

use super::caches::{self, Cache};
use super::{text, with_queries};
use crate::candidates::Candidates;
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
}

/// The item's text.
pub(super) fn need(feature: &FieldMatch, ttl: Duration, slots: &mut Slots) {
    FieldReader::need(&Source::item(&feature.item_field), ttl, slots);
}

/// Compiles a feature with its file.
pub(super) fn extractor(feature: &FieldMatch, cache: Option<&str>, compiler: &mut Compiler<'_>) -> Compiled {
    let cache = cache.map(|path| caches::scores(path, compiler.name)).transpose()?;
    let (query, item) = (compiler.request(&feature.ranking_field), compiler.item(&feature.item_field));
    Ok(Box::new(Pairs { query, item, cache }))
}

impl Pairs {
    fn score(&self, query: &str, document: Option<&FieldValue>) -> Option<f32> {
        self.cache.as_ref()?.known.get(query, &text(document?)?)
    }
}

impl Extractor for Pairs {
    fn meaning(&self) -> String {
        self.cache.as_ref().map_or_else(String::new, |cache| format!(" in {:016x}", cache.digest))
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let documents = self.item.all(candidates);
        with_queries(&self.query, candidates, text, |item, query| {
            let score = query.and_then(|query| self.score(query, documents[item]));
            columns.set(item, 0, score.map_or(MISSING, f64::from));
        });
    }
}

#[cfg(test)]
mod tests;
