//! How old the values are that a ranking's features read.

use super::{Plan, StoredAs};
use rankwright_event::{RankedItem, Ranking, Timestamp};
use rankwright_state::{Entity, Fetched, Scope, Slot, View};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Plan {
    /// For each item: when the newest value was stored that each feature reads of the item, of the visitor, and of the values of its
    /// fields; where there is none of these, of what is counted of all together. Features that read nothing stored are left out. For
    /// people: it costs a look at all values.
    pub fn newest(&self, ranking: &Ranking, fetched: &Fetched) -> Vec<BTreeMap<&str, Timestamp>> {
        let reader = |stored: &StoredAs| Some((stored.slot, self.readers.get(&stored.meaning)?.as_slice()));
        let readers: BTreeMap<Slot, &[String]> = self.stored.iter().filter_map(reader).collect();
        let (items, shared) = fetched.named().split_at(ranking.items.len().min(fetched.named().len()));
        let (visitor, all) = shared.split_at(shared.len().saturating_sub(usize::from(self.global)));
        let (mut of_visitor, mut of_all) = (BTreeMap::new(), BTreeMap::new());
        visitor.iter().flatten().for_each(|entity| note_newest(entity, &readers, &mut of_visitor));
        all.iter().flatten().for_each(|entity| note_newest(entity, &readers, &mut of_all));
        let mut alone = Ranking { items: Vec::new(), ..ranking.clone() };
        let of_item = |(item, entity): (&RankedItem, &Option<Arc<Entity>>)| {
            alone.items = vec![item.clone()];
            let mut newest = of_visitor.clone();
            entity.iter().for_each(|entity| note_newest(entity, &readers, &mut newest));
            let named = std::iter::once(entity).chain(shared).cloned().collect();
            let followed = self.follow(&alone, &Fetched::new(named));
            // of other items that a visitor's history names, the values are not this one's
            let followed = followed.iter().filter(|key| !matches!(key.scope, Scope::Item(_)));
            let followed = followed.filter_map(|key| fetched.entity(key));
            followed.for_each(|entity| note_newest(entity, &readers, &mut newest));
            of_all.iter().for_each(|(feature, time)| _ = newest.entry(feature).or_insert(*time));
            newest
        };
        ranking.items.iter().zip(items).map(of_item).collect()
    }
}

/// Notes for each feature when the newest of an entity's values came that it reads.
fn note_newest<'p>(entity: &Entity, readers: &BTreeMap<Slot, &'p [String]>, newest: &mut BTreeMap<&'p str, Timestamp>) {
    for (slot, stored) in entity.values() {
        for feature in readers.get(&slot).copied().unwrap_or_default() {
            let time = newest.entry(feature).or_insert(stored.at);
            *time = stored.at.max(*time);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Shop;

    #[test]
    fn a_feature_is_as_old_as_the_newest_value_that_it_reads_of_the_item_the_visitor_or_a_field() {
        let shop = Shop::with(&[
            "{name: price, type: number, field: item.price}",
            "{name: visits, type: interaction_count, interaction: click, scope: user}",
            "{name: brand, type: interaction_count, interaction: click, scope: item.brand}",
            "{name: clicks, type: interaction_count, interaction: click, scope: item}",
            "{name: all, type: interaction_count, interaction: click, scope: global}",
            "{name: position, type: position, position: 3}",
        ]);
        let shop = shop
            .at(1)
            .item("a", [("price", 1.0.into()), ("brand", "x".into())])
            .item("b", [("price", 2.0.into()), ("brand", "y".into())])
            .at(2)
            .item("a", [("price", 3.0.into())])
            .at(5)
            .interaction("click", "b")
            .at(7)
            .closed(["b", "a"], ["b"])
            .at(9);
        let told = |of: &[(&str, i64)]| of.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect::<Vec<_>>();
        let expected = [
            told(&[("all", 5), ("brand", 1), ("price", 2), ("visits", 5)]),
            told(&[("all", 5), ("brand", 7), ("clicks", 5), ("price", 1), ("visits", 5)]),
            told(&[("all", 5), ("visits", 5)]),
        ];
        assert_eq!(shop.newest(["a", "b", "c"]), expected);
    }

    #[test]
    fn a_rate_is_as_old_as_what_is_counted_of_the_item_and_not_of_all_items() {
        let rate = "{name: ctr, type: rate, top: click, bottom: impression, bucket: 24h, periods: [7], normalize: {weight: 1}}";
        let shop = Shop::new(rate).at(1).closed(["a"], ["a"]).at(5).closed(["b"], ["b"]);
        let times: Vec<_> = shop.newest(["a", "b", "c"]).iter().map(|of_item| of_item[0].1).collect();
        assert_eq!(times, [1, 5, 5], "of one that was never shown, what all items have counts");
    }
}
