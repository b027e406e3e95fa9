//! The terms of a text as a set with counts, and the same as bytes.
//!
//! A stored bag begins with how many distinct terms it has and how many terms in all. Each term follows, in the order of
//! ids: the distance to the id before it, times two, plus one where a count follows. All numbers are LEB128 varints. A count is stored less two, as
//! a term that occurs once has none. So a term of a title takes about four and a half bytes.

mod varint;
mod view;

pub use view::BagRef;

use crate::{Analyzer, term};
use std::cmp::Ordering;

/// Terms of a text with how often each occurs, sorted by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bag {
    /// Ids and counts, which are one at least.
    terms: Vec<(u32, u32)>,
    total: u32,
}

impl Bag {
    /// The terms of all these texts together. An id is the 32-bit FNV-1a hash of a term's UTF-8 bytes, which never changes.
    pub fn of<'t>(analyzer: &Analyzer, texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut ids = Vec::new();
        texts.into_iter().for_each(|text| analyzer.each(text, |term| ids.push(term::id(term))));
        Self::counted(ids)
    }

    /// All runs of `n` characters of the terms of these texts; a term with fewer characters is one gram as it stands.
    ///
    /// Grams never span two terms, as upstream has it. Upstream drops terms with fewer than `n` characters, so that "tv" finds
    /// nothing by 3-grams; here it finds "tv".
    pub fn ngrams<'t>(analyzer: &Analyzer, n: usize, texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut ids = Vec::new();
        texts.into_iter().for_each(|text| analyzer.each(text, |term| grams(term, n, |gram| ids.push(term::id(gram)))));
        Self::counted(ids)
    }

    fn counted(mut ids: Vec<u32>) -> Self {
        ids.sort_unstable();
        let terms = ids.chunk_by(|a, b| a == b).map(|same| (same[0], count(same.len()))).collect();
        Self { terms, total: count(ids.len()) }
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How many distinct terms there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// How many terms there are, each as often as it occurs.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Ids with how often each occurs, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.terms.iter().copied()
    }

    /// Distinct terms of both over distinct terms of either, 0 to 1; 0 where neither has a term.
    pub fn similarity(&self, other: &Self) -> f64 {
        ratio(shared(self.iter(), other.iter()).count(), self.len(), other.len())
    }

    /// Its stored form, which [`Bag::from_bytes`] and [`BagRef::new`] read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.terms.len() * 5);
        varint::write(&mut bytes, self.terms.len() as u64);
        varint::write(&mut bytes, u64::from(self.total));
        let mut least = 0; // of the next id
        for &(id, count) in &self.terms {
            varint::write(&mut bytes, (u64::from(id) - least) << 1 | u64::from(count > 1));
            if count > 1 {
                varint::write(&mut bytes, u64::from(count - 2));
            }
            least = u64::from(id) + 1;
        }
        bytes
    }

    /// Reads the stored form; `None` where the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let view = BagRef::new(bytes)?;
        Some(Self { terms: view.iter().collect(), total: view.total() })
    }
}

/// Shows the runs of `n` characters of a term.
fn grams(term: &str, n: usize, mut show: impl FnMut(&str)) {
    let begins = term.char_indices().map(|(begin, _)| begin);
    let ends = begins.clone().skip(n.max(1)).chain([term.len()]);
    begins.zip(ends).for_each(|(begin, end)| show(&term[begin..end]));
}

/// Values of the first and counts of the second under the ids that both have. Both come in the order of ids.
pub(crate) fn shared<T>(
    mut one: impl Iterator<Item = (u32, T)>,
    mut other: impl Iterator<Item = (u32, u32)>,
) -> impl Iterator<Item = (T, u32)> {
    let (mut left, mut right) = (one.next(), other.next());
    std::iter::from_fn(move || {
        loop {
            let (id, count) = right?;
            match left.as_ref()?.0.cmp(&id) {
                Ordering::Less => left = one.next(),
                Ordering::Greater => right = other.next(),
                Ordering::Equal => {
                    let (_, value) = std::mem::replace(&mut left, one.next())?;
                    right = other.next();
                    return Some((value, count));
                }
            }
        }
    })
}

fn ratio(shared: usize, one: usize, other: usize) -> f64 {
    if shared == 0 { 0.0 } else { shared as f64 / (one + other - shared) as f64 }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    fn bag(text: &str) -> Bag {
        Bag::of(&Analyzer::new(Language::Generic), [text])
    }

    fn grams_of(n: usize, text: &str) -> Bag {
        Bag::ngrams(&Analyzer::new(Language::Generic), n, [text])
    }

    #[test]
    fn a_term_counts_as_often_as_it_occurs_in_all_texts() {
        let bag = Bag::of(&Analyzer::new(Language::English), ["red shoes", "a red, red hat"]);
        assert_eq!((bag.len(), bag.total()), (3, 5));
        assert!(bag.iter().any(|found| found == (term::id("red"), 3)));
        assert!(bag.iter().any(|found| found == (term::id("shoe"), 1)));
    }

    #[test]
    fn similarity_is_intersection_over_union_of_distinct_terms() {
        assert_eq!(bag("red shoes").similarity(&bag("red red hat")), 1.0 / 3.0);
        assert_eq!(bag("red shoes").similarity(&bag("shoes red shoes")), 1.0);
        assert_eq!(bag("red").similarity(&bag("blue")), 0.0);
        assert_eq!(bag("red").similarity(&bag("")), 0.0);
        assert_eq!(bag("").similarity(&bag("")), 0.0);
    }

    #[test]
    fn grams_are_runs_of_characters_of_each_term() {
        assert_eq!(grams_of(3, "fooba foo"), bag("foo oob oba foo"));
        assert_eq!(grams_of(2, "größe"), bag("gr rö öß ße"));
        assert_eq!(grams_of(3, "größe").similarity(&grams_of(3, "grösse")), 1.0 / 6.0); // grö of grö röß öße rös öss sse
    }

    #[test]
    fn a_term_shorter_than_a_gram_is_one_gram() {
        assert_eq!(grams_of(3, "tv 4k lcd"), bag("tv 4k lcd"));
        assert_eq!(grams_of(0, "ab"), bag("a b"), "a gram has a character at least");
        assert!(grams_of(3, "").is_empty());
    }

    #[test]
    fn the_stored_form_stays_as_it_is() {
        let bag = Bag { terms: vec![(0, 1), (5, 4), (200, 1)], total: 6 };
        // three terms, six in all; 0; 5 - 1 and a count of 2 + 2; 200 - 6
        let bytes = [3, 6, 0, 4 << 1 | 1, 2, 0b1000_0100, 0b11];
        assert_eq!(bag.to_bytes(), bytes);
        assert_eq!(Bag::from_bytes(&bytes), Some(bag));
    }

    #[test]
    fn a_term_takes_about_four_and_a_half_bytes() {
        let title: String = (0..30).map(|number| format!("word{number} ")).collect();
        let bytes = bag(&title).to_bytes().len();
        assert!((120..150).contains(&bytes), "{bytes}");
    }
}
