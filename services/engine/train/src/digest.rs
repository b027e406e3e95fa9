//! Numbers that look random and are always the same, from identifiers and seeds.

/// Mixes a digest with a seed into 64 well-spread bits (the finalizer of SplitMix64: Steele, Lea and Flood 2014).
pub(crate) fn mix(digest: u64, seed: u64) -> u64 {
    let mut bits = digest ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The same as a number from 0 up to 1, 1 excluded.
pub(crate) fn uniform(digest: u64, seed: u64) -> f64 {
    (mix(digest, seed) >> 11) as f64 / (1u64 << 53) as f64
}

/// Digest of a text (FNV-1a: Fowler, Noll and Vo 1991), going on from `start`.
pub(crate) fn of_text(start: u64, text: &str) -> u64 {
    text.bytes()
        .fold(start ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_neighbouring_ids_are_spread_evenly() {
        let below_half = (0..10_000).filter(|id| uniform(of_text(0, &id.to_string()), 7) < 0.5).count();
        assert!((4_800..5_200).contains(&below_half), "{below_half} of 10000");
    }

    #[test]
    fn another_seed_gives_other_numbers() {
        assert_ne!(mix(1, 0), mix(1, 1));
        assert_eq!(mix(1, 1), mix(1, 1));
    }
}
