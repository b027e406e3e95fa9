//! `interaction_count`: a counter that only grows.

use super::{Columns, Extractor, entity};
use crate::candidates::Candidates;
use crate::slot::Owner;
use rankwright_state::Slot;
use std::time::Duration;

/// Number of interactions; 0 where there was none.
pub(crate) struct InteractionCount {
    pub(crate) slot: Slot,
    pub(crate) owner: Owner,
    pub(crate) ttl: Duration,
}

impl Extractor for InteractionCount {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        for item in 0..candidates.len() {
            let entity = entity(candidates, self.owner, item);
            let count = entity.and_then(|entity| entity.counter(self.slot, candidates.now, self.ttl));
            columns.set(item, 0, count.unwrap_or(0) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

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
}
