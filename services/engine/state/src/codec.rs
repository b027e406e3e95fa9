//! Keys and values as bytes, for every store that is not mere memory.
//!
//! Bytes of keys are in the order of keys, and whatever an id contains, no two keys share theirs (see [`key`]).
//! Bytes of values begin with a byte that tells format and version, so a store may hold all formats at once and the
//! setting may change at any time: what was written before is still read. Damage to a value that changes its
//! structure is an error that names the key; the blocks on disk below carry checksums of their own.

mod compact;
pub mod key;
pub(crate) mod wire;

use crate::{Entity, Error, Key};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Small and fast.
    #[default]
    Binary,
    /// Readable.
    Json,
    /// Binary and, where that is smaller, compressed (LZ4): for what is large and seldom read.
    Packed,
    /// As the first version wrote binary values (postcard): in a state that it has begun, and may still read.
    First,
    /// The same, compressed.
    FirstPacked,
}

impl Format {
    /// What values are written as where a state has this version of the layout.
    pub(crate) fn in_layout(self, version: u32) -> Self {
        match self {
            Self::Binary if version < COMPACT_SINCE => Self::First,
            Self::Packed if version < COMPACT_SINCE => Self::FirstPacked,
            format => format,
        }
    }

    /// The same, for what is large and seldom read.
    pub(crate) fn packed(self) -> Self {
        match self {
            Self::Binary => Self::Packed,
            Self::First => Self::FirstPacked,
            format => format,
        }
    }
}

/// The version of stores' layouts that has compact values first.
const COMPACT_SINCE: u32 = 2;
/// First byte of a binary value: its version.
const BINARY: u8 = 3;
/// First byte of a compressed binary value, before its length (4 bytes, little endian).
const PACKED: u8 = 4;
/// First byte of a value in postcard.
const FIRST: u8 = 1;
/// First byte of a compressed one, before its length.
const FIRST_PACKED: u8 = 2;
/// How much room is kept for the next value to be compressed.
const ROOM: usize = 1 << 20;
/// Smaller values are not worth the time.
const WORTH_PACKING: usize = 256;
/// Bytes that most values need no more than.
const USUAL: usize = 512;
/// First byte of a JSON value; its version is inside.
const JSON: u8 = b'{';
const JSON_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Text<E> {
    version: u32,
    values: E,
}

/// The bytes of an entity.
///
/// # Errors
/// [`Error::Failed`], where a value has no encoding; none of ours lacks one.
pub fn encode(entity: &Entity, format: Format) -> Result<Vec<u8>, Error> {
    encode_behind(&[], entity, format)
}

/// The bytes of an entity, behind others.
pub(crate) fn encode_behind(start: &[u8], entity: &Entity, format: Format) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(USUAL);
    bytes.extend_from_slice(start);
    match format {
        Format::Binary => {
            bytes.push(BINARY);
            compact::write(entity, &mut bytes);
        }
        Format::First => {
            bytes.push(FIRST);
            bytes = postcard::to_extend(entity, bytes).map_err(failed)?;
        }
        Format::Packed => pack(&encode(entity, Format::Binary)?, PACKED, &mut bytes),
        Format::FirstPacked => pack(&encode(entity, Format::First)?, FIRST_PACKED, &mut bytes),
        Format::Json => {
            serde_json::to_writer(&mut bytes, &Text { version: JSON_VERSION, values: entity }).map_err(failed)?;
        }
    }
    Ok(bytes)
}

/// The entity that bytes stand for; `key` is only named in the error.
///
/// # Errors
/// [`Error::Damaged`], where bytes are cut short, left over, or of no version known here.
pub fn decode(key: &Key, bytes: &[u8]) -> Result<Entity, Error> {
    let entity = match bytes.first() {
        Some(&BINARY) => compact::read(&bytes[1..]),
        Some(&PACKED) => unpacked(&bytes[1..]).and_then(|bytes| compact::read(&bytes)),
        Some(&FIRST) => from_postcard(&bytes[1..]),
        Some(&FIRST_PACKED) => unpacked(&bytes[1..]).and_then(|bytes| from_postcard(&bytes)),
        Some(&JSON) => from_json(bytes),
        Some(other) => Err(format!("unknown version {other}")),
        None => Err("it is empty".to_owned()),
    };
    entity.map_err(|reason| Error::Damaged { key: key.to_string(), reason })
}

