//! Counting the terms of a catalog, in bounded memory.

use crate::{Analyzer, Language};
use hashbrown::HashMap;
use std::io::{self, Write};

/// Most distinct terms that are counted,
const MOST_TERMS: usize = 5_000_000;
/// and most bytes of their texts together.
const MOST_BYTES: usize = 128 << 20;

/// Counts the terms of documents, one document after the other.
///
/// Where a catalog has more distinct terms than there is room for, those that few documents have so far make room, as in lossy counting
/// (Manku and Motwani, "Approximate Frequency Counts over Data Streams", 2002). Counts are then too low by at most [`DictionaryBuilder::missed`].
pub struct DictionaryBuilder {
    analyzer: Analyzer,
    terms: HashMap<Box<str>, Counted, foldhash::fast::FixedState>,
    documents: u64,
    texts: u64,
    length: u64,
    room: Room,
    /// Bytes of the terms.
    bytes: usize,
    dropped: u64,
    missed: u32,
}

/// How much is held at most.
struct Room {
    terms: usize,
    bytes: usize,
}

/// How many documents have a term.
struct Counted {
    documents: u32,
    /// The number of the last one, so that it counts once.
    last: u64,
}

impl DictionaryBuilder {
    /// Begins with no documents of this language.
    pub fn new(language: Language) -> Self {
        Self::with_room(language, Room { terms: MOST_TERMS, bytes: MOST_BYTES })
    }

    fn with_room(language: Language, room: Room) -> Self {
        Self {
            analyzer: Analyzer::new(language),
            terms: HashMap::default(),
            documents: 0,
            texts: 0,
            length: 0,
            room,
            bytes: 0,
            dropped: 0,
            missed: 0,
        }
    }

    /// Counts a document, given by the texts of each of its fields. Without terms it does not count.
    pub fn add<'t>(&mut self, fields: impl IntoIterator<Item = impl IntoIterator<Item = &'t str>>) {
        let number = self.documents + 1;
        for texts in fields {
            let before = self.length;
            let Self { analyzer, terms, bytes, length, .. } = self;
            for text in texts {
                analyzer.each(text, |term| {
                    *length += 1;
                    count(terms, bytes, term, number);
                });
            }
            self.texts += u64::from(self.length > before);
            self.documents = if self.length > before { number } else { self.documents };
        }
        if self.terms.len() > self.room.terms || self.bytes > self.room.bytes {
            self.make_room();
        }
    }

    /// Drops the rarest terms until a quarter of the room is free.
    fn make_room(&mut self) {
        let mut rare = 0;
        while self.terms.len() > self.room.terms / 4 * 3 || self.bytes > self.room.bytes / 4 * 3 {
            rare += 1 + rare / 4;
            let Self { terms, bytes, dropped, .. } = self;
            terms.retain(|term, counted| {
                let stays = counted.documents > rare;
                if !stays {
                    *bytes -= term.len();
                    *dropped += 1;
                }
                stays
            });
        }
        self.missed = self.missed.saturating_add(rare);
    }

    /// How many documents have a term at all.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// How many distinct terms there are.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// How many terms a text has on average: what a field of a document holds counts as one text.
    pub fn average_length(&self) -> f64 {
        if self.texts == 0 { 0.0 } else { self.length as f64 / self.texts as f64 }
    }

    /// How many terms had to make room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many documents may be missing in the count of a term.
    pub fn missed(&self) -> u32 {
        self.missed
    }

    /// Writes the dictionary in upstream's form: JSON, a term a line, in the order of their bytes. The number of the analysis is ours.
    ///
    /// # Errors
    /// As of the writer.
    pub fn write(&self, fields: &[String], mut to: impl Write) -> io::Result<()> {
        let mut terms: Vec<_> = self.terms.iter().map(|(term, counted)| (&**term, counted.documents)).collect();
        terms.sort_unstable();
        let (documents, language) = (self.documents, self.analyzer.language());
        write!(to, "{{\n  \"docs\": {documents},\n  \"language\": \"{language}\",\n")?;
        write!(to, "  \"analysis\": {},\n  \"fields\": ", language.analysis())?;
        serde_json::to_writer(&mut to, fields)?;
        write!(to, ",\n  \"termfreq\": {{")?;
        for (number, (term, documents)) in terms.into_iter().enumerate() {
            to.write_all(if number == 0 { b"\n    " } else { b",\n    " })?;
            serde_json::to_writer(&mut to, term)?;
            write!(to, ": {documents}")?;
        }
        write!(to, "\n  }},\n  \"avgdl\": ")?;
        serde_json::to_writer(&mut to, &self.average_length())?;
        to.write_all(b"\n}\n")?;
        to.flush()
    }
}

