//! Bodies that come compressed.

use crate::http::failure::{Code, Failure};
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Zstd,
}

/// Why a body cannot be decoded.
#[derive(Debug)]
pub(super) enum Undecodable {
    TooLarge,
    Broken(io::Error),
}

/// The largest window that RFC 9659 allows a sender of zstd: 8 MiB. Each decoder may hold one.
const ZSTD_WINDOW_LOG: u32 = 23;

impl Encoding {
    /// What the headers say; nothing where the body is as it is.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Failure> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).into_iter();
        let Some(value) = values.next() else { return Ok(None) };
        let name = value.as_bytes().trim_ascii().to_ascii_lowercase();
        match (&*name, values.next()) {
            (b"identity" | b"", None) => Ok(None),
            (b"gzip" | b"x-gzip", None) => Ok(Some(Self::Gzip)),
            (b"zstd", None) => Ok(Some(Self::Zstd)),
            _ => Err(Failure::new(
                Code::UnsupportedEncoding,
                "Content-Encoding is none of gzip, zstd and identity, or several",
            )),
        }
    }

    /// The decoded body, at most `most` bytes.
    pub(super) fn decode(self, body: &[u8], most: usize) -> Result<Bytes, Undecodable> {
        let decoded = match self {
            Self::Gzip => bounded(MultiGzDecoder::new(body), most),
            Self::Zstd => zstd_decoder(body).and_then(|decoder| bounded(decoder, most)),
        };
        decoded.map_err(Undecodable::Broken)?.ok_or(Undecodable::TooLarge)
    }
}

fn zstd_decoder(body: &[u8]) -> io::Result<impl Read> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(decoder)
}

/// All that comes, unless it is more than `most` bytes.
fn bounded(decoder: impl Read, most: usize) -> io::Result<Option<Bytes>> {
    let mut bytes = Vec::new();
    decoder.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most).then(|| bytes.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn encoding(values: &[&'static str]) -> Result<Option<Encoding>, Failure> {
        let name = header::CONTENT_ENCODING;
        Encoding::of(&values.iter().map(|value| (name.clone(), value.parse().unwrap())).collect())
    }

    #[test]
    fn one_known_encoding_is_decoded_and_others_are_refused() {
        assert_eq!([&[][..], &["identity"], &[""]].map(|values| encoding(values).unwrap()), [None; 3]);
        assert_eq!(encoding(&["GZip"]).unwrap(), Some(Encoding::Gzip));
        assert_eq!(encoding(&["zstd"]).unwrap(), Some(Encoding::Zstd));
        for others in [&["br"][..], &["deflate"], &["gzip, gzip"], &["gzip", "zstd"], &["identity", "gzip"]] {
            assert!(encoding(others).is_err(), "{others:?}");
        }
    }

    #[test]
    fn a_body_is_decoded_up_to_the_limit() {
        let text = b"[]".repeat(500);
        for (encoding, body) in [(Encoding::Gzip, gzip(&text)), (Encoding::Zstd, zstd::encode_all(&*text, 3).unwrap())]
        {
            assert_eq!(encoding.decode(&body, text.len()).unwrap(), text);
            assert!(matches!(encoding.decode(&body, text.len() - 1), Err(Undecodable::TooLarge)));
            for broken in [&body[..body.len() - 1], &body[1..], b"[]"] {
                assert!(matches!(encoding.decode(broken, 1 << 20), Err(Undecodable::Broken(_))), "{encoding:?}");
            }
        }
    }

    #[test]
    fn members_of_gzip_that_follow_each_other_are_one_body() {
        assert_eq!(Encoding::Gzip.decode(&[gzip(b"{"), gzip(b"}")].concat(), 9).unwrap(), "{}");
    }

    #[test]
    fn a_window_that_would_take_the_memory_is_refused() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(&[b' '; 1000]).unwrap();
        let body = encoder.finish().unwrap();
        assert!(matches!(Encoding::Zstd.decode(&body, 1 << 20), Err(Undecodable::Broken(_))));
    }
}
