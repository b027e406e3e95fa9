//! Categorical splits.
//!
//! Categories are few as a rule. A value's [`Code`] is found once for all splits of its column, and what a split asks is
//! a look at one bit then.

/// A category, [`OTHER`] or [`MISSING`]: the number of a bit.
pub(crate) type Code = u64;

/// A value that is none of the categories with codes of their own.
const OTHER: Code = 62;
/// NaN.
pub(crate) const MISSING: Code = 63;

/// The categories of one split, and what becomes of a value that is none of them.
#[derive(Debug)]
pub(crate) struct CategorySet {
    /// Bit `c % 32` of word `c / 32` is set for each category `c` of the set.
    words: Box<[u32]>,
    rule: Rule,
    /// The codes whose values go right, as bits; `None` where the set has a category beyond those with codes.
    rights: Option<u64>,
}

/// What is a category, and where all else goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    XgBoost { missing_left: bool },
    LightGbm,
}

impl Rule {
    /// The category that a value is, as far as this library goes by categories.
    fn category(self, value: f32) -> Option<u32> {
        let is_one = match self {
            Self::XgBoost { .. } => (0.0..16_777_216.0).contains(&value),
            Self::LightGbm => value > -1.0,
        };
        is_one.then_some(value as u32)
    }

    /// The code of a value: the same for all sets of a library.
    #[inline]
    pub(crate) fn code(self, value: f32) -> Code {
        if value.is_nan() {
            return MISSING;
        }
        self.category(value).map_or(OTHER, |category| Code::from(category).min(OTHER))
    }
}

impl CategorySet {
    /// Categories of the set go right, all else left (`common::Decision` of XGBoost's `categorical.h`): negative
    /// values and those of 2^24 and more are no categories; a fraction is cut off.
    pub(crate) fn xgboost(words: Vec<u32>, missing_left: bool) -> Self {
        Self::new(words.into(), Rule::XgBoost { missing_left })
    }

    /// Categories of the set go left, all else and missing values right (`CategoricalDecision` of LightGBM's
    /// `tree.h`): the fraction is cut off first, so that -0.5 is the category 0.
    pub(crate) fn lightgbm(words: &[u32]) -> Self {
        Self::new(words.into(), Rule::LightGbm)
    }

    fn new(words: Box<[u32]>, rule: Rule) -> Self {
        let mut set = Self { words, rule, rights: None };
        let bit = |code: Code, value: f32| u64::from(set.right(value)) << code;
        let (other, missing) = (bit(OTHER, -5.0), bit(MISSING, f32::NAN));
        let rights = (0..OTHER).fold(other | missing, |rights, code| rights | bit(code, code as f32));
        let all_have_codes = set.words.iter().enumerate().all(|(place, word)| match place {
            0 => true,
            1 => word >> (OTHER - 32) == 0,
            _ => *word == 0,
        });
        set.rights = all_have_codes.then_some(rights);
        set
    }

    /// The library that made it.
    pub(crate) fn rule(&self) -> Rule {
        self.rule
    }

    /// The codes that go right, see [`Code`]; `None` where values have to be looked at.
    pub(crate) fn rights(&self) -> Option<u64> {
        self.rights
    }

    /// Whether the value goes right.
    pub(crate) fn right(&self, value: f32) -> bool {
        let holds = self.rule.category(value).is_some_and(|category| self.holds(category));
        match self.rule {
            Rule::XgBoost { missing_left } if value.is_nan() => !missing_left,
            Rule::XgBoost { .. } => holds,
            Rule::LightGbm => !holds,
        }
    }

    fn holds(&self, category: u32) -> bool {
        self.words.get(category as usize / 32).is_some_and(|word| word >> (category % 32) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: u32 = 0b1101; // 0, 2 and 3

    #[test]
    fn xgboost_sends_the_set_right() {
        let set = CategorySet::xgboost(vec![SET], true);
        assert!([0.0, -0.0, 0.5, 2.0, 2.9, 3.0].iter().all(|&value| set.right(value)));
        let others = [1.0, 4.0, 32.0, 1e6, 3e7, f32::INFINITY, -0.5, -1.0, f32::NEG_INFINITY, f32::NAN];
        assert!(!others.iter().any(|&value| set.right(value)));
        assert!(CategorySet::xgboost(vec![SET], false).right(f32::NAN));
    }

    #[test]
    fn lightgbm_sends_the_set_left() {
        let set = CategorySet::lightgbm(&[SET]);
        assert!(![0.0, -0.0, -0.5, 0.5, 2.0, 2.9, 3.0].iter().any(|&value| set.right(value)));
        let others = [1.0, 4.0, 32.0, 1e6, 3e7, 1e20, f32::INFINITY, -1.0, -1e20, f32::NEG_INFINITY, f32::NAN];
        assert!(others.iter().all(|&value| set.right(value)));
    }

    #[test]
    fn codes_go_where_their_values_do() {
        let last = 1 << (OTHER - 1 - 32);
        let xgboost = |missing_left| CategorySet::xgboost(vec![SET, last, 0], missing_left);
        for set in [xgboost(true), xgboost(false), CategorySet::lightgbm(&[SET, last])] {
            let rights = set.rights().expect("all of its categories have codes");
            let values = (-8..300).map(|quarters| quarters as f32 / 4.0);
            for value in values.chain([-0.0, 1e6, 1.6777215e7, 3e7, 1e20, f32::INFINITY, -1e20, f32::NAN]) {
                let code = set.rule().code(value);
                assert_eq!(rights >> code & 1 == 1, set.right(value), "{set:?}: {value}");
            }
        }
    }

    #[test]
    fn a_category_beyond_the_codes_is_told() {
        for words in [[0, 1 << (OTHER - 32), 0], [0, 0, 1]] {
            assert_eq!(CategorySet::lightgbm(&words).rights(), None);
            assert_eq!(CategorySet::xgboost(words.to_vec(), true).rights(), None);
        }
    }
}
