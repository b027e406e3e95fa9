//! By embeddings: how alike the query's and the item's are.
//!
//! They come from files: of items by their ids, of queries by their texts. Nothing is stored.

use super::caches::{self, Cache};
use super::{text, with_queries};
use crate::candidates::Candidates;
use crate::extractor::compiler::{Compiled, Compiler};
use crate::extractor::field::FieldReader;
use crate::extractor::{Columns, Extractor, MISSING};
use crate::plan::Error;
use rankwright_config::feature::{Distance, FieldMatch};
use rankwright_encoder::{Vectors, distance};
use std::sync::Arc;

/// Cosine or dot product; missing where either embedding is unknown, and where a vector without length has no cosine.
struct Embeddings {
    query: FieldReader,
    items: Option<Arc<Cache<Vectors>>>,
    queries: Option<Arc<Cache<Vectors>>>,
    distance: Distance,
}

/// Compiles a feature with the files of items and of queries.
pub(super) fn extractor(
    feature: &FieldMatch,
    dim: usize,
    paths: [&Option<String>; 2],
    compiler: &mut Compiler<'_>,
) -> Compiled {
    let open = |path: &Option<String>| path.as_ref().map(|path| caches::vectors(path, dim, compiler.name)).transpose();
    let [items, queries]: [Result<_, Error>; 2] = paths.map(open);
    let (items, queries) = (items?, queries?);
    let query = compiler.request(&feature.ranking_field);
    Ok(Box::new(Embeddings { query, items, queries, distance: feature.distance }))
}

impl Embeddings {
    fn likeness(&self, query: &[f32], item: &[f32]) -> Option<f32> {
        match self.distance {
            Distance::Cos => distance::cosine(query, item),
            Distance::Dot => distance::dot(query, item),
        }
    }
}

fn known<'c>(cache: &'c Option<Arc<Cache<Vectors>>>, name: &str) -> Option<&'c [f32]> {
    cache.as_ref()?.known.get(name)
}

impl Extractor for Embeddings {
    fn meaning(&self) -> String {
        let word = |cache: &Option<Arc<Cache<Vectors>>>| match cache {
            Some(cache) => format!("{:016x}", cache.digest),
            None => "none".to_owned(),
        };
        format!(" items {} queries {}", word(&self.items), word(&self.queries))
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let prepare = |asked| known(&self.queries, &text(asked)?);
        with_queries(&self.query, candidates, prepare, |item, query| {
            let likeness = || self.likeness(query?, known(&self.items, candidates.ranking.items[item].id.as_str())?);
            columns.set(item, 0, likeness().map_or(MISSING, f64::from));
        });
    }
}

#[cfg(test)]
mod tests;
