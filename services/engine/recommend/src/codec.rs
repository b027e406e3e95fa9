//! Parts of artifacts as bytes: a magic word, a count, names, numbers. A version's file has the checksum.

use compact_str::CompactString;

/// Why bytes are no artifact of this kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("these are no {what}: {problem}")]
pub struct DecodeError {
    what: &'static str,
    problem: &'static str,
}

/// What is left to read.
pub(crate) struct Rest<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Rest<'a> {
    pub(crate) fn error(&self, problem: &'static str) -> DecodeError {
        DecodeError { what: self.what, problem }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(|| self.error("they end early"))?;
        self.bytes = rest;
        Ok(taken)
    }
}

/// Begins an artifact.
pub(crate) fn begin(magic: [u8; 4], count: usize) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    put(&mut bytes, count);
    bytes
}

/// Appends a count.
pub(crate) fn put(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend((count as u32).to_le_bytes()); // what is counted fits, see `Full`
}

/// Appends names.
pub(crate) fn put_names<'n>(bytes: &mut Vec<u8>, names: impl Iterator<Item = &'n str>) {
    for name in names {
        put(bytes, name.len());
        bytes.extend(name.as_bytes());
    }
}

/// Opens an artifact: what follows, and its count.
pub(crate) fn open<'a>(bytes: &'a [u8], magic: [u8; 4], what: &'static str) -> Result<(Rest<'a>, usize), DecodeError> {
    let mut rest = Rest { bytes, what };
    if rest.take(magic.len())? != magic {
        return Err(rest.error("they do not begin as such"));
    }
    let count = count(&mut rest)?;
    Ok((rest, count))
}

/// A count.
pub(crate) fn count(rest: &mut Rest<'_>) -> Result<usize, DecodeError> {
    let bytes = rest.take(4)?;
    Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

/// So many names.
pub(crate) fn names(rest: &mut Rest<'_>, count: usize) -> Result<Vec<CompactString>, DecodeError> {
    let mut names = Vec::new(); // grows with what is there, whatever the count says
    for _ in 0..count {
        let length = self::count(rest)?;
        let name = rest.take(length)?;
        names.push(CompactString::from_utf8(name).map_err(|_| rest.error("a name is no text"))?);
    }
    Ok(names)
}

/// So many numbers.
pub(crate) fn numbers(rest: &mut Rest<'_>, count: usize) -> Result<Vec<f32>, DecodeError> {
    let bytes = rest.take(count.checked_mul(4).ok_or_else(|| rest.error("they end early"))?)?;
    let (numbers, _) = bytes.as_chunks::<4>();
    Ok(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

/// Nothing may follow.
pub(crate) fn end(rest: Rest<'_>) -> Result<(), DecodeError> {
    if rest.bytes.is_empty() { Ok(()) } else { Err(rest.error("something follows them")) }
}
