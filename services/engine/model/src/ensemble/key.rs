//! Feature values as integers: every question a numerical split asks becomes one integer comparison, `key > threshold`.
//!
//! A key orders as its value does, and leaves room on both sides: below minus infinity and above infinity. A missing
//! value lies on one of the two, so that it goes where its split sends missing values. Each column therefore exists in
//! several [`View`]s, and a split names the view which holds the side it wants.

use super::category::{self, Code, Rule};

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

/// Keys of up to this many columns and views have an array of this size, which the compiler knows an index of one byte
/// to be within.
pub(crate) const NARROW: usize = 256;

/// The keys of up to [`LANES`] rows: every column of the first view, then those of the next. Beside them the codes of
/// columns that hold categories.
pub(crate) struct Keys<'a> {
    lanes: Vec<Lanes>,
    columns: usize,
    views: usize,
    /// By column; those of columns without categories mean nothing.
    codes: Vec<[Code; LANES]>,
    categories: &'a Categories,
}

/// The columns that splits ask for categories with codes, in order.
#[derive(Debug, Default)]
pub(crate) struct Categories {
    pub(crate) columns: Vec<u32>,
    pub(crate) rule: Option<Rule>,
}

impl<'a> Keys<'a> {
    /// Keys of rows of which every value is missing.
    pub(crate) fn missing(columns: usize, views: usize, categories: &'a Categories) -> Self {
        let mut lanes = [[LOW; LANES], [HIGH; LANES]].into_iter().cycle().take(views).collect::<Vec<_>>();
        lanes = lanes.iter().flat_map(|&view| std::iter::repeat_n(view, columns)).collect();
        lanes.resize(lanes.len().max(NARROW), [0; LANES]);
        let coded = categories.columns.last().map_or(0, |last| *last as usize + 1);
        Self { lanes, columns, views, codes: vec![[category::MISSING; LANES]; coded], categories }
    }

    /// Takes the keys of the first rows. Lanes beyond the rows, and columns beyond `width`, keep what they held.
    pub(crate) fn fill(&mut self, rows: &[f32], width: usize) {
        for (lane, row) in rows.chunks_exact(width.max(1)).take(LANES).enumerate() {
            self.fill_views(View::NanLeft, lane, row, |value| value.is_nan());
            if self.views > View::ZeroLeft as usize {
                self.fill_views(View::ZeroLeft, lane, row, |value| value.is_nan() || value.abs() <= ZERO);
            }
            if let Some(rule) = self.categories.rule {
                for &column in &self.categories.columns {
                    let value = row.get(column as usize).copied().unwrap_or(f32::NAN);
                    self.codes[column as usize][lane] = rule.code(value);
                }
            }
        }
    }

    /// The codes of a column of which [`Categories`] speaks.
    #[inline]
    pub(crate) fn codes(&self, column: u32) -> &[Code; LANES] {
        &self.codes[column as usize]
    }

    /// Fills a view that sends missing values left, and the next one, which sends them right.
    #[inline]
    fn fill_views(&mut self, left: View, lane: usize, row: &[f32], missing: impl Fn(f32) -> bool) {
        let views = &mut self.lanes[left as usize * self.columns..][..2 * self.columns];
        let (left, right) = views.split_at_mut(self.columns);
        for ((left, right), &value) in left.iter_mut().zip(right).zip(row) {
            let key = key_of(value);
            left[lane] = if missing(value) { LOW } else { key };
            right[lane] = if missing(value) { HIGH } else { key };
        }
    }

    /// Number of columns of each view.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// By `view * columns + column`; at least [`NARROW`] of them.
    pub(crate) fn lanes(&self) -> &[Lanes] {
        &self.lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    static NONE: Categories = Categories { columns: Vec::new(), rule: None };

    fn view(value: f32, view: View) -> i32 {
        let mut keys = Keys::missing(1, 4, &NONE);
        keys.fill(&[value], 1);
        keys.lanes()[view as usize][0]
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
        #![proptest_config(ProptestConfig::with_cases(2_000))]

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
    fn columns_without_values_are_missing_in_every_view() {
        let mut keys = Keys::missing(3, 4, &NONE);
        keys.fill(&[1.0, 2.0], 1);
        let first = |view: View| keys.lanes()[view as usize * 3];
        assert!([View::NanLeft, View::ZeroLeft].iter().all(|&view| first(view)[2..] == [LOW; LANES - 2]));
        assert_eq!((first(View::ZeroRight)[1], first(View::ZeroRight)[2]), (key_of(2.0), HIGH));
        assert_eq!(keys.lanes()[View::NanRight as usize * 3 + 2], [HIGH; LANES]);
    }

    #[test]
    fn zero_is_missing_in_its_views_alone() {
        assert_eq!(view(0.0, View::NanRight), 0);
        assert_eq!(view(2.0, View::ZeroLeft), view(2.0, View::NanLeft));
    }
}
