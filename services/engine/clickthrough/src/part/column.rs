//! One column of a block: the values of all its rows, one below the other.
//!
//! Features repeat themselves: flags, counters, values of items that are shown again and again. A column of at most
//! 256 different values is stored as a table of them and a byte per row, which is a quarter to begin with and packs
//! better and faster than floats do. Any other column is stored as four planes, each with one byte of every value,
//! because the upper bytes of its floats are much alike and the lower ones are not.
//!
//! Layout: number of different values (`u16`, little-endian), or 0 for planes; the values (`f32`, little-endian) and,
//! if they are more than one, an index (`u8`) per row; or the planes, the lowest byte first.

/// Different values that an index of one byte can tell apart.
const MOST: usize = 256;

/// A column as it stands in a block.
pub(crate) enum Column<'a> {
    Same(f32),
    Table(Box<[f32; MOST]>, &'a [u8]),
    Planes([&'a [u8]; 4]),
}

/// Appends a column of these values, which are given by their bits.
pub(crate) fn write(values: &[u32], into: &mut Vec<u8>) {
    let begin = into.len();
    if write_table(values, into).is_none() {
        into.truncate(begin);
        into.extend_from_slice(&[0, 0]);
        (0..4).for_each(|byte| into.extend(values.iter().map(|value| (value >> (8 * byte)) as u8)));
    }
}

/// Appends a table and indices; `None`, and anything appended, where there are too many different values.
fn write_table(values: &[u32], into: &mut Vec<u8>) -> Option<()> {
    let mut known = Known::new();
    let indices: Option<Vec<u8>> = values.iter().map(|&value| known.index(value)).collect();
    let indices = indices.filter(|indices| !indices.is_empty())?;
    into.extend_from_slice(&(known.values.len() as u16).to_le_bytes());
    known.values.iter().for_each(|value| into.extend_from_slice(&value.to_le_bytes()));
    if known.values.len() > 1 {
        into.extend_from_slice(&indices);
    }
    Some(())
}

/// Values seen so far, and where they are: a hash table with open addressing, a quarter full at most.
struct Known {
    values: Vec<u32>,
    places: [u16; 4 * MOST],
}

impl Known {
    fn new() -> Self {
        Self { values: Vec::with_capacity(MOST), places: [0; 4 * MOST] }
    }

    /// The value's place in the table; `None` when that is full.
    fn index(&mut self, value: u32) -> Option<u8> {
        let mut slot = value.wrapping_mul(0x9e37_79b1) >> 22; // Knuth's multiplicative hash, 10 bits of it
        loop {
            match self.places[slot as usize] {
                0 if self.values.len() == MOST => return None,
                0 => {
                    self.values.push(value);
                    self.places[slot as usize] = self.values.len() as u16;
                    return Some((self.values.len() - 1) as u8);
                }
                place if self.values[usize::from(place) - 1] == value => return Some((place - 1) as u8),
                _ => slot = (slot + 1) % (4 * MOST as u32),
            }
        }
    }
}

impl<'a> Column<'a> {
    /// Reads a column of `height` values, and gives what follows it; `None` when the bytes are none.
    pub(crate) fn read(bytes: &'a [u8], height: usize) -> Option<(Self, &'a [u8])> {
        let (count, bytes) = bytes.split_first_chunk()?;
        let count = usize::from(u16::from_le_bytes(*count));
        if count == 0 {
            let (planes, rest) = bytes.split_at_checked(height.checked_mul(4)?)?;
            let plane = |byte: usize| &planes[byte * height..(byte + 1) * height];
            return Some((Self::Planes([plane(0), plane(1), plane(2), plane(3)]), rest));
        }
        let (values, rest) = bytes.split_at_checked(4 * count)?;
        let (values, _) = values.as_chunks::<4>();
        if let [value] = values {
            return Some((Self::Same(f32::from_le_bytes(*value)), rest));
        }
        let mut table = Box::new([f32::NAN; MOST]);
        table.get_mut(..count)?.iter_mut().zip(values).for_each(|(slot, value)| *slot = f32::from_le_bytes(*value));
        let (indices, rest) = rest.split_at_checked(height)?;
        Some((Self::Table(table, indices), rest))
    }

    /// Copies the values of some rows to a matrix: to every `width`th place.
    pub(crate) fn copy(&self, rows: std::ops::Range<usize>, into: &mut [f32], width: usize) {
        let into = into.iter_mut().step_by(width);
        match self {
            Self::Same(value) => into.for_each(|place| *place = *value),
            Self::Table(table, indices) => {
                into.zip(&indices[rows]).for_each(|(place, &index)| *place = table[usize::from(index)]);
            }
            Self::Planes(planes) => {
                let [a, b, c, d] = planes.map(|plane| &plane[rows.clone()]);
                let bytes = a.iter().zip(b).zip(c).zip(d);
                into.zip(bytes).for_each(|(place, (((a, b), c), d))| *place = f32::from_le_bytes([*a, *b, *c, *d]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn there_and_back(values: &[u32]) -> usize {
        let mut bytes = Vec::new();
        write(values, &mut bytes);
        let length = bytes.len();
        bytes.push(7); // what follows
        let (column, rest) = Column::read(&bytes, values.len()).unwrap();
        let mut read = vec![0.0; values.len()];
        column.copy(0..values.len(), &mut read, 1);
        assert_eq!((read.into_iter().map(f32::to_bits).collect::<Vec<_>>(), rest), (values.to_vec(), &[7][..]));
        length
    }

    #[test]
    fn a_column_comes_back_whatever_its_values_are() {
        assert_eq!(there_and_back(&[]), 2);
        assert_eq!(there_and_back(&[f32::NAN.to_bits(); 1000]), 2 + 4);
        assert_eq!(there_and_back(&[1, 2].repeat(500)), 2 + 8 + 1000);
        let distinct = |count: u32| (0..count).map(|value| value << 16).collect::<Vec<_>>();
        assert_eq!(there_and_back(&distinct(256)), 2 + 4 * 256 + 256);
        assert_eq!(there_and_back(&distinct(257)), 2 + 4 * 257);
    }

    #[test]
    fn a_column_cut_anywhere_is_none() {
        for values in [vec![1; 10], vec![1, 2, 1, 2], (0..300).collect()] {
            let mut bytes = Vec::new();
            write(&values, &mut bytes);
            assert!((0..bytes.len()).all(|cut| Column::read(&bytes[..cut], values.len()).is_none()));
        }
        assert!(Column::read(&[0xff; 4000], 10).is_none());
    }
}
