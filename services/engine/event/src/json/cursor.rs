//! A place in a JSON text, and the steps forward from it.

use super::error::{DecodeError, Fault, Within};
use std::borrow::Cow;

/// Most bytes of the input that a message quotes.
const LONGEST_QUOTE: usize = 60;

/// A JSON text and how far it is read.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    /// Byte that is read next; between two characters.
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    /// At the start of a text, which must be UTF-8.
    pub(super) fn new(text: &'a [u8]) -> Result<Self, DecodeError> {
        let utf8 = |error: std::str::Utf8Error| Fault::new(error.valid_up_to(), "expected UTF-8".to_owned());
        let text = std::str::from_utf8(text).map_err(|error| utf8(error).seen_in(text))?;
        Ok(Self { text, at: 0 })
    }

    /// The byte here; `None` at the end.
    #[inline(always)]
    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips blanks and looks at what follows; `None` at the end.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.byte() {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Steps over `token` if it is what follows.
    #[inline(always)]
    pub(super) fn took(&mut self, token: u8) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    /// Steps over a word such as `null` if it is what follows.
    #[inline]
    pub(super) fn took_word(&mut self, word: &str) -> bool {
        self.peek();
        let found = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Reads an object; `entry` reads the value of each key. `expected` is what the object is, for messages.
    #[inline]
    pub(super) fn object<F>(&mut self, expected: &'static str, mut entry: F) -> Result<(), Fault>
    where
        F: FnMut(&mut Self, &str) -> Result<(), Fault>,
    {
        if !self.took(b'{') {
            return Err(self.unexpected(expected));
        }
        if self.took(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            entry(self, &key)?;
            if !self.more(b'}')? {
                return Ok(());
            }
        }
    }

    /// Reads an array; `element` reads each element. `expected` is what the array is, for messages.
    #[inline]
    pub(super) fn array<T, F>(&mut self, expected: &'static str, mut element: F) -> Result<Vec<T>, Fault>
    where
        F: FnMut(&mut Self) -> Result<T, Fault>,
    {
        if !self.took(b'[') {
            return Err(self.unexpected(expected));
        }
        if self.took(b']') {
            return Ok(Vec::new());
        }
        let mut elements = Vec::with_capacity(1); // an item of a ranking seldom has more than one field
        loop {
            elements.push(element(self).at_index(elements.len())?);
            if !self.more(b']').at_index(elements.len())? {
                return Ok(elements);
            }
        }
    }

    /// Reads a key and the colon after it.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Result<Cow<'a, str>, Fault> {
        let key = self.string("a key: a string")?;
        if self.took(b':') { Ok(key) } else { Err(self.unexpected("`:` after the key")) }
    }

    /// After a value: whether another one follows, or else what it is in ends here.
    #[inline(always)]
    pub(super) fn more(&mut self, end: u8) -> Result<bool, Fault> {
        let next = self.peek();
        if next != Some(b',') && next != Some(end) {
            return Err(self.unexpected(if end == b']' { "`,` or `]`" } else { "`,` or `}`" }));
        }
        self.at += 1;
        Ok(next == Some(b','))
    }

    /// What follows is not what was expected.
    #[cold]
    pub(super) fn unexpected(&mut self, expected: &str) -> Fault {
        let found = self.found();
        Fault::new(self.at, format!("expected {expected}, found {found}"))
    }

    /// What follows, in words.
    fn found(&mut self) -> String {
        let rest = match self.peek() {
            None => return "the end".to_owned(),
            Some(b'{') => return "an object".to_owned(),
            Some(b'[') => return "an array".to_owned(),
            Some(_) => &self.text[self.at..],
        };
        let start = self.at;
        let whole = self.skip().map(|()| &self.text[start..self.at]);
        self.at = start;
        match whole {
            Ok(value) if value.len() <= LONGEST_QUOTE => value.to_owned(),
            Ok(value) => format!("{}...", &value[..value.floor_char_boundary(LONGEST_QUOTE)]),
            Err(_) => rest.chars().next().map_or_else(String::new, |char| format!("`{}`", char.escape_debug())),
        }
    }
}
