//! How many documents of a catalog have a term: what BM25 weighs terms by.

mod build;
mod read;

pub use build::DictionaryBuilder;

use crate::{Bag, Bm25Query, Language};
use std::io;
use std::path::{Path, PathBuf};

/// The term frequencies of a catalog.
///
/// It is what the `termfreq` command writes, of this program or of upstream: how many documents there are, how long they are on
/// average, and how many of them have each term. Memory takes eight bytes for each term.
#[derive(Debug, Clone, PartialEq)]
pub struct Dictionary {
    language: Language,
    fields: Vec<String>,
    documents: u64,
    average: f64,
    /// Ids of terms with how many documents have them, in the order of ids.
    seen: Vec<(u32, u32)>,
}

/// Why a dictionary cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryError {
    /// The file cannot be opened or read.
    #[error("cannot read the term-frequency dictionary {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{} is no term-frequency dictionary: {problem}; 'rankwright termfreq' writes one", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place in the file where there is one.
        problem: String,
    },
    /// Its terms are those of another version of this program, and most probably not those of texts.
    #[error(
        "{} has terms of analysis {found} of {language}, and texts get those of analysis {wanted}: \
         run 'rankwright termfreq' again", path.display()
    )]
    Analysis {
        /// The file.
        path: PathBuf,
        /// The language of both.
        language: Language,
        /// That of the dictionary.
        found: u32,
        /// That of this version.
        wanted: u32,
    },
}

impl Dictionary {
    /// Reads a dictionary: JSON, plain or compressed with gzip.
    ///
    /// # Errors
    /// The file cannot be read, is no dictionary, or has the terms of another version's analysis.
    pub fn open(path: &Path) -> Result<Self, DictionaryError> {
        read::file(path)
    }

    /// Whose rules its terms were analysed by.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The item fields that its terms come from.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// How many documents were counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// How many terms a text has on average.
    pub fn average_length(&self) -> f64 {
        self.average
    }

    /// How many distinct terms it knows.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether it knows no term.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Equal for dictionaries that give equal scores, on any machine and in any later version: the order of terms in the file
    /// and the names of its fields do not count.
    pub fn digest(&self) -> u64 {
        let head = [self.documents.to_le_bytes(), self.average.to_bits().to_le_bytes()];
        let terms = self.seen.iter().map(|&(id, seen)| (u64::from(id) << 32 | u64::from(seen)).to_le_bytes());
        let bytes = self.language.code().bytes().chain([0]).chain(head.into_iter().chain(terms).flatten());
        // FNV-1a, 64 bits
        bytes.fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// Prepares the terms of a query, analysed by the rules of the same language, to score documents.
    pub fn query(&self, query: &Bag) -> Bm25Query {
        Bm25Query::new(query, self.documents, self.average, |id| u64::from(self.seen(id)))
    }

    /// How many documents have the term of this id.
    fn seen(&self, id: u32) -> u32 {
        self.seen.binary_search_by_key(&id, |&(id, _)| id).map_or(0, |place| self.seen[place].1)
    }
}
