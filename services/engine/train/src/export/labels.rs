//! Relevance as the boosters take it: whole numbers where it is whole, else what each makes of other numbers.
//!
//! Both gain `2^label - 1` from a whole label. LightGBM takes a table of other gains by number, and XGBoost takes gains in
//! place of labels. So training on a file is training on the same gains as here.

use crate::booster::lightgbm;
use crate::metric;
use rankwright_config::model::Booster;

/// The highest whole label that both take (LightGBM's default table of gains ends there).
const MOST: f32 = 30.0;

/// What is written in place of a relevance.
pub(super) struct Labels {
    booster: Booster,
    /// Rising, 0 first; a label of LightGBM is a place among them.
    pub(super) levels: Vec<f32>,
    /// Whether relevance is written as it is.
    pub(super) whole: bool,
}

impl Labels {
    /// For all labels of both sides.
    pub(super) fn of(booster: Booster, labels: &[f32]) -> Self {
        let levels = lightgbm::levels(&[labels]);
        let whole = levels.iter().all(|&level| level.fract() == 0.0 && level <= MOST);
        let most = levels.last().copied().unwrap_or_default() as u8;
        let levels = if whole { (0..=most).map(f32::from).collect() } else { levels };
        Self { booster, levels, whole }
    }

    /// A relevance, as a file has it.
    pub(super) fn written(&self, label: f32) -> f32 {
        match (self.whole, self.booster) {
            (true, _) => label,
            (false, Booster::XgBoost) => metric::gain(label) as f32,
            (false, Booster::LightGbm) => lightgbm::rank(&self.levels, label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_labels_are_written_as_they_are_with_a_gain_for_each_below() {
        for booster in [Booster::XgBoost, Booster::LightGbm] {
            let labels = Labels::of(booster, &[0.0, 4.0, 1.0]);
            assert_eq!([0.0, 1.0, 4.0].map(|label| labels.written(label)), [0.0, 1.0, 4.0]);
            assert_eq!(labels.levels, [0.0, 1.0, 2.0, 3.0, 4.0]);
        }
    }

    #[test]
    fn other_labels_become_gains_or_places() {
        let all = [0.0, 0.5, 3.0, 0.5];
        let (gains, places) = (Labels::of(Booster::XgBoost, &all), Labels::of(Booster::LightGbm, &all));
        assert_eq!(all.map(|label| gains.written(label)), [0.0, 0.414_213_57, 7.0, 0.414_213_57]);
        assert_eq!(all.map(|label| places.written(label)), [0.0, 1.0, 2.0, 1.0]);
        assert_eq!(places.levels, [0.0, 0.5, 3.0]);
        assert!(!Labels::of(Booster::LightGbm, &[31.0]).whole, "LightGBM's own table ends at 30");
    }
}
