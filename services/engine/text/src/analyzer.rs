//! The way of a text: folded, split, put into lower case, stripped of stop words, stemmed.

use crate::Language;
use crate::english;
use crate::normal;
use crate::split::Splitter;
use crate::stop::{self, Words};
use frostem::Stemmer;
use std::borrow::Cow;
use std::sync::Arc;

/// Analyses texts of one language; cheap to clone.
#[derive(Clone)]
pub struct Analyzer {
    language: Language,
    splitter: Splitter,
    stop: Arc<Words>,
    stemmer: Option<Stemmer>,
}

impl Analyzer {
    /// An analyzer by the rules of a language.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            splitter: Splitter::of(language),
            stop: Arc::new(stop::words(language)),
            stemmer: language.stemmer().map(Stemmer::new),
        }
    }

    /// Whose rules it goes by.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Shows the terms of a text in their order, each as often as it stands there.
    pub fn each(&self, text: &str, mut show: impl FnMut(&str)) {
        let (mut folded, mut word) = (String::new(), String::new());
        normal::folded(text, self.language, &mut folded);
        self.splitter.split(&folded, |split| {
            normal::word(split, self.language, &mut word);
            if word.is_empty() || self.stop.contains(word.as_str()) {
                return;
            }
            match self.stemmer.map(|stemmer| self.stem(stemmer, &word)) {
                Some(stem) if !stem.is_empty() => show(&stem),
                _ => show(&word), // a word that is all ending stays
            }
        });
    }

    fn stem<'w>(&self, stemmer: Stemmer, word: &'w str) -> Cow<'w, str> {
        match self.language {
            Language::English => english::stem(stemmer, word),
            _ => stemmer.stem(word),
        }
    }

    /// The terms of a text in their order, each as often as it stands there.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.each(text, |term| terms.push(term.to_owned()));
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(language: Language, text: &str) -> Vec<String> {
        Analyzer::new(language).terms(text)
    }

    #[test]
    fn english_is_analysed_as_lucene_does() {
        // of Lucene's TestEnglishAnalyzer
        assert_eq!(terms(Language::English, "books"), ["book"]);
        assert_eq!(terms(Language::English, "the"), [""; 0]);
        assert_eq!(terms(Language::English, "steven's"), ["steven"]);
        assert_eq!(terms(Language::English, "steven\u{2019}s"), ["steven"]);
        assert_eq!(terms(Language::English, "steven\u{FF07}s"), ["steven"]);
        let text = "The quick brown foxes jumped over their lazy dogs' generalizations";
        assert_eq!(terms(Language::English, text), ["quick", "brown", "fox", "jump", "over", "lazi", "dog", "gener"]);
    }

    #[test]
    fn the_sign_of_a_trademark_is_no_part_of_a_word() {
        for language in [Language::Generic, Language::English, Language::French, Language::Chinese, Language::Japanese]
        {
            assert_eq!(terms(language, "Air™"), ["air"], "{language}");
        }
    }

    #[test]
    fn a_word_that_is_all_ending_stays() {
        assert_eq!(terms(Language::English, "size s"), ["size", "s"]);
    }

    #[test]
    fn generic_keeps_every_word() {
        assert_eq!(terms(Language::Generic, "The Shops, THE shops"), ["the", "shops", "the", "shops"]);
    }

    #[test]
    fn other_languages_lose_stop_words_and_endings() {
        assert_eq!(terms(Language::German, "die roten Schuhe"), ["rot", "schuh"]);
        assert_eq!(terms(Language::French, "l'avion des chemises rouges"), ["avion", "chemis", "roug"]);
        assert_eq!(terms(Language::Spanish, "las camisas rojas"), ["camis", "roj"]);
        assert_eq!(terms(Language::Chinese, "我的红色连衣裙"), ["红色", "连衣裙"]);
    }

    #[test]
    fn greek_in_capitals_is_greek_in_small_letters() {
        for (capitals, small) in [
            ("ΤΟΥΣ ΑΥΤΗΣ ΜΑΣ ΟΙ ΣΤΙΣ ΚΑΡΕΚΛΕΣ", "τους αυτής μας οι στις καρέκλες"),
            ("ΕΔΩ ΔΕΝ ΕΙΝΑΙ ΚΟΚΚΙΝΑ ΠΑΠΟΥΤΣΙΑ", "εδώ δεν είναι κόκκινα παπούτσια"),
        ] {
            assert_eq!(terms(Language::Greek, capitals), terms(Language::Greek, small));
        }
        assert_eq!(terms(Language::Greek, "ΤΟΥΣ ΑΥΤΗΣ ΜΑΣ ΟΙ ΣΤΙΣ ΚΑΡΕΚΛΕΣ").len(), 1);
        assert_eq!(terms(Language::Greek, "εδώ δεν είναι κόκκινα παπούτσια").len(), 2);
    }

    #[test]
    fn greek_stems_are_those_of_the_words_as_they_are_written() {
        let stemmer = Language::Greek.stemmer().map(Stemmer::new).expect("Greek has one");
        let words =
            "κόκκινο φόρεμα άσπρες καρέκλες παπούτσια πρωτεΐνες ευρωπαϊκός φως γεγονότων ταξίδια υποδήματα λαϊκή";
        for word in words.split(' ') {
            assert_eq!(terms(Language::Greek, word), [stemmer.stem(word).into_owned()], "{word}");
        }
    }

    #[test]
    fn an_empty_text_has_no_terms_in_any_language() {
        for language in Language::all() {
            for text in ["", " \t\n", "…!?—", "\u{0}\u{7}"] {
                assert_eq!(terms(language, text), [""; 0], "{language} {text:?}");
            }
        }
    }
}