fn count(
    terms: &mut HashMap<Box<str>, Counted, foldhash::fast::FixedState>,
    bytes: &mut usize,
    term: &str,
    document: u64,
) {
    match terms.get_mut(term) {
        Some(counted) if counted.last == document => {}
        Some(counted) => {
            counted.documents = counted.documents.saturating_add(1);
            counted.last = document;
        }
        None => {
            *bytes += term.len();
            terms.insert(term.into(), Counted { documents: 1, last: document });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn title(texts: &[&'static str]) -> Vec<Vec<&'static str>> {
        vec![texts.to_vec()]
    }

    fn written(builder: &DictionaryBuilder) -> serde_json::Value {
        let mut bytes = Vec::new();
        builder.write(&["title".to_owned()], &mut bytes).expect("memory takes all");
        serde_json::from_slice(&bytes).expect("is JSON")
    }

    #[test]
    fn a_term_counts_once_for_each_document_that_has_it() {
        let mut builder = DictionaryBuilder::new(Language::English);
        builder.add(title(&["Red shoes, red laces"]));
        builder.add(title(&["blue shoe"]));
        builder.add(title(&["the red", "hats"]));
        let expected = json!({
            "docs": 3, "language": "en", "analysis": 2, "fields": ["title"], "avgdl": 8.0 / 3.0,
            "termfreq": {"blue": 1, "hat": 1, "lace": 1, "red": 2, "shoe": 2},
        });
        assert_eq!(written(&builder), expected);
    }

    #[test]
    fn fields_share_a_document_and_each_has_a_length_of_its_own() {
        let mut builder = DictionaryBuilder::new(Language::Generic);
        builder.add([vec!["red shoe"], vec!["a red shoe of leather", "soft"]]);
        assert_eq!((builder.documents(), builder.terms(), builder.average_length()), (1, 6, 4.0));
        assert_eq!(written(&builder)["termfreq"]["red"], 1);
    }

    #[test]
    fn a_document_without_terms_does_not_count() {
        let mut builder = DictionaryBuilder::new(Language::English);
        builder.add(title(&["red"]));
        builder.add(title(&["the"]));
        builder.add(title(&[]));
        assert_eq!((builder.documents(), builder.average_length()), (1, 1.0));
    }

    #[test]
    fn the_rarest_terms_make_room() {
        let mut builder = DictionaryBuilder::with_room(Language::Generic, Room { terms: 8, bytes: 1000 });
        let words: Vec<String> = (0..7).map(|number| format!("rare{number}")).collect();
        builder.add([["red", "red"]]);
        builder.add([["red", "blue"]]);
        builder.add([["blue"]]);
        builder.add([words.iter().map(String::as_str)]);
        assert_eq!((builder.terms(), builder.dropped(), builder.missed()), (2, 7, 1));
        assert_eq!(written(&builder)["termfreq"], json!({"blue": 2, "red": 2}));
        assert_eq!(builder.documents(), 4, "documents and lengths stay exact");
        assert_eq!(builder.average_length(), 12.0 / 4.0);
    }

    #[test]
    fn long_terms_make_room_by_their_bytes() {
        let mut builder = DictionaryBuilder::with_room(Language::Generic, Room { terms: 1000, bytes: 100 });
        builder.add([["red"]]);
        builder.add([["red"]]);
        builder.add([[&*"x".repeat(120)]]);
        assert_eq!((builder.terms(), builder.dropped(), builder.bytes), (1, 1, 3));
    }

    #[test]
    fn keys_stand_in_the_order_of_upstream_and_terms_in_their_own() {
        let mut builder = DictionaryBuilder::new(Language::Generic);
        builder.add(title(&["b a c"]));
        let mut bytes = Vec::new();
        builder.write(&["title".to_owned(), "a\"b".to_owned()], &mut bytes).expect("memory takes all");
        let expected = "{\n  \"docs\": 1,\n  \"language\": \"generic\",\n  \"analysis\": 2,\n  \
                        \"fields\": [\"title\",\"a\\\"b\"],\n  \"termfreq\": {\n    \"a\": 1,\n    \"b\": 1,\n    \"c\": 1\n  },\n  \"avgdl\": 3.0\n}\n";
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }
}
