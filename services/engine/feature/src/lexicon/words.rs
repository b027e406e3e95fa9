//! Texts and lists of numbers, reduced to numbers.

use rankwright_config::feature::Reducer;

/// Number of words: what stands between white space.
pub(crate) fn count(text: &str) -> usize {
    if !text.is_ascii() {
        return text.split_whitespace().count();
    }
    let mut before = true; // the start counts as a space
    let starts = |byte: &u8| {
        let space = *byte == b' ' || byte.wrapping_sub(b'\t') < 5; // tab to carriage return
        let starts = before & !space;
        before = space;
        usize::from(starts)
    };
    text.as_bytes().iter().map(starts).sum()
}

/// Appends what `reducer` makes of `values`: one number, or as many as a `vectorN` names.
///
/// An empty list has no elements to choose: `first`, `last`, `min`, `max` and `random` give 0, as sums do; its mean
/// alone is missing (NaN). The element that `random` picks is decided by `seed`.
pub(crate) fn reduce(reducer: Reducer, values: &[f64], seed: u64, out: &mut Vec<f64>) {
    let number = match reducer {
        Reducer::First => values.first().copied().unwrap_or(0.0),
        Reducer::Last => values.last().copied().unwrap_or(0.0),
        Reducer::Min => values.iter().copied().reduce(f64::min).unwrap_or(0.0),
        Reducer::Max => values.iter().copied().reduce(f64::max).unwrap_or(0.0),
        Reducer::Random => random(values, seed),
        Reducer::Avg => values.iter().sum::<f64>() / values.len() as f64,
        Reducer::Sum => values.iter().fold(0.0, |sum, value| sum + value),
        Reducer::Size => values.len() as f64,
        Reducer::EuclideanDistance => values.iter().fold(0.0, |sum, value| sum + value * value).sqrt(),
        Reducer::Vector(length) => return padded(values, length, out),
    };
    out.push(number);
}

fn padded(values: &[f64], length: usize, out: &mut Vec<f64>) {
    let end = out.len() + length;
    out.extend(values.iter().take(length));
    out.resize(end, 0.0);
}

fn random(values: &[f64], seed: u64) -> f64 {
    let count = values.len().max(1) as u64;
    values.get((scrambled(seed) % count) as usize).copied().unwrap_or(0.0)
}

/// Spreads seeds that lie close together: the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
pub(crate) fn scrambled(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reduced(reducer: Reducer, values: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        reduce(reducer, values, 7, &mut out);
        out
    }

    #[test]
    fn words_are_what_stands_between_white_space() {
        for (text, words) in [
            ("", 0),
            (" \t\n", 0),
            ("shoes", 1),
            ("running roasted dark steel bottle", 5),
            ("  two   words ", 2),
            ("a\u{a0}b\u{3000}c", 3),
            ("don't e-mail", 2),
        ] {
            assert_eq!(count(text), words, "{text:?}");
        }
    }

    #[test]
    fn each_reducer_does_what_its_name_says() {
        let values = [3.0, -4.0, 0.0, 1.0];
        for (reducer, expected) in [
            (Reducer::First, 3.0),
            (Reducer::Last, 1.0),
            (Reducer::Min, -4.0),
            (Reducer::Max, 3.0),
            (Reducer::Avg, 0.0),
            (Reducer::Sum, 0.0),
            (Reducer::Size, 4.0),
        ] {
            assert_eq!(reduced(reducer, &values), [expected], "{reducer:?}");
        }
        assert_eq!(reduced(Reducer::EuclideanDistance, &[3.0, 4.0]), [5.0]);
    }

    #[test]
    fn a_vector_is_cut_or_padded_to_its_length() {
        assert_eq!(reduced(Reducer::Vector(2), &[1.0, 2.0, 3.0]), [1.0, 2.0]);
        assert_eq!(reduced(Reducer::Vector(4), &[1.0, 2.0]), [1.0, 2.0, 0.0, 0.0]);
        assert_eq!(reduced(Reducer::Vector(2), &[]), [0.0, 0.0]);
    }

    #[test]
    fn an_empty_list_gives_zeros_and_no_mean() {
        use Reducer::{EuclideanDistance, First, Last, Max, Min, Random, Size, Sum};
        for reducer in [First, Last, Min, Max, Random, Sum, Size, EuclideanDistance] {
            let zero = reduced(reducer, &[]);
            assert!(zero.len() == 1 && zero[0].to_bits() == 0, "{reducer:?}: {zero:?}");
        }
        assert!(reduced(Reducer::Avg, &[])[0].is_nan());
    }

    #[test]
    fn random_depends_on_the_seed_alone_and_reaches_every_element() {
        let values = [1.0, 2.0, 3.0];
        let mut seen = [0; 3];
        for seed in 0..300 {
            let element = random(&values, seed);
            assert_eq!(element, random(&values, seed));
            seen[element as usize - 1] += 1;
        }
        assert!(seen.iter().all(|&times| times > 60), "{seen:?}");
    }

    proptest! {
        #[test]
        fn elements_come_from_the_list(values in prop::collection::vec(-1e9..1e9f64, 1..20), seed: u64) {
            for reducer in [Reducer::First, Reducer::Last, Reducer::Min, Reducer::Max, Reducer::Random] {
                let mut out = Vec::new();
                reduce(reducer, &values, seed, &mut out);
                prop_assert!(values.contains(&out[0]));
            }
        }
    }
}
