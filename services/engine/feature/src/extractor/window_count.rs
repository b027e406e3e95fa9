//! `window_count`: interactions over a number of periods up to now.

use super::compiler::{Compile, Compiled, Compiler, millis};
use super::field_scope::{Holder, need_values};
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::slot::{Counted, Meaning, Slots};
use rankwright_config::feature;
use rankwright_state::{Key, Slot};
use std::time::Duration;

/// Sums of periodic counters; missing where nothing was ever counted.
///
/// Periods are aligned to 1970; a window covers the period of the ranking's time and those before it.
pub(crate) struct WindowCount {
    slot: Slot,
    holder: Holder,
    bucket: i64, // milliseconds
    windows: Vec<u32>,
    ttl: Duration,
}

/// Where the counts lie.
fn counts(of: &feature::WindowCount) -> Meaning {
    Meaning::windows(&of.interaction, &of.scope, millis(of.bucket))
}

impl Compile for feature::WindowCount {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        slots.need(counts(self), ttl, self.windows.iter().copied().max().unwrap_or(1));
        need_values(self.scope.source(), ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("window_count {:?} {} {}", self.interaction, Counted::from(&self.scope), millis(self.bucket))
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        let (slot, holder) = (compiler.slots.slot(&counts(self)), Holder::new(&self.scope, compiler));
        let (bucket, windows) = (millis(self.bucket), self.windows.clone());
        Ok(Box::new(WindowCount { slot, holder, bucket, windows, ttl: compiler.ttl }))
    }
}

impl Extractor for WindowCount {
    fn follows(&self) -> bool {
        self.holder.follows()
    }

    fn follow(&self, candidates: &Candidates<'_>, keys: &mut Vec<Key>) {
        self.holder.follow(candidates, keys);
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let newest = candidates.now.millis().div_euclid(self.bucket);
        for item in 0..candidates.len() {
            for (column, &window) in self.windows.iter().enumerate() {
                let count = self.holder.mean(candidates, item, |entity| {
                    let counts = entity?.windows(self.slot, candidates.now, self.ttl)?;
                    Some(counts.sum(newest, window))
                });
                columns.set(item, column, count.unwrap_or(MISSING));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    fn clicks() -> Shop {
        Shop::new(
            "{name: clicks, type: window_count, interaction: click, scope: item, bucket_size: 1h, windows: [1, 3]}",
        )
    }

    #[test]
    fn a_window_covers_the_period_of_now_and_those_before_it() {
        let shop = clicks()
            .interaction("click", "a")
            .at(3600)
            .interaction("click", "a")
            .at(2 * 3600)
            .interaction("click", "a");
        assert_rows(&shop.rows(["a", "never"]), [[1.0, 3.0], [f32::NAN, f32::NAN]]);
        assert_eq!(shop.columns(), ["clicks_1", "clicks_3"]);
    }

    #[test]
    fn a_count_ages_when_nothing_happens() {
        let shop = clicks().interaction("click", "a").at(3 * 3600);
        assert_rows(&shop.rows(["a"]), [[0.0, 0.0]]);
    }

    #[test]
    fn the_other_name_and_the_other_keys_mean_the_same() {
        let shop = Shop::new(
            "{name: clicks, type: window_event_count, interaction: click, scope: item, bucket: 1h, periods: [1, 3]}",
        );
        assert_rows(&shop.interaction("click", "a").rows(["a"]), [[1.0, 1.0]]);
    }

    #[test]
    fn counts_over_a_field_are_those_of_rankings_that_closed() {
        let shop = Shop::new(
            "{name: n, type: window_count, interaction: click, scope: item.color, bucket: 1h, windows: [1, 3]}",
        )
        .item("a", [("color", "red".into())])
        .item("b", [("color", "red".into())])
        .closed(["a"], ["a"])
        .at(3600)
        .closed(["a", "b"], ["b"]);
        assert_rows(&shop.rows(["a", "b", "c"]), [[1.0, 2.0], [1.0, 2.0], [f32::NAN, f32::NAN]]);
    }
}
