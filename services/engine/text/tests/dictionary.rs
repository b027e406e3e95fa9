//! Dictionaries as files: those of upstream, our own, and what is none.
#![allow(clippy::expect_used, missing_docs)]

use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_text::{Analyzer, Bag, Dictionary, DictionaryBuilder, Language};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Upstream's dictionary of 482,098 titles; `None`, with a line that says so, where it is missing and need not be there.
fn upstreams() -> Option<PathBuf> {
    let beside = || PathBuf::from("../../../../shared");
    let shared = std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("data/fixtures/metarank-termfreq/tf-title.json.gz");
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var_os("RANKWRIGHT_REQUIRE_ALL").is_some_and(|all| all == "1");
    assert!(!required, "{} is missing", path.display());
    println!("SKIPPED: {} is missing", path.display());
    None
}

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("tf.json");
    fs::write(&path, bytes).expect("can be written");
    (folder, path)
}

fn open(text: &str) -> Dictionary {
    let (_folder, path) = written(text.as_bytes());
    Dictionary::open(&path).expect("is a dictionary")
}

fn refused(bytes: &[u8]) -> String {
    let (_folder, path) = written(bytes);
    let told = Dictionary::open(&path).expect_err("is none").to_string();
    assert!(told.contains(&*path.to_string_lossy()), "{told}");
    told
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

const SMALL: &str = r#"{"docs":10,"language":"english","fields":["title"],"termfreq":{"red":2,"shoe":4},"avgdl":4.0}"#;

#[test]
fn a_query_scores_by_what_the_dictionary_knows() {
    let dictionary = open(SMALL);
    assert_eq!((dictionary.language(), dictionary.documents(), dictionary.len()), (Language::English, 10, 2));
    let analyzer = Analyzer::new(dictionary.language());
    let document = Bag::of(&analyzer, ["the red shoes of leather, shoes"]); // red shoe leather shoe
    let score = dictionary.query(&Bag::of(&analyzer, ["red shoe"])).score(&document);
    // ln(1 + 8.5 / 2.5) / 2.2 + ln(1 + 6.5 / 4.5) * 2 / 3.2
    assert!((score - 1.232_092_8).abs() < 1e-6, "{score}");
    assert!(dictionary.query(&Bag::of(&analyzer, ["the"])).is_empty());
}

#[test]
fn the_digest_is_of_what_scores_depend_on() {
    let digest = open(SMALL).digest();
    assert_eq!(digest, 14155520273613805502, "never changes");
    let other_order = r#"{"avgdl":4,"termfreq":{"shoe":4,"red":2},"fields":[],"more":[{}],"docs":10,"language":"en"}"#;
    assert_eq!(open(other_order).digest(), digest);
    for (from, to) in [("10", "11"), ("4.0", "4.1"), ("english", "generic"), (":2", ":3"), ("red", "blue")] {
        assert_ne!(open(&SMALL.replace(from, to)).digest(), digest, "{to}");
    }
}

#[test]
fn compressed_dictionaries_are_read_whatever_their_name() {
    let (_folder, path) = written(&gzip(SMALL.as_bytes()));
    assert_eq!(Dictionary::open(&path).expect("is a dictionary"), open(SMALL));
}

#[test]
fn what_is_no_dictionary_is_told_with_its_path_and_what_is_wrong() {
    for (from, to, wrong) in [
        ("\"docs\":10,", "", "`docs` is missing"),
        (",\"avgdl\":4.0", "", "`avgdl` is missing"),
        ("\"fields\":[\"title\"],", "", "`fields` is missing"),
        ("\"termfreq\":{\"red\":2,\"shoe\":4},", "", "`termfreq` is missing"),
        ("\"language\":\"english\",", "", "`language` is missing"),
        ("english", "klingon", "unknown language `klingon`: it is one of generic, en, "),
        ("10", "0", "`docs` is 0"),
        ("10", "3", "`docs` is 3, but a term is in 4 of them"),
        ("4.0", "0", "`avgdl` is 0"),
        ("4.0", "-1", "`avgdl` is -1"),
        ("4.0", "null", "invalid type: null"),
        ("10", "10,\"docs\":10", "`docs` stands there twice"),
        (":2", ":-2", "invalid value: integer `-2`"),
        (":2", ":\"2\"", "invalid type: string \"2\""),
        ("4.0}", "4.0}x", "trailing characters at line 1"),
        ("4.0}", "4.0", "cut short (EOF while parsing an object at line 1"),
    ] {
        let told = refused(SMALL.replacen(from, to, 1).as_bytes());
        assert!(told.contains(wrong), "{to}: {told}");
        assert!(told.ends_with("'rankwright termfreq' writes one"), "{told}");
    }
    assert!(refused(b"").contains("it is empty or was cut short"));
    assert!(refused(b"[1]").contains("an object with docs, language, fields, termfreq and avgdl"));
    assert!(refused(b"\xff\xfe").contains("line 1 column 1"));
    let whole = gzip(SMALL.as_bytes());
    assert!(refused(&whole[..whole.len() - 9]).contains("it is damaged or was cut short"));
}

#[test]
fn terms_of_another_analysis_are_refused_and_those_of_upstream_are_not() {
    let numbered = |number: &str| SMALL.replacen("10,", &format!("10,\"analysis\":{number},"), 1);
    assert_eq!(open(&numbered("2")), open(SMALL), "upstream's have no number");
    for number in ["1", "3"] {
        let told = refused(numbered(number).as_bytes());
        let expected = format!("has terms of analysis {number} of en, and texts get those of analysis 2: ");
        assert!(told.contains(&expected) && told.ends_with("run 'rankwright termfreq' again"), "{told}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_its_path() {
    let told = Dictionary::open(Path::new("/no/such/tf.json")).expect_err("is not there").to_string();
    assert!(told.starts_with("cannot read the term-frequency dictionary /no/such/tf.json: No such file"), "{told}");
    let told = Dictionary::open(Path::new("/")).expect_err("is a folder").to_string();
    assert!(told.starts_with("cannot read the term-frequency dictionary /: "), "{told}");
}

#[test]
fn what_was_counted_is_read_back() {
    let mut builder = DictionaryBuilder::new(Language::German);
    for number in 0..2000 {
        builder.add([[&*format!("Schuhe Nummer wort{number} \"q\\uote\"")]]);
    }
    let mut bytes = Vec::new();
    builder.write(&["title".to_owned()], &mut bytes).expect("memory takes all");
    let (_folder, path) = written(&bytes);
    let dictionary = Dictionary::open(&path).expect("is a dictionary");
    assert_eq!((dictionary.language(), dictionary.fields()), (Language::German, &["title".to_owned()][..]));
    assert_eq!((dictionary.documents(), dictionary.len()), (builder.documents(), builder.terms()));
    assert!((dictionary.average_length() - builder.average_length()).abs() < 1e-9);
}

#[test]
fn upstreams_dictionary_is_read() {
    let Some(path) = upstreams() else { return };
    let dictionary = Dictionary::open(&path).expect("is a dictionary");
    assert_eq!((dictionary.language(), dictionary.documents()), (Language::English, 482_098));
    assert_eq!(dictionary.fields(), ["title"]);
    assert!((dictionary.average_length() - 15.417_989_703_338_325).abs() < 1e-9);
    assert!((203_700..=203_737).contains(&dictionary.len()), "{} ids of 203,737 terms", dictionary.len());
}

#[test]
fn our_english_finds_the_terms_of_upstreams() {
    let Some(path) = upstreams() else { return };
    let file = fs::File::open(path).expect("is there");
    let text = flate2::read::GzDecoder::new(file);
    let json: serde_json::Value = serde_json::from_reader(text).expect("is JSON");
    let terms = json["termfreq"].as_object().expect("is an object");
    let analyzer = Analyzer::new(Language::English);
    let weight = |value: &serde_json::Value| value.as_u64().expect("is a number");
    let (mut fixed, mut all, mut words, mut one) = (0, 0, 0, 0);
    for (term, documents) in terms {
        let again = analyzer.terms(term);
        let documents = weight(documents);
        all += documents;
        one += documents * u64::from(again.len() == 1);
        words += usize::from(again == [term.as_str()]);
        fixed += documents * u64::from(again == [term.as_str()]);
    }
    println!("{words} of {} terms, {fixed} and {one} of {all} occurrences", terms.len());
    assert!(words * 100 > terms.len() * 93);
    for word in ["technology", "technological", "psychology", "archaeology", "assembly", "possibly", "us", "6s", "ties"]
    {
        let [term] = &analyzer.terms(word)[..] else { panic!("{word} is one term") };
        assert!(terms.contains_key(term), "{word}: {term}");
    }
}