fn from_postcard(bytes: &[u8]) -> Result<Entity, String> {
    let (entity, rest) = postcard::take_from_bytes::<Entity>(bytes).map_err(|error| error.to_string())?;
    match rest.len() {
        0 => Ok(entity),
        left => Err(format!("{left} bytes are left over")),
    }
}

thread_local! {
    /// What LZ4 looks repetitions up in, and room for what it makes.
    static PACKING: RefCell<(CompressTable, Vec<u8>)> = RefCell::default();
}

/// Adds a binary value, compressed where that makes it smaller.
fn pack(binary: &[u8], version: u8, bytes: &mut Vec<u8>) {
    let content = binary.get(1..).filter(|_| binary.len() >= WORTH_PACKING);
    let length = content.and_then(|content| u32::try_from(content.len()).ok());
    let Some((content, length)) = content.zip(length) else { return bytes.extend_from_slice(binary) };
    PACKING.with_borrow_mut(|(table, room)| {
        let most = get_maximum_output_size(content.len());
        if room.len() < most {
            room.resize(most, 0);
        }
        match compress_into_with_table(content, room, table) {
            Ok(packed) if 5 + packed < binary.len() => {
                bytes.push(version);
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(&room[..packed]);
            }
            _ => bytes.extend_from_slice(binary),
        }
        if room.len() > ROOM {
            *room = Vec::new(); // that of one huge value is not held for good
        }
    });
}

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    // LZ4 makes at most 255 bytes of one: a damaged length does not take all memory
    let length = bytes.first_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    if length > bytes.len().saturating_mul(255) {
        return Err(format!("it claims to have {length} bytes"));
    }
    lz4_flex::decompress_size_prepended(bytes).map_err(|error| error.to_string())
}

fn from_json(bytes: &[u8]) -> Result<Entity, String> {
    let text: Text<Entity> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match text.version {
        JSON_VERSION => Ok(text.values),
        other => Err(format!("unknown version {other}")),
    }
}

