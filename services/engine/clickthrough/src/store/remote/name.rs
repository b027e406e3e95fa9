//! Names of parts: `<time>-<records>-<digest>.<format>[.<packing>]`.
//!
//! The order of their bytes is that of the parts: the time at which a part was completed puts them in the order of
//! appending. It is that of the wall clock: the records' own times do not follow that order, as rankings close when
//! they have been left alone, and old events may be imported today. A part gets its name once, and keeps it however
//! often it is put; the digest of its bytes tells what a process has that was told to write the same again.

use crate::digest::Digest;
use crate::part::Format;
use crate::part::packing::Compression;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt;

/// The name of a part, without what the place puts before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// Milliseconds since 1970.
    pub(in crate::store) completed: i64,
    pub(in crate::store) records: u64,
    /// Digest of the bytes as they are stored.
    pub(in crate::store) digest: u128,
    pub(in crate::store) kind: Kind,
}

/// How a part is written, which its name tells: the settings may have been others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Kind {
    pub(in crate::store) format: Format,
    pub(in crate::store) packing: Compression,
}

const TIME: &str = "%Y%m%dT%H%M%S";

impl Name {
    /// The name of a part with these bytes, which was completed now, and after the one before it.
    pub(super) fn of(bytes: &[u8], records: u64, kind: Kind, now: i64, before: i64) -> Self {
        let mut digest = Digest::new();
        digest.update(bytes);
        // clocks go back, and a millisecond may see several parts
        Self { completed: now.max(before.saturating_add(1)), records, digest: digest.value(), kind }
    }

    /// By what parts are put in order; no two parts have the same.
    pub(in crate::store) fn order(&self) -> (i64, u128) {
        (self.completed, self.digest)
    }

    /// `None` where this is no name of a part.
    pub(in crate::store) fn parse(whole: &str) -> Option<Self> {
        let (name, suffix) = whole.split_once('.')?;
        let kind = Kind::all().find(|kind| kind.suffix() == suffix)?;
        let mut parts = name.split('-');
        let (time, records, digest) = (parts.next()?, parts.next()?, parts.next()?);
        let parsed = Self {
            completed: parse_time(time)?,
            records: records.parse().ok()?,
            digest: u128::from_str_radix(digest, 16).ok()?,
            kind,
        };
        (parsed.to_string() == whole).then_some(parsed)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = Timestamp::from_millisecond(self.completed).unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC);
        let (millis, suffix) = (self.completed.rem_euclid(1000), self.kind.suffix());
        write!(f, "{}{millis:03}Z-{}-{:032x}.{suffix}", time.strftime(TIME), self.records, self.digest)
    }
}

/// Year, month and day, `T`, hour, minute, second and millisecond, `Z`.
fn parse_time(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').filter(|text| text.len() == 18 && text.is_ascii())?;
    let (seconds, millis) = text.split_at(15);
    let seconds = jiff::civil::DateTime::strptime(TIME, seconds).ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(seconds.timestamp().as_millisecond() + millis.parse::<i64>().ok()?)
}

impl Kind {
    fn all() -> impl Iterator<Item = Self> {
        let packings = [Compression::None, Compression::Gzip, Compression::Zstd];
        let of = move |format| packings.into_iter().map(move |packing| Self { format, packing });
        [Format::Binary, Format::Json].into_iter().flat_map(of)
    }

    fn suffix(self) -> &'static str {
        match (self.format, self.packing) {
            (Format::Binary, Compression::None) => "bin",
            (Format::Binary, Compression::Gzip) => "bin.gz",
            (Format::Binary, Compression::Zstd) => "bin.zst",
            (Format::Json, Compression::None) => "json",
            (Format::Json, Compression::Gzip) => "json.gz",
            (Format::Json, Compression::Zstd) => "json.zst",
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: i64 = 1_795_295_041_007; // 2026-11-21T21:04:01.007Z

    fn kind() -> Kind {
        Kind { format: Format::Binary, packing: Compression::Gzip }
    }

    #[test]
    fn a_name_begins_with_a_time_that_people_read() {
        let name = Name::of(b"bytes", 1024, kind(), NOW, 0).to_string();
        assert!(name.starts_with("20261121T210401007Z-1024-") && name.ends_with(".bin.gz"), "{name}");
    }

    #[test]
    fn a_name_comes_back_from_its_text() {
        for kind in Kind::all() {
            for (records, now) in [(0, 0), (1024, NOW), (u64::MAX, 253_402_128_000_000)] {
                let name = Name::of(b"bytes", records, kind, now, i64::MIN);
                assert_eq!(Name::parse(&name.to_string()), Some(name), "{name}");
            }
        }
    }

    #[test]
    fn other_keys_are_no_names() {
        let good = Name::of(b"", 1, kind(), NOW, 0).to_string();
        assert!(Name::parse(&good).is_some());
        let others = ["", ".bin", "1-1-1.bin", &good[1..], &format!("{good}x"), &good.replace(".bin", "-1.bin")];
        for other in others.into_iter().chain([
            "20261121T210401ü07Z-1-1.bin",
            "20261321T210401007Z-1-1.bin",
            "20261121T210401007Z-1-ff.bin",
        ]) {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_order_of_texts_is_that_of_parts_also_when_the_clock_goes_back() {
        let mut before = 0;
        let mut names = Vec::new();
        for now in [NOW, NOW, NOW - 5000, NOW + 1, NOW + 70_000] {
            let name = Name::of(&now.to_le_bytes(), 9, kind(), now, before);
            before = name.completed;
            names.push(name.to_string());
        }
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn the_digest_follows_from_the_bytes() {
        let digest = |bytes| Name::of(bytes, 1, kind(), NOW, 0).digest;
        assert_eq!(digest(b"one"), digest(b"one"));
        assert_ne!(digest(b"one"), digest(b"two"));
    }
}
