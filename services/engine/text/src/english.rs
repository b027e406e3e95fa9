//! Stems of English, as Lucene has them: by Porter's stemmer with the departures of his own program.
//! <https://tartarus.org/martin/PorterStemmer/>, "points of difference from the published algorithm".

use frostem::Stemmer;
use std::borrow::Cow;

/// Words of this many characters or fewer are their own stems.
const SHORT: usize = 2;

/// The stem of a word, by a stemmer of the algorithm as it was published. There, step 2 has `abli` in place of `bli`, and no
/// `logi`. Those are done here, and later steps by the stemmer; none of them changes a word in `log`.
pub(crate) fn stem(stemmer: Stemmer, word: &str) -> Cow<'_, str> {
    if word.chars().nth(SHORT).is_none() {
        return Cow::Borrowed(word);
    }
    if let Some(start) = before(word, "log").filter(|start| has_syllable(start)) {
        return Cow::Owned(format!("{start}log"));
    }
    if let Some(start) = before(word, "bl").filter(|start| has_syllable(start)) {
        return Cow::Owned(stemmer.stem(&format!("{start}ble")).into_owned());
    }
    stemmer.stem(word)
}

/// What stands before an ending and its `i`, in a word that step 1 leaves with them: `techno` for `technologies` and `log`.
fn before<'w>(word: &'w str, ending: &str) -> Option<&'w str> {
    let plural = word.strip_suffix("ies").and_then(|start| start.strip_suffix(ending));
    let single = || {
        let word = word.strip_suffix('s').unwrap_or(word);
        let word = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing")).unwrap_or(word);
        word.strip_suffix(['i', 'y'])?.strip_suffix(ending)
    };
    plural.or_else(single)
}

/// Whether a consonant follows a vowel somewhere: Porter's measure is above 0.
fn has_syllable(start: &str) -> bool {
    let mut was_vowel = false;
    for (place, letter) in start.bytes().enumerate() {
        let vowel = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => true,
            b'y' => place > 0 && !was_vowel,
            _ => false,
        };
        if was_vowel && !vowel {
            return true;
        }
        was_vowel = vowel;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use frostem::Algorithm;

    #[test]
    fn stems_are_those_of_porters_own_program() {
        let stemmer = Stemmer::new(Algorithm::Porter);
        for (word, expected) in [
            ("technology", "technolog"),
            ("technological", "technolog"),
            ("psychologies", "psycholog"),
            ("apology", "apolog"),
            ("apologies", "apolog"),
            ("apologied", "apolog"),
            ("technologie", "technologi"),
            ("mythologie", "mythologi"),
            ("technologial", "technologi"),
            ("ontologys", "ontolog"),
            ("biology", "biologi"),
            ("biologically", "biolog"),
            ("sociablie", "sociabli"),
            ("assembly", "assembl"),
            ("possibly", "possibl"),
            ("incredibly", "incred"),
            ("doubly", "doubli"),
            ("comfortably", "comfort"),
            ("us", "us"),
            ("6s", "6s"),
            ("by", "by"),
            ("ties", "ti"),
            ("été", "été"),
        ] {
            assert_eq!(stem(stemmer, word), expected, "{word}");
        }
    }
}
