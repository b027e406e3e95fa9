//! Vectors in a byte for each component, and products with them.
//!
//! A packed vector is a scale (four bytes, little endian) and then a signed byte for each component, which times the scale
//! is the component. Of unit vectors of 384 dimensions, the cosine of a packed and an exact one is within 0.0001 of 1.

use std::array;

const HEAD: usize = 4;
/// Sums side by side, which the compiler keeps in vector registers.
const LANES: usize = 16;

/// Packs a vector of any number of dimensions into that many bytes and four. Components that are not finite count as 0.
pub fn pack(vector: &[f32]) -> Vec<u8> {
    let finite = |value: f32| if value.is_finite() { value } else { 0.0 };
    let largest = vector.iter().fold(0.0f32, |largest, &value| largest.max(finite(value).abs()));
    let scale = largest / 127.0;
    let mut packed = Vec::with_capacity(HEAD + vector.len());
    packed.extend_from_slice(&scale.to_le_bytes());
    packed.extend(vector.iter().map(|&value| {
        let steps = if scale > 0.0 { (finite(value) / scale).round() } else { 0.0 };
        (steps as i8).cast_unsigned() // a float outside of the range becomes the nearest inside
    }));
    packed
}

/// The vector again, each component within half a scale of what was packed; `None` for bytes that are no packed vector.
pub fn unpack(packed: &[u8]) -> Option<Vec<f32>> {
    let (scale, steps) = parts(packed)?;
    Some(steps.iter().map(|&step| f32::from(step.cast_signed()) * scale).collect())
}

/// How many dimensions a packed vector has; `None` for bytes that are no packed vector.
pub fn dim(packed: &[u8]) -> Option<usize> {
    parts(packed).map(|(_, steps)| steps.len())
}

/// The dot product of an exact and a packed vector; `None` where their dimensions differ.
pub fn dot(query: &[f32], packed: &[u8]) -> Option<f32> {
    let (scale, steps) = parts(packed).filter(|(_, steps)| steps.len() == query.len())?;
    Some(sums(query, steps).product * scale)
}

/// The cosine of an exact and a packed vector, from -1 to 1; `None` where their dimensions differ, or either is zero.
pub fn cosine(query: &[f32], packed: &[u8]) -> Option<f32> {
    let (scale, steps) = parts(packed).filter(|(_, steps)| steps.len() == query.len())?;
    let Sums { product, query: ours, steps: theirs } = sums(query, steps);
    let length = (ours * theirs).sqrt();
    (scale > 0.0 && length > 0.0).then(|| (product / length).clamp(-1.0, 1.0))
}

fn parts(packed: &[u8]) -> Option<(f32, &[u8])> {
    let (head, steps) = packed.split_first_chunk::<HEAD>()?;
    Some((f32::from_le_bytes(*head), steps)).filter(|(scale, _)| scale.is_finite())
}

struct Sums {
    product: f32,
    query: f32, // of squares
    steps: f32, // of squares
}

fn sums(query: &[f32], steps: &[u8]) -> Sums {
    let (mut product, mut ours, mut theirs) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
    let mut add = |query: &[f32; LANES], steps: [f32; LANES]| {
        for lane in 0..LANES {
            product[lane] += query[lane] * steps[lane];
            ours[lane] += query[lane] * query[lane];
            theirs[lane] += steps[lane] * steps[lane];
        }
    };
    let float = |step: u8| f32::from(step.cast_signed());
    let (query_blocks, query_rest) = query.as_chunks::<LANES>();
    let (step_blocks, step_rest) = steps.as_chunks::<LANES>();
    for (query, steps) in query_blocks.iter().zip(step_blocks) {
        add(query, steps.map(float));
    }
    let padded = array::from_fn(|lane| query_rest.get(lane).copied().unwrap_or(0.0));
    add(&padded, array::from_fn(|lane| step_rest.get(lane).copied().map_or(0.0, float)));
    Sums { product: product.iter().sum(), query: ours.iter().sum(), steps: theirs.iter().sum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(left: &[f32], right: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        (dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()) as f32
    }

    #[test]
    fn a_vector_packed_is_a_quarter_of_its_size() {
        assert_eq!(pack(&[0.5; 384]).len(), 388);
        assert_eq!(dim(&pack(&[0.5; 384])), Some(384));
    }

    #[test]
    fn what_is_no_packed_vector_has_no_products() {
        assert_eq!(cosine(&[1.0], &[1, 2]), None);
        assert_eq!(cosine(&[1.0], &pack(&[1.0, 2.0])), None, "of another width");
        assert_eq!(dot(&[1.0], &[0, 0, 0xC0, 0x7F, 1]), None, "its scale is not a number");
    }

    #[test]
    fn a_zero_vector_has_no_cosine() {
        assert_eq!(cosine(&[1.0, 0.0], &pack(&[0.0, 0.0])), None);
        assert_eq!(cosine(&[0.0, 0.0], &pack(&[1.0, 0.0])), None);
        assert_eq!(cosine(&[], &pack(&[])), None);
    }

    #[test]
    fn components_that_are_not_finite_count_as_zero() {
        assert_eq!(unpack(&pack(&[f32::NAN, f32::INFINITY, 2.0])).expect("packed just now"), [0.0, 0.0, 2.0]);
    }

    proptest! {
        #[test]
        fn cosines_and_products_are_those_of_exact_vectors(
            query in proptest::collection::vec(-1.0f32..1.0, 384),
            item in proptest::collection::vec(-1.0f32..1.0, 384),
        ) {
            let packed = pack(&item);
            prop_assert!((cosine(&query, &packed).expect("neither is zero") - exact(&query, &item)).abs() < 0.002);
            prop_assert!(cosine(&item, &packed).expect("not zero") > 0.9999);
            let again = unpack(&packed).expect("packed just now");
            let product: f32 = query.iter().zip(&again).map(|(a, b)| a * b).sum();
            prop_assert!((dot(&query, &packed).expect("of one width") - product).abs() < 0.001);
        }

        #[test]
        fn any_vector_and_any_bytes_are_taken(
            vector in proptest::collection::vec(proptest::num::f32::ANY, 0..70),
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            prop_assert_eq!(dim(&pack(&vector)), Some(vector.len()));
            let _ = (cosine(&vector, &bytes), dot(&vector, &bytes), unpack(&bytes));
        }
    }
}
