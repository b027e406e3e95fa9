//! `rate`: how often one interaction follows another, for each of several periods.
//!
//! The click-through rate of an item, clicks over impressions, is the common case. Without a counter the plain rate is
//! missing rather than zero: a model learns to treat "no data yet" apart from "seldom clicked". The normalised rate
//! starts from the rate over everything instead.

use super::compiler::{Compile, Compiled, Compiler, millis};
use super::field_scope::{FieldScope, need_values};
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::slot::{Meaning, Slots, Target};
use rankwright_config::feature;
use rankwright_state::{Entity, Key, Slot, Windows};
use std::sync::Arc;
use std::time::Duration;

/// Divides one periodic counter by another of the same target.
pub(crate) struct Rate {
    top: Slot,
    bottom: Slot,
    bucket: i64, // milliseconds
    periods: Vec<u32>,
    ttl: Duration,
    /// By which field's values the counters are kept; absent where they are the item's.
    scope: Option<FieldScope>,
    normal: Option<Normal>,
}

/// How a rate is drawn to the one over everything.
struct Normal {
    weight: f64,
    top: Slot,
    bottom: Slot,
}

impl Compile for feature::Rate {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        let (bucket, keep) = (millis(self.bucket), self.periods.iter().copied().max().unwrap_or(1));
        for interaction in [&self.top, &self.bottom] {
            slots.need(Meaning::shown(interaction, Target::from(&self.scope), bucket), ttl, keep);
            if self.normalize.is_some() {
                slots.need(Meaning::shown(interaction, Target::Global, bucket), ttl, keep);
            }
        }
        need_values(self.scope.source(), ttl, slots);
    }

    fn meaning(&self) -> String {
        let Self { top, bottom, bucket, scope, normalize, .. } = self;
        format!("rate {top:?} {bottom:?} {} {:?} {normalize:?}", millis(*bucket), Target::from(scope))
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        let (bucket, periods, ttl) = (millis(self.bucket), self.periods.clone(), compiler.ttl);
        let slots = compiler.slots;
        let slot = |interaction, target| slots.slot(&Meaning::shown(interaction, target, bucket));
        let of = |target: &Target| (slot(&self.top, target.clone()), slot(&self.bottom, target.clone()));
        let (top, bottom) = of(&Target::from(&self.scope));
        let normal = self.normalize.map(|weight| {
            let (top, bottom) = of(&Target::Global);
            Normal { weight, top, bottom }
        });
        let scope = self.scope.source().map(|source| FieldScope::new(&source, compiler));
        Ok(Box::new(Rate { top, bottom, bucket, periods, ttl, scope, normal }))
    }
}

impl Rate {
    fn newest(&self, candidates: &Candidates<'_>) -> i64 {
        candidates.now.millis().div_euclid(self.bucket)
    }

    /// Divisor over dividend of everything, for each period.
    fn overall(&self, candidates: &Candidates<'_>, normal: &Normal) -> Vec<Option<f64>> {
        let newest = self.newest(candidates);
        let count = |slot, period| {
            let windows = candidates.global.and_then(|global| global.windows(slot, candidates.now, self.ttl));
            windows.map(|windows| windows.sum(newest, period)).filter(|&count| count > 0)
        };
        let ratio = |&period| Some(count(normal.bottom, period)? as f64 / count(normal.top, period)? as f64);
        self.periods.iter().map(ratio).collect()
    }

    /// Rates of one target for each period, added to `sums` with how many there were.
    fn add(
        &self,
        entity: Option<&Arc<Entity>>,
        candidates: &Candidates<'_>,
        overall: &[Option<f64>],
        sums: &mut [(f64, u32)],
    ) {
        let newest = self.newest(candidates);
        let windows = |slot| entity.and_then(|entity| entity.windows(slot, candidates.now, self.ttl));
        let (top, bottom) = (windows(self.top), windows(self.bottom));
        for (place, (&period, sum)) in self.periods.iter().zip(sums).enumerate() {
            let count = |windows: Option<&Windows>| windows.map(|windows| windows.sum(newest, period));
            let rate = match &self.normal {
                None => ratio(count(top), count(bottom)),
                Some(normal) => overall[place].map(|overall| normal.rate(count(top), count(bottom), overall)),
            };
            if let Some(rate) = rate {
                *sum = (sum.0 + rate, sum.1 + 1);
            }
        }
    }
}

impl Normal {
    /// (w + top) / (w * (global bottom / global top) + bottom), as the specification has it.
    fn rate(&self, top: Option<u64>, bottom: Option<u64>, overall: f64) -> f64 {
        (self.weight + top.unwrap_or(0) as f64) / (self.weight * overall + bottom.unwrap_or(0) as f64)
    }
}

/// `None` where either counter was never written, or nothing was counted below the line.
fn ratio(top: Option<u64>, bottom: Option<u64>) -> Option<f64> {
    let (top, bottom) = (top?, bottom.filter(|&count| count > 0)?);
    Some(top as f64 / bottom as f64)
}

