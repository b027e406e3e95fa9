//! A stable 128-bit digest (FNV-1a, Fowler, Noll and Vo 1991), for names and for telling records apart.
//!
//! It does not protect against collisions made on purpose: an attacker who can write click-throughs does not need them.

#[derive(Debug, Clone, Copy)]
pub(crate) struct Digest(u128);

impl Digest {
    pub(crate) const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        self.0 = bytes.iter().fold(self.0, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    }

    pub(crate) fn value(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one() {
        let of = |text: &str| {
            let mut digest = Digest::new();
            digest.update(text.as_bytes());
            digest.value()
        };
        assert_eq!(of("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964); // from the authors' test vectors
        assert_eq!(of("foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
