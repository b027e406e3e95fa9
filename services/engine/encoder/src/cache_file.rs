//! Embeddings and scores that were computed elsewhere, in CSV files (RFC 4180, UTF-8, no line of names).

mod records;

use crate::encoder::pair_key;
use hashbrown::{DefaultHashBuilder, HashMap};
use records::Records;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Embeddings by what they are of: `<id or text>,<float>,<float>,...`.
#[derive(Clone, Debug, Default)]
pub struct Vectors {
    places: HashMap<Box<str>, u32, DefaultHashBuilder>,
    values: Vec<f32>, // dim for each place
    dim: usize,
    duplicates: u64,
}

/// Scores of pairs: `<query>,<document>,<score>`.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    scores: HashMap<u128, f32, DefaultHashBuilder>,
    duplicates: u64,
}

/// Why a file was not taken. Lines count from 1; a record that spans several has the number of its first.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheFileError {
    /// The file was not read.
    #[error("failed to read it")]
    Read(#[from] io::Error),
    /// The text is not UTF-8.
    #[error("line {line}: not UTF-8")]
    Encoding {
        /// The line.
        line: u64,
    },
    /// A quote does not end, or stands in the middle of a field.
    #[error("line {line}: {what}")]
    Quote {
        /// The line.
        line: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A record has more or fewer fields than it should.
    #[error("line {line}: {found} fields where {expected} are expected: {}", form(*.expected))]
    Width {
        /// The line.
        line: u64,
        /// Fields, the first one among them.
        expected: usize,
        /// What the line has.
        found: usize,
    },
    /// A field is no number, or not a finite one.
    #[error("line {line}, field {field}: {found:?} is no finite number")]
    Number {
        /// The line.
        line: u64,
        /// The field, from 1.
        field: usize,
        /// What it holds.
        found: String,
    },
    /// More records than can be counted.
    #[error("line {line}: too many records")]
    TooMany {
        /// The line.
        line: u64,
    },
}

/// Fields of a line of scores.
const SCORE_FIELDS: usize = 3;

fn form(fields: usize) -> String {
    format!("a name and {} numbers, or for scores a query, a document and a number", fields.saturating_sub(1))
}

impl Vectors {
    /// Reads a file of embeddings of `dim` components. Of several for one name the last one counts.
    ///
    /// # Errors
    /// With the line's number: another width, a number that is none or not finite, quotes that do not fit.
    pub fn open(path: &Path, dim: usize) -> Result<Self, CacheFileError> {
        Self::read(File::open(path)?, dim)
    }

    /// As [`open`](Self::open), from anywhere.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn read(from: impl Read, dim: usize) -> Result<Self, CacheFileError> {
        let mut vectors = Self { dim, ..Self::default() };
        let mut records = Records::new(BufReader::with_capacity(1 << 16, from));
        while records.next()? {
            records.check_width(dim + 1)?;
            let place =
                u32::try_from(vectors.places.len()).map_err(|_| CacheFileError::TooMany { line: records.line() })?;
            let name = records.text(0)?;
            let start = match vectors.places.get(name) {
                Some(&known) => {
                    vectors.duplicates += 1;
                    known as usize * dim
                }
                None => {
                    vectors.places.insert(name.into(), place);
                    vectors.values.resize(vectors.values.len() + dim, 0.0);
                    place as usize * dim
                }
            };
            for component in 0..dim {
                vectors.values[start + component] = records.number(component + 1)?;
            }
        }
        vectors.values.shrink_to_fit();
        Ok(vectors)
    }

    /// The embedding of an item or a text, of [`dim`](Self::dim) components.
    pub fn get(&self, name: &str) -> Option<&[f32]> {
        let start = *self.places.get(name)? as usize * self.dim;
        Some(&self.values[start..start + self.dim])
    }

    /// All embeddings with what they are of, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[f32])> {
        let vector = |place: u32| &self.values[place as usize * self.dim..][..self.dim];
        self.places.iter().map(move |(name, &place)| (&**name, vector(place)))
    }

    /// The components of each embedding.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many embeddings there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Equal for files that give equal embeddings, on any machine and in any later version: the order of records does not
    /// count.
    pub fn digest(&self) -> u64 {
        let values = |place: u32| &self.values[place as usize * self.dim..][..self.dim];
        let of = |name: &str, place| {
            let values = values(place).iter().map(|value| u64::from(value.to_bits()));
            digest(name.bytes().map(u64::from).chain([END]).chain(values))
        };
        together(self.dim, self.places.iter().map(|(name, &place)| of(name, place)))
    }

    /// How many records named what an earlier one had named.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

impl Scores {
    /// Reads a file of scores. Of several for one pair the last one counts.
    ///
    /// # Errors
    /// With the line's number: another width, a number that is none or not finite, quotes that do not fit.
    pub fn open(path: &Path) -> Result<Self, CacheFileError> {
        Self::read(File::open(path)?)
    }

    /// As [`open`](Self::open), from anywhere.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn read(from: impl Read) -> Result<Self, CacheFileError> {
        let mut scores = Self::default();
        let mut records = Records::new(BufReader::with_capacity(1 << 16, from));
        while records.next()? {
            records.check_width(SCORE_FIELDS)?;
            let key = pair_key(records.text(0)?, records.text(1)?);
            if scores.scores.insert(key, records.number(2)?).is_some() {
                scores.duplicates += 1;
            }
        }
        Ok(scores)
    }

    /// The score of a pair.
    pub fn get(&self, query: &str, document: &str) -> Option<f32> {
        self.scores.get(&pair_key(query, document)).copied()
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// As [`Vectors::digest`].
    pub fn digest(&self) -> u64 {
        let of = |(&pair, score): (&u128, &f32)| digest([pair as u64, (pair >> 64) as u64, u64::from(score.to_bits())]);
        together(1, self.scores.iter().map(of))
    }

    /// How many records were of a pair that an earlier one was of.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

/// Between a name and its numbers: no byte is as large.
const END: u64 = 0x100;

/// FNV-1a, 64 bits, by words; shuffled in the end (the finalizer of MurmurHash3), so that digests may be added.
fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    let fold = |digest: u64, word: u64| (digest ^ word).wrapping_mul(0x0100_0000_01b3);
    let digest = words.into_iter().fold(0xcbf2_9ce4_8422_2325, fold);
    let digest = (digest ^ (digest >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let digest = (digest ^ (digest >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    digest ^ (digest >> 33)
}

/// Of records in any order.
fn together(width: usize, records: impl Iterator<Item = u64>) -> u64 {
    digest([width as u64, records.fold(0, u64::wrapping_add)])
}

#[cfg(test)]
mod tests;
