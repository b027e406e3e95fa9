//! Values that the decoder does not use.

use super::cursor::Cursor;
use super::error::Fault;

impl Cursor<'_> {
    /// Steps over a value of any kind; it must be JSON. Nesting costs a byte a level and no stack.
    pub(super) fn skip(&mut self) -> Result<(), Fault> {
        let mut ends = Vec::new();
        loop {
            if let Some(end) = self.enter()? {
                ends.push(end);
                continue;
            }
            loop {
                let Some(&end) = ends.last() else { return Ok(()) };
                if self.more(end)? {
                    if end == b'}' {
                        self.key()?;
                    }
                    break;
                }
                ends.pop();
            }
        }
    }

    /// Steps over a scalar, or an empty array or object; of others, up to the first value within: how they end.
    fn enter(&mut self) -> Result<Option<u8>, Fault> {
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                if self.took(b'}') { Ok(None) } else { self.key().map(|_| Some(b'}')) }
            }
            Some(b'[') => {
                self.at += 1;
                Ok((!self.took(b']')).then_some(b']'))
            }
            Some(b'"') => self.string("a string").map(|_| None),
            Some(b'-' | b'0'..=b'9') => self.number_text().map(|_| None),
            _ if self.took_word("null") || self.took_word("true") || self.took_word("false") => Ok(None),
            None => Err(Fault::new(self.at, "expected a value, found the end".to_owned())),
            Some(_) => Err(Fault::new(self.at, "expected a value".to_owned())),
        }
    }
}
