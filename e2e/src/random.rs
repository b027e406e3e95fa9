//! Random numbers that are the same in every run.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// What a run begins with: `RANKWRIGHT_TEST_SEED`, to repeat one, or something new.
    pub fn seed() -> u64 {
        let given = std::env::var("RANKWRIGHT_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        given.unwrap_or_else(|| now().as_nanos() as u64)
    }

    /// One that begins with such a seed, which a failure of the test tells.
    pub fn seeded() -> Self {
        let seed = Self::seed();
        println!("seed {seed}");
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// This number of bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.bits() as u8).collect()
    }
}
