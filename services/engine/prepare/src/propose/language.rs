//! The language of texts, by the words that say nothing in it: a language's stop words are a good part of its texts.

use rankwright_text::{Analyzer, Language};

/// Less than this part of stop words says nothing, as of titles.
const ENOUGH: f64 = 0.12;

/// Fewer words say nothing either: one of them may be a stop word by chance.
const LEAST: usize = 10;

/// Languages that are told by their letters.
const SCRIPTS: [Language; 4] = [Language::Chinese, Language::Japanese, Language::Arabic, Language::Greek];

/// The language of most texts; none where they do not say.
pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Option<Language> {
    if let Some(language) = by_script(texts.clone()) {
        return Some(language);
    }
    let count = |language| {
        let analyzer = Analyzer::new(language);
        let mut terms = 0usize;
        texts.clone().for_each(|text| analyzer.each(text, |_| terms += 1));
        terms
    };
    let all = count(Language::Generic);
    if all < LEAST {
        return None;
    }
    let others = Language::all().filter(|language| *language != Language::Generic && !SCRIPTS.contains(language));
    let share = |language| (1.0 - count(language) as f64 / all as f64, language);
    let best = others.map(share).max_by(|left, right| left.0.total_cmp(&right.0))?;
    (best.0 >= ENOUGH).then_some(best.1)
}

/// A language whose letters most of the texts are written in.
fn by_script<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Language> {
    let (mut all, mut han, mut kana, mut arabic, mut greek) = (0usize, 0usize, 0usize, 0usize, 0usize);
    for char in texts.flat_map(str::chars).filter(|char| char.is_alphabetic()) {
        all += 1;
        match char {
            '\u{4e00}'..='\u{9fff}' => han += 1,
            '\u{3040}'..='\u{30ff}' => kana += 1,
            '\u{0600}'..='\u{06ff}' => arabic += 1,
            '\u{0370}'..='\u{03ff}' => greek += 1,
            _ => {}
        }
    }
    let are_most = |count: usize| count * 2 > all;
    match () {
        () if are_most(han + kana) && kana * 10 > han + kana => Some(Language::Japanese),
        () if are_most(han + kana) => Some(Language::Chinese),
        () if are_most(arabic) => Some(Language::Arabic),
        () if are_most(greek) => Some(Language::Greek),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(texts: &[&str]) -> Option<&'static str> {
        of(texts.iter().copied()).map(Language::code)
    }

    #[test]
    fn a_language_is_told_by_its_stop_words_or_its_script() {
        assert_eq!(code(&["The king of the hill was on his way to the sea, and it was far."]), Some("en"));
        assert_eq!(code(&["Der König und die Frau sind auf dem Weg zu der Stadt, die nicht weit ist."]), Some("de"));
        assert_eq!(code(&["Le roi et la reine sont dans la ville avec les enfants de la cour."]), Some("fr"));
        assert_eq!(code(&["我来到北京清华大学"]), Some("zh"));
        assert_eq!(code(&["Ο βασιλιάς της πόλης"]), Some("gr"));
        assert_eq!(code(&["ملك المدينة"]), Some("ar"));
        assert_eq!(code(&["すもももももももものうち"]), Some("ja"));
    }

    #[test]
    fn titles_do_not_say_it() {
        assert_eq!(code(&["The king of it"]), None, "four words");
        let titles = [
            "Red Cotton Shirt",
            "Blue Shoe",
            "Leather Boot",
            "Green Wool Coat",
            "Desk Lamp",
            "Oak Table",
            "Steel Kettle",
        ];
        assert_eq!(code(&titles), None);
        assert_eq!(code(&[]), None);
    }
}
