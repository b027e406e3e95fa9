//! The most frequent texts of many, in bounded memory.
//!
//! Counts of Misra and Gries (1982), purged in batches: when there are twice as many texts as are kept, the count of the last
//! one that is kept is taken from all, and those that reach zero go. A count is too low by `missed` at most.

use compact_str::CompactString;
use foldhash::quality::FixedState;
use std::collections::HashMap;

/// Longer texts are no categories.
const LONGEST: usize = 100;

#[derive(Debug)]
pub(super) struct Frequent {
    /// Number of texts that stay after a purge.
    most: usize,
    counts: HashMap<CompactString, u64, FixedState>,
    missed: u64,
}

impl Frequent {
    /// Finds every text that is at least one in `most` of all.
    pub(super) fn new(most: usize) -> Self {
        Self { most, counts: HashMap::with_hasher(FixedState::default()), missed: 0 }
    }

    /// One more.
    pub(super) fn add(&mut self, text: &str) {
        if text.len() > LONGEST {
            return;
        }
        if let Some(count) = self.counts.get_mut(text) {
            *count += 1;
            return;
        }
        if self.counts.len() >= 2 * self.most {
            self.purge();
        }
        self.counts.insert(text.into(), 1);
    }

    fn purge(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let (_, cut, _) = counts.select_nth_unstable_by(self.most, |left, right| right.cmp(left));
        let cut = *cut;
        self.missed += cut;
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(cut);
            *count > 0
        });
    }

    /// Texts that were counted at least this often, the most frequent first.
    pub(super) fn at_least(&self, least: u64) -> Vec<(&str, u64)> {
        let mut found: Vec<(&str, u64)> = self
            .counts
            .iter()
            .filter(|(_, count)| **count >= least)
            .map(|(text, &count)| (text.as_str(), count))
            .collect();
        found.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_counted_exactly_while_there_is_room() {
        let mut frequent = Frequent::new(4);
        ["a", "b", "a", "c", "a", "b"].iter().for_each(|text| frequent.add(text));
        assert_eq!(frequent.at_least(2), [("a", 3), ("b", 2)]);
        assert_eq!((frequent.at_least(1).len(), frequent.missed), (3, 0));
    }

    #[test]
    fn what_is_frequent_is_found_among_any_number_of_others_with_a_count_that_is_little_too_low() {
        let (most, rounds) = (100, 10_000u64);
        let mut frequent = Frequent::new(most);
        for round in 0..rounds {
            frequent.add(&format!("once {round}"));
            frequent.add("half");
            if round % 10 == 0 {
                frequent.add("one in twenty");
            }
        }
        assert!(frequent.counts.len() <= 2 * most);
        let all = rounds * 2 + rounds / 10;
        assert!(frequent.missed <= all / most as u64, "{} missed", frequent.missed);
        let found = frequent.at_least(rounds / 20);
        assert_eq!(found.iter().map(|(text, _)| *text).collect::<Vec<_>>(), ["half", "one in twenty"]);
        assert!(found[0].1 <= rounds && found[0].1 + frequent.missed >= rounds);
    }

    #[test]
    fn long_texts_are_left_out() {
        let mut frequent = Frequent::new(4);
        frequent.add(&"a".repeat(LONGEST + 1));
        assert!(frequent.at_least(1).is_empty());
    }
}