fn failed(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Failed { action: "encode a value", source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{any_entity, any_key, computed_entity, items_entity, whole_entity};
    use proptest::prelude::*;

    const FORMATS: [Format; 5] = [Format::Binary, Format::Json, Format::Packed, Format::First, Format::FirstPacked];

    /// A value that is worth packing.
    fn large() -> Entity {
        let blob = crate::Cell::Blob([7; 5000].as_slice().into());
        Entity::one(crate::Slot(2), crate::contract::stored(1, blob))
    }

    #[test]
    fn values_are_read_and_written_as_earlier_versions_did() {
        let kept = [
            (whole_entity(), Format::First, "value-1.bin"),
            (whole_entity(), Format::Json, "value-1.json"),
            (whole_entity(), Format::Binary, "value-3.bin"),
            (computed_entity(), Format::First, "computed-1.bin"),
            (computed_entity(), Format::Json, "computed-1.json"),
            (computed_entity(), Format::Binary, "computed-3.bin"),
            (items_entity(), Format::First, "items-1.bin"),
            (items_entity(), Format::Json, "items-1.json"),
            (items_entity(), Format::Binary, "items-3.bin"),
        ];
        for (entity, format, name) in kept {
            let bytes = encode(&entity, format).expect("encodes");
            let kept = crate::samples::kept(name, &bytes);
            assert_eq!(decode(&crate::contract::item("a"), &kept).expect("is still read"), entity, "{name}");
            assert_eq!(bytes, kept, "{name}: what is written differently needs a new number of its version");
        }
    }

    #[test]
    fn packed_values_are_small_and_read_as_ever() {
        for (format, version, name) in
            [(Format::FirstPacked, FIRST_PACKED, "value-2.bin"), (Format::Packed, PACKED, "value-4.bin")]
        {
            let bytes = encode(&large(), format).expect("encodes");
            assert!(bytes.len() < 100, "{} bytes", bytes.len());
            let kept = crate::samples::kept(name, &bytes); // what LZ4 makes of them may change, not what it reads
            assert_eq!(kept[0], version);
            assert_eq!(decode(&crate::contract::item("a"), &kept).expect("is still read"), large());
        }
    }

    #[test]
    fn a_state_keeps_the_values_of_the_version_that_has_begun_it() {
        let formats = [Format::Binary, Format::Packed, Format::Json];
        assert_eq!(formats.map(|format| format.in_layout(1)), [Format::First, Format::FirstPacked, Format::Json]);
        assert_eq!(formats.map(|format| format.in_layout(2)), formats);
        assert_eq!(FORMATS.map(Format::packed)[3], Format::FirstPacked);
    }

    #[test]
    fn a_packed_value_cannot_claim_to_be_larger_than_it_can_be() {
        for version in [PACKED, FIRST_PACKED] {
            let bytes = [&[version][..], &u32::MAX.to_le_bytes(), &[0; 20]].concat();
            let error = decode(&crate::contract::item("a"), &bytes).expect_err("24 bytes hold less").to_string();
            assert!(error.ends_with("it claims to have 4294967295 bytes"), "{error}");
        }
    }

    #[test]
    fn json_is_readable() {
        let entity = crate::Entity::one(crate::Slot(3), crate::contract::stored(1, crate::Cell::Counter(5)));
        let text = String::from_utf8(encode(&entity, Format::Json).expect("encodes")).expect("is text");
        assert_eq!(text, r#"{"version":1,"values":[[3,{"at":1000,"event":1,"cell":{"counter":5}}]]}"#);
    }

    #[test]
    fn numbers_survive_json_to_the_last_bit() {
        let hard = [0.1 + 0.2, 1e-320, f64::MAX, 5e-324, -0.0, 123_456_789.123_456_78, f64::INFINITY, 2f64.powi(70)];
        for value in hard {
            let cell = crate::Cell::Field(crate::FieldValue::Number(value));
            let entity = Entity::one(crate::Slot(0), crate::contract::stored(1, cell));
            let bytes = encode(&entity, Format::Json).expect("encodes");
            let back = decode(&crate::contract::item("a"), &bytes).expect("decodes");
            let crate::Cell::Field(crate::FieldValue::Number(number)) = back.values().next().expect("one value").1.cell
            else {
                panic!("{back:?} is no number")
            };
            assert_eq!(number.to_bits(), value.to_bits(), "{value:?} as {}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_value_of_a_later_version_is_refused_by_key_and_version() {
        let key = crate::contract::item("p1");
        let error = decode(&key, &[7, 0]).expect_err("version 7 does not exist").to_string();
        assert_eq!(error, r#"damaged value under item "p1" of tenant "default" in the state store: unknown version 7"#);
        let error = decode(&key, br#"{"version":2,"values":[]}"#).expect_err("nor does 2").to_string();
        assert!(error.ends_with("unknown version 2"), "{error}");
    }

    #[test]
    fn every_cut_of_a_value_is_damaged() {
        for format in FORMATS {
            let entity = if matches!(format, Format::Packed | Format::FirstPacked) { large() } else { whole_entity() };
            let bytes = encode(&entity, format).expect("encodes");
            for length in 0..bytes.len() {
                let cut = decode(&crate::contract::item("a"), &bytes[..length]);
                assert!(matches!(cut, Err(Error::Damaged { .. })), "{format:?} cut to {length} of {}", bytes.len());
            }
        }
    }

    proptest! {
        #[test]
        fn values_come_back_as_they_were(key in any_key(), entity in any_entity()) {
            for format in FORMATS {
                let bytes = encode(&entity, format).expect("encodes");
                let back = decode(&key, &bytes).expect("decodes");
                prop_assert_eq!(&back, &entity);
                prop_assert_eq!(encode(&back, format).expect("encodes"), bytes, "bits that equality does not see");
            }
        }

        #[test]
        fn mutated_values_never_panic(
            entity in any_entity(), format in 0..FORMATS.len(), changes in prop::collection::vec(any::<(u16, u8)>(), 1..4),
        ) {
            let mut bytes = encode(&entity, FORMATS[format]).expect("encodes");
            for (place, byte) in changes {
                let place = usize::from(place) % bytes.len();
                bytes[place] = byte;
            }
            let _ = decode(&crate::contract::item("a"), &bytes);
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for version in [BINARY, PACKED, FIRST, FIRST_PACKED] {
                let _ = decode(&crate::contract::item("a"), &[&[version], bytes.as_slice()].concat());
            }
            let _ = decode(&crate::contract::item("a"), &bytes);
        }
    }
}
