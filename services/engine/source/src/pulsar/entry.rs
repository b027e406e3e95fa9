//! From an entry of a topic to the messages in it.

use prost::Message;
use pulsar::message::Metadata;
use pulsar::message::proto::{CompressionType, SingleMessageMetadata};
use std::borrow::Cow;
use std::io::Read;

/// An entry holds less than this, unpacked; default of brokers: 5 MiB.
const LARGEST: usize = 128 << 20;

/// The messages of an entry, each with its number; in words why they cannot be read.
pub(super) fn messages(metadata: &Metadata, data: &[u8]) -> Result<Vec<(usize, Vec<u8>)>, String> {
    if !metadata.encryption_keys.is_empty() {
        return Err("the message is encrypted, and there is no key to read it".to_owned());
    }
    if metadata.num_chunks_from_msg.is_some_and(|chunks| chunks > 1) {
        return Err("the message is cut into chunks, which are not put together here".to_owned());
    }
    let data = unpacked(metadata, data)?;
    match metadata.num_messages_in_batch {
        Some(count) => batch(usize::try_from(count).unwrap_or(0), &data),
        None => Ok(vec![(0, data.into_owned())]),
    }
}

fn batch(count: usize, mut rest: &[u8]) -> Result<Vec<(usize, Vec<u8>)>, String> {
    let mut messages = Vec::new();
    for number in 0..count {
        let length = take(&mut rest, 4)?.try_into().map_or(0, u32::from_be_bytes);
        let metadata = SingleMessageMetadata::decode(take(&mut rest, length as usize)?);
        let metadata = metadata.map_err(|error| format!("the batch is damaged: {error}"))?;
        let payload = take(&mut rest, usize::try_from(metadata.payload_size).unwrap_or(usize::MAX))?;
        if !metadata.compacted_out() {
            messages.push((number, payload.to_vec()));
        }
    }
    Ok(messages)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, left) = rest.split_at_checked(length).ok_or("the batch is damaged: it ends too early")?;
    *rest = left;
    Ok(taken)
}

fn unpacked<'a>(metadata: &Metadata, data: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
    let size = metadata.uncompressed_size() as usize;
    if size > LARGEST {
        return Err(format!("the message claims to hold {size} bytes"));
    }
    let unpacked = match metadata.compression() {
        CompressionType::None => return Ok(Cow::Borrowed(data)),
        CompressionType::Lz4 => lz4_flex::block::decompress(data, size).map_err(|error| error.to_string()),
        CompressionType::Zlib => all(flate2::read::ZlibDecoder::new(data), size),
        CompressionType::Zstd => {
            zstd::stream::Decoder::new(data).map_err(|error| error.to_string()).and_then(|decoder| all(decoder, size))
        }
        CompressionType::Snappy => snappy(data),
    };
    unpacked.map(Cow::Owned).map_err(|error| format!("the message cannot be unpacked: {error}"))
}

fn snappy(data: &[u8]) -> Result<Vec<u8>, String> {
    let size = snap::raw::decompress_len(data).map_err(|error| error.to_string())?;
    if size > LARGEST {
        return Err(format!("it claims to hold {size} bytes"));
    }
    snap::raw::Decoder::new().decompress_vec(data).map_err(|error| error.to_string())
}

fn all(packed: impl Read, size: usize) -> Result<Vec<u8>, String> {
    let mut unpacked = Vec::with_capacity(size);
    packed.take(size as u64).read_to_end(&mut unpacked).map_err(|error| error.to_string())?;
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(kind: CompressionType, data: &[u8], size: usize) -> Result<Vec<(usize, Vec<u8>)>, String> {
        let uncompressed_size = u32::try_from(size).ok();
        messages(&Metadata { compression: Some(kind.into()), uncompressed_size, ..Metadata::default() }, data)
    }

    #[test]
    fn every_compression_is_unpacked() {
        let text = b"some text, some text, some text";
        let expected = Ok(vec![(0, text.to_vec())]);
        assert_eq!(packed(CompressionType::None, text, text.len()), expected);
        assert_eq!(packed(CompressionType::Lz4, &lz4_flex::block::compress(text), text.len()), expected);
        let zlib = flate2::read::ZlibEncoder::new(&text[..], flate2::Compression::fast());
        assert_eq!(packed(CompressionType::Zlib, &all(zlib, 1000).expect("packs"), text.len()), expected);
        assert_eq!(
            packed(CompressionType::Zstd, &zstd::encode_all(&text[..], 1).expect("packs"), text.len()),
            expected
        );
        let snappy = snap::raw::Encoder::new().compress_vec(text).expect("packs");
        assert_eq!(packed(CompressionType::Snappy, &snappy, text.len()), expected);
    }

    #[test]
    fn what_is_damaged_is_said_so() {
        let batch = Metadata { num_messages_in_batch: Some(2), ..Metadata::default() };
        assert!(messages(&batch, b"\0\0").is_err());
        assert!(messages(&batch, b"\xff\xff\xff\xff").is_err());
        assert!(packed(CompressionType::Zstd, b"no zstd", 10).is_err());
        assert!(packed(CompressionType::Lz4, b"no lz4", LARGEST + 1).is_err());
        assert!(packed(CompressionType::Snappy, b"\xff\xff\xff\xff\x0f", 10).is_err());
    }
}
