//! A term as a number.

/// The id of a term: FNV-1a of its UTF-8 bytes, 32 bits wide.
///
/// Ids lie in stored bags, so this function never changes. Two terms that share an id count as one term. Among the 200,000
/// terms of a large catalog about five pairs do.
pub(crate) fn id(term: &str) -> u32 {
    term.bytes().fold(0x811c_9dc5, |id, byte| (id ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_fnv_1a() {
        // test vectors of the draft "The FNV Non-Cryptographic Hash Algorithm", appendix C
        assert_eq!(id(""), 0x811c_9dc5);
        assert_eq!(id("a"), 0xe40c_292c);
        assert_eq!(id("foobar"), 0xbf9c_f968);
    }
}
