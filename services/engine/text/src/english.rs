//! Stems of English, as Lucene has them: by Porter's stemmer with the departures of his own program.
//! <https://tartarus.org/martin/PorterStemmer/>, "points of difference from the published algorithm".

use frostem::Stemmer;
use std::borrow::Cow;

/// Words of this many characters or fewer are their own stems.
const SHORT: usize = 2;

/// The stem of a word, by a stemmer of the algorithm as it was published. There, step 2 has `abli` in place of `bli`, and no
/// `logi`; no later step changes a word that ends in one of them.
pub(crate) fn stem(stemmer: Stemmer, word: &str) -> Cow<'_, str> {
    if word.chars().nth(SHORT).is_none() {
        return Cow::Borrowed(word);
    }
    let stem = stemmer.stem(word);
    if let Some(start) = stem.strip_suffix("logi").filter(|start| has_syllable(start)) {
        return Cow::Owned(format!("{start}log"));
    }
    if let Some(start) = stem.strip_suffix("bli").filter(|start| has_syllable(start)) {
        return Cow::Owned(stemmer.stem(&format!("{start}ble")).into_owned());
    }
    stem
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
            ("biology", "biologi"),
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
