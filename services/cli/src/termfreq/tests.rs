use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_assembly::chain;
use rankwright_text::Dictionary;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files of events, and where the dictionary goes.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        fs::create_dir(folder.path().join("data")).expect("the folder is new");
        Self { folder }
    }

    /// One with a file of these lines.
    fn with(lines: &[String]) -> Self {
        let place = Self::new();
        place.file("events.jsonl", lines.join("\n").as_bytes());
        place
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.data().join(name);
        fs::write(&path, bytes).expect("the folder can be written to");
        path
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("tf.json")
    }

    fn options(&self, fields: &str, language: &str) -> TermfreqOptions {
        TermfreqOptions {
            data: self.data(),
            fields: fields.split(',').map(str::to_owned).collect(),
            language: language.to_owned(),
            out: self.out(),
            format: None,
            offset: None,
            sort_files_by: None,
            strict: false,
        }
    }

    /// What a run says that cannot succeed; it leaves no file behind.
    fn refused(&self, options: &TermfreqOptions) -> String {
        let error = run(options).expect_err("it cannot succeed");
        let left: Vec<_> = fs::read_dir(self.folder.path()).expect("a folder").flatten().collect();
        assert_eq!(left.len(), 1, "only the data is there: {left:?}");
        chain(&error)
    }

    fn dictionary(&self) -> Value {
        serde_json::from_slice(&fs::read(self.out()).expect("the dictionary is there")).expect("is JSON")
    }
}

/// An item event with these fields, of `seconds` after the beginning of 1970.
fn item_at(seconds: u32, fields: &[(&str, Value)]) -> String {
    let fields: Vec<Value> = fields.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"event": "item", "id": "e", "timestamp": format!("{seconds}000"), "item": "a", "fields": fields}).to_string()
}

fn item(fields: &[(&str, Value)]) -> String {
    item_at(1, fields)
}

fn click() -> String {
    json!({"event": "interaction", "id": "c", "timestamp": "1", "type": "click", "item": "a", "fields": [{"name": "title", "value": "hat"}]}).to_string()
}

fn shop() -> Vec<String> {
    vec![
        item(&[("title", json!("Red shoes, red laces")), ("price", json!(7))]),
        click(),
        item(&[("title", json!("blue shoe")), ("tags", json!(["red", "soft shoes"]))]),
        item(&[("price", json!(8))]),
    ]
}

#[test]
fn terms_of_item_events_are_counted_once_for_each_event_that_has_them() {
    let place = Place::with(&shop());
    let told = run(&place.options("title", "en")).expect("succeeds");
    let expected = json!({
        "docs": 2, "language": "en", "analysis": 2, "fields": ["title"], "avgdl": 3.0,
        "termfreq": {"blue": 1, "lace": 1, "red": 1, "shoe": 2},
    });
    assert_eq!(place.dictionary(), expected);
    let out = place.out().display().to_string();
    assert_eq!(
        told,
        format!("2 documents of 3 item events, 4 terms, 3.00 terms in a text on average (title; en)\n{out}\n")
    );
    assert_eq!(fs::read_dir(place.folder.path()).expect("a folder").count(), 2, "nothing unfinished is left");
}

#[test]
fn several_fields_make_one_document_and_lists_one_text() {
    let place = Place::with(&shop());
    run(&place.options(" tags,item.title,title", "english")).expect("succeeds");
    let expected = json!({
        "docs": 2, "language": "en", "analysis": 2, "fields": ["tags", "title"], "avgdl": 3.0, // 4, 2 and 3 terms
        "termfreq": {"blue": 1, "lace": 1, "red": 2, "shoe": 2, "soft": 1},
    });
    assert_eq!(place.dictionary(), expected);
}

#[test]
fn the_dictionary_can_be_opened_plain_and_compressed() {
    let place = Place::with(&shop());
    run(&place.options("title", "en")).expect("succeeds");
    let plain = Dictionary::open(&place.out()).expect("is a dictionary");
    assert_eq!((plain.documents(), plain.len(), plain.average_length()), (2, 4, 3.0));
    let compressed = place.folder.path().join("tf.json.gz");
    run(&TermfreqOptions { out: compressed.clone(), ..place.options("title", "en") }).expect("succeeds");
    assert!(fs::read(&compressed).expect("is there").starts_with(&[0x1f, 0x8b]));
    assert_eq!(Dictionary::open(&compressed).expect("is a dictionary"), plain);
}

#[test]
fn files_of_a_folder_are_read_with_gzip_and_what_is_no_event_is_left_out() {
    let place = Place::with(&shop());
    place.file("more.jsonl.gz", &gzip(&format!("{}\nno event\n", item(&[("title", json!("green hat"))]))));
    run(&place.options("title", "en")).expect("succeeds");
    assert_eq!(place.dictionary()["docs"], 3);
    assert_eq!(place.dictionary()["termfreq"]["green"], 1);
    fs::remove_file(place.out()).expect("was written");
    let told = place.refused(&TermfreqOptions { strict: true, ..place.options("title", "en") });
    assert!(told.starts_with("more.jsonl.gz:2: "), "{told}");
}

