//! A small generator of random numbers, the same on every machine.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): one word of state, so
//! each visitor, item and visit has a generator of its own, found by number instead of kept.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream that belongs to one thing: `kind` tells apart what has the same `number`.
    pub(crate) fn of(seed: u64, kind: &str, number: u64) -> Self {
        let kind = kind.bytes().fold(seed, |hash, byte| scrambled(hash ^ u64::from(byte)));
        Self(scrambled(kind.wrapping_add(scrambled(number))))
    }

    /// Any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scrambled(self.0)
    }

    /// From 0 to just under 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From `low` to just under `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number under `count`; 0 if that is 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }

    /// Whether something of this probability happens.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// About normal, with mean 0 and deviation 1, never over 3.5: four uniform numbers, added and scaled. (The exact
    /// ways need logarithms, which differ in their last bit from one machine to another.)
    pub(crate) fn normal(&mut self) -> f64 {
        let bits = self.bits();
        let sum: u64 = (0..4).map(|quarter| (bits >> (16 * quarter)) & 0xffff).sum();
        (sum as f64 / 65_535.0 - 2.0) * 1.732_050_8
    }

    /// One of `choices`, which are not none.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// A position in `weights`, each as likely as its weight says.
    pub(crate) fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        let found = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        found.unwrap_or(weights.len().saturating_sub(1))
    }
}

fn scrambled(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_own_and_always_the_same() {
        let first = |seed, kind, number| Random::of(seed, kind, number).bits();
        assert_eq!(first(1, "item", 2), first(1, "item", 2));
        let others = [first(1, "item", 2), first(2, "item", 2), first(1, "user", 2), first(1, "item", 3)];
        assert!((1..4).all(|index| !others[..index].contains(&others[index])), "{others:?}");
    }

    #[test]
    fn numbers_have_the_spread_they_should_have() {
        let mut random = Random::of(7, "test", 0);
        let normal: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = normal.iter().sum::<f64>() / 20_000.0;
        let variance = normal.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        let mut counts = [0; 3];
        (0..3000).for_each(|_| counts[random.weighted(&[1.0, 0.0, 2.0])] += 1);
        assert!((900..1100).contains(&counts[0]) && counts[1] == 0, "{counts:?}");
        assert!((0..1000).all(|_| random.below(3) < 3) && random.below(0) == 0);
    }
}
