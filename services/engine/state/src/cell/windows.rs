//! Counts by period.

use std::sync::Arc;

/// Periods that are kept in place, the newest and those right before it.
const FEW: usize = 7;

/// Counts by period, the newest periods alone; a count of 0 is none.
///
/// An entity is copied when a value of it changes while a row still looks at it, and most counts go to the newest period.
/// So a few periods are copied as they lie, and of many the ones before the newest are shared by all copies.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    /// How many periods back from the newest are kept.
    keep: u32,
    counts: Counts,
}

#[derive(Debug, Clone)]
enum Counts {
    /// The newest period (time divided by length), and counts of it, of the one before it, and so on.
    Few(i64, [u32; FEW]),
    /// The newest period and its count; those before it, in order.
    Many((i64, u64), Arc<[(i64, u64)]>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Few(i64::MIN, [0; FEW])
    }
}

impl PartialEq for Windows {
    fn eq(&self, other: &Self) -> bool {
        self.keep == other.keep && self.counts().eq(other.counts())
    }
}

impl Windows {
    /// One count in a period; `keep` periods are remembered.
    pub fn one(period: i64, keep: u32) -> Self {
        Self::of(period, 1, keep)
    }

    /// A count in a period; `keep` periods are remembered.
    pub fn of(period: i64, count: u64, keep: u32) -> Self {
        let mut windows = Self { keep, ..Self::default() };
        windows.add(period, count);
        windows
    }

    /// From its parts; `None` where periods are not in order.
    pub fn from_parts(keep: u32, counts: &[(i64, u64)]) -> Option<Self> {
        let ordered = counts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        ordered.then(|| {
            let counted: Vec<_> = counts.iter().copied().filter(|(_, count)| *count > 0).collect();
            Self { keep, counts: Counts::of(&counted) }
        })
    }

    /// How many periods are remembered.
    pub fn keep(&self) -> u32 {
        self.keep
    }

    /// Period numbers with their counts, in order.
    pub fn counts(&self) -> impl Iterator<Item = (i64, u64)> {
        let (older, newest, few) = match &self.counts {
            Counts::Few(newest, counts) => (&[][..], *newest, counts),
            Counts::Many(_, older) => (&older[..], 0, &[0; FEW]),
        };
        let last = match &self.counts {
            Counts::Few(..) => None,
            Counts::Many(last, _) => Some(*last),
        };
        let few = few.iter().enumerate().rev().filter(|(_, count)| **count > 0);
        let few = few.map(move |(age, count)| (newest.wrapping_sub(age as i64), u64::from(*count)));
        older.iter().copied().chain(last).chain(few)
    }

    /// Sum over the `length` periods that end with `newest`.
    pub fn sum(&self, newest: i64, length: u32) -> u64 {
        let oldest = newest.saturating_sub(i64::from(length));
        let within = |period: i64| (oldest < period) & (period <= newest);
        match &self.counts {
            Counts::Few(last, counts) => {
                let ages = counts.iter().zip(0..);
                ages.map(|(count, age)| if within(last.wrapping_sub(age)) { u64::from(*count) } else { 0 }).sum()
            }
            Counts::Many(last, older) => {
                let all = older.iter().chain([last]);
                all.filter(|(period, _)| within(*period)).map(|(_, count)| count).sum()
            }
        }
    }

    pub(super) fn absorb(&mut self, other: &Self) {
        self.keep = self.keep.max(other.keep);
        other.counts().for_each(|(period, count)| self.add(period, count));
        self.forget();
    }

    fn add(&mut self, period: i64, more: u64) {
        match &mut self.counts {
            Counts::Few(newest, counts) => {
                let place = newest.checked_sub(period).and_then(|age| counts.get_mut(usize::try_from(age).ok()?));
                if let Some((count, more)) = place.zip(u32::try_from(more).ok())
                    && let Some(sum) = count.checked_add(more)
                {
                    *count = sum;
                    return;
                }
            }
            Counts::Many((newest, count), _) if *newest == period => {
                *count = count.saturating_add(more);
                return;
            }
            Counts::Many(..) => {}
        }
        self.add_elsewhere(period, more);
    }

    /// Adds a count where none is, or to an older period of many.
    #[cold]
    fn add_elsewhere(&mut self, period: i64, more: u64) {
        let mut counts: Vec<(i64, u64)> = self.counts().collect();
        match counts.binary_search_by_key(&period, |entry| entry.0) {
            Ok(place) => counts[place].1 = counts[place].1.saturating_add(more),
            Err(place) => counts.insert(place, (period, more)),
        }
        counts.retain(|(_, count)| *count > 0);
        self.counts = Counts::of(&counts);
    }

