//! Vectors in a byte for each component, and products with them.
//!
//! A packed vector is its scale and its length (four bytes each, little endian) and then a signed byte for each component,
//! which times the scale is the component. Of unit vectors of 384 dimensions, the cosine of a packed and an exact one is within 0.0001 of 1.

use crate::distance;

const HEAD: usize = 8;
/// A sum of this many products, of a step of two bytes and one of one byte, fits into four bytes.
const BLOCK: usize = 256;

/// Packs a vector of any number of dimensions into that many bytes and eight. Components that are not finite count as 0.
pub fn pack(vector: &[f32]) -> Vec<u8> {
    let finite = |value: f32| if value.is_finite() { value } else { 0.0 };
    let largest = vector.iter().fold(0.0f32, |largest, &value| largest.max(finite(value).abs()));
    let scale = largest / 127.0;
    let step = |&value: &f32| if scale > 0.0 { (finite(value) / scale).round() as i8 } else { 0 };
    let squares: i64 = vector.iter().map(|value| i64::from(step(value)).pow(2)).sum();
    let length = ((squares as f64).sqrt() as f32 * scale).min(f32::MAX);
    let mut packed = Vec::with_capacity(HEAD + vector.len());
    packed.extend_from_slice(&scale.to_le_bytes());
    packed.extend_from_slice(&length.to_le_bytes());
    packed.extend(vector.iter().map(|value| step(value).cast_unsigned()));
    packed
}

/// The vector again, each component within half a scale of what was packed; `None` for bytes that are no packed vector.
pub fn unpack(packed: &[u8]) -> Option<Vec<f32>> {
    let Parts { scale, steps, .. } = parts(packed)?;
    Some(steps.iter().map(|&step| f32::from(step.cast_signed()) * scale).collect())
}

/// How many dimensions a packed vector has; `None` for bytes that are no packed vector.
pub fn dim(packed: &[u8]) -> Option<usize> {
    parts(packed).map(|parts| parts.steps.len())
}

/// An exact vector that is compared with many packed ones: its length, and its components in two bytes each, are computed once.
#[derive(Debug, Clone)]
pub struct Query<'q> {
    vector: &'q [f32],
    length: f32,
    /// These times the scale are the components.
    steps: Vec<i16>,
    scale: f32,
}

impl<'q> Query<'q> {
    /// To compare this vector with others.
    pub fn of(vector: &'q [f32]) -> Self {
        // not a number where a component is none
        let larger = |largest: f32, size: f32| if size > largest || size.is_nan() { size } else { largest };
        let scale = vector.iter().map(|component| component.abs()).fold(0.0, larger) / f32::from(i16::MAX);
        let steps = vector.iter().map(|component| (component / scale).round() as i16).collect();
        Self { vector, length: distance::product(vector, vector).sqrt(), steps, scale }
    }

    /// The vector.
    pub fn vector(&self) -> &'q [f32] {
        self.vector
    }

    /// The dot product with a packed vector; `None` where the dimensions differ.
    pub fn dot(&self, packed: &[u8]) -> Option<f32> {
        let Parts { scale, steps, .. } = self.parts(packed)?;
        Some(self.product(steps) * scale)
    }

    /// The cosine of the angle to a packed vector, from -1 to 1; `None` where the dimensions differ, or either is zero or too
    /// long for 32-bit floats.
    pub fn cosine(&self, packed: &[u8]) -> Option<f32> {
        let Parts { scale, length, steps } = self.parts(packed)?;
        let cosine = self.product(steps) / self.length / (length / scale);
        cosine.is_finite().then(|| cosine.clamp(-1.0, 1.0))
    }

    fn parts<'p>(&self, packed: &'p [u8]) -> Option<Parts<'p>> {
        parts(packed).filter(|parts| parts.steps.len() == self.vector.len())
    }

    /// The product with steps of a byte.
    fn product(&self, steps: &[u8]) -> f32 {
        let blocks = self.steps.chunks(BLOCK).zip(steps.chunks(BLOCK));
        let sum: i64 = blocks.map(|(query, steps)| i64::from(block(query, steps))).sum();
        sum as f32 * self.scale
    }
}

/// The product of at most [`BLOCK`] steps: whole numbers, of which compilers add several at a time.
fn block(query: &[i16], steps: &[u8]) -> i32 {
    query.iter().zip(steps).map(|(&query, &step)| i32::from(query) * i32::from(step.cast_signed())).sum()
}

struct Parts<'a> {
    scale: f32,
    length: f32,
    steps: &'a [u8],
}

fn parts(packed: &[u8]) -> Option<Parts<'_>> {
    let (scale, rest) = packed.split_first_chunk()?;
    let (length, steps) = rest.split_first_chunk()?;
    let parts = Parts { scale: f32::from_le_bytes(*scale), length: f32::from_le_bytes(*length), steps };
    (parts.scale.is_finite() && parts.length.is_finite()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cosine(query: &[f32], packed: &[u8]) -> Option<f32> {
        Query::of(query).cosine(packed)
    }

    fn dot(query: &[f32], packed: &[u8]) -> Option<f32> {
        Query::of(query).dot(packed)
    }

    fn exact(left: &[f32], right: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        (dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()) as f32
    }

    #[test]
    fn a_vector_packed_is_a_quarter_of_its_size() {
        assert_eq!(pack(&[0.5; 384]).len(), 392);
        assert_eq!(dim(&pack(&[0.5; 384])), Some(384));
    }

    #[test]
    fn a_packed_vector_has_the_bytes_that_states_hold() {
        // scale 1, length the root of 20234, then the steps
        let expected = [0x00, 0x00, 0x80, 0x3f, 0x0b, 0x3f, 0x0e, 0x43, 0x7f, 0xc0, 0x03, 0x00];
        assert_eq!(pack(&[127.0, -64.0, 3.0, 0.0]), expected);
        assert_eq!(unpack(&expected).expect("is a packed vector"), [127.0, -64.0, 3.0, 0.0]);
    }

    #[test]
    fn what_is_no_packed_vector_has_no_products() {
        assert_eq!(cosine(&[1.0], &[1, 2]), None);
        assert_eq!(cosine(&[1.0], &pack(&[1.0, 2.0])), None, "of another width");
        assert_eq!(dot(&[1.0], &[0, 0, 0xC0, 0x7F, 0, 0, 0, 0, 1]), None, "its scale is not a number");
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
            let cosine = cosine(&vector, &bytes).or(cosine(&vector, &pack(&vector)));
            prop_assert!(cosine.is_none_or(|cosine| (-1.0..=1.0).contains(&cosine)));
            let _ = (dot(&vector, &bytes), unpack(&bytes));
        }
    }
}
