//! Words that say nothing.

use crate::Language;
use crate::normal;
use hashbrown::HashSet;
use unicode_normalization::UnicodeNormalization;

/// Lucene's `EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`.
const ENGLISH: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

pub(crate) type Words = HashSet<Box<str>, foldhash::fast::FixedState>;

/// The stop words of a language, in the form that its words have before they are stemmed.
pub(crate) fn words(language: Language) -> Words {
    let Some(code) = language.stop_words() else { return Words::default() };
    let listed = if language == Language::English { &ENGLISH[..] } else { stop_words::get(code) };
    let plain = |letter| if language == Language::Greek { normal::greek(letter) } else { letter };
    listed.iter().map(|word| word.nfkc().map(plain).collect::<String>().into_boxed_str()).collect()
}
