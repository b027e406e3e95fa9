//! A small memory of texts and what they were found to mean.

use super::Properties;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// Each text has one place, which it shares with others; the newest of them holds it.
pub(crate) struct Cache {
    slots: Vec<Option<(Box<str>, Properties)>>,
    hasher: FixedState,
}

/// A power of two. Agents are at most a kilobyte, so a full cache holds half a megabyte at worst.
const SLOTS: usize = 512;

impl Default for Cache {
    fn default() -> Self {
        Self { slots: vec![None; SLOTS], hasher: FixedState::default() }
    }
}

impl Cache {
    /// What is remembered of `text`, or else what `find` makes of it.
    pub(crate) fn get_or_insert_with(&mut self, text: &str, find: impl FnOnce(&str) -> Properties) -> Properties {
        let slot = &mut self.slots[self.hasher.hash_one(text) as usize % SLOTS];
        match slot {
            Some((held, properties)) if **held == *text => *properties,
            _ => slot.insert((text.into(), find(text))).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bot() -> Properties {
        Properties { bot: true, ..Properties::default() }
    }

    #[test]
    fn a_text_is_looked_up_once() {
        let mut cache = Cache::default();
        assert_eq!(cache.get_or_insert_with("crawler", |_| bot()), bot());
        assert_eq!(cache.get_or_insert_with("crawler", |_| unreachable!("it was remembered")), bot());
    }

    #[test]
    fn texts_that_share_a_place_are_never_confused() {
        let mut cache = Cache::default();
        for number in 0..4 * SLOTS {
            let expected = Properties { bot: number % 3 == 0, ..Properties::default() };
            let text = format!("agent {number}");
            assert_eq!(cache.get_or_insert_with(&text, |_| expected), expected);
            assert_eq!(cache.get_or_insert_with(&text, |_| Properties::default()), expected);
        }
        assert_eq!(cache.slots.len(), SLOTS);
    }
}