impl Extractor for Rate {
    fn follows(&self) -> bool {
        self.scope.is_some()
    }

    fn follow(&self, candidates: &Candidates<'_>, keys: &mut Vec<Key>) {
        if let Some(scope) = &self.scope {
            scope.follow(candidates, keys);
        }
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let overall = self.normal.as_ref().map_or(Vec::new(), |normal| self.overall(candidates, normal));
        let mut sums = vec![(0.0, 0); self.periods.len()];
        for item in 0..candidates.len() {
            sums.fill((0.0, 0));
            let mut add = |entity| self.add(entity, candidates, &overall, &mut sums);
            match &self.scope {
                None => add(candidates.items[item]),
                Some(scope) => scope.each(candidates, item, |scope| add(candidates.entity(scope))),
            }
            for (column, &(sum, count)) in sums.iter().enumerate() {
                columns.set(item, column, if count == 0 { MISSING } else { sum / f64::from(count) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};
    use rankwright_event::Value;

    fn ctr(more: &str) -> Shop {
        Shop::new(&format!(
            "{{name: ctr, type: rate, top: click, bottom: impression, bucket: 24h, periods: [7, 30]{more}}}"
        ))
    }

    #[test]
    fn rate_is_clicks_over_impressions_for_each_period() {
        let shop = ctr("").closed(["a", "b"], ["b"]).closed(["a", "b"], ["a"]).closed(["b", "a"], ["b"]);
        assert_rows(&shop.rows(["a", "b"]), [[0.5, 0.5], [1.0, 1.0]]);
        assert_eq!(shop.columns(), ["ctr_7", "ctr_30"]);
    }

    #[test]
    fn rate_is_missing_for_an_item_that_was_shown_but_never_clicked() {
        let shop = ctr("").closed(["a", "b"], ["b"]);
        assert_rows(&shop.rows(["a", "b", "c"]), [[f32::NAN; 2], [1.0, 1.0], [f32::NAN; 2]]);
    }

    #[test]
    fn items_below_the_lowest_click_were_not_looked_at() {
        let shop = ctr(", normalize: {weight: 1}").closed(["a", "b", "c"], ["b"]);
        // everything: 1 click, 2 impressions; a: shown, b: clicked, c: not looked at
        assert_rows(&shop.rows(["a", "b", "c"]), [[1.0 / 3.0; 2], [2.0 / 3.0; 2], [0.5; 2]]);
    }

    #[test]
    fn a_normalised_rate_is_missing_until_something_was_clicked() {
        assert_rows(&ctr(", normalize: {weight: 1}").rows(["a"]), [[f32::NAN; 2]]);
    }

    #[test]
    fn clicks_leave_a_window_when_their_period_does() {
        let shop = ctr("").closed(["a"], ["a"]).at(8 * 86_400);
        assert_rows(&shop.rows(["a"]), [[f32::NAN, 1.0]]);
    }

    #[test]
    fn a_rate_over_a_list_is_the_mean_over_its_values() {
        let tags = |tags: &[&str]| Value::Texts(tags.iter().map(|&tag| tag.into()).collect());
        let shop = ctr(", scope: item.tags")
            .item("a", [("tags", tags(&["x", "y"]))])
            .item("b", [("tags", tags(&["y"]))])
            .closed(["a", "b"], ["a", "b"])
            .closed(["b", "a"], ["a"]);
        // x: 2 of 2; y: 3 of 4
        assert_rows(&shop.rows(["a", "b", "c"]), [[0.875; 2], [0.75; 2], [f32::NAN; 2]]);
    }

    #[test]
    fn a_rate_by_query_counts_an_item_within_rankings_for_that_query() {
        let shop = ctr(", scope: ranking.query").asked("query", "shoes").closed(["a", "b"], ["b"]);
        assert_rows(&shop.rows(["a", "b"]), [[f32::NAN; 2], [1.0; 2]]);
        assert_rows(&shop.asked("query", "boots").rows(["a", "b"]), [[f32::NAN; 2], [f32::NAN; 2]]);
    }

    #[test]
    fn an_interaction_without_a_ranking_counts_one_impression() {
        assert_rows(&ctr("").unranked("click", "a").rows(["a"]), [[1.0, 1.0]]);
    }

    #[test]
    fn a_rate_by_the_id_of_items_is_that_of_the_items() {
        let of = |more: &str| ctr(more).closed(["a", "b"], ["b"]).closed(["a", "b"], ["a"]).rows(["a", "b", "c"]);
        assert_rows(&of(", scope: item.id"), [[0.5; 2], [1.0; 2], [f32::NAN; 2]]);
        assert_rows(&of(""), [[0.5; 2], [1.0; 2], [f32::NAN; 2]]);
    }
}
