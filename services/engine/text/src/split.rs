//! Where a text is cut into words.

use crate::Language;
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use jieba_rs::Jieba;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// Longer words are cut here, as Lucene's `StandardTokenizer` does.
const LONGEST: usize = 255;

/// Has a dictionary of 5 MB, which is read when the first Chinese text comes.
static CHINESE: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Cuts texts of a language.
#[derive(Clone, Copy)]
pub(crate) enum Splitter {
    /// By Unicode's rules (annex 29).
    Words,
    Chinese,
    Japanese(WordSegmenterBorrowed<'static>),
}

impl Splitter {
    pub(crate) fn of(language: Language) -> Self {
        match language {
            Language::Chinese => Self::Chinese,
            Language::Japanese => Self::Japanese(WordSegmenter::new_dictionary(WordBreakInvariantOptions::default())),
            _ => Self::Words,
        }
    }

    /// Shows the words of a text, in their order.
    pub(crate) fn split(&self, text: &str, mut show: impl FnMut(&str)) {
        let mut word = |word: &str| pieces(word).for_each(&mut show);
        match self {
            Self::Words => text.unicode_words().for_each(word),
            Self::Chinese => {
                CHINESE.cut(text, true).iter().filter(|token| is_word(token.word)).for_each(|token| word(token.word))
            }
            Self::Japanese(segmenter) => {
                let mut begin = 0;
                for (end, kind) in segmenter.segment_str(text).iter_with_word_type() {
                    if kind.is_word_like() && end > begin {
                        word(&text[begin..end]);
                    }
                    begin = end;
                }
            }
        }
    }
}

fn is_word(token: &str) -> bool {
    token.contains(char::is_alphanumeric)
}

/// A word, in pieces of [`LONGEST`] characters at most.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(LONGEST).map_or(rest.len(), |(end, _)| end);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(language: Language, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        Splitter::of(language).split(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_what_unicode_says() {
        let text = "The shop's 3.5-inch ﬁle, e-mail: foo_bar@x.org — \u{1F600}!";
        let found = words(Language::Generic, text);
        assert_eq!(found, ["The", "shop's", "3.5", "inch", "ﬁle", "e", "mail", "foo_bar", "x.org"]);
    }

    #[test]
    fn chinese_and_japanese_words_come_from_dictionaries() {
        assert_eq!(words(Language::Chinese, "红色连衣裙，很漂亮！"), ["红色", "连衣裙", "很漂亮"]);
        assert_eq!(
            words(Language::Japanese, "赤いワンピースを買いました。"),
            ["赤い", "ワンピース", "を", "買い", "まし", "た"]
        );
    }

    #[test]
    fn a_word_without_end_is_cut() {
        let found = words(Language::Generic, &"x".repeat(600));
        assert_eq!(found.iter().map(String::len).collect::<Vec<_>>(), [255, 255, 90]);
    }
}