    /// Drops what is older than it has to be kept.
    fn forget(&mut self) {
        let (newest, first) = match &self.counts {
            Counts::Few(newest, counts) => {
                let age = counts.iter().rposition(|count| *count > 0);
                let Some(age) = age else { return };
                (*newest, newest.wrapping_sub(age as i64))
            }
            Counts::Many((newest, _), older) => (*newest, older.first().map_or(*newest, |(period, _)| *period)),
        };
        let oldest = newest.saturating_sub(i64::from(self.keep));
        if first <= oldest {
            let kept: Vec<_> = self.counts().filter(|(period, _)| *period > oldest).collect();
            self.counts = Counts::of(&kept);
        }
    }
}

impl Counts {
    /// Of periods in order, none of them with a count of 0.
    fn of(counts: &[(i64, u64)]) -> Self {
        let Some((&last, older)) = counts.split_last() else { return Self::default() };
        let mut few = [0; FEW];
        let placed = counts.iter().all(|&(period, count)| {
            let age = last.0.checked_sub(period).and_then(|age| usize::try_from(age).ok());
            let place = age.and_then(|age| few.get_mut(age)).zip(u32::try_from(count).ok());
            place.map(|(place, count)| *place = count).is_some()
        });
        if placed { Self::Few(last.0, few) } else { Self::Many(last, older.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The same, the plain way.
    #[derive(Default)]
    struct Plain {
        keep: u32,
        counts: BTreeMap<i64, u64>,
    }

    impl Plain {
        fn absorb(&mut self, keep: u32, counts: &[(i64, u64)]) {
            self.keep = self.keep.max(keep);
            for &(period, count) in counts.iter().filter(|(_, count)| *count > 0) {
                let sum = self.counts.entry(period).or_default();
                *sum = sum.saturating_add(count);
            }
            if let Some((&newest, _)) = self.counts.last_key_value() {
                let oldest = newest.saturating_sub(i64::from(self.keep));
                self.counts.retain(|period, _| *period > oldest);
            }
        }

        fn sum(&self, newest: i64, length: u32) -> u128 {
            let oldest = newest.saturating_sub(i64::from(length));
            let within = self.counts.iter().filter(|(period, _)| oldest < **period && **period <= newest);
            within.map(|(_, count)| u128::from(*count)).sum()
        }
    }

    fn parts() -> impl Strategy<Value = (u32, BTreeMap<i64, u64>)> {
        let period = prop_oneof![8 => -12..12i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => any::<i64>()];
        let count = prop_oneof![8 => 0..5u64, 1 => Just(u64::from(u32::MAX)), 1 => any::<u64>()];
        let keep = prop_oneof![8 => 0..14u32, 1 => Just(u32::MAX)];
        (keep, prop::collection::btree_map(period, count, 0..4))
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_map_by_period(writes in prop::collection::vec(parts(), 1..8), newest in -12..12i64, length in 0..14u32) {
            let (mut windows, mut plain) = (Windows::default(), Plain::default());
            for (keep, counts) in writes {
                let counts: Vec<_> = counts.into_iter().collect();
                windows.absorb(&Windows::from_parts(keep, &counts).expect("periods are in order"));
                plain.absorb(keep, &counts);
                prop_assert_eq!(windows.counts().collect::<Vec<_>>(), plain.counts.clone().into_iter().collect::<Vec<_>>());
            }
            let sum = plain.sum(newest, length);
            if sum <= u128::from(u64::MAX) {
                prop_assert_eq!(u128::from(windows.sum(newest, length)), sum);
            }
        }
    }

    #[test]
    fn copies_of_many_periods_share_all_but_the_newest() {
        let counts: Vec<_> = (1..=30).map(|period| (period, 2)).collect();
        let windows = Windows::from_parts(31, &counts).expect("periods are in order");
        let mut copy = windows.clone();
        copy.absorb(&Windows::one(30, 31));
        let older = |windows: &Windows| match &windows.counts {
            Counts::Many(_, older) => older.clone(),
            Counts::Few(..) => panic!("so many are not few"),
        };
        assert!(Arc::ptr_eq(&older(&windows), &older(&copy)));
        assert_eq!((windows.sum(30, 7), copy.sum(30, 7)), (14, 15));
    }
}
