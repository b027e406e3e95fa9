//! `interacted_with`: what a candidate shares with the items of the visitor's earlier interactions.

use super::compiler::{Compile, Compiled, Compiler, millis};
use super::field::FieldReader;
use super::tally::Tally;
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use crate::slot::{Meaning, Owner, Slots};
use rankwright_config::feature;
use rankwright_state::{Entity, FieldValue, Key, Scope, Slot, Term, Visit, oldest};
use smallvec::SmallVec;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

/// For each field, how many of the candidate's values occur among the items of the visitor's newest interactions,
/// counted as often as they occur there; 0 for a visitor without any.
pub(crate) struct InteractedWith {
    history: Slot,
    owner: Owner,
    fields: Vec<FieldReader>,
    count: usize,
    /// None older than this before the newest one.
    duration: Duration,
    ttl: Duration,
}

/// Where the history lies.
fn history(of: &feature::InteractedWith) -> Meaning {
    Meaning::Recent { interaction: of.interaction.clone(), scope: of.scope.into() }
}

impl Compile for feature::InteractedWith {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        self.fields.iter().for_each(|field| slots.need(Meaning::ItemField(field.clone()), ttl, 0));
        slots.need(history(self), ttl, u32::try_from(self.count).unwrap_or(u32::MAX));
    }

    fn meaning(&self) -> String {
        let (interaction, owner) = (&self.interaction, Owner::from(self.scope));
        format!("interacted_with {interaction:?} {owner:?} {} {}", self.count, millis(self.duration))
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        let fields = self.fields.iter().map(|field| compiler.item(field)).collect();
        let (history, owner, ttl) = (compiler.slots.slot(&history(self)), self.scope.into(), compiler.ttl);
        let (count, duration) = (self.count, self.duration);
        Ok(Box::new(InteractedWith { history, owner, fields, count, duration, ttl }))
    }
}

impl InteractedWith {
    fn visits<'c>(&self, candidates: &Candidates<'c>) -> &'c [Visit] {
        let entity: Option<&'c Arc<Entity>> = super::entity(candidates, self.owner, 0);
        let recent = entity.and_then(|entity| entity.recent(self.history, candidates.now, self.ttl));
        let visits = recent.map_or(&[][..], |recent| recent.visits());
        let Some(newest) = visits.first() else { return visits };
        let (oldest, mut later) = (newest.at.minus(self.duration), newest.at);
        let young = visits.iter().take(self.count).take_while(|visit| {
            // after a pause longer than `ttl` the history begins again, whether the store had removed it by then or not
            let is_young = visit.at >= oldest.max(later.minus(self.ttl));
            later = visit.at;
            is_young
        });
        &visits[..young.count()]
    }

    /// The values of these fields in the items that were visited: the place of the field, and the hashes of an item's
    /// values. `ids` are the items' own hashes, and `id` is the place of the field `item.id`.
    fn values<'v>(
        &self,
        visits: &[Visit],
        id: Option<usize>,
        ids: &'v [u64],
        candidates: &'v Candidates<'_>,
    ) -> Vec<(usize, &'v [u64])> {
        let slots: SmallVec<[(Slot, usize); 8]> = self.slots();
        let (slots, places): (SmallVec<[Slot; 8]>, SmallVec<[usize; 8]>) = slots.into_iter().unzip();
        let oldest = oldest(candidates.now, self.ttl);
        let mut values = Vec::with_capacity(visits.len() * slots.len());
        for (place, visit) in visits.iter().enumerate() {
            let before = values.len();
            if let Some(entity) = candidates.entity(Scope::Item(visit.item.clone())) {
                entity.each_field(&slots, |field, stored| {
                    values.extend(stored.field(oldest).map(|value| (places[field], value.hashes())));
                });
            }
            let is_stored = |id: &usize| values[before..].iter().any(|(field, _)| field == id);
            if let Some(id) = id.filter(|id| !is_stored(id)) {
                values.push((id, slice::from_ref(&ids[place])));
            }
        }
        values
    }

    /// The slots of the fields in order, each with the place of its field.
    fn slots(&self) -> SmallVec<[(Slot, usize); 8]> {
        let slots = self.fields.iter().enumerate().filter_map(|(place, reader)| Some((reader.item_slot()?, place)));
        let mut slots: SmallVec<[(Slot, usize); 8]> = slots.collect();
        slots.sort_unstable();
        slots
    }
}

impl Extractor for InteractedWith {
    fn follows(&self) -> bool {
        true
    }

    fn follow(&self, candidates: &Candidates<'_>, keys: &mut Vec<Key>) {
        let key = |visit: &Visit| Key::new(&candidates.ranking.tenant, Scope::Item(visit.item.clone()));
        keys.extend(self.visits(candidates).iter().map(key));
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let visits = if candidates.len() == 0 { &[] } else { self.visits(candidates) };
        let id = self.fields.iter().position(|reader| reader.is_id(candidates));
        let ids = visits.iter().filter(|_| id.is_some()).map(|visit| Term::hash_of(visit.item.as_str()));
        let ids: Vec<u64> = ids.collect();
        let values = self.values(visits, id, &ids, candidates);
        for (column, reader) in self.fields.iter().enumerate() {
            let of_field = || values.iter().filter(|(field, _)| *field == column).map(|(_, hashes)| *hashes);
            let count = of_field().map(<[u64]>::len).sum();
            if count == 0 {
                columns.set_all(column, 0.0);
                continue;
            }
            let tally = Tally::of(of_field().flatten(), count);
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

    #[test]
    fn a_history_begins_anew_after_a_pause_longer_than_its_ttl() {
        let again = "{name: again, type: interacted_with, interaction: click, field: item.id, duration: 30d, ttl: 1h}";
        let clicks = |times: [i64; 3]| {
            let shop = Shop::new(again).at(times[0]).interaction("click", "a").at(times[1]).interaction("click", "b");
            shop.at(times[2]).interaction("click", "c").rows(["a", "b", "c"])
        };
        assert_rows(&clicks([0, 3601, 7200]), [[0.0], [1.0], [1.0]]);
        assert_rows(&clicks([0, 3600, 7200]), [[1.0], [1.0], [1.0]]);
        assert_rows(&clicks([0, 3600, 7201]), [[0.0], [0.0], [1.0]]);
    }

    #[test]
    fn the_id_of_an_item_tells_whether_the_visitor_clicked_that_very_item() {
        let shop = Shop::new("{name: again, type: interacted_with, interaction: click, field: [item.color, item.id]}")
            .item("a", [("color", "red".into())])
            .item("b", [("color", "red".into())])
            .interaction("click", "a")
            .interaction("click", "unknown");
        assert_eq!(shop.columns(), ["again_color", "again_id"]);
        assert_rows(&shop.rows(["a", "b", "unknown", "new"]), [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]);
        let twice = shop.at(1).interaction("click", "a");
        assert_rows(&twice.rows(["a", "b"]), [[2.0, 2.0], [2.0, 0.0]]);
    }

    #[test]
    fn a_field_named_id_that_events_send_takes_the_place_of_the_items_id() {
        let shop = Shop::new("{name: again, type: interacted_with, interaction: click, field: item.id}")
            .item("a", [("id", "film".into())])
            .item("b", [("id", "film".into())])
            .interaction("click", "a");
        assert_rows(&shop.rows(["a", "b", "film", "c"]), [[1.0], [1.0], [1.0], [0.0]]);
    }
}
