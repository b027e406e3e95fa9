//! `interacted_with`: what a candidate shares with the items of the visitor's earlier interactions.

use super::field::FieldReader;
use super::tally::Tally;
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use crate::slot::Owner;
use rankwright_state::{Entity, FieldValue, Key, Scope, Slot, Visit};
use std::sync::Arc;
use std::time::Duration;

/// For each field, how many of the candidate's values occur among the items of the visitor's newest interactions,
/// counted as often as they occur there; 0 for a visitor without any.
pub(crate) struct InteractedWith {
    pub(crate) history: Slot,
    pub(crate) owner: Owner,
    pub(crate) fields: Vec<FieldReader>,
    pub(crate) count: usize,
    /// None older than this before the newest one.
    pub(crate) duration: Duration,
    pub(crate) ttl: Duration,
}

impl InteractedWith {
    fn visits<'c>(&self, candidates: &Candidates<'c>) -> &'c [Visit] {
        let entity: Option<&'c Arc<Entity>> = super::entity(candidates, self.owner, 0);
        let recent = entity.and_then(|entity| entity.recent(self.history, candidates.now, self.ttl));
        let visits = recent.map_or(&[][..], |recent| recent.visits());
        let oldest = visits.first().map(|newest| newest.at.minus(self.duration));
        let young = visits.iter().take(self.count).take_while(|visit| oldest.is_none_or(|oldest| visit.at >= oldest));
        &visits[..young.count()]
    }

    /// How often the values of a field occur in the items of these visits.
    fn tally(&self, reader: &FieldReader, candidates: &Candidates<'_>, visited: &[&Arc<Entity>]) -> Option<Tally> {
        let slot = reader.item_slot()?;
        let hashes = || {
            let stored = visited.iter().filter_map(|entity| entity.field(slot, candidates.now, self.ttl));
            stored.flat_map(FieldValue::hashes)
        };
        let count = hashes().count();
        (count > 0).then(|| Tally::of(hashes(), count))
    }
}

impl Extractor for InteractedWith {
    fn follow(&self, candidates: &Candidates<'_>, keys: &mut Vec<Key>) {
        let key = |visit: &Visit| Key::new(&candidates.ranking.tenant, Scope::Item(visit.item.clone()));
        keys.extend(self.visits(candidates).iter().map(key));
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let visits = if candidates.len() == 0 { &[] } else { self.visits(candidates) };
        let visited = visits.iter().filter_map(|visit| candidates.entity(Scope::Item(visit.item.clone())));
        let visited: Vec<&Arc<Entity>> = visited.collect();
        for (column, reader) in self.fields.iter().enumerate() {
            let Some(tally) = self.tally(reader, candidates, &visited) else {
                columns.set_all(column, 0.0);
                continue;
            };
            for (item, value) in reader.all(candidates).into_iter().enumerate() {
                let hashes = value.map_or(&[][..], FieldValue::hashes);
                columns.set(item, column, f64::from(tally.sum(hashes)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};
    use rankwright_event::Value;

    fn liked(more: &str) -> Shop {
        let tags = |tags: &[&str]| Value::Texts(tags.iter().map(|&tag| tag.into()).collect());
        Shop::new(&format!("{{name: liked, type: interacted_with, interaction: click, scope: user, field: [item.color, item.tags]{more}}}"))
            .item("a", [("color", "red".into()), ("tags", tags(&["x", "y"]))])
            .item("b", [("color", "red".into()), ("tags", tags(&["y"]))])
            .item("c", [("color", "blue".into()), ("tags", tags(&["z"]))])
    }

    #[test]
    fn a_visitor_without_history_shares_nothing() {
        assert_rows(&liked("").rows(["a", "b"]), [[0.0, 0.0], [0.0, 0.0]]);
        assert_eq!(liked("").columns(), ["liked_color", "liked_tags"]);
    }

    #[test]
    fn shared_values_count_as_often_as_they_occur_in_the_history() {
        let shop = liked("").interaction("click", "a").interaction("click", "b").interaction("purchase", "c");
        assert_rows(&shop.rows(["a", "b", "c"]), [[2.0, 3.0], [2.0, 2.0], [0.0, 0.0]]);
    }

    #[test]
    fn only_the_newest_interactions_count() {
        let shop = liked(", count: 1").interaction("click", "c").at(1).interaction("click", "a");
        assert_rows(&shop.rows(["a", "c"]), [[1.0, 2.0], [0.0, 0.0]]);
    }

    #[test]
    fn what_is_older_than_the_duration_before_the_newest_does_not_count() {
        let shop = liked(", duration: 1h").interaction("click", "c").at(3601).interaction("click", "a").at(80_000);
        assert_rows(&shop.rows(["a", "c"]), [[1.0, 2.0], [0.0, 0.0]]);
    }
}
