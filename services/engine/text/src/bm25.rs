//! How well a document answers a query, by the terms they share: BM25.

use crate::bag::shared;
use crate::{Bag, BagRef};

/// How soon more of the same term adds little.
const K1: f64 = 1.2;
/// How much a document longer than others is held back.
const B: f64 = 0.75;

/// A query, ready to score documents by BM25.
///
/// The score of a document is the sum over the query's terms of
///
/// ```text
/// idf * f / (f + k1 * (1 - b + b * length / average))        idf = ln(1 + (N - n + 0.5) / (n + 0.5))
/// ```
///
/// where a term occurs `f` times in the document, whose `length` is its number of terms, and `n` of the `N` documents of the
/// dictionary have it; `k1` is 1.2 and `b` 0.75. A term that stands twice in the query counts twice. A term that the
/// dictionary does not know has `n` = 0.
///
/// It is the formula of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
/// idf of Lucene's `BM25Similarity`, which is never negative. As Lucene does since version 8, it leaves out the factor `k1 + 1`,
/// which is the same for all documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Bm25Query {
    /// Ids with their idf, times how often the term stands in the query.
    terms: Vec<(u32, f64)>,
    /// Average length of a document.
    average: f64,
}

impl Bm25Query {
    /// A query of terms; `seen` says how many of all documents have a term.
    pub(crate) fn new(query: &Bag, documents: u64, average: f64, seen: impl Fn(u32) -> u64) -> Self {
        let weight = |(id, count)| (id, idf(documents, seen(id)) * f64::from(count));
        Self { terms: query.iter().map(weight).collect(), average }
    }

    /// The score of a document, 0 where it has no term of the query.
    pub fn score(&self, document: &Bag) -> f64 {
        self.sum(document.total(), document.iter())
    }

    /// The score of a stored document, which is that of the same [`Bag`].
    pub fn score_ref(&self, document: BagRef<'_>) -> f64 {
        self.sum(document.total(), document.iter())
    }

    /// Whether the query has no terms, so that each score is 0.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    fn sum(&self, length: u32, document: impl Iterator<Item = (u32, u32)>) -> f64 {
        let slowness = K1 * (1.0 - B + B * f64::from(length) / self.average);
        let part = |(weight, count)| weight * f64::from(count) / (f64::from(count) + slowness);
        shared(self.terms.iter().copied(), document).map(part).sum::<f64>() + 0.0 // a sum of nothing is -0
    }
}

fn idf(documents: u64, seen: u64) -> f64 {
    let (all, seen) = (documents as f64, seen.min(documents) as f64);
    (1.0 + (all - seen + 0.5) / (seen + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analyzer, Language, term};

    fn bag(text: &str) -> Bag {
        Bag::of(&Analyzer::new(Language::Generic), [text])
    }

    /// A query over 10 documents of 4 terms on average, of which 2 have "red" and all have "the".
    fn query(text: &str) -> Bm25Query {
        Bm25Query::new(&bag(text), 10, 4.0, |id| match id {
            _ if id == term::id("red") => 2,
            _ if id == term::id("the") => 10,
            _ => 0,
        })
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn a_document_of_average_length_scores_by_the_formula() {
        // ln(1 + 8.5 / 2.5) = ln 4.4, and 1 / (1 + 1.2)
        near(query("red").score(&bag("a red hat here")), 4.4_f64.ln() / 2.2);
    }

    #[test]
    fn a_term_that_occurs_more_often_counts_more_and_a_longer_document_less() {
        // three times, in a document of eight: 3 / (3 + 1.2 * (0.25 + 0.75 * 2))
        near(query("red").score(&bag("red red red a b c d e")), 4.4_f64.ln() * 3.0 / (3.0 + 2.1));
        assert!(query("red").score(&bag("red red a b")) > query("red").score(&bag("red a b c")));
        assert!(query("red").score(&bag("red a b c d")) < query("red").score(&bag("red a b c")));
    }

    #[test]
    fn a_term_of_the_query_counts_as_often_as_it_stands_there() {
        let document = bag("a red hat here");
        near(query("red red").score(&document), 2.0 * query("red").score(&document));
    }

    #[test]
    fn an_unknown_term_is_the_rarest_and_one_of_all_documents_the_cheapest() {
        let document = bag("the red unheard word");
        // ln(1 + 10.5 / 0.5) and ln(1 + 0.5 / 10.5)
        near(query("unheard").score(&document), 22_f64.ln() / 2.2);
        near(query("the").score(&document), (11.0_f64 / 10.5).ln() / 2.2);
        near(query("the red").score(&document), ((11.0_f64 / 10.5).ln() + 4.4_f64.ln()) / 2.2);
    }

    #[test]
    fn nothing_in_common_scores_zero() {
        for (text, document) in [("red", "blue hat"), ("", "red"), ("red", ""), ("", "")] {
            assert_eq!(query(text).score(&bag(document)).to_bits(), 0, "{text:?} {document:?}");
        }
        assert!(query("").is_empty() && !query("red").is_empty());
    }
}
