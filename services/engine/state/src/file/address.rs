//! Where a key's row lies: under its bytes, as long as the store below takes them.
//!
//! The store below takes keys of up to 65,535 bytes, and ids come from outside. A key longer than [`LONGEST`] lies
//! under its beginning and a digest, with the whole key in front of the value.

use crate::Key;

const LONGEST: usize = 4096;
const LENGTH: usize = size_of::<u32>();

/// A key's place.
pub(super) struct Address {
    bytes: Vec<u8>,
    whole: Option<Vec<u8>>,
}

impl Address {
    pub(super) fn of(key: &Key) -> Self {
        let bytes = key.to_bytes();
        if bytes.len() <= LONGEST {
            return Self { bytes, whole: None };
        }
        let short = [&bytes[..LONGEST], digest(&bytes).to_be_bytes().as_slice()].concat();
        Self { bytes: short, whole: Some(bytes) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The row for a value.
    pub(super) fn row(&self, value: Vec<u8>) -> Vec<u8> {
        let Some(whole) = &self.whole else { return value };
        let length = u32::try_from(whole.len()).unwrap_or(u32::MAX);
        [length.to_le_bytes().as_slice(), whole, &value].concat()
    }

    /// The value in a row, if it is this key's.
    pub(super) fn value<'a>(&self, row: &'a [u8]) -> Option<&'a [u8]> {
        let Some(whole) = &self.whole else { return Some(row) };
        split(row).and_then(|(key, value)| (key == whole.as_slice()).then_some(value))
    }
}

/// Key and value of a row; `None` where they are damaged.
pub(super) fn parse<'a>(address: &[u8], row: &'a [u8]) -> Option<(Key, &'a [u8])> {
    if address.len() <= LONGEST {
        return Some((Key::from_bytes(address)?, row));
    }
    let (key, value) = split(row)?;
    Some((Key::from_bytes(key)?, value))
}

fn split(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = row.split_first_chunk::<LENGTH>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// FNV-1a of 128 bits (Fowler, Noll and Vo 1991). Two ids made to share one would replace each other, and nothing else.
fn digest(bytes: &[u8]) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(START, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::item;

    #[test]
    fn a_key_of_any_length_is_found_again_in_its_row() {
        for length in [0, 1, LONGEST - 20, LONGEST, 70_000] {
            let key = item(&"x".repeat(length));
            let address = Address::of(&key);
            let row = address.row(b"value".to_vec());
            assert!(address.bytes().len() <= LONGEST + 16);
            assert_eq!(address.value(&row), Some(b"value".as_slice()));
            assert_eq!(parse(address.bytes(), &row), Some((key, b"value".as_slice())));
        }
    }

    #[test]
    fn long_keys_that_differ_at_their_end_have_rows_of_their_own() {
        let keys = ["a", "b"].map(|end| Address::of(&item(&("x".repeat(70_000) + end))));
        assert_ne!(keys[0].bytes(), keys[1].bytes());
        assert_eq!(keys[0].value(&keys[1].row(vec![1])), None);
    }

    #[test]
    fn damaged_rows_have_no_key() {
        let address = Address::of(&item(&"x".repeat(70_000)));
        let row = address.row(vec![1]);
        for cut in [0, 3, 4, 60_000] {
            assert_eq!(parse(address.bytes(), &row[..cut]), None);
            assert_eq!(address.value(&row[..cut]), None);
        }
        assert_eq!(parse(b"\x09", &row), None);
    }
}
