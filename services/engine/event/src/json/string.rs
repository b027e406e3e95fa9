//! Strings: borrowed where they have no escapes.

use super::cursor::Cursor;
use super::error::Fault;
use crate::id::MOST_CHARACTERS;
use std::borrow::Cow;

impl<'a> Cursor<'a> {
    /// Reads a string. `expected` is what it is, for messages.
    #[inline(always)]
    pub(super) fn string(&mut self, expected: &str) -> Result<Cow<'a, str>, Fault> {
        if !self.took(b'"') {
            return Err(self.unexpected(expected));
        }
        let start = self.at;
        self.at = plain_end(self.text.as_bytes(), start);
        match self.byte() {
            Some(b'"') => {
                self.at += 1;
                Ok(Cow::Borrowed(&self.text[start..self.at - 1]))
            }
            _ => self.escaped(start).map(Cow::Owned),
        }
    }

    /// Reads a string that names something: not empty.
    #[inline]
    pub(super) fn name(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.peek();
        let start = self.at;
        let name = self.string("a string that is not empty")?;
        if name.is_empty() {
            self.at = start;
            return Err(self.unexpected("a string that is not empty"));
        }
        bounded(name, start)
    }

    /// Reads a string; null and the empty one are none.
    #[inline]
    pub(super) fn optional(&mut self) -> Result<Option<Cow<'a, str>>, Fault> {
        if self.took_word("null") {
            return Ok(None);
        }
        self.peek();
        let start = self.at;
        let text = bounded(self.string("a string or null")?, start)?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// Reads on in a string that began at `start`, from its first escape.
    #[cold]
    fn escaped(&mut self, start: usize) -> Result<String, Fault> {
        let mut text = self.text[start..self.at].to_owned();
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                None => {
                    return Err(Fault::new(self.at, "expected `\"` at the end of a string, found the end".to_owned()));
                }
                Some(_) => {
                    return Err(Fault::new(self.at, "a control character in a string must be escaped".to_owned()));
                }
            }
            let plain = self.at;
            self.at = plain_end(self.text.as_bytes(), plain);
            text.push_str(&self.text[plain..self.at]);
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.at += 2;
        let char = match self.text.as_bytes().get(start + 1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(&char @ (b'"' | b'\\' | b'/')) => char::from(char),
            Some(b'u') => return self.unicode().ok_or_else(|| Fault::new(start, UNICODE.to_owned())),
            _ => return Err(Fault::new(start, r#"expected an escape (\" \\ \/ \b \f \n \r \t \u)"#.to_owned())),
        };
        Ok(char)
    }

    /// Reads the digits after `\u`, and a second escape where the first is half a character.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.text.get(self.at..)?.strip_prefix("\\u")?;
        self.at += 2;
        let second = self.hex().filter(|half| (0xdc00..0xe000).contains(half))?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        self.at += 4;
        u32::from_str_radix(digits?, 16).ok()
    }
}

/// Refuses a name that is longer than names may be.
#[inline]
fn bounded(name: Cow<'_, str>, start: usize) -> Result<Cow<'_, str>, Fault> {
    if name.len() <= MOST_CHARACTERS { Ok(name) } else { counted(name, start) }
}

#[cold]
fn counted(name: Cow<'_, str>, start: usize) -> Result<Cow<'_, str>, Fault> {
    match name.chars().count() {
        found if found > MOST_CHARACTERS => {
            Err(Fault::new(start, format!("expected at most {MOST_CHARACTERS} characters, found {found}")))
        }
        _ => Ok(name),
    }
}

const UNICODE: &str = r"expected \u and four hexadecimal digits, in pairs for characters beyond them";

/// Where the plain part of a string ends: at a quote, a backslash or a control character; or at the end.
///
/// Eight bytes at a time: subtracting `n` from each byte borrows, which sets its top bit, where it was below `n` (and
/// had no top bit before). A borrow may go on into higher bytes, so only the lowest hit counts. The same bit flipped in
/// all bytes brings the quote, 0x22, next to the control characters: one test finds both. See the exact and inexact
/// tests for bytes within a word in H. S. Warren, Hacker's Delight, 6-1.
#[inline]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let word = u64::from_le_bytes(*chunk);
        let (quote_or_control, backslash) = (word ^ (ONES * 0x02), word ^ (ONES * 0x5c));
        let below = quote_or_control.wrapping_sub(ONES * 0x21) | backslash.wrapping_sub(ONES);
        let hits = below & !word & TOPS; // flipping left the top bits as they were
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_part_ends_at_the_first_byte_that_is_special_wherever_it_stands() {
        for special in 0..=255_u8 {
            for at in 0..24 {
                let mut bytes = [[b'a', b'#', b'!', b'[', b']', 0x7f, 0x80, 0xff, b' '].as_slice(); 3].concat();
                bytes[at] = special;
                let ends = special == b'"' || special == b'\\' || special < 0x20;
                assert_eq!(plain_end(&bytes, 0), if ends { at } else { bytes.len() }, "{special:#x} at {at}");
                bytes[at / 2] = b'"';
                assert_eq!(plain_end(&bytes, 0), at / 2, "a quote at {} before {special:#x}", at / 2);
            }
        }
    }
}
