//! How many different things there are, about: HyperLogLog (Flajolet et al. 2007), with linear counting while there are few.
//!
//! 4 KiB, and an error of 1.6 % as a rule.

use foldhash::quality::FixedState;
use std::hash::{BuildHasher, Hash};

const HASHER: FixedState = FixedState::with_seed(0xd15);
/// Bits of a hash that choose a register.
const BITS: u32 = 12;
const REGISTERS: usize = 1 << BITS;

#[derive(Debug)]
pub(super) struct Distinct(Box<[u8]>);

impl Default for Distinct {
    fn default() -> Self {
        Self(vec![0; REGISTERS].into())
    }
}

impl Distinct {
    /// This is there.
    pub(super) fn add(&mut self, thing: impl Hash) {
        let hash = HASHER.hash_one(thing);
        let register = (hash >> (u64::BITS - BITS)) as usize;
        let rest = hash << BITS | 1 << (BITS - 1); // ends after the bits that are left
        let rank = rest.leading_zeros() as u8 + 1;
        self.0[register] = self.0[register].max(rank);
    }

    /// About how many different things there were.
    pub(super) fn count(&self) -> u64 {
        let registers = REGISTERS as f64;
        let empty = self.0.iter().filter(|&&rank| rank == 0).count();
        let sum: f64 = self.0.iter().map(|&rank| (-f64::from(rank)).exp2()).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let few = estimate <= 2.5 * registers && empty > 0;
        let estimate = if few { registers * (registers / empty as f64).ln() } else { estimate };
        estimate.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_things_are_counted_about_right_however_often_they_come() {
        for count in [0u64, 1, 2, 10, 100, 5_000, 20_000, 1_000_000] {
            let mut distinct = Distinct::default();
            (0..count).chain(0..count.min(1000)).for_each(|number| distinct.add(number));
            let found = distinct.count();
            let error = found.abs_diff(count) as f64 / count.max(1) as f64;
            assert!(error < 0.05 && (count > 10 || found == count), "{found} for {count}");
        }
    }
}
