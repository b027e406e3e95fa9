//! The languages that there are rules for.

use frostem::Algorithm;
use std::fmt;
use std::str::FromStr;

/// Whose rules a text is analysed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// Of no language: words in lower case, all of them as they are.
    Generic,
    /// As Lucene's `EnglishAnalyzer` does it.
    English,
    /// Czech.
    Czech,
    /// Danish.
    Danish,
    /// Dutch.
    Dutch,
    /// Estonian.
    Estonian,
    /// Finnish.
    Finnish,
    /// French.
    French,
    /// German.
    German,
    /// Greek.
    Greek,
    /// Italian.
    Italian,
    /// Norwegian.
    Norwegian,
    /// Polish.
    Polish,
    /// Portuguese.
    Portuguese,
    /// Spanish.
    Spanish,
    /// Swedish.
    Swedish,
    /// Turkish.
    Turkish,
    /// Arabic.
    Arabic,
    /// Chinese, simplified or traditional.
    Chinese,
    /// Japanese.
    Japanese,
}

/// A name of no language that there are rules for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown language `{0}`: it is one of {all}{hint}", all = Language::codes(), hint = hint(.0))]
pub struct UnknownLanguage(pub String);

/// What a language is called, and how it is analysed.
struct Rules {
    language: Language,
    /// As configurations have it.
    code: &'static str,
    /// Names that mean the same.
    names: &'static [&'static str],
    stemmer: Option<Algorithm>,
    /// Whose list of stop words is taken, by its code of ISO 639-1.
    stop: Option<&'static str>,
}

const fn rules(
    language: Language,
    code: &'static str,
    names: &'static [&'static str],
    stemmer: Algorithm,
    stop: &'static str,
) -> Rules {
    Rules { language, code, names, stemmer: Some(stemmer), stop: Some(stop) }
}

const fn unstemmed(
    language: Language,
    code: &'static str,
    names: &'static [&'static str],
    stop: Option<&'static str>,
) -> Rules {
    Rules { language, code, names, stemmer: None, stop }
}

const ALL: [Rules; 20] = [
    unstemmed(Language::Generic, "generic", &[], None),
    rules(Language::English, "en", &["english"], Algorithm::Porter, "en"),
    rules(Language::Czech, "cz", &["cs", "czech"], Algorithm::Czech, "cs"),
    rules(Language::Danish, "da", &["danish"], Algorithm::Danish, "da"),
    rules(Language::Dutch, "nl", &["dutch"], Algorithm::DutchPorter, "nl"),
    rules(Language::Estonian, "et", &["estonian"], Algorithm::Estonian, "et"),
    rules(Language::Finnish, "fi", &["finnish"], Algorithm::Finnish, "fi"),
    rules(Language::French, "fr", &["french"], Algorithm::French, "fr"),
    rules(Language::German, "de", &["german"], Algorithm::German, "de"),
    rules(Language::Greek, "gr", &["el", "greek"], Algorithm::Greek, "el"),
    rules(Language::Italian, "it", &["italian"], Algorithm::Italian, "it"),
    rules(Language::Norwegian, "no", &["nb", "norwegian"], Algorithm::Norwegian, "no"),
    rules(Language::Polish, "pl", &["polish"], Algorithm::Polish, "pl"),
    rules(Language::Portuguese, "pt", &["portuguese"], Algorithm::Portuguese, "pt"),
    rules(Language::Spanish, "es", &["spanish"], Algorithm::Spanish, "es"),
    rules(Language::Swedish, "sv", &["swedish"], Algorithm::Swedish, "sv"),
    rules(Language::Turkish, "tr", &["turkish"], Algorithm::Turkish, "tr"),
    rules(Language::Arabic, "ar", &["arabic"], Algorithm::Arabic, "ar"),
    unstemmed(Language::Chinese, "zh", &["cn", "chinese"], Some("zh")),
    unstemmed(Language::Japanese, "ja", &["jp", "japanese"], Some("ja")),
];

