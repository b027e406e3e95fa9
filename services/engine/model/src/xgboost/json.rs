//! JSON as XGBoost writes it: fractions are rounded to `f32` once (and not by way of `f64`), and `NaN` and `Infinity`
//! are numbers.

use std::collections::BTreeMap;

use super::FORMAT;
use super::document::{Document, MAX_NESTING};
use crate::error::ReadError;

/// Parses a document; what follows it is ignored, as XGBoost does.
pub(super) fn parse(bytes: &[u8]) -> Result<Document, ReadError> {
    Reader { bytes, at: 0 }.value(0)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, nesting: usize) -> Result<Document, ReadError> {
        if nesting > MAX_NESTING {
            return Err(self.malformed("it is nested too deeply"));
        }
        self.skip_space();
        match self.bytes.get(self.at) {
            Some(b'{') => self.object(nesting),
            Some(b'[') => self.list(nesting),
            Some(b'"') => self.text().map(Document::Text),
            Some(_) => self.word(),
            None => Err(self.malformed("it ends too early")),
        }
    }

    fn object(&mut self, nesting: usize) -> Result<Document, ReadError> {
        let mut children = BTreeMap::new();
        self.sequence(b'}', |reader| {
            reader.skip_space();
            let key = reader.text()?;
            reader.expect(b':')?;
            children.insert(key, reader.value(nesting + 1)?);
            Ok(())
        })?;
        Ok(Document::Object(children))
    }

    fn list(&mut self, nesting: usize) -> Result<Document, ReadError> {
        let mut items = Vec::new();
        self.sequence(b']', |reader| {
            items.push(reader.value(nesting + 1)?);
            Ok(())
        })?;
        Ok(Document::List(items))
    }

    /// What stands between an opening sign, where the reader is, and the closing one, parted by commas.
    fn sequence(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.at += 1;
        if self.skip(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.skip(close) {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Names in a model are plain; of escapes only what a feature's name may hold is unescaped, the rest is refused.
    fn text(&mut self) -> Result<String, ReadError> {
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            let byte = self.next()?;
            match byte {
                b'"' => break,
                b'\\' => text.extend(self.escape()?),
                _ => text.push(byte),
            }
        }
        String::from_utf8(text).map_err(|_| self.malformed("a text is not UTF-8"))
    }

    fn escape(&mut self) -> Result<Vec<u8>, ReadError> {
        match self.next()? {
            byte @ (b'"' | b'\\' | b'/') => Ok(vec![byte]),
            b'n' => Ok(vec![b'\n']),
            b'r' => Ok(vec![b'\r']),
            b't' => Ok(vec![b'\t']),
            b'b' => Ok(vec![8]),
            b'f' => Ok(vec![12]),
            b'u' => self.code_point().map(|found| found.to_string().into_bytes()),
            _ => Err(self.malformed("unknown escape")),
        }
    }

    fn code_point(&mut self) -> Result<char, ReadError> {
        let digits = self.bytes.get(self.at..self.at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let found = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        let found = found.ok_or_else(|| self.malformed("unknown escape"))?;
        self.at += 4;
        Ok(found)
    }

    /// A number or a literal: all up to the next sign.
    fn word(&mut self) -> Result<Document, ReadError> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| b",]} \t\r\n:".contains(byte)).unwrap_or(rest.len());
        let word = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        let found = match word {
            "true" | "false" => Some(Document::Bool(word == "true")),
            "null" => Some(Document::Null),
            _ => number(word),
        };
        let found = found.ok_or_else(|| self.malformed("expected a value"))?;
        self.at += length;
        Ok(found)
    }

    fn expect(&mut self, byte: u8) -> Result<(), ReadError> {
        match self.skip(byte) {
            true => Ok(()),
            false => Err(self.malformed(&format!("expected {:?}", char::from(byte)))),
        }
    }

    /// Passes over a sign and the space before it, if it is the next one.
    fn skip(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Result<u8, ReadError> {
        let found = self.bytes.get(self.at).copied().ok_or_else(|| self.malformed("it ends too early"))?;
        self.at += 1;
        Ok(found)
    }

    fn malformed(&self, reason: &str) -> ReadError {
        ReadError::malformed(FORMAT, self.at, reason)
    }
}

fn number(word: &str) -> Option<Document> {
    word.parse().map(Document::Int).or_else(|_| word.parse().map(Document::Float)).ok()
}
