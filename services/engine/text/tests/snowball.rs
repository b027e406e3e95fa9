//! Stems agree with Snowball's own vocabularies, where these are there.
#![allow(clippy::expect_used, missing_docs)]

use flate2::read::GzDecoder;
use rankwright_text::{Analyzer, Language};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Names of vocabularies, and how many stems differ. The list of English is Porter's algorithm without the departures of his
/// program, which Lucene has; the library has a newer algorithm for Finnish, which cuts the `n` of `-hin` as well.
const VOCABULARIES: [(Language, &str, usize); 8] = [
    (Language::English, "porter", 63),
    (Language::Danish, "danish", 0),
    (Language::Dutch, "dutch_porter", 0),
    (Language::Estonian, "estonian", 0),
    (Language::Finnish, "finnish", 103),
    (Language::Norwegian, "norwegian", 0),
    (Language::Swedish, "swedish", 0),
    (Language::Turkish, "turkish", 0),
];

/// Words or stems of a vocabulary, a line each; `None`, with a line that says so, where it is missing and need not be there.
fn lines(name: &str) -> Option<Vec<String>> {
    let beside = || PathBuf::from("../../../../shared");
    let shared = std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join(format!("data/fixtures/snowball/{name}.txt.gz"));
    match File::open(&path) {
        Ok(file) => {
            let mut text = String::new();
            GzDecoder::new(file).read_to_string(&mut text).expect("is a text");
            Some(text.lines().map(str::to_owned).collect())
        }
        Err(error) => {
            assert!(
                std::env::var_os("RANKWRIGHT_REQUIRE_ALL").is_none_or(|all| all != "1"),
                "{}: {error}",
                path.display()
            );
            println!("SKIPPED: {}: {error}", path.display());
            None
        }
    }
}

/// Whether a stem may differ. Porter's program does otherwise than his list: the endings `bli` and `logi`, and words of two letters,
/// which it leaves alone. The newer Finnish cuts endings behind an `h`.
fn departs(language: Language, word: &str, term: &str) -> bool {
    let endings = match language {
        Language::English => &["bli", "bly", "logi", "logy"][..],
        Language::Finnish => &["han", "hen", "hin", "hon", "hun"],
        _ => return false,
    };
    endings.iter().any(|end| word.contains(end)) || (language == Language::English && word.len() == 2 && term == word)
}

#[test]
fn stems_are_those_of_snowballs_vocabularies() {
    for (language, name, differ) in VOCABULARIES {
        let Some((words, stems)) = lines(&format!("{name}.voc")).zip(lines(&format!("{name}.output"))) else { return };
        assert_eq!(words.len(), stems.len(), "{name}");
        let analyzer = Analyzer::new(language);
        let (mut compared, mut different) = (0, Vec::new());
        for (word, stem) in words.iter().zip(&stems) {
            // stop words have no stem, and what is not one word in lower case is split before it is stemmed
            let terms = analyzer.terms(word);
            let [term] = &terms[..] else { continue };
            if word.chars().all(char::is_alphabetic) && !stem.is_empty() {
                compared += 1;
                different.extend((term != stem).then(|| (word, stem, term.clone())));
            }
        }
        assert_eq!(different.len(), differ, "{name}: {:?}", different.first());
        let unexpected = different.iter().find(|(word, _, term)| !departs(language, word, term));
        assert!(unexpected.is_none(), "{name}: {unexpected:?}");
        assert!(compared * 10 > words.len() * 8, "{name}: {compared} of {} were compared", words.len());
    }
}
