//! How often strings occur.

/// Counts of strings by their hashes: a table with open addressing, half full at most.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Hash and count; a count of 0 is a free place. Their number is a power of two.
    places: Vec<(u64, u32)>,
    /// A bit for each hash by its high bits, other hashes may have the same: most strings that do not occur are told from this.
    marks: [u64; MARKS],
}

/// Words of marks: 4,096 bits, which stay near.
const MARKS: usize = 64;

impl Tally {
    /// Counts strings by their hashes, of which there are `most` at most.
    pub(crate) fn of<'h>(hashes: impl Iterator<Item = &'h u64>, most: usize) -> Self {
        let mut tally = Self { places: vec![(0, 0); (2 * most).next_power_of_two()], marks: [0; MARKS] };
        for &hash in hashes {
            let (word, bit) = mark(hash);
            tally.marks[word] |= bit;
            let place = tally.place(hash);
            tally.places[place] = (hash, tally.places[place].1 + 1);
        }
        tally
    }

    /// How often these strings occur, taken together.
    pub(crate) fn sum(&self, hashes: &[u64]) -> u32 {
        hashes.iter().map(|&hash| if self.may_hold(hash) { self.places[self.place(hash)].1 } else { 0 }).sum()
    }

    fn may_hold(&self, hash: u64) -> bool {
        let (word, bit) = mark(hash);
        self.marks[word] & bit != 0
    }

    /// Where a hash is, or would be. (Hashes are good: their low bits will do.)
    fn place(&self, hash: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        while self.places[place].1 > 0 && self.places[place].0 != hash {
            place = (place + 1) & mask;
        }
        place
    }
}

/// The word and the bit of a hash in the marks.
fn mark(hash: u64) -> (usize, u64) {
    ((hash >> 58) as usize, 1 << (hash >> 52 & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_state::Term;

    fn hash(text: impl AsRef<str>) -> u64 {
        Term::hash_of(text.as_ref())
    }

    #[test]
    fn strings_are_counted_however_many_there_are() {
        let hashes: Vec<u64> = (0..1000).map(|number| hash((number % 300).to_string())).collect();
        let tally = Tally::of(hashes.iter(), hashes.len());
        let counts = ["0", "99", "100", "299", "300"].map(|text| tally.sum(&[hash(text)]));
        assert_eq!(counts, [4, 4, 3, 3, 0]);
        assert_eq!(tally.sum(&hashes[..2]), 8);
    }

    #[test]
    fn nothing_occurs_in_nothing() {
        let tally = Tally::of([].iter(), 0);
        assert_eq!(tally.sum(&[hash("a")]), 0);
        let full = Tally::of([hash("a")].iter(), 1);
        assert_eq!(full.sum(&["a", "b", "c", "d"].map(hash)), 1, "a look-up ends in a small table too");
    }
}
