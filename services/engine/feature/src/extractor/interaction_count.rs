//! `interaction_count`: a counter that only grows.

use super::compiler::{Compile, Compiled, Compiler};
use super::field_scope::{Holder, need_values};
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use crate::slot::{Counted, Meaning, Slots};
use rankwright_config::feature;
use rankwright_state::{Key, Slot};
use std::time::Duration;

/// Number of interactions; 0 where there was none.
pub(crate) struct InteractionCount {
    slot: Slot,
    holder: Holder,
    ttl: Duration,
}

impl Compile for feature::InteractionCount {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        slots.need(Meaning::count(&self.interaction, &self.scope), ttl, 0);
        need_values(self.scope.source(), ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("count {:?} {}", self.interaction, Counted::from(&self.scope))
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        let slot = compiler.slots.slot(&Meaning::count(&self.interaction, &self.scope));
        Ok(Box::new(InteractionCount { slot, holder: Holder::new(&self.scope, compiler), ttl: compiler.ttl }))
    }
}

impl Extractor for InteractionCount {
    fn follows(&self) -> bool {
        self.holder.follows()
    }

    fn follow(&self, candidates: &Candidates<'_>, keys: &mut Vec<Key>) {
        self.holder.follow(candidates, keys);
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        for item in 0..candidates.len() {
            let count = self.holder.mean(candidates, item, |entity| {
                let count = entity.and_then(|entity| entity.counter(self.slot, candidates.now, self.ttl));
                Some(count.unwrap_or(0))
            });
            columns.set(item, 0, count.unwrap_or(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};
    use rankwright_event::Value;

    #[test]
    fn clicks_are_counted_by_item_visitor_visit_and_all_together() {
        for (scope, expected) in
            [("item", [[2.0], [1.0], [0.0]]), ("user", [[3.0]; 3]), ("session", [[3.0]; 3]), ("global", [[3.0]; 3])]
        {
            let shop =
                Shop::new(&format!("{{name: clicks, type: interaction_count, interaction: click, scope: {scope}}}"))
                    .interaction("click", "a")
                    .interaction("click", "b")
                    .interaction("click", "a")
                    .interaction("purchase", "a");
            assert_rows(&shop.rows(["a", "b", "c"]), expected);
        }
    }

    #[test]
    fn two_features_that_share_a_counter_count_an_event_once() {
        let shop = Shop::with(&[
            "{name: one, type: interaction_count, interaction: click, scope: item}",
            "{name: two, type: interaction_count, interaction: click, scope: item}",
        ]);
        assert_rows(&shop.interaction("click", "a").rows(["a"]), [[1.0, 1.0]]);
    }

    #[test]
    fn a_count_over_a_field_is_the_mean_over_the_values_of_an_item() {
        let tags = |tags: &[&str]| Value::Texts(tags.iter().map(|&tag| tag.into()).collect());
        let shop = Shop::new("{name: clicks, type: interaction_count, interaction: click, scope: item.tags}")
            .item("a", [("tags", tags(&["x", "y"]))])
            .item("b", [("tags", tags(&["y", "z"]))])
            .closed(["a", "b"], ["a", "a", "b"]);
        // x: 2, y: 3, z: 1
        assert_rows(&shop.rows(["a", "b", "c"]), [[2.5], [2.0], [0.0]]);
        assert_rows(&shop.unranked("click", "b").rows(["a", "b"]), [[3.0], [3.0]]);
    }

    #[test]
    fn a_count_by_query_is_the_items_within_rankings_for_that_query() {
        let shop = Shop::new("{name: clicks, type: interaction_count, interaction: click, scope: ranking.query}");
        let shop = shop.asked("query", "shoes").closed(["a", "b"], ["b", "b"]);
        assert_rows(&shop.rows(["a", "b"]), [[0.0], [2.0]]);
        assert_rows(&shop.asked("query", "boots").rows(["a", "b"]), [[0.0], [0.0]]);
    }
}
