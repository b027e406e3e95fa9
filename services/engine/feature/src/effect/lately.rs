//! The values that an item's field had lately: what counts by value goes to the one that it had at a time.
//!
//! A ranking counts when it closes, and by then all updates from before it have come. So what it counts under does not depend on the
//! order in which writers bring updates and rankings.

use super::texts;
use crate::extractor::field::ID;
use compact_str::CompactString;
use rankwright_event::{Field, ItemId, Timestamp, Value};
use rankwright_state::{Entity, FieldValue, Slot, Visit};
use std::sync::Once;
use std::time::Duration;

/// Number of updates that are kept. An item that is sent more often than this within a session is taken to have had its oldest
/// kept value before.
pub(crate) const KEPT: u32 = 8;

/// A field whose values have counters.
#[derive(Debug, Clone)]
pub(crate) struct Lately {
    pub(crate) name: CompactString,
    /// Its newest value, whose slot stands for the field in keys.
    pub(crate) slot: Slot,
    /// Its updates.
    pub(crate) updates: Slot,
    /// How long they count.
    pub(crate) ttl: Duration,
}

/// An update as a list of the newest has it.
pub(super) fn update(at: Timestamp, event: u64, value: &Value) -> Visit {
    let texts = texts(Some(&FieldValue::from(value)));
    let json = serde_json::to_string(&texts).expect("strings can always be written");
    Visit { at, event, item: ItemId::from(json) }
}

impl Lately {
    /// The values of an item at a time: those that were sent with it, else those that were stored then.
    pub(crate) fn of(
        &self,
        item: &ItemId,
        sent: &[Field],
        stored: Option<&Entity>,
        time: Timestamp,
    ) -> Vec<CompactString> {
        let sent = sent.iter().rev().find(|field| field.name == self.name);
        let sent = sent.map(|field| texts(Some(&FieldValue::from(&field.value))));
        let values = sent.or_else(|| self.stored(stored?, time));
        let id = || if self.name == ID { vec![item.as_str().into()] } else { Vec::new() };
        values.unwrap_or_else(id)
    }

    fn stored(&self, entity: &Entity, time: Timestamp) -> Option<Vec<CompactString>> {
        let Some(recent) = entity.recent(self.updates, time, self.ttl) else {
            return Some(texts(Some(entity.field(self.slot, time, self.ttl)?))); // from before updates were kept
        };
        let updates = recent.visits();
        let full = updates.len() >= recent.keep() as usize;
        let known = updates.iter().find(|update| update.at <= time);
        let then = known.or_else(|| updates.last().filter(|_| full).inspect(|_| say_outrun(&self.name)));
        let then = then.filter(|update| update.at >= time.minus(self.ttl))?; // a newer one does not make it younger
        serde_json::from_str(then.item.as_str()).ok()
    }
}

fn say_outrun(field: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            field = ?field,
            kept = KEPT,
            "an item has more updates of this field since its ranking was shown than are kept: rates over the field count the ranking under the oldest kept value; this is logged once"
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_state::{Cell, Recent, Stored};

    const OF: Lately = Lately {
        name: CompactString::const_new("color"),
        slot: Slot(1),
        updates: Slot(2),
        ttl: Duration::from_secs(3600),
    };

    fn stored(entity: &Entity, second: i64) -> Vec<CompactString> {
        OF.of(&"a".into(), &[], Some(entity), at(second))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    /// An item whose color was sent at these seconds.
    fn item(colors: &[(i64, &str)], keep: u32) -> Entity {
        let mut entity = Entity::default();
        for (second, color) in colors {
            let value = Value::Text((*color).into());
            let update = update(at(*second), 7, &value);
            let stored = |cell| Stored { at: at(*second), event: 7, cell };
            entity.absorb_value(OF.updates, &stored(Cell::Recent(Recent::one(update, keep))));
            entity.absorb_value(OF.slot, &stored(Cell::Field(FieldValue::from(&value))));
        }
        entity
    }

    #[test]
    fn an_item_has_the_value_of_its_newest_update_by_then_whatever_came_first() {
        let updates = [(10, "red"), (20, "blue"), (30, "green")];
        let backwards: Vec<_> = updates.iter().rev().copied().collect();
        for item in [item(&updates, KEPT), item(&backwards, KEPT)] {
            for (second, color) in [(10, "red"), (19, "red"), (20, "blue"), (99, "green")] {
                assert_eq!(stored(&item, second), [color], "at {second}");
            }
            assert!(stored(&item, 9).is_empty(), "it was unknown then");
        }
    }

    #[test]
    fn a_value_that_was_outdated_by_then_does_not_count_whatever_came_later() {
        let item = item(&[(0, "red"), (8400, "blue")], KEPT);
        assert_eq!(stored(&item, 3600), ["red"]);
        assert!(stored(&item, 7200).is_empty(), "red was two hours old");
        assert_eq!(stored(&item, 8400), ["blue"]);
    }

    #[test]
    fn an_item_that_is_sent_too_often_had_its_oldest_kept_value_before() {
        assert_eq!(stored(&item(&[(10, "red"), (20, "blue"), (30, "green")], 2), 15), ["blue"]);
    }

    #[test]
    fn a_value_that_was_stored_alone_counts() {
        let value = Stored { at: at(5), event: 7, cell: Cell::Field(FieldValue::from(&Value::Text("red".into()))) };
        let mut item = Entity::default();
        item.absorb_value(OF.slot, &value);
        assert_eq!(stored(&item, 10), ["red"]);
        assert!(stored(&item, 5000).is_empty(), "it is outdated");
    }

    #[test]
    fn a_list_counts_under_each_of_its_strings_and_a_number_under_none() {
        let list = Value::Texts(vec!["a \"b\"".into(), "c".into(), "c".into()]);
        let mut entity = Entity::default();
        let mut add = |second, value: &Value| {
            let cell = Cell::Recent(Recent::one(update(at(second), 1, value), KEPT));
            entity.absorb_value(OF.updates, &Stored { at: at(second), event: 1, cell });
        };
        add(1, &list);
        add(2, &Value::Number(1.0));
        assert_eq!(stored(&entity, 1), ["a \"b\"", "c"]);
        assert!(stored(&entity, 2).is_empty());
    }

    #[test]
    fn a_value_that_is_sent_with_the_item_comes_first_and_an_unknown_id_is_that_of_the_item() {
        let (red, sent) = (item(&[(10, "red")], KEPT), [Field::new("color", "blue".into())]);
        assert_eq!(OF.of(&"a".into(), &sent, Some(&red), at(10)), ["blue"]);
        let id = Lately { name: ID.into(), ..OF };
        assert_eq!(id.of(&"a".into(), &[], None, at(10)), ["a"]);
        assert_eq!(id.of(&"a".into(), &[], Some(&red), at(10)), ["red"], "an event may say otherwise");
    }
}
