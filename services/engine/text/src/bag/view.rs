//! A stored bag, read where it lies.

use super::{Bag, ratio, shared, varint};

/// A stored bag that takes no memory of its own.
#[derive(Debug, Clone, Copy)]
pub struct BagRef<'a> {
    distinct: u32,
    total: u32,
    terms: &'a [u8],
}

/// The terms of a stored bag.
struct Terms<'a> {
    bytes: &'a [u8],
    /// Of the next id.
    least: u64,
}

impl<'a> BagRef<'a> {
    /// The bag that these bytes are; `None` where they are none. All of them are looked at, so that nothing can go wrong later.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let bag = Self::written(bytes)?;
        let mut read = Terms { bytes: bag.terms, least: 0 };
        let mut counted = 0_u64;
        for _ in 0..bag.distinct {
            counted += u64::from(read.next()?.1); // each takes a byte at least, so this ends soon
        }
        let is_whole = read.bytes.is_empty() && counted.min(u64::from(u32::MAX)) == u64::from(bag.total);
        is_whole.then_some(bag)
    }

    /// The same of bytes that [`Bag::to_bytes`] wrote, which takes half the time: they are not looked at before they are
    /// needed. Of other bytes come any terms, or `None`.
    pub fn written(mut bytes: &'a [u8]) -> Option<Self> {
        let distinct = u32::try_from(varint::read(&mut bytes)?).ok()?;
        let total = u32::try_from(varint::read(&mut bytes)?).ok()?;
        Some(Self { distinct, total, terms: bytes })
    }

    /// Whether there are no terms.
    pub fn is_empty(self) -> bool {
        self.distinct == 0
    }

    /// How many distinct terms there are.
    pub fn len(self) -> usize {
        self.distinct as usize
    }

    /// How many terms there are, each as often as it occurs.
    pub fn total(self) -> u32 {
        self.total
    }

    /// Ids with how often each occurs, in the order of ids.
    pub fn iter(self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        Terms { bytes: self.terms, least: 0 }
    }

    /// As [`Bag::similarity`].
    pub fn similarity(self, other: &Bag) -> f64 {
        ratio(shared(self.iter(), other.iter()).count(), self.len(), other.len())
    }
}

impl Iterator for Terms<'_> {
    type Item = (u32, u32);

    /// The next term; `None` as well where the bytes are none.
    fn next(&mut self) -> Option<(u32, u32)> {
        let read = varint::read(&mut self.bytes)?;
        let id = u32::try_from(self.least + (read >> 1)).ok()?;
        self.least = u64::from(id) + 1;
        let count = if read & 1 == 0 { 1 } else { u32::try_from(varint::read(&mut self.bytes)? + 2).ok()? };
        Some((id, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_bag_is_refused() {
        let largest = [0xfe, 0xff, 0xff, 0xff, 0x1f]; // the id u32::MAX
        assert!(BagRef::new(&[&[1, 1][..], &largest].concat()).is_some());
        for (bytes, why) in [
            (&[][..], "nothing"),
            (&[0], "no total"),
            (&[0, 1], "a total of no terms"),
            (&[1, 1], "a term is missing"),
            (&[1, 2, 0], "another total"),
            (&[0, 0, 0], "a byte too many"),
            (&[1, 2, 1], "a count is missing"),
            (&[1, 1, 0xfe, 0xff, 0xff, 0xff, 0x3f], "an id of 33 bits"),
            (&[2, 2, 0xfe, 0xff, 0xff, 0xff, 0x1f, 0], "an id behind the largest"),
            (&[0xff, 0xff, 0xff, 0xff, 0xf, 1, 0], "far too many terms"),
            (&[1, 1, 0x80, 0], "a number with a byte too many"),
        ] {
            assert!(BagRef::new(bytes).is_none(), "{why}");
            if let Some(unseen) = BagRef::written(bytes) {
                let query = Bag::counted(vec![0, 1, u32::MAX]);
                assert!(unseen.similarity(&query).is_finite() && unseen.iter().count() < 3, "{why}");
            }
        }
    }
}