impl Language {
    /// Every language, `generic` first.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|rules| rules.language)
    }

    /// Its code, as configurations have it: mostly that of ISO 639-1.
    pub fn code(self) -> &'static str {
        self.rules().code
    }

    /// Other names that are read as its code.
    pub fn names(self) -> &'static [&'static str] {
        self.rules().names
    }

    /// Number of its analysis. To be raised where its texts give other terms than before: stored terms, dictionaries and models of
    /// the previous number no longer count.
    pub fn analysis(self) -> u32 {
        match self {
            Self::Greek => 3,
            _ => 2,
        }
    }

    /// Snowball's algorithm for its words.
    pub(crate) fn stemmer(self) -> Option<Algorithm> {
        self.rules().stemmer
    }

    /// Whose list of stop words is taken.
    pub(crate) fn stop_words(self) -> Option<&'static str> {
        self.rules().stop
    }

    fn rules(self) -> &'static Rules {
        ALL.iter().find(|rules| rules.language == self).expect("every language has rules")
    }

    /// All codes, for messages.
    fn codes() -> String {
        ALL.iter().map(|rules| rules.code).collect::<Vec<_>>().join(", ")
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    /// Reads a code or an English name, in any case.
    fn from_str(name: &str) -> Result<Self, UnknownLanguage> {
        let means = |rules: &&Rules| [rules.code].iter().chain(rules.names).any(|own| own.eq_ignore_ascii_case(name));
        ALL.iter().find(means).map(|rules| rules.language).ok_or_else(|| UnknownLanguage(name.to_owned()))
    }
}

/// What a wrong name most probably stands for, as the end of a message.
fn hint(name: &str) -> String {
    let name: String = name.to_lowercase().chars().take(20).collect();
    let meant = |rules: &&Rules| {
        let own = || [rules.code].into_iter().chain(rules.names.iter().copied());
        let is_region = name.split(['-', '_']).next().is_some_and(|first| own().any(|own| own == first)); // en-US
        let is_begun = name.len() > 2 && own().any(|own| own.starts_with(&name)); // ger
        is_region || is_begun || own().any(|own| own.len() > 3 && distance(&name, own) * 3 <= own.len())
    };
    ALL.iter().find(meant).map_or_else(String::new, |rules| format!("; did you mean {}?", rules.code))
}

/// How many letters have to be put in, left out or replaced.
fn distance(one: &str, other: &str) -> usize {
    let mut above: Vec<usize> = (0..=other.chars().count()).collect();
    for (row, letter) in one.chars().enumerate() {
        let mut left = row + 1;
        let mut corner = std::mem::replace(&mut above[0], left);
        for (other, cost) in other.chars().zip(&mut above[1..]) {
            left = (corner + usize::from(letter != other)).min(left + 1).min(*cost + 1);
            corner = std::mem::replace(cost, left);
        }
    }
    above.last().copied().unwrap_or_default()
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_english_names_are_read_in_any_case() {
        for (name, language) in [
            ("en", Language::English),
            ("english", Language::English),
            ("English", Language::English),
            ("cz", Language::Czech),
            ("cs", Language::Czech),
            ("GR", Language::Greek),
            ("generic", Language::Generic),
        ] {
            assert_eq!(name.parse(), Ok(language), "{name}");
        }
        assert!(Language::all().all(|language| language.code().parse() == Ok(language)));
    }

    #[test]
    fn an_unknown_language_is_told_with_the_known_ones() {
        let told = "xx".parse::<Language>().expect_err("is none").to_string();
        let known = "generic, en, cz, da, nl, et, fi, fr, de, gr, it, no, pl, pt, es, sv, tr, ar, zh, ja";
        assert_eq!(told, format!("unknown language `xx`: it is one of {known}"));
    }

    #[test]
    fn a_name_that_is_nearly_right_gets_a_hint() {
        for (name, meant) in [("englsh", "en"), ("en-US", "en"), ("pt_BR", "pt"), ("ger", "de"), ("Norvegian", "no")] {
            let told = UnknownLanguage(name.to_owned()).to_string();
            assert!(told.ends_with(&format!(", ja; did you mean {meant}?")), "{name}: {told}");
        }
        for name in ["", "klingon", "x", &"e".repeat(100_000)] {
            assert!(UnknownLanguage(name.to_owned()).to_string().ends_with(", ja"), "{name}");
        }
    }
}
