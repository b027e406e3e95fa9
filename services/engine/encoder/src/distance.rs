//! How alike two vectors are. A machine of another kind gives the same bits.

use std::array;

/// Sums side by side, which the compiler keeps in vector registers.
const LANES: usize = 16;

/// The dot product; `None` where the dimensions differ.
pub fn dot(left: &[f32], right: &[f32]) -> Option<f32> {
    (left.len() == right.len()).then(|| product(left, right))
}

/// The cosine, from -1 to 1; `None` where the dimensions differ, or either vector is zero or too long for 32-bit floats.
pub fn cosine(left: &[f32], right: &[f32]) -> Option<f32> {
    let squares = f64::from(product(left, left)) * f64::from(product(right, right));
    let cosine = f64::from(dot(left, right)?) / squares.sqrt();
    (cosine.is_finite() && squares.is_finite()).then(|| cosine.clamp(-1.0, 1.0) as f32)
}

/// The dot product of vectors of one length.
pub(crate) fn product(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let mut add = |left: &[f32; LANES], right: &[f32; LANES]| {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    };
    let (left_blocks, left_rest) = left.as_chunks::<LANES>();
    let (right_blocks, right_rest) = right.as_chunks::<LANES>();
    left_blocks.iter().zip(right_blocks).for_each(|(left, right)| add(left, right));
    let padded = |rest: &[f32]| array::from_fn(|lane| rest.get(lane).copied().unwrap_or(0.0));
    add(&padded(left_rest), &padded(right_rest));
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn products_and_cosines_by_hand() {
        assert_eq!(dot(&[1.0, 2.0, 3.0], &[4.0, -5.0, 6.0]), Some(12.0));
        assert_eq!(cosine(&[3.0, 4.0], &[4.0, 3.0]), Some(0.96));
        assert_eq!(cosine(&[2.0, 0.0], &[-0.5, 0.0]), Some(-1.0));
        assert_eq!(dot(&[2.0; 100], &[0.5; 100]), Some(100.0));
    }

    #[test]
    fn vectors_of_other_dimensions_or_of_no_length_are_alike_in_no_way() {
        assert_eq!((dot(&[1.0], &[1.0, 2.0]), cosine(&[1.0], &[1.0, 2.0])), (None, None));
        assert_eq!((cosine(&[0.0], &[1.0]), cosine(&[], &[])), (None, None));
        assert_eq!(cosine(&[f32::MAX], &[f32::MAX]), None, "its square is infinite");
        assert_eq!(cosine(&[f32::MAX], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn a_cosine_is_the_same_both_ways_and_within_its_limits(
            left in proptest::collection::vec(proptest::num::f32::ANY, 0..70),
            right in proptest::collection::vec(-1.0f32..1.0, 0..70),
        ) {
            let cosines = (cosine(&left, &right), cosine(&right, &left));
            prop_assert_eq!(cosines.0, cosines.1);
            prop_assert!(cosines.0.is_none_or(|cosine| (-1.0..=1.0).contains(&cosine)));
        }
    }
}
