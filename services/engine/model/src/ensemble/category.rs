//! Categorical splits.

/// The categories of one split, and what becomes of a value that is none of them.
#[derive(Debug)]
pub(crate) struct CategorySet {
    /// Bit `c % 32` of word `c / 32` is set for each category `c` of the set.
    words: Box<[u32]>,
    rule: Rule,
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    XgBoost { missing_left: bool },
    LightGbm,
}

impl CategorySet {
    /// Categories of the set go right, all else left (`common::Decision` of XGBoost's `categorical.h`): negative
    /// values and those of 2^24 and more are no categories; a fraction is cut off.
    pub(crate) fn xgboost(words: Vec<u32>, missing_left: bool) -> Self {
        Self { words: words.into(), rule: Rule::XgBoost { missing_left } }
    }

    /// Categories of the set go left, all else and missing values right (`CategoricalDecision` of LightGBM's
    /// `tree.h`): the fraction is cut off first, so that -0.5 is the category 0.
    pub(crate) fn lightgbm(words: &[u32]) -> Self {
        Self { words: words.into(), rule: Rule::LightGbm }
    }

    /// Whether the value goes right.
    pub(crate) fn right(&self, value: f32) -> bool {
        match self.rule {
            Rule::XgBoost { missing_left } if value.is_nan() => !missing_left,
            Rule::XgBoost { .. } => (0.0..16_777_216.0).contains(&value) && self.holds(value as u32),
            Rule::LightGbm => !(value > -1.0 && self.holds(value as u32)),
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
}
