//! Which items are in demand: interactions that lose weight with age.
//!
//! The score of an item is the sum, over its interactions within the window of their kind, of `weight * decay ^ days`, where
//! `days` are the whole days from the interaction to the newest one of all.

use crate::codec::{self, DecodeError};
use crate::matrix::Names;
use compact_str::CompactString;
use std::collections::HashSet;

const DAY: i64 = 24 * 60 * 60 * 1000;
/// So many items are kept: nobody asks for more.
const MOST: usize = 10_000;
const MAGIC: [u8; 4] = *b"RKTR";

/// What an interaction of a kind counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    /// Factor for each day, over 0 and at most 1.
    pub decay: f64,
    /// Of one of today.
    pub weight: f64,
    /// Older ones do not count; in milliseconds.
    pub window: i64,
}

/// Collects interactions in any order. Those that are out of every window are let go of now and then.
pub struct TrendingBuilder {
    weights: Vec<Weight>,
    items: Names,
    all: Vec<(u32, u16, i64)>,
    newest: i64,
    limit: usize,
}

/// The items with the highest scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Trending {
    items: Vec<(CompactString, f32)>,
}

impl TrendingBuilder {
    /// Nothing yet; the place of a kind of interaction is that of its weight.
    pub fn new(weights: Vec<Weight>) -> Self {
        Self { weights, items: Names::default(), all: Vec::new(), newest: i64::MIN, limit: 1 << 20 }
    }

    /// Adds an interaction at a time in milliseconds. One of a kind without a weight does not count.
    pub fn add(&mut self, item: &str, kind: usize, at: i64) {
        let (Some(_), Some(item)) = (self.weights.get(kind), self.items.number(item)) else { return };
        self.newest = self.newest.max(at);
        self.all.push((item, kind as u16, at));
        if self.all.len() >= self.limit {
            let (weights, newest) = (&self.weights, self.newest);
            self.all.retain(|&(_, kind, at)| age(newest, at) <= weights[usize::from(kind)].window);
            self.limit = (2 * self.all.len()).max(self.limit);
        }
    }

    /// The scores as of the newest interaction.
    pub fn finish(self) -> Trending {
        let mut scores = vec![0.0_f64; self.items.len()];
        // sums do not depend on the order of interactions where equal ones are added together first
        let mut all = self.all;
        all.sort_unstable();
        for same in all.chunk_by(|one, other| one == other) {
            let (item, kind, at) = same[0];
            let Weight { decay, weight, window } = self.weights[usize::from(kind)];
            let age = age(self.newest, at);
            if age <= window {
                let days = i32::try_from(age / DAY).unwrap_or(i32::MAX);
                scores[item as usize] += same.len() as f64 * weight * decay.powi(days);
            }
        }
        let named = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
        let mut items: Vec<(CompactString, f32)> =
            named.map(|(item, &score)| (self.items.name(item as u32).into(), score as f32)).collect();
        items.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        items.truncate(MOST);
        Trending { items }
    }
}

fn age(newest: i64, at: i64) -> i64 {
    newest.saturating_sub(at)
}

impl Trending {
    /// The best `count` items, none of them excluded, with their scores, best first; equal ones by name.
    pub fn top(&self, count: usize, exclude: &HashSet<&str>) -> Vec<(&str, f32)> {
        let wanted = self.items.iter().filter(|(item, _)| !exclude.contains(item.as_str()));
        wanted.take(count).map(|(item, score)| (item.as_str(), *score)).collect()
    }

    /// How many items are kept.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = codec::begin(MAGIC, self.items.len());
        codec::put_names(&mut bytes, self.items.iter().map(|(item, _)| item.as_str()));
        self.items.iter().for_each(|(_, score)| bytes.extend(score.to_le_bytes()));
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// Any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (mut rest, count) = codec::open(bytes, MAGIC, "trending items")?;
        let names = codec::names(&mut rest, count)?;
        let scores = codec::numbers(&mut rest, count)?;
        codec::end(rest)?;
        Ok(Self { items: names.into_iter().zip(scores).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(weights: &[Weight], clicks: &[(&str, usize, i64)]) -> Trending {
        let mut builder = TrendingBuilder::new(weights.to_vec());
        clicks.iter().for_each(|&(item, kind, at)| builder.add(item, kind, at));
        builder.finish()
    }

    const CLICK: Weight = Weight { decay: 0.5, weight: 1.0, window: 7 * DAY };
    const BUY: Weight = Weight { decay: 1.0, weight: 3.0, window: DAY };

    #[test]
    fn scores_decay_by_whole_days_and_end_with_the_window() {
        let now = 100 * DAY;
        let clicks = [
            ("fresh", 0, now),
            ("fresh", 0, now - DAY + 1),
            ("old", 0, now - DAY),
            ("old", 0, now - 2 * DAY - 1),
            ("gone", 0, now - 7 * DAY - 1),
            ("bought", 1, now - DAY),
            ("bought", 1, now - DAY - 1),
            ("other", 2, now),
        ];
        let expected = [("bought", 3.0), ("fresh", 2.0), ("old", 0.75)];
        let nothing = HashSet::new();
        assert_eq!(of(&[CLICK, BUY], &clicks).top(10, &nothing), expected);
        let mut turned = clicks;
        turned.reverse();
        assert_eq!(of(&[CLICK, BUY], &turned).top(2, &nothing), expected[..2]);
        assert_eq!(of(&[CLICK, BUY], &clicks).top(2, &HashSet::from(["fresh"])), [expected[0], expected[2]]);
    }

    #[test]
    fn what_is_out_of_every_window_is_let_go_of_and_changes_nothing() {
        let mut builder = TrendingBuilder::new(vec![CLICK]);
        builder.limit = 16;
        for day in 0..1000 {
            builder.add(if day % 2 == 0 { "even" } else { "odd" }, 0, day * DAY);
        }
        assert!(builder.all.len() <= 32, "{}", builder.all.len());
        let top = builder.finish();
        let nothing = HashSet::new();
        // 999, 997, ...: 1 + 1/4 + 1/16 + 1/64; even ones half of that
        assert_eq!(top.top(2, &nothing), [("odd", 1.328125), ("even", 0.6640625)]);
    }

    #[test]
    fn bytes_are_read_back_and_damaged_ones_are_refused() {
        let trending = of(&[CLICK], &[("a", 0, 0), ("b", 0, 0), ("b", 0, 1)]);
        let bytes = trending.to_bytes();
        assert_eq!(Trending::from_bytes(&bytes).as_ref(), Ok(&trending));
        for cut in 0..bytes.len() {
            assert!(Trending::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        assert!(Trending::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    }
}
