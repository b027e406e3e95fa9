//! The frame of an artifact: what it is, in which format, how long, and whether it is whole.
//!
//! ```text
//! magic: 8 bytes  format: u32  length: u64  CRC-32 of the content: u32     numbers are little-endian
//! content: postcard
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The format this program writes, and the newest it reads.
const FORMAT: u32 = 1;
/// Magic, format, length and checksum.
const HEADER: usize = 8 + 4 + 8 + 4;

/// Why bytes are no artifact.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// Some other file.
    #[error("not an artifact of this kind: it does not begin with {0:?}")]
    Other(&'static str),
    /// The bytes end early, or others follow.
    #[error("damaged artifact: {found} bytes, expected {expected}")]
    Length {
        /// Bytes there are.
        found: u64,
        /// Bytes there should be; at least, where the header is cut.
        expected: u64,
    },
    /// A program of another format wrote it.
    #[error("artifact has format {found}, the newest known is {FORMAT}")]
    Format {
        /// The artifact's format.
        found: u32,
    },
    /// The content is not what was written.
    #[error("damaged artifact: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Of the content found.
        found: u32,
        /// Written in the header.
        expected: u32,
    },
    /// The content is as it was written, and makes no sense.
    #[error("invalid content of an artifact: {0}")]
    Invalid(String),
}

/// A content in its frame.
pub(crate) fn encode(magic: &'static str, content: &impl Serialize) -> Vec<u8> {
    let mut bytes =
        postcard::to_extend(content, vec![0; HEADER]).expect("a vector takes any content, numbers and texts");
    let (header, content) = bytes.split_at_mut(HEADER);
    header[..8].copy_from_slice(magic.as_bytes());
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[12..20].copy_from_slice(&(content.len() as u64).to_le_bytes());
    header[20..].copy_from_slice(&crc32fast::hash(content).to_le_bytes());
    bytes
}

/// The content of a frame that is whole.
pub(crate) fn decode<T: DeserializeOwned>(magic: &'static str, bytes: &[u8]) -> Result<T, DecodeError> {
    let (found, cut) = bytes.split_at(bytes.len().min(magic.len()));
    if found != &magic.as_bytes()[..found.len()] {
        return Err(DecodeError::Other(magic));
    }
    let wrong_length = |expected| DecodeError::Length { found: bytes.len() as u64, expected };
    let early = || wrong_length(HEADER as u64);
    let (format, rest) = cut.split_first_chunk().ok_or_else(early)?;
    let (length, rest) = rest.split_first_chunk().ok_or_else(early)?;
    let (checksum, content) = rest.split_first_chunk().ok_or_else(early)?;
    let (format, length) = (u32::from_le_bytes(*format), u64::from_le_bytes(*length));
    if format != FORMAT {
        return Err(DecodeError::Format { found: format });
    }
    if length != content.len() as u64 {
        return Err(wrong_length(length.saturating_add(HEADER as u64)));
    }
    let (found, expected) = (crc32fast::hash(content), u32::from_le_bytes(*checksum));
    if found != expected {
        return Err(DecodeError::Checksum { found, expected });
    }
    match postcard::take_from_bytes(content) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(DecodeError::Invalid(format!("{} bytes are left", rest.len()))),
        Err(error) => Err(DecodeError::Invalid(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &str = "RANKWTST";

    #[test]
    fn a_content_comes_back_as_it_was() {
        let content = (vec![1.5_f32, -2.0], "a".to_owned());
        assert_eq!(decode(MAGIC, &encode(MAGIC, &content)), Ok(content));
    }

    #[test]
    fn each_damage_is_named() {
        let whole = encode(MAGIC, &7_u64);
        let changed = |place: usize| {
            let mut bytes = whole.clone();
            bytes[place] ^= 2;
            decode::<u64>(MAGIC, &bytes)
        };
        assert_eq!(changed(3), Err(DecodeError::Other(MAGIC)));
        assert_eq!(changed(8), Err(DecodeError::Format { found: 3 }));
        assert_eq!(changed(12), Err(DecodeError::Length { found: 25, expected: 27 }));
        assert!(matches!(changed(24), Err(DecodeError::Checksum { .. })));
        assert_eq!(decode::<u64>(MAGIC, &whole[..24]), Err(DecodeError::Length { found: 24, expected: 25 }));
        assert_eq!(decode::<u64>(MAGIC, &whole[..9]), Err(DecodeError::Length { found: 9, expected: 24 }));
        assert!(matches!(decode::<(u64, u64)>(MAGIC, &whole), Err(DecodeError::Invalid(_))));
        let longer = encode(MAGIC, &(7_u64, 8_u64));
        assert_eq!(decode::<u64>(MAGIC, &longer), Err(DecodeError::Invalid("1 bytes are left".to_owned())));
    }
}
