//! Which visitor did what with which item, as recommenders learn from it.

use crate::matrix::{Full, Matrix, MatrixBuilder, Names};
use crate::trending::{Trending, Weight, added};
use compact_str::CompactString;
use hashbrown::HashSet;
use std::mem;
use std::num::NonZero;
use std::time::Duration;

/// Interactions in any order: 24 bytes for each, and each id once.
#[derive(Default)]
pub struct Interactions {
    users: Names,
    items: Names,
    all: Vec<One>,
    newest: i64, // of all that was seen
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct One {
    user: Option<NonZero<u32>>, // one more than the number of its name
    at: i64,
    item: u32,
    kind: u16,
}

/// A visitor whose last item is held out: a recommender that knows their other items should name it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Case {
    user: u32,
    held: u32,
    context: u32,
    seen: Vec<u32>,
}

/// What is held out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldOut {
    cases: Vec<Case>,
    pairs: HashSet<(u32, u32)>,
}

/// Shares of the cases in which the item that was held out is among the recommended ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitRate {
    /// Of the recommender; NaN without a case.
    pub of_model: f64,
    /// Of the items that most visitors interacted with.
    pub of_popular: f64,
    /// Expected of items drawn at random.
    pub of_random: f64,
}

impl Interactions {
    /// Adds one; `kind` is what tells types of interactions apart, `at` is in milliseconds. Without a visitor it counts for
    /// [`Trending`] alone.
    ///
    /// # Errors
    /// Beyond 2^32 - 2 visitors, items or interactions.
    pub fn add(&mut self, user: Option<&str>, item: &str, kind: u16, at: i64) -> Result<(), Full> {
        if self.all.len() >= u32::MAX as usize {
            return Err(Full("interactions"));
        }
        let user = match user {
            Some(user) => Some(self.users.number(user).and_then(|user| NonZero::new(user.wrapping_add(1)))),
            None => None,
        };
        let user = user.map(|user| user.ok_or(Full("visitors"))).transpose()?;
        let item = self.items.number(item).ok_or(Full("items"))?;
        self.all.push(One { user, at, item, kind });
        self.saw(at);
        Ok(())
    }

    /// Something happened at this time, in milliseconds, be it nothing to learn from: what is here may be older by now.
    pub fn saw(&mut self, at: i64) {
        self.newest = self.newest.max(at);
    }

