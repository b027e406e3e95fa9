//! What plain text stands for, where something else than text is expected.
//!
//! Booleans follow YAML 1.1 (`yes`, `on`), because configurations in the field do. Where a text is expected, this module
//! is not used: an interaction may be called `on`.

pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A whole number, also as `1e6` or `100.0`.
pub(crate) fn whole(text: &str) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // beyond 2^53 an f64 skips whole numbers
    let plain = text.parse().ok();
    let exact = |&number: &f64| number.fract() == 0.0 && (0.0..EXACT).contains(&number);
    plain.or_else(|| number(text).filter(exact).map(|number| number as u64))
}

/// A finite number in decimal notation.
pub(crate) fn number(text: &str) -> Option<f64> {
    // Rust would read "inf" and "NaN" too
    let numeric = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    text.parse().ok().filter(|number: &f64| numeric && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_have_the_spellings_of_yaml_1_1() {
        assert!(["true", "True", "yes", "ON"].map(boolean).iter().all(|&read| read == Some(true)));
        assert!(["false", "no", "Off"].map(boolean).iter().all(|&read| read == Some(false)));
        assert!(["1", "y", "", "maybe"].map(boolean).iter().all(Option::is_none));
    }

    #[test]
    fn numbers_are_finite_and_decimal() {
        assert_eq!(["1", "-0.5", "1e3", "010"].map(number), [Some(1.0), Some(-0.5), Some(1000.0), Some(10.0)]);
        assert!(["", "inf", "NaN", ".inf", "1e999", "0x10", "1_000", "ten"].map(number).iter().all(Option::is_none));
    }

    #[test]
    fn whole_numbers_have_no_fraction_and_no_sign() {
        assert_eq!(["0", "100.0", "1e6"].map(whole), [Some(0), Some(100), Some(1_000_000)]);
        assert_eq!(whole("18446744073709551615"), Some(u64::MAX));
        assert!(["-1", "0.5", "1e99", "18446744073709551616"].map(whole).iter().all(Option::is_none));
    }
}
