//! Values of item fields that a ranking's items had when it was shown, for rates that are kept by them.
//!
//! They are kept with the ranking until it closes: what an item counts under does not depend on how fast anything is.

use compact_str::CompactString;
use rankwright_state::Slot;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Values of some item fields, by the slot of each field, for every item of a ranking.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Captured(Vec<(Slot, Values)>);

/// The values of one field. Many items share few values, so each is there once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Values {
    distinct: Vec<CompactString>,
    /// Places in `distinct`, those of all items behind each other.
    places: Vec<u32>,
    /// Where each item's part of `places` ends.
    ends: Vec<u32>,
}

impl Captured {
    /// Notes the values of a field, which come in the order of the items.
    pub(crate) fn add(&mut self, slot: Slot, items: impl Iterator<Item = Vec<CompactString>>) {
        let (mut values, mut known) = (Values::default(), HashMap::new());
        for texts in items {
            for text in texts {
                let place = *known.entry(text).or_insert_with_key(|text| {
                    values.distinct.push(text.clone());
                    values.distinct.len() as u32 - 1
                });
                values.places.push(place);
            }
            values.ends.push(values.places.len() as u32);
        }
        values.places.shrink_to_fit();
        values.ends.shrink_to_fit();
        self.0.push((slot, values));
    }

    /// The values that the item at a place had; none where the field was not kept.
    pub(crate) fn values(&self, slot: Slot, item: usize) -> Vec<CompactString> {
        let kept = self.0.iter().find(|(of, _)| *of == slot);
        kept.and_then(|(_, values)| values.of(item)).unwrap_or_default()
    }

    /// About this many bytes of memory.
    pub fn bytes(&self) -> usize {
        let text = |text: &CompactString| size_of_val(text) + if text.is_heap_allocated() { text.len() } else { 0 };
        let values = |of: &Values| of.distinct.iter().map(text).sum::<usize>() + 4 * (of.places.len() + of.ends.len());
        self.0.iter().map(|(_, of)| values(of)).sum()
    }
}

impl Values {
    /// Those of an item; nothing where the stored form is not one that [`Captured::add`] makes.
    fn of(&self, item: usize) -> Option<Vec<CompactString>> {
        let begin = item.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())? as usize;
        let places = self.places.get(begin..*self.ends.get(item)? as usize)?;
        places.iter().map(|&place| self.distinct.get(place as usize).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_has_its_values_again() {
        let items: [&[&str]; 4] = [&["red"], &[], &["blue", "red"], &["blue"]];
        let of = |texts: &&[&str]| texts.iter().map(|&text| CompactString::from(text)).collect::<Vec<_>>();
        let mut captured = Captured::default();
        captured.add(Slot(3), items.iter().map(of));
        let read = |slot: u16, item| captured.values(Slot(slot), item);
        for (place, texts) in items.iter().enumerate() {
            assert_eq!(read(3, place), of(texts));
        }
        assert!(read(3, 4).is_empty() && read(2, 0).is_empty(), "no such item, no such field");
        assert_eq!(captured.0[0].1.distinct, ["red", "blue"]);
    }
}