    /// Forgets those older than this as of the newest time that was seen, and ids that only they had.
    pub fn forget_older(&mut self, age: Duration) {
        let first = self.newest.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        self.all.retain(|one| one.at >= first);
        let (users, items) = (mem::take(&mut self.users), mem::take(&mut self.items));
        for one in &mut self.all {
            let user = one.user.and_then(|user| self.users.number(users.name(user.get() - 1)));
            one.user = user.and_then(|user| NonZero::new(user + 1));
            one.item = self.items.number(items.name(one.item)).expect("there are no more items than before");
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Number of visitors.
    pub fn visitors(&self) -> usize {
        self.users.len()
    }

    /// Number of items.
    pub fn items(&self) -> usize {
        self.items.len()
    }

    /// How often each visitor interacted with each item, without what is held out.
    ///
    /// # Errors
    /// None in practice: what is collected here fits.
    pub fn matrix(&self, without: &HeldOut) -> Result<Matrix, Full> {
        let mut builder = MatrixBuilder::default();
        for (user, one) in self.by_visitors(without) {
            builder.add(self.users.name(user), self.items.name(one.item))?;
        }
        Ok(builder.build())
    }

    /// Which items are in demand as of the newest time that was seen, by the weights of their kinds, without what is held out.
    pub fn trending(&self, weights: &[Weight], without: &HeldOut) -> Trending {
        let millis = |at: i64| u64::try_from(at).unwrap_or(0);
        let newest = millis(self.newest);
        let held = |one: &One| one.user.is_some_and(|user| without.pairs.contains(&(user.get() - 1, one.item)));
        let mut scores: Vec<Option<i128>> = vec![None; self.items.len()];
        for one in &self.all {
            if let Some(added) = added(weights, newest, usize::from(one.kind), millis(one.at))
                && (without.is_empty() || !held(one))
            {
                let score = &mut scores[one.item as usize];
                *score = Some(score.unwrap_or(0).saturating_add(added));
            }
        }
        let named = |(item, score): (u32, Option<i128>)| Some((CompactString::new(self.items.name(item)), score?));
        Trending::of((0..).zip(scores).filter_map(named).collect(), Trending::KEEP)
    }

    /// Holds out the last item of one visitor in `one_in`, where they had `least` different items and another visitor is left
    /// that had it as well. Which visitors depends on their ids alone, so that the next training holds out items of the same ones.
    pub fn hold_out(&self, one_in: u32, least: usize) -> HeldOut {
        let mut clicks: Vec<(u32, i64, u32)> =
            self.by_visitors(&HeldOut::default()).map(|(user, one)| (user, one.at, one.item)).collect();
        // equal times by the names of items, as their numbers depend on the order of events
        clicks.sort_unstable_by(|one, other| {
            let names = || self.items.name(one.2).cmp(self.items.name(other.2));
            (one.0, one.1).cmp(&(other.0, other.1)).then_with(names)
        });
        let visitors = self.visitors_of_items(&clicks);
        let drawn = |user: u32| crc32fast::hash(self.users.name(user).as_bytes()).is_multiple_of(one_in.max(1));
        let cases = clicks.chunk_by(|one, other| one.0 == other.0).filter(|of_user| drawn(of_user[0].0));
        let mut cases: Vec<Case> = cases.filter_map(|of_user| case(of_user, least)).collect();
        cases.sort_by(|one, other| self.users.name(one.user).cmp(self.users.name(other.user)));
        let mut left = visitors;
        cases.retain(|case| {
            let left = &mut left[case.held as usize];
            let is_known = *left > 1; // an item that no other visitor is left for would be unknown
            *left -= u32::from(is_known);
            is_known
        });
        let pairs = cases.iter().map(|case| (case.user, case.held)).collect();
        HeldOut { cases, pairs }
    }

    /// How often a recommender names what was held out, among `count` items.
    pub fn hit_rate(
        &self,
        held_out: &HeldOut,
        count: usize,
        mut recommend: impl FnMut(&str, &std::collections::HashSet<&str>) -> Vec<String>,
    ) -> HitRate {
        let popular = self.popular(held_out);
        let (mut of_model, mut of_popular, mut of_random) = (0, 0, 0.0);
        for case in &held_out.cases {
            let seen = case.seen.iter().map(|&item| self.items.name(item)).collect();
            let held = self.items.name(case.held);
            let found = recommend(self.items.name(case.context), &seen);
            of_model += usize::from(found.iter().take(count).any(|item| item == held));
            let mut others = popular.iter().filter(|item| case.seen.binary_search(item).is_err()).take(count);
            of_popular += usize::from(others.any(|&item| item == case.held));
            of_random += (count as f64 / (self.items() - case.seen.len()) as f64).min(1.0);
        }
        let share = |hits: f64| hits / held_out.cases.len() as f64;
        HitRate { of_model: share(of_model as f64), of_popular: share(of_popular as f64), of_random: share(of_random) }
    }

    /// Those of known visitors, without what is held out.
    fn by_visitors(&self, without: &HeldOut) -> impl Iterator<Item = (u32, &One)> {
        let known = self.all.iter().filter_map(|one| Some((one.user?.get() - 1, one)));
        known.filter(|(user, one)| !without.pairs.contains(&(*user, one.item)))
    }

    /// How many visitors each item had; `clicks` stand together by visitor.
    fn visitors_of_items(&self, clicks: &[(u32, i64, u32)]) -> Vec<u32> {
        let mut pairs: Vec<(u32, u32)> = clicks.iter().map(|&(user, _, item)| (user, item)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut visitors = vec![0; self.items.len()];
        pairs.iter().for_each(|&(_, item)| visitors[item as usize] += 1);
        visitors
    }

    /// Items by how often they were interacted with.
    fn popular(&self, without: &HeldOut) -> Vec<u32> {
        let mut counts = vec![0_u32; self.items.len()];
        self.by_visitors(without).for_each(|(_, one)| counts[one.item as usize] += 1);
        let mut order: Vec<u32> = (0..self.items.len() as u32).collect();
        let count = |item: u32| std::cmp::Reverse(counts[item as usize]);
        order.sort_by(|&one, &other| {
            count(one).cmp(&count(other)).then_with(|| self.items.name(one).cmp(self.items.name(other)))
        });
        order
    }
}

impl HeldOut {
    /// Number of visitors.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }
}

/// The case of a visitor, from their interactions in order of time.
fn case(of_user: &[(u32, i64, u32)], least: usize) -> Option<Case> {
    let (user, _, held) = *of_user.last()?;
    let context = of_user.iter().rev().map(|&(_, _, item)| item).find(|&item| item != held)?;
    let mut seen: Vec<u32> = of_user.iter().map(|&(_, _, item)| item).filter(|&item| item != held).collect();
    seen.sort_unstable();
    seen.dedup();
    (seen.len() + 1 >= least).then_some(Case { user, held, context, seen })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(clicks: &[(&str, &str, i64)]) -> Interactions {
        let mut all = Interactions::default();
        for &(user, item, at) in clicks {
            all.add(Some(user), item, 0, at).expect("there is room");
        }
        all
    }

    const CLICKS: [(&str, &str, i64); 8] = [
        ("u", "a", 1),
        ("u", "b", 2),
        ("u", "c", 3),
        ("u", "c", 4),
        ("v", "c", 1),
        ("v", "d", 9),
        ("w", "a", 5),
        ("x", "b", 5),
    ];

    #[test]
    fn the_last_item_is_held_out_where_another_visitor_had_it() {
        let all = collected(&CLICKS);
        let held_out = all.hold_out(1, 2);
        assert_eq!(held_out.len(), 1, "v's last item was v's alone, w and x have one item each");
        let mut asked = Vec::new();
        let rate = all.hit_rate(&held_out, 1, |context, seen| {
            let mut seen: Vec<_> = seen.iter().map(ToString::to_string).collect();
            seen.sort();
            asked.push((context.to_owned(), seen));
            vec!["c".to_owned(), "d".to_owned()]
        });
        assert_eq!(asked, [("b".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
        // of c and d, which u has not seen without c, both are as popular, and c comes first
        assert_eq!(rate, HitRate { of_model: 1.0, of_popular: 1.0, of_random: 0.5 });
    }

    #[test]
    fn what_is_held_out_is_not_learned_from() {
        let all = collected(&CLICKS);
        let matrix = all.matrix(&all.hold_out(1, 2)).expect("it fits");
        let user = matrix.users.iter().position(|user| user == "u").expect("it is there");
        let items: Vec<&str> =
            matrix.by_user.row(user).0.iter().map(|&item| matrix.items[item as usize].as_str()).collect();
        assert_eq!(items, ["a", "b"]);
        let weight = Weight::default();
        let top = |held_out| all.trending(&[weight], held_out).top(4, |_| false)[0].1;
        assert_eq!((top(&HeldOut::default()), top(&all.hold_out(1, 2))), (3.0, 2.0), "c three times; a and b twice");
    }

    #[test]
    fn interactions_age_by_whatever_happened_after_them() {
        let mut all = collected(&CLICKS);
        let weight = Weight { decay: 0.5, ..Weight::default() };
        let day = 24 * 60 * 60 * 1000;
        let top =
            |all: &Interactions| all.trending(&[weight], &HeldOut::default()).top(1, |_| false).first().map(|c| c.1);
        assert_eq!(top(&all), Some(3.0));
        all.saw(day + 4);
        all.saw(7); // the order makes no difference
        assert_eq!(top(&all), Some(1.5));
        all.saw(40 * day);
        assert_eq!(top(&all), None, "all of it is older than a window");
    }

    #[test]
    fn what_is_too_old_is_forgotten_with_its_ids() {
        let mut all = collected(&CLICKS); // the newest is at 9
        all.add(None, "e", 0, 3).expect("there is room");
        all.forget_older(Duration::from_millis(5));
        let kept = collected(&[("u", "c", 4), ("v", "d", 9), ("w", "a", 5), ("x", "b", 5)]);
        let nothing = HeldOut::default();
        assert_eq!((all.len(), all.visitors(), all.items()), (4, 4, 4));
        assert_eq!(all.matrix(&nothing), kept.matrix(&nothing));
        all.add(Some("u"), "e", 0, 9).expect("there is room");
        assert_eq!((all.visitors(), all.items()), (4, 5));
    }

    #[test]
    fn an_item_that_is_the_last_one_of_all_its_visitors_stays_with_one_of_them() {
        let all = collected(&[
            ("u", "a", 1),
            ("u", "new", 2),
            ("v", "b", 1),
            ("v", "new", 2),
            ("w", "a", 1),
            ("w", "new", 3),
        ]);
        let held_out = all.hold_out(1, 2);
        assert_eq!(held_out.len(), 2);
        let matrix = all.matrix(&held_out).expect("it fits");
        let new = matrix.items.iter().position(|item| item == "new").expect("it is known");
        assert_eq!(matrix.by_item.row(new).1, [1.0]);
    }

    #[test]
    fn the_order_of_interactions_makes_no_difference() {
        let mut turned = CLICKS;
        turned.reverse();
        let (one, other) = (collected(&CLICKS), collected(&turned));
        assert_eq!(one.matrix(&one.hold_out(1, 2)), other.matrix(&other.hold_out(1, 2)));
    }

    #[test]
    fn nothing_to_hold_out_is_no_number() {
        let all = collected(&CLICKS[..1]);
        let rate = all.hit_rate(&all.hold_out(1, 2), 10, |_, _| Vec::new());
        assert!(rate.of_model.is_nan());
    }
}