#[test]
fn an_offset_leaves_older_events_out() {
    let old = item_at(5, &[("title", json!("old"))]);
    let place = Place::with(&[old, item_at(9, &[("title", json!("new"))])]);
    run(&TermfreqOptions { offset: Some("ts=9".to_owned()), ..place.options("title", "en") }).expect("succeeds");
    assert_eq!(place.dictionary()["termfreq"], json!({"new": 1}));
    fs::remove_file(place.out()).expect("was written");
    let told = place.refused(&TermfreqOptions { offset: Some("ts=10".to_owned()), ..place.options("title", "en") });
    assert!(told.ends_with("data holds no item events: 2 events before --offset"), "{told}");
}

#[test]
fn an_offset_after_all_events_is_refused() {
    let place = Place::with(&shop());
    let told = place.refused(&TermfreqOptions { offset: Some("latest".to_owned()), ..place.options("title", "en") });
    assert!(told.starts_with("--offset: nothing is left to read after the latest event"), "{told}");
}

#[test]
fn a_new_dictionary_takes_the_place_of_the_one_before() {
    let place = Place::with(&shop());
    fs::write(place.out(), "before").expect("can be written");
    run(&place.options("title", "en")).expect("succeeds");
    assert_eq!(place.dictionary()["docs"], 2);
}

#[test]
fn an_unknown_language_is_told_with_the_known_ones() {
    let place = Place::with(&shop());
    let told = place.refused(&place.options("title", "englich"));
    assert!(told.starts_with("--language: unknown language `englich`: it is one of generic, en, cz, "), "{told}");
    assert!(told.ends_with("did you mean en?"), "{told}");
}

#[test]
fn a_field_that_no_item_has_is_told_with_those_that_there_are() {
    let place = Place::with(&shop());
    for fields in ["titel", "title,titel"] {
        let told = place.refused(&place.options(fields, "en"));
        let expected = "--fields: no item event has the field 'titel'; fields of items are: price, tags, title";
        assert_eq!(told, expected);
    }
    let told = place.refused(&place.options("price", "en"));
    assert_eq!(told, "--fields: the field 'price' of items holds no text, in any event");
    let told = place.refused(&place.options("title,", "en"));
    assert!(told.starts_with("--fields: a name is empty"), "{told}");
}

#[test]
fn data_without_items_are_told() {
    let place = Place::with(&[click(), "{".to_owned()]);
    let told = place.refused(&place.options("title", "en"));
    let data = place.data().display().to_string();
    assert_eq!(told, format!("{data} holds no item events: 1 other event, 1 line that is no event"));
    let place = Place::with(&[]);
    let told = place.refused(&place.options("title", "en"));
    assert!(told.ends_with("data holds no item events"), "{told}");
    let place = Place::with(&[item(&[("title", json!("the"))])]);
    let told = place.refused(&place.options("title", "en"));
    assert!(told.starts_with("the fields hold no words but stop words"), "{told}");
}

#[test]
fn data_that_are_not_there_are_told_with_their_path() {
    let place = Place::new();
    let missing = place.data().join("none.jsonl");
    let told = place.refused(&TermfreqOptions { data: missing.clone(), ..place.options("title", "en") });
    assert!(told.starts_with(&format!("{} does not exist", missing.display())), "{told}");
    let told = place.refused(&place.options("title", "en"));
    assert!(told.contains("holds no files named *.json"), "{told}");
}

#[test]
fn a_file_that_was_cut_short_gives_no_dictionary() {
    let place = Place::new();
    let whole = gzip(&shop().join("\n").repeat(1000));
    place.file("events.jsonl.gz", &whole[..whole.len() / 2]);
    let told = place.refused(&place.options("title", "en"));
    assert_eq!(told, "events.jsonl.gz is damaged or was cut short: no dictionary is written");
}

#[test]
fn a_dictionary_that_cannot_be_written_is_told_before_anything_is_read() {
    let place = Place::with(&shop());
    let out = |out: &Path| place.refused(&TermfreqOptions { out: out.to_owned(), ..place.options("title", "en") });
    assert!(out(&place.folder.path().join("no/tf.json")).starts_with("--out: cannot write to "));
    assert!(out(place.folder.path()).contains("is a folder: name a file in it"));
    assert!(out(&place.data().join("tf.json")).contains("is among the events that are read"));
    let events = place.data().join("events.jsonl");
    let options = TermfreqOptions { data: events.clone(), out: events, ..place.options("title", "en") };
    assert!(place.refused(&options).contains("is among the events that are read"));
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}
