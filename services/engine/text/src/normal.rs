//! One form for what means the same: compatibility forms, case, and what is glued to a word.

use crate::Language;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Articles and pronouns that French writes in front of a vowel, as in Lucene's `FrenchAnalyzer`.
const FRENCH: [&str; 13] = ["l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu"];

/// The same of Italian, as in Lucene's `ItalianAnalyzer`.
const ITALIAN: [&str; 21] = [
    "c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl", "sugl", "un",
    "m", "t", "s", "v", "d",
];

/// Apostrophes: as typed, as typeset, and of full width.
const APOSTROPHES: [char; 3] = ['\'', '\u{2019}', '\u{FF07}'];

/// Signs that form NFKC turns into letters, as if these belonged to the word before.
const MARKS: [char; 2] = ['™', '℠'];

/// A text in Unicode's form NFKC, as a search engine folds it; English stays as it is, as Lucene leaves it.
pub(crate) fn folded(text: &str, language: Language, room: &mut String) {
    room.clear();
    if language == Language::English || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        room.push_str(text);
    } else {
        let unmarked = text.chars().map(|letter| if MARKS.contains(&letter) { ' ' } else { letter });
        room.extend(unmarked.nfkc());
    }
}

/// A word in lower case, without what its language glues to it.
pub(crate) fn word(word: &str, language: Language, room: &mut String) {
    room.clear();
    let bare = match language {
        Language::English => without_possessive(word),
        Language::French => without_elision(word, &FRENCH),
        Language::Italian => without_elision(word, &ITALIAN),
        Language::Turkish => word.split(APOSTROPHES).next().unwrap_or(word),
        _ => word,
    };
    match language {
        // the dotless i is a letter of its own
        Language::Turkish => bare.chars().for_each(|letter| match letter {
            'I' => room.push('ı'),
            'İ' => room.push('i'),
            other => room.extend(other.to_lowercase()),
        }),
        Language::Greek => room.extend(bare.chars().flat_map(char::to_lowercase).map(greek)),
        _ => bare.chars().for_each(|letter| room.extend(letter.to_lowercase())),
    }
}

/// A small Greek letter without what capitals lack: the accent (tonos), and the form that a sigma has at an end.
pub(crate) fn greek(letter: char) -> char {
    match letter {
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' => 'ι',
        'ό' => 'ο',
        'ύ' => 'υ',
        'ώ' => 'ω',
        'ΐ' => 'ϊ',
        'ΰ' => 'ϋ',
        'ς' => 'σ',
        '\u{2206}' => 'δ', // a sign of mathematics, which the list of stop words has in its place
        other => other,
    }
}

fn without_possessive(word: &str) -> &str {
    let end = word.strip_suffix(['s', 'S']).and_then(|rest| rest.strip_suffix(APOSTROPHES));
    end.unwrap_or(word)
}

fn without_elision<'a>(word: &'a str, elided: &[&str]) -> &'a str {
    let Some((article, rest)) = word.split_once(APOSTROPHES) else { return word };
    let is_elided = elided.iter().any(|own| own.eq_ignore_ascii_case(article));
    if is_elided { rest } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: Language, text: &str) -> String {
        let mut room = String::new();
        word(text, language, &mut room);
        room
    }

    #[test]
    fn what_a_language_glues_to_a_word_goes() {
        assert_eq!(of(Language::English, "Shop's"), "shop");
        assert_eq!(of(Language::English, "SHOP\u{2019}S"), "shop");
        assert_eq!(of(Language::English, "shops"), "shops");
        assert_eq!(of(Language::French, "L'avion"), "avion");
        assert_eq!(of(Language::French, "aujourd'hui"), "aujourd'hui");
        assert_eq!(of(Language::Italian, "dell\u{2019}anno"), "anno");
        assert_eq!(of(Language::Turkish, "Ankara'da"), "ankara");
    }

    #[test]
    fn the_dotless_i_is_turkish() {
        assert_eq!(of(Language::Turkish, "IĞDIR"), "ığdır");
        assert_eq!(of(Language::Turkish, "İZMİR"), "izmir");
        assert_eq!(of(Language::German, "IGEL"), "igel");
    }

    #[test]
    fn greek_capitals_and_small_letters_have_one_form() {
        for (capitals, small) in
            [("ΤΟΥΣ", "τους"), ("ΚΑΡΕΚΛΕΣ", "καρέκλες"), ("Άγιος", "ΑΓΙΟΣ"), ("ΕΥΡΩΠΑΪΚΟΣ", "ευρωπαϊκός")]
        {
            assert_eq!(of(Language::Greek, capitals), of(Language::Greek, small));
        }
        assert_eq!(of(Language::Greek, "Πρωτεΐνες"), "πρωτεϊνεσ");
    }

    #[test]
    fn compatibility_forms_become_one_but_for_english() {
        let mut room = String::new();
        folded("ﬁn Ⅳ ｗｉｄｅ", Language::Generic, &mut room);
        assert_eq!(room, "fin IV wide");
        folded("Nike™ Air℠", Language::German, &mut room);
        assert_eq!(room, "Nike  Air ");
        folded("ﬁn", Language::English, &mut room);
        assert_eq!(room, "ﬁn");
    }
}
