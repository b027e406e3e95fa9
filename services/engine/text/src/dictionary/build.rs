//! Counting the terms of a catalog, in bounded memory.

use crate::{Analyzer, Language};
use hashbrown::HashMap;
use std::io::{self, Write};

/// So many distinct terms are counted at most,
const MOST_TERMS: usize = 5_000_000;
/// of so many bytes of text together.
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

    /// So many documents may be missing in the count of a term.
    pub fn missed(&self) -> u32 {
        self.missed
    }

    /// Writes the dictionary in upstream's form: JSON, a term a line, in the order of their bytes.
    ///
    /// # Errors
    /// As of the writer.
    pub fn write(&self, fields: &[String], mut to: impl Write) -> io::Result<()> {
        let mut terms: Vec<_> = self.terms.iter().map(|(term, counted)| (&**term, counted.documents)).collect();
        terms.sort_unstable();
        let (documents, language) = (self.documents, self.analyzer.language());
        write!(to, "{{\n  \"docs\": {documents},\n  \"language\": \"{language}\",\n  \"fields\": ")?;
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
