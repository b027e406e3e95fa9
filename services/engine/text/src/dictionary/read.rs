//! A dictionary from its file, term by term.

use super::{Dictionary, DictionaryError};
use crate::{Language, term};
use flate2::read::MultiGzDecoder;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// What a file of gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes that are read at once.
const ROOM: usize = 64 << 10;

pub(super) fn file(path: &Path) -> Result<Dictionary, DictionaryError> {
    let unreadable = |source| DictionaryError::Read { path: path.to_owned(), source };
    let invalid = |problem| DictionaryError::Invalid { path: path.to_owned(), problem };
    let mut file = BufReader::with_capacity(ROOM, File::open(path).map_err(unreadable)?);
    let is_gzip = file.fill_buf().map_err(unreadable)?.starts_with(&GZIP);
    let read =
        if is_gzip { dictionary(BufReader::with_capacity(ROOM, MultiGzDecoder::new(file))) } else { dictionary(file) };
    let (dictionary, analysis) = read.map_err(|error| match error.is_io() {
        true if is_gzip => invalid(format!("it is damaged or was cut short ({error})")),
        true => unreadable(error.into()),
        false if error.is_eof() => invalid(format!("it is empty or was cut short ({error})")),
        false => invalid(error.to_string()),
    })?;
    let (language, wanted) = (dictionary.language, dictionary.language.analysis());
    match analysis {
        Some(found) if found != wanted => {
            Err(DictionaryError::Analysis { path: path.to_owned(), language, found, wanted })
        }
        _ => Ok(dictionary), // upstream's files have no number
    }
}

fn dictionary(from: impl Read) -> serde_json::Result<Numbered> {
    let mut json = serde_json::Deserializer::from_reader(from);
    let dictionary = json.deserialize_map(Whole)?;
    json.end()?;
    Ok(dictionary)
}

/// A dictionary, with the number of the analysis that its terms come from.
type Numbered = (Dictionary, Option<u32>);

/// The file's object.
struct Whole;

/// The object of terms.
struct Terms;

/// A key of it, which becomes an id without a copy.
struct Term;

impl<'de> Visitor<'de> for Whole {
    type Value = Numbered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with docs, language, fields, termfreq and avgdl")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Numbered, A::Error> {
        let (mut documents, mut language, mut fields, mut seen, mut average) = (None, None, None, None, None);
        let (mut analysis, mut keys) = (None, HashSet::new());
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "docs" => documents = Some(map.next_value::<u64>()?),
                "language" => language = Some(map.next_value::<String>()?),
                "analysis" => analysis = Some(map.next_value::<u32>()?),
                "fields" => fields = Some(map.next_value::<Vec<String>>()?),
                "termfreq" => seen = Some(map.next_value_seed(Terms)?),
                "avgdl" => average = Some(map.next_value::<f64>()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if !keys.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("`{key}` stands there twice")));
            }
        }
        let missing = |key: &str| A::Error::custom(format_args!("`{key}` is missing"));
        let documents = documents.ok_or_else(|| missing("docs"))?;
        let language = language.ok_or_else(|| missing("language"))?;
        let language: Language = language.parse().map_err(A::Error::custom)?;
        let fields = fields.ok_or_else(|| missing("fields"))?;
        let (seen, most) = seen.ok_or_else(|| missing("termfreq"))?;
        let average = average.ok_or_else(|| missing("avgdl"))?;
        if documents == 0 {
            return Err(A::Error::custom("`docs` is 0"));
        }
        if most > documents {
            return Err(A::Error::custom(format_args!("`docs` is {documents}, but a term is in {most} of them")));
        }
        if !(average.is_finite() && average > 0.0) {
            return Err(A::Error::custom(format_args!("`avgdl` is {average}; it has to be above 0")));
        }
        Ok((Dictionary { language, fields, documents, average, seen }, analysis))
    }
}

impl<'de> DeserializeSeed<'de> for Terms {
    /// The terms, and the largest number among them.
    type Value = (Vec<(u32, u32)>, u64);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Terms {
    type Value = (Vec<(u32, u32)>, u64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of terms with numbers of documents")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut seen, mut most) = (Vec::new(), 0);
        while let Some(id) = map.next_key_seed(Term)? {
            let documents = map.next_value::<u32>()?;
            most = most.max(u64::from(documents));
            seen.push((id, documents));
        }
        seen.sort_unstable();
        // terms that share an id are one
        seen.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        seen.shrink_to_fit();
        Ok((seen, most))
    }
}

impl<'de> DeserializeSeed<'de> for Term {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Term {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a term")
    }

    fn visit_str<E: Error>(self, term: &str) -> Result<u32, E> {
        Ok(term::id(term))
    }
}
