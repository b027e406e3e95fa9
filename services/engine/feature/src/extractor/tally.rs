//! How often strings occur.

use rankwright_state::Term;

/// Counts of strings by their hashes: a table with open addressing, half full at most.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Hash and count; a count of 0 is a free place. Their number is a power of two.
    places: Vec<(u64, u32)>,
}

impl Tally {
    /// Counts strings, of which there are `most` at most.
    pub(crate) fn of<'t>(terms: impl Iterator<Item = &'t Term>, most: usize) -> Self {
        let mut tally = Self { places: vec![(0, 0); (2 * most).next_power_of_two()] };
        for term in terms {
            let place = tally.place(term.hash());
            let (hash, count) = &mut tally.places[place];
            (*hash, *count) = (term.hash(), *count + 1);
        }
        tally
    }

    /// How often these strings occur, taken together.
    pub(crate) fn sum(&self, terms: &[Term]) -> u32 {
        terms.iter().map(|term| self.places[self.place(term.hash())].1).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_counted_however_many_there_are() {
        let terms: Vec<Term> = (0..1000).map(|number| Term::from((number % 300).to_string())).collect();
        let tally = Tally::of(terms.iter(), terms.len());
        let counts: Vec<u32> = ["0", "99", "100", "299", "300"].map(|text| tally.sum(&[Term::from(text)])).into();
        assert_eq!(counts, [4, 4, 3, 3, 0]);
        assert_eq!(tally.sum(&terms[..2]), 8);
    }

    #[test]
    fn nothing_occurs_in_nothing() {
        let tally = Tally::of([].iter(), 0);
        assert_eq!(tally.sum(&[Term::from("a")]), 0);
        let full = Tally::of([Term::from("a")].iter(), 1);
        assert_eq!(full.sum(&["a", "b", "c", "d"].map(Term::from)), 1, "a look-up ends in a small table too");
    }
}
