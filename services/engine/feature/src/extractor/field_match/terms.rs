//! By terms: how many the query and the item's text share, or how much those they share weigh.
//!
//! An item's text is analysed once, when its event comes in, and its terms lie with the item in few bytes. The ranking's
//! is analysed once a request. Methods that need the same terms of a field share them.

mod bags;

pub(crate) use bags::Bags;

use super::{texts, with_queries};
use crate::caches;
use crate::candidates::Candidates;
use crate::extractor::compiler::{Compiled, Compiler};
use crate::extractor::field::{FieldReader, ID};
use crate::extractor::{Columns, Extractor, MISSING};
use crate::plan::Error;
use crate::slot::{Derived, Meaning, Slots};
use compact_str::CompactString;
use rankwright_config::feature::{FieldMatch, MatchMethod};
use rankwright_event::Value;
use rankwright_state::FieldValue;
use rankwright_text::{Analyzer, Bag, BagRef, Bm25Query, Dictionary};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Intersection over union of the distinct terms or n-grams of both texts; by BM25, how much the query's terms weigh in
/// the item's text. 0 where a text has no terms, missing where there is no text.
struct Terms {
    query: FieldReader,
    item: FieldReader,
    /// Whether an item that lacks the field has its id in that place.
    is_id: bool,
    analysis: Analysis,
    /// What BM25 weighs terms by.
    dictionary: Option<Arc<Dictionary>>,
}

/// How texts are taken apart.
#[derive(Clone)]
struct Analysis {
    analyzer: Analyzer,
    /// Length of an n-gram; absent, terms are taken whole.
    grams: Option<usize>,
}

/// A query, ready to be compared with many items.
enum Query {
    Bag(Rc<Bag>),
    Bm25(Bm25Query),
}

impl Analysis {
    /// That of a method, unless it is one of encoders.
    fn of(method: &MatchMethod) -> Option<Self> {
        let (language, grams) = match method {
            MatchMethod::Bm25 { language, .. } | MatchMethod::Term { language } => (*language, None),
            MatchMethod::Ngram { language, n } => (*language, Some(*n)),
            MatchMethod::BiEncoder { .. } | MatchMethod::CrossEncoder { .. } => return None,
        };
        let language = language.parse().expect("a test proves that every language of configurations has rules");
        Some(Self { analyzer: Analyzer::new(language), grams })
    }

    /// Part of what stored values and columns mean: it stays the same in every version.
    fn words(&self) -> String {
        let language = self.analyzer.language();
        let version = language.analysis();
        match self.grams {
            None => format!("terms in {language}, analysis {version}"),
            Some(n) => format!("{n}-grams in {language}, analysis {version}"),
        }
    }

    fn bag<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> Bag {
        match self.grams {
            None => Bag::of(&self.analyzer, texts),
            Some(n) => Bag::ngrams(&self.analyzer, n, texts),
        }
    }

    /// What is stored of an item's field: its terms. A value that is no text takes their place.
    fn stored(&self, value: &Value) -> FieldValue {
        let bag = match value {
            Value::Text(text) => self.bag([text.as_str()]),
            Value::Texts(texts) => self.bag(texts.iter().map(CompactString::as_str)),
            Value::Bool(_) | Value::Number(_) | Value::Numbers(_) => return FieldValue::Bool(false),
        };
        FieldValue::Bytes(bag.to_bytes().into())
    }

    fn derived(self, field: &str) -> Derived {
        let how = self.words();
        Derived { field: field.to_string(), how, derive: Arc::new(move |_, value, _| Some(self.stored(value))) }
    }
}

/// The item's terms.
pub(super) fn need(feature: &FieldMatch, ttl: Duration, slots: &mut Slots) {
    if let Some(analysis) = Analysis::of(&feature.method) {
        slots.need(Meaning::Derived(analysis.derived(&feature.item_field)), ttl, 0);
    }
}

/// Part of what a column means: it stays the same in every version.
pub(super) fn words(feature: &FieldMatch) -> String {
    let words = Analysis::of(&feature.method).map(|analysis| analysis.words()).unwrap_or_default();
    if matches!(feature.method, MatchMethod::Bm25 { .. }) { format!("bm25 of {words}") } else { words }
}

/// Compiles a feature with its dictionary.
pub(super) fn extractor(feature: &FieldMatch, compiler: &mut Compiler<'_>) -> Compiled {
    let analysis = Analysis::of(&feature.method).expect("other methods are compiled elsewhere");
    let dictionary = match &feature.method {
        MatchMethod::Bm25 { term_freq, .. } => Some(open(term_freq, &analysis, compiler.name)?),
        _ => None,
    };
    analysis.bag([""]); // some languages have large dictionaries, which no visitor waits for
    let derived = analysis.clone().derived(&feature.item_field);
    let item = FieldReader::derived(derived, compiler.ttl, compiler.slots, compiler.sources);
    let (query, is_id) = (compiler.request(&feature.ranking_field), feature.item_field == ID);
    Ok(Box::new(Terms { query, item, is_id, analysis, dictionary }))
}

/// The term dictionary under a path.
fn open(path: &str, analysis: &Analysis, feature: &str) -> Result<Arc<Dictionary>, Error> {
    let feature = feature.to_string();
    let dictionary = match caches::dictionary(path) {
        Ok(dictionary) => dictionary,
        Err(source) => return Err(Error::Dictionary { feature, source }),
    };
    let (wanted, found) = (analysis.analyzer.language(), dictionary.language());
    if found == wanted {
        Ok(dictionary)
    } else {
        Err(Error::Language { feature, wanted, path: path.to_string(), found })
    }
}

impl Terms {
    fn query(&self, bags: &Bags, value: &FieldValue) -> Option<Query> {
        let bag = bags.of(value, &self.analysis)?;
        Some(match &self.dictionary {
            None => Query::Bag(bag),
            Some(dictionary) => Query::Bm25(dictionary.query(&bag)),
        })
    }

    /// How well a query matches an item's text, which is analysed here if it came with the request.
    fn score(&self, query: &Query, value: Option<&FieldValue>, id: &str) -> Option<f64> {
        let bag = match value {
            Some(FieldValue::Bytes(stored)) => return query.score(stored),
            Some(value) => self.analysis.bag(texts(value)?.iter().map(CompactString::as_str)),
            None => self.analysis.bag(self.is_id.then_some([id])?),
        };
        query.score(&bag.to_bytes())
    }
}

impl Query {
    fn score(&self, stored: &[u8]) -> Option<f64> {
        let document = BagRef::written(stored)?;
        Some(match self {
            Self::Bag(query) => document.similarity(query),
            Self::Bm25(query) => query.score_ref(document),
        })
    }
}

impl Extractor for Terms {
    fn meaning(&self) -> String {
        self.dictionary.as_ref().map_or_else(String::new, |known| format!(" dictionary {:016x}", known.digest()))
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let values = self.item.all(candidates);
        with_queries(
            &self.query,
            candidates,
            |asked| self.query(&candidates.bags, asked),
            |item, query| {
                let id = candidates.ranking.items[item].id.as_str();
                let score = query.and_then(|query| self.score(query, values[item], id));
                columns.set(item, 0, score.unwrap_or(MISSING));
            },
        );
    }
}

#[cfg(test)]
mod tests;
