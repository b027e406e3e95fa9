//! `field_match`: how well a text of the ranking matches one of the item.
//!
//! A file for each way to tell: by their terms, by embeddings of both, by scores of pairs.

#[cfg(test)]
mod computed;
mod embeddings;
mod pairs;
mod terms;

pub(crate) use terms::Bags;

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::same;
use crate::candidates::Candidates;
use crate::slot::Slots;
use compact_str::CompactString;
use rankwright_config::feature::{self, MatchMethod};
use rankwright_state::FieldValue;
use std::borrow::Cow;
use std::time::Duration;

impl Compile for feature::FieldMatch {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        match &self.method {
            MatchMethod::Bm25 { .. } | MatchMethod::Ngram { .. } | MatchMethod::Term { .. } => {
                terms::need(self, ttl, slots);
            }
            MatchMethod::BiEncoder { model: None, .. } => {} // items are found by their ids
            MatchMethod::BiEncoder { .. } => embeddings::need(self, ttl, slots),
            MatchMethod::CrossEncoder { .. } => pairs::need(self, ttl, slots),
        }
    }

    fn meaning(&self) -> String {
        let how = match &self.method {
            MatchMethod::Bm25 { .. } | MatchMethod::Ngram { .. } | MatchMethod::Term { .. } => terms::words(self),
            MatchMethod::BiEncoder { dim, .. } => format!("embeddings of {dim} by {:?}", self.distance),
            MatchMethod::CrossEncoder { .. } => "scores of pairs".to_owned(),
        };
        format!("field_match {:?} {:?} {how}", self.ranking_field, self.item_field)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        match &self.method {
            MatchMethod::Bm25 { .. } | MatchMethod::Ngram { .. } | MatchMethod::Term { .. } => {
                terms::extractor(self, compiler)
            }
            MatchMethod::BiEncoder { .. } => embeddings::extractor(self, compiler),
            MatchMethod::CrossEncoder { cache, .. } => pairs::extractor(self, cache.as_deref(), compiler),
        }
    }
}

/// Goes through the items, each with what `prepare` makes of its query: once for all that share the request's.
fn with_queries<'c, Q>(
    query: &FieldReader,
    candidates: &'c Candidates<'_>,
    mut prepare: impl FnMut(&'c FieldValue) -> Option<Q>,
    mut each: impl FnMut(usize, Option<&Q>),
) {
    let mut known: (Option<&FieldValue>, Option<Q>) = (None, None);
    for item in 0..candidates.len() {
        let asked = query.of(candidates, item);
        if !same(known.0, asked) {
            known = (asked, asked.and_then(&mut prepare));
        }
        each(item, known.1.as_ref());
    }
}

/// The texts of a string or a list of strings.
fn texts(value: &FieldValue) -> Option<&[CompactString]> {
    matches!(value, FieldValue::Text(_) | FieldValue::Texts(_)).then(|| value.texts())
}

/// The same as one text: those of a list with a space between them.
pub(crate) fn text(value: &FieldValue) -> Option<Cow<'_, str>> {
    Some(match texts(value)? {
        [text] => Cow::Borrowed(text),
        texts => Cow::Owned(texts.join(" ")),
    })
}
