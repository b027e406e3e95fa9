//! A version as bytes.
//!
//! ```text
//! "RANKWMDL"  format: u32  length: u64  CRC-32 of the content: u32     numbers are little-endian
//! content:    length: u32  metadata as JSON
//!             length: u32  warm-up rankings, as the server wrote them
//!             the booster's or recommender's own bytes
//! ```

use super::{Metadata, Version, VersionId};

const MAGIC: [u8; 8] = *b"RANKWMDL";
/// The format this program writes, and the newest it reads.
const FORMAT: u32 = 1;
/// Magic, format, length and checksum.
const HEADER: usize = 8 + 4 + 8 + 4;

/// Why bytes are no version.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Some other file.
    #[error("not a model version: it does not begin with {:?}", String::from_utf8_lossy(&MAGIC))]
    NotAVersion,
    /// The bytes end early.
    #[error("truncated model version: {found} bytes of {expected}")]
    Truncated {
        /// Bytes there are.
        found: usize,
        /// Bytes there should be, at least.
        expected: u64,
    },
    /// Something follows the version.
    #[error("model version is followed by {0} bytes which do not belong to it")]
    TrailingBytes(u64),
    /// A program of a later format wrote it.
    #[error(
        "model version was written by a newer version of this program: its format is {found}, the newest known {FORMAT}"
    )]
    Newer {
        /// The file's format.
        found: u32,
    },
    /// The content is not what was written.
    #[error("damaged model version: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Of the content found.
        found: u32,
        /// Written in the header.
        expected: u32,
    },
    /// The content is as it was written, and makes no sense.
    #[error("invalid metadata of a model version")]
    Metadata(#[source] serde_json::Error),
}

/// A version could not be written: its metadata or a part is larger than 4 GiB, or is not representable as JSON.
#[derive(Debug, thiserror::Error)]
#[error("model version cannot be encoded: {0}")]
pub struct EncodeError(String);

impl Version {
    /// The version as one file.
    ///
    /// # Errors
    /// When a part is larger than 4 GiB.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let content = content(&self.metadata, &self.warmup, &self.body)?;
        let mut bytes = Vec::with_capacity(HEADER + content.len());
        bytes.extend(MAGIC);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(crc32fast::hash(&content).to_le_bytes());
        bytes.extend(content);
        Ok(bytes)
    }

    /// Reads what [`encode`](Self::encode) of this or an earlier program wrote.
    ///
    /// # Errors
    /// Any other bytes, each with its reason.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (content, checksum) = unwrap(bytes)?;
        let mut parts = Parts { rest: content, size: bytes.len() };
        let metadata: Metadata = serde_json::from_slice(parts.next()?).map_err(DecodeError::Metadata)?;
        let warmup = parts.next()?.to_vec();
        let id = VersionId::new(metadata.created_at, checksum);
        Ok(Self { id, metadata, warmup, body: parts.rest.to_vec() })
    }
}

/// Metadata, warm-up and body, as they follow the header.
pub(super) fn content(metadata: &Metadata, warmup: &[u8], body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let metadata = serde_json::to_vec(metadata).map_err(|error| EncodeError(error.to_string()))?;
    let mut content = Vec::with_capacity(8 + metadata.len() + warmup.len() + body.len());
    for part in [metadata.as_slice(), warmup] {
        let length = u32::try_from(part.len()).map_err(|_| EncodeError("a part is over 4 GiB".to_owned()))?;
        content.extend(length.to_le_bytes());
        content.extend(part);
    }
    content.extend(body);
    Ok(content)
}

/// Checks the header, and returns the content and its checksum.
fn unwrap(bytes: &[u8]) -> Result<(&[u8], u32), DecodeError> {
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
        return Err(DecodeError::NotAVersion);
    }
    let truncated = |expected| DecodeError::Truncated { found: bytes.len(), expected };
    let (header, content) = bytes.split_first_chunk::<HEADER>().ok_or_else(|| truncated(HEADER as u64))?;
    let [_, _, _, _, _, _, _, _, f0, f1, f2, f3, l0, l1, l2, l3, l4, l5, l6, l7, c0, c1, c2, c3] = *header;
    let found = u32::from_le_bytes([f0, f1, f2, f3]);
    if found > FORMAT {
        return Err(DecodeError::Newer { found });
    }
    let length = u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
    let have = content.len() as u64;
    if have < length {
        return Err(truncated(length.saturating_add(HEADER as u64)));
    }
    if have > length {
        return Err(DecodeError::TrailingBytes(have - length));
    }
    let (found, expected) = (crc32fast::hash(content), u32::from_le_bytes([c0, c1, c2, c3]));
    if found != expected {
        return Err(DecodeError::Checksum { found, expected });
    }
    Ok((content, found))
}

/// Parts of a content, each after its length.
struct Parts<'a> {
    rest: &'a [u8],
    size: usize,
}

impl<'a> Parts<'a> {
    fn next(&mut self) -> Result<&'a [u8], DecodeError> {
        let truncated = || DecodeError::Truncated { found: self.size, expected: self.size as u64 + 1 };
        let (length, rest) = self.rest.split_first_chunk().ok_or_else(truncated)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (part, rest) = rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(part)
    }
}
