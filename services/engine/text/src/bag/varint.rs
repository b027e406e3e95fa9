//! Numbers of as many bytes as they need: LEB128, seven bits a byte, the lowest first.

/// The longest one: five bytes hold 35 bits, an id with its mark 33.
const LONGEST: usize = 5;

/// Adds a number below 2^35.
pub(crate) fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes the first number off; `None` where there is none, or where fewer bytes would have done.
pub(crate) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().take(LONGEST).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return (byte > 0 || place == 0).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), (1 << 35) - 1] {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!((read(&mut rest), rest), (Some(number), &[7][..]));
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for bytes in [&[][..], &[0x80], &[0x80, 0], &[0xff; 9], &[0x80, 0x80, 0x80, 0x80, 0x80, 1]] {
            assert_eq!(read(&mut &*bytes), None, "{bytes:?}");
        }
    }
}
