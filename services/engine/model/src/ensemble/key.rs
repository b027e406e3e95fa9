//! Feature values as integers: every question a numerical split asks becomes one integer comparison, `key > threshold`.
//!
//! A key orders as its value does, and leaves room on both sides: below minus infinity and above infinity. A missing
//! value lies on one of the two, so that it goes where its split sends missing values. Each column therefore exists in
//! several [`View`]s, and a split names the view which holds the side it wants.

/// Rows that descend the trees together.
pub(crate) const LANES: usize = 8;

/// LightGBM's zero: values up to this far from 0 are 0 (`kZeroThreshold` in its `meta.h`).
const ZERO: f32 = 1e-35;

/// The key of a missing value that goes left.
const LOW: i32 = i32::MIN;
/// The key of a missing value that goes right.
const HIGH: i32 = i32::MAX;

/// What counts as missing, and whether it goes left ([`LOW`]) or right ([`HIGH`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum View {
    NanLeft = 0,
    NanRight = 1,
    ZeroLeft = 2,
    ZeroRight = 3,
}

impl View {
    pub(crate) const fn nan(left: bool) -> Self {
        if left { Self::NanLeft } else { Self::NanRight }
    }

    pub(crate) const fn zero(left: bool) -> Self {
        if left { Self::ZeroLeft } else { Self::ZeroRight }
    }
}

/// A key for each lane of one column in one view.
pub(crate) type Lanes = [i32; LANES];

/// Orders as the value does; both zeros have the key 0, and NaN has none of its own.
#[inline]
fn key_of(value: f32) -> i32 {
    let bits = (value + 0.0).to_bits().cast_signed(); // + 0.0 turns -0.0 into 0.0
    bits ^ (((bits >> 31).cast_unsigned() >> 1).cast_signed())
}

/// The value a key of [`View::NanLeft`] came from; a missing one comes back as NaN.
#[inline]
pub(crate) fn value_of(key: i32) -> f32 {
    f32::from_bits((key ^ (((key >> 31).cast_unsigned() >> 1).cast_signed())).cast_unsigned())
}

/// The threshold of `value < bound goes left`, as XGBoost splits.
pub(crate) fn below(bound: f32) -> i32 {
    if bound.is_nan() { key_of(f32::NEG_INFINITY) - 1 } else { key_of(bound) - 1 }
}

/// The threshold of `value <= bound goes left`, as LightGBM splits: the bound is a double, and a value within [`ZERO`]
/// of 0 is taken for 0.
pub(crate) fn at_most(bound: f64) -> i32 {
    let zero = f64::from(ZERO);
    if bound.is_nan() {
        key_of(f32::NEG_INFINITY) - 1
    } else if (0.0..zero).contains(&bound) {
        key_of(ZERO)
    } else if (-zero..0.0).contains(&bound) {
        key_of(-ZERO) - 1
    } else {
        key_of(round_down(bound))
    }
}

/// The largest `f32` that is no larger than the bound.
fn round_down(bound: f64) -> f32 {
    let nearest = bound as f32;
    if f64::from(nearest) > bound { nearest.next_down() } else { nearest }
}

/// Fills the views of up to [`LANES`] rows, column by column: `keys[view * columns + column][lane]`. Lanes beyond the
/// rows, and columns beyond `width`, keep what they held.
pub(crate) fn fill(keys: &mut [Lanes], columns: usize, rows: &[f32], width: usize) {
    let (nan, zero) = keys.split_at_mut(columns * 2);
    let (left, right) = nan.split_at_mut(columns);
    for (lane, row) in rows.chunks_exact(width.max(1)).take(LANES).enumerate() {
        for ((left, right), &value) in left.iter_mut().zip(right.iter_mut()).zip(row) {
            let (key, missing) = (key_of(value), value.is_nan());
            left[lane] = if missing { LOW } else { key };
            right[lane] = if missing { HIGH } else { key };
        }
        if !zero.is_empty() {
            fill_zero(zero, columns, lane, row);
        }
    }
}

