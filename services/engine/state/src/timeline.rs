//! Which keys of joins, waiting interactions and the like have not been written to for longest, for stores that have no
//! index of their own. It is made when it is first asked for, and kept up to date from then on.

use crate::{Key, Space};
use rankwright_event::Timestamp;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Keys by the time of their newest value, for each space.
#[derive(Default)]
pub(crate) struct Timeline {
    times: HashMap<Arc<Key>, Timestamp>,
    order: HashMap<Space, BTreeSet<(Timestamp, Arc<Key>)>>,
}

impl Timeline {
    /// Notes that a key has a newest value from now on, or is gone.
    pub(crate) fn note(&mut self, key: &Key, newest: Option<Timestamp>) {
        let space = key.scope.space();
        if space == Space::Values {
            return;
        }
        let order = self.order.entry(space).or_default();
        let known = self.times.remove_entry(key).map(|(known, before)| {
            let entry = (before, known);
            order.remove(&entry);
            entry.1
        });
        if let Some(newest) = newest {
            let key = known.unwrap_or_else(|| Arc::new(key.clone()));
            self.times.insert(key.clone(), newest);
            order.insert((newest, key));
        }
    }

    /// How many keys of a space there are.
    pub(crate) fn count(&self, space: Space) -> usize {
        self.order.get(&space).map_or(0, BTreeSet::len)
    }

    /// At most `limit` keys of a space that have no value newer than `until`, the oldest first.
    pub(crate) fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> Vec<Key> {
        let order = self.order.get(&space).into_iter().flatten();
        order.take_while(|(newest, _)| *newest <= until).take(limit).map(|(_, key)| (**key).clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use rankwright_event::Tenant;

    fn join(id: &str) -> Key {
        Key::new(&Tenant::default(), Scope::Join(id.into()))
    }

    #[test]
    fn keys_come_by_the_time_of_their_newest_value() {
        let mut timeline = Timeline::default();
        let at = |second: i64| Timestamp::from_millis(second * 1000);
        for (id, second) in [("b", 5), ("a", 5), ("c", 1), ("d", 9), ("e", 2)] {
            timeline.note(&join(id), Some(at(second)));
        }
        timeline.note(&join("c"), Some(at(7)));
        timeline.note(&join("e"), None);
        assert_eq!((timeline.count(Space::Joins), timeline.count(Space::Waiting)), (4, 0));
        assert_eq!(timeline.oldest(Space::Joins, at(8), 10), [join("a"), join("b"), join("c")]);
        assert_eq!(timeline.oldest(Space::Joins, at(9), 2), [join("a"), join("b")]);
        assert!(timeline.oldest(Space::Waiting, at(9), 2).is_empty());
    }
}
