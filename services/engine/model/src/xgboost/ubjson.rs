//! UBJSON as XGBoost writes it: big-endian numbers, lengths marked `L`, arrays typed (`[$d#L…`), counted (`[#L…`) or plain.

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

impl<'a> Reader<'a> {
    fn value(&mut self, nesting: usize) -> Result<Document, ReadError> {
        if nesting > MAX_NESTING {
            return Err(self.malformed("it is nested too deeply"));
        }
        let marker = self.byte()?;
        match marker {
            b'{' => self.object(nesting),
            b'[' => self.array(nesting),
            b'S' => self.text().map(Document::Text),
            b'Z' => Ok(Document::Null),
            b'T' | b'F' => Ok(Document::Bool(marker == b'T')),
            b'd' | b'D' => self.float(marker).map(Document::Float),
            _ => self.int(marker).map(Document::Int),
        }
    }

    fn object(&mut self, nesting: usize) -> Result<Document, ReadError> {
        let mut children = BTreeMap::new();
        while !self.skip(b'}') {
            let key = self.text()?;
            children.insert(key, self.value(nesting + 1)?);
        }
        Ok(Document::Object(children))
    }

    fn array(&mut self, nesting: usize) -> Result<Document, ReadError> {
        if self.skip(b'$') {
            let marker = self.byte()?;
            return self.typed(marker);
        }
        let mut items = Vec::new();
        if self.skip(b'#') {
            for _ in 0..self.length()? {
                items.push(self.value(nesting + 1)?);
            }
        } else {
            while !self.skip(b']') {
                items.push(self.value(nesting + 1)?);
            }
        }
        Ok(Document::List(items))
    }

    fn typed(&mut self, marker: u8) -> Result<Document, ReadError> {
        if !self.skip(b'#') {
            return Err(self.malformed("a typed array has no length"));
        }
        let count = self.length()?;
        // no room is reserved ahead: a length is only believed as far as there are bytes
        match marker {
            b'd' | b'D' => (0..count).map(|_| self.float(marker)).collect::<Result<_, _>>().map(Document::Floats),
            _ => (0..count).map(|_| self.int(marker)).collect::<Result<_, _>>().map(Document::Ints),
        }
    }

    fn float(&mut self, marker: u8) -> Result<f32, ReadError> {
        match marker {
            b'd' => self.take().map(f32::from_be_bytes),
            _ => self.take().map(|bytes| f64::from_be_bytes(bytes) as f32),
        }
    }

    fn int(&mut self, marker: u8) -> Result<i64, ReadError> {
        match marker {
            b'i' | b'C' => self.take().map(|bytes| i64::from(i8::from_be_bytes(bytes))),
            b'U' => self.take().map(|bytes| i64::from(u8::from_be_bytes(bytes))),
            b'I' => self.take().map(|bytes| i64::from(i16::from_be_bytes(bytes))),
            b'l' => self.take().map(|bytes| i64::from(i32::from_be_bytes(bytes))),
            b'L' => self.take().map(i64::from_be_bytes),
            _ => Err(self.malformed("unknown type of value")),
        }
    }

    fn text(&mut self) -> Result<String, ReadError> {
        let length = self.length()?;
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| self.malformed("a text is longer than what is left"))?;
        let text = std::str::from_utf8(&self.bytes[self.at..end]).map_err(|_| self.malformed("a text is not UTF-8"))?;
        self.at = end;
        Ok(text.to_owned())
    }

    fn length(&mut self) -> Result<usize, ReadError> {
        if !self.skip(b'L') {
            return Err(self.malformed("expected a length"));
        }
        let length = self.int(b'L')?;
        usize::try_from(length).map_err(|_| self.malformed("a length is negative"))
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn byte(&mut self) -> Result<u8, ReadError> {
        self.take().map(|[byte]| byte)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let found = self.bytes[self.at..].first_chunk::<N>().copied();
        let found = found.ok_or_else(|| self.malformed("it ends too early"))?;
        self.at += N;
        Ok(found)
    }

    fn malformed(&self, reason: &str) -> ReadError {
        ReadError::malformed(FORMAT, self.at, reason)
    }
}