fn fill_zero(keys: &mut [Lanes], columns: usize, lane: usize, row: &[f32]) {
    let (left, right) = keys.split_at_mut(columns);
    for ((left, right), &value) in left.iter_mut().zip(right.iter_mut()).zip(row) {
        let (key, missing) = (key_of(value), value.is_nan() || value.abs() <= ZERO);
        left[lane] = if missing { LOW } else { key };
        right[lane] = if missing { HIGH } else { key };
    }
}

/// Keys of rows of which every value is missing.
pub(crate) fn all_missing(columns: usize, views: usize) -> Vec<Lanes> {
    (0..columns * views).map(|index| if (index / columns) % 2 == 0 { [LOW; LANES] } else { [HIGH; LANES] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn view(value: f32, view: View) -> i32 {
        let mut keys = all_missing(1, 4);
        fill(&mut keys, 1, &[value], 1);
        keys[view as usize][0]
    }

    fn goes_left(value: f32, threshold: i32) -> bool {
        view(value, View::NanLeft) <= threshold
    }

    /// Values around each other and around everything special.
    fn values() -> impl Strategy<Value = f32> {
        let special = [0.0, -0.0, ZERO, -ZERO, f32::MIN_POSITIVE, 1e-40, -1e-40, f32::MAX, f32::MIN, 1.0];
        let infinite = [f32::INFINITY, f32::NEG_INFINITY];
        let near = (prop::sample::select(special.to_vec()), -2i32..3)
            .prop_map(|(value, steps)| f32::from_bits(value.to_bits().wrapping_add_signed(steps)));
        prop_oneof![near, prop::sample::select(infinite.to_vec()), any::<f32>()]
            .prop_filter("a number", |value| !value.is_nan())
    }

    fn bounds() -> impl Strategy<Value = f64> {
        let near = (values(), -2i64..3)
            .prop_map(|(value, steps)| f64::from_bits(f64::from(value).to_bits().wrapping_add_signed(steps)));
        prop_oneof![near, any::<f64>()].prop_filter("a number", |bound| !bound.is_nan())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn xgboost_splits_are_decided_as_by_comparing_floats(value in values(), bound in values()) {
            prop_assert_eq!(goes_left(value, below(bound)), value < bound);
        }

        #[test]
        fn lightgbm_splits_are_decided_as_by_comparing_doubles(value in values(), bound in bounds()) {
            let seen = if value.abs() <= ZERO { 0.0 } else { f64::from(value) };
            prop_assert_eq!(goes_left(value, at_most(bound)), seen <= bound);
        }

        #[test]
        fn missing_values_go_to_the_side_of_their_view(bound in bounds(), threshold in values()) {
            for key in [at_most(bound), below(threshold), at_most(f64::NAN), below(f32::NAN)] {
                prop_assert!(view(f32::NAN, View::NanLeft) <= key);
                prop_assert!(view(f32::NAN, View::NanRight) > key);
                for zero in [f32::NAN, 0.0, -0.0, ZERO, -ZERO, 1e-40] {
                    prop_assert!(view(zero, View::ZeroLeft) <= key);
                    prop_assert!(view(zero, View::ZeroRight) > key);
                }
            }
        }

        #[test]
        fn a_value_comes_back_from_its_key(value in values()) {
            prop_assert_eq!(value_of(view(value, View::NanLeft)), value);
        }
    }

    #[test]
    fn nothing_but_missing_values_is_left_of_a_bound_that_is_no_number() {
        assert!(!goes_left(f32::NEG_INFINITY, below(f32::NAN)));
        assert!(!goes_left(f32::NEG_INFINITY, at_most(f64::NAN)));
        assert!(value_of(LOW).is_nan());
    }

    #[test]
    fn zero_is_missing_in_its_views_alone() {
        assert_eq!(view(0.0, View::NanRight), 0);
        assert_eq!(view(2.0, View::ZeroLeft), view(2.0, View::NanLeft));
    }
}
