//! Vectors in a byte for each number, which memory gives four times as fast: as what differs from the centroid of their list.
//!
//! The nearer vectors are to their centroid, the finer are the steps, so that codes tell apart variants of one product as
//! well as products of many kinds.

use crate::lanes::{LANES, Lanes, flat};

/// The largest code.
const LARGEST: f32 = 127.0;
/// Parts of one in a query: products of it with codes have room in 32 bits for any width below a million.
const PARTS: f32 = 16_384.0;
/// A number and its code differ by half a step at most, any part of it as often as another. So products with a vector of
/// length one differ by this part of a step and more once in 370 times: three standard deviations.
const ERROR: f32 = 0.866;
/// What sums of 32-bit floats may differ by.
const ROUNDING: f32 = 1e-6;

/// Coded rows, in the order that they are looked through.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Codes {
    width: usize, // with zeros up to whole blocks
    codes: Vec<i8>,
    steps: Vec<f32>, // by row
}

impl Codes {
    /// Codes of some vectors, each beside its centroid, of `blocks` blocks.
    pub(super) fn of<'v>(blocks: usize, rows: impl ExactSizeIterator<Item = (&'v [Lanes], &'v [Lanes])>) -> Self {
        let width = blocks * LANES;
        let (mut codes, mut steps) = (Vec::with_capacity(rows.len() * width), Vec::with_capacity(rows.len()));
        let mut rest = vec![0.0; width];
        for (row, centroid) in rows {
            let differ = flat(row).iter().zip(flat(centroid)).map(|(number, middle)| number - middle);
            rest.iter_mut().zip(differ).for_each(|(rest, number)| *rest = number);
            let largest = rest.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
            let factor = if largest > 0.0 { LARGEST / largest } else { 0.0 };
            codes.extend(rest.iter().map(|number| (number * factor).round() as i8));
            steps.push(largest / LARGEST);
        }
        Self { width, codes, steps }
    }

    /// A query of length one, as it is compared with codes.
    pub(super) fn query(query: &[Lanes]) -> Vec<i16> {
        flat(query).iter().map(|number| (number * PARTS).round() as i16).collect()
    }

    /// Shows the similarity of each row of a list to a query, and by how much it may be another; `centroid` is the centroid's. For
    /// a [`Kernel`](crate::lanes::Kernel) with its `FMA`.
    #[inline(always)]
    pub(super) fn scan<const FMA: bool>(
        &self,
        rows: std::ops::Range<usize>,
        query: &[i16],
        centroid: f32,
        mut show: impl FnMut(usize, f32, f32),
    ) {
        let query = &query[..self.width];
        let codes = self.codes[rows.start * self.width..rows.end * self.width].chunks_exact(self.width);
        for ((row, codes), step) in rows.clone().zip(codes).zip(&self.steps[rows]) {
            let rest = product::<FMA>(codes, query) as f32 * (step / PARTS);
            show(row, centroid + rest, step * ERROR + ROUNDING);
        }
    }
}

#[inline(always)]
fn product<const FMA: bool>(codes: &[i8], query: &[i16]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if FMA {
        // SAFETY: there, a kernel with `FMA` runs where the processor has AVX2.
        #[allow(unsafe_code)]
        return unsafe { wide(codes, query) };
    }
    let mut sum = 0;
    for (codes, query) in blocks(codes, query) {
        for lane in 0..LANES {
            sum += i32::from(codes[lane]) * i32::from(query[lane]);
        }
    }
    sum
}

/// The same, but that sums stay apart until the end: a compiler adds them up for each block.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn wide(codes: &[i8], query: &[i16]) -> i32 {
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_setzero_si256, _mm256_storeu_si256,
    };
    let mut sums = _mm256_setzero_si256();
    for (codes, query) in blocks(codes, query) {
        // SAFETY: sixteen numbers are read of each, which are there.
        #[allow(unsafe_code)]
        let (codes, query) =
            unsafe { (_mm_loadu_si128(codes.as_ptr().cast()), _mm256_loadu_si256(query.as_ptr().cast())) };
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_cvtepi8_epi16(codes), query));
    }
    let mut parts = [0; 8];
    // SAFETY: eight numbers have room there.
    #[allow(unsafe_code)]
    unsafe {
        _mm256_storeu_si256(parts.as_mut_ptr().cast::<__m256i>(), sums);
    }
    parts.iter().sum()
}

#[inline(always)]
fn blocks<'a>(codes: &'a [i8], query: &'a [i16]) -> impl Iterator<Item = (&'a [i8; LANES], &'a [i16; LANES])> {
    codes.as_chunks().0.iter().zip(query.as_chunks().0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Kernel, dispatch};
    use crate::vectors::Vectors;

    struct Product<'a>(&'a [i8], &'a [i16]);

    impl Kernel for Product<'_> {
        type Output = i32;

        #[inline(always)]
        fn run<const FMA: bool>(self) -> i32 {
            product::<FMA>(self.0, self.1)
        }
    }

    #[test]
    fn products_are_the_same_with_wide_instructions() {
        let codes: Vec<i8> = (0..112).map(|lane: i32| (lane * 89 % 255 - 127) as i8).collect();
        let query: Vec<i16> = (0..112).map(|lane: i32| (lane * 7919 % 32_767 - 16_384) as i16).collect();
        let expected: i32 = codes.iter().zip(&query).map(|(code, number)| i32::from(*code) * i32::from(*number)).sum();
        assert_eq!((dispatch(Product(&codes, &query)), product::<false>(&codes, &query)), (expected, expected));
        assert_eq!(dispatch(Product(&[-127; 112], &[-16_384; 112])), 112 * 127 * 16_384);
    }

    fn vectors(rows: &[[f32; 3]]) -> Vectors {
        let mut vectors = Vectors::new(3);
        rows.iter().for_each(|row| vectors.push(row));
        vectors
    }

    #[test]
    fn codes_take_no_more_room_than_they_have() {
        let rows = vectors(&[[0.6, 0.8, 0.0]; 5]);
        let coded = Codes::of(1, (0..5).map(|row| (rows.padded(row), rows.padded(0))));
        assert_eq!((coded.codes.len(), coded.codes.capacity()), (5 * LANES, 5 * LANES));
        assert_eq!((coded.steps.len(), coded.steps.capacity()), (5, 5));
    }

    #[test]
    fn similarities_of_codes_are_those_of_vectors_within_the_error_that_is_told() {
        let near = |distance: f32| {
            let rows = vectors(&[[0.6, 0.8, 0.0], [0.6 + distance, 0.8 - distance, distance / 3.0], [0.0, -1.0, 0.0]]);
            let query = [0.6, 0.0, -0.8];
            let coded = Codes::query(vectors(&[query]).padded(0));
            let pairs = (0..3).map(|row| (rows.padded(row), rows.padded(0)));
            let mut errors = vec![];
            Codes::of(1, pairs).scan::<false>(0..3, &coded, 0.36, |row, score, error| {
                let exact: f32 = rows.row(row).iter().zip(query).map(|(a, b)| a * b).sum();
                assert!(
                    (exact - score).abs() <= error,
                    "{distance}, row {row}: {score}, exactly {exact}, within {error}"
                );
                errors.push(error);
            });
            errors
        };
        let (far, close) = (near(0.1), near(0.001));
        assert!(far[0] < 2e-6 && far[1] > 5e-4 && close[1] < far[1] / 50.0, "{far:?} {close:?}");
    }
}
