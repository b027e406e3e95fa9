//! How often a recommender names the item that a visitor clicked next: the hit rate.
//!
//! Of each visitor with enough different items the newest is held out, if another visitor clicked it too: no recommender
//! by behaviour can name it otherwise. The rest is what to train on. A recommender sees the newest click that is left and
//! may not name any other item of the visitor.

use hashbrown::{HashMap, HashSet};

/// A click of a visitor on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Click<'a> {
    /// Who clicked.
    pub user: &'a str,
    /// When, in milliseconds; any number that grows with time.
    pub time: u64,
    /// On what.
    pub item: &'a str,
}

/// One question: which item comes next?
#[derive(Clone, Debug, PartialEq)]
pub struct Case<'a> {
    /// The newest item that is left.
    pub context: &'a str,
    /// All items that are left.
    pub seen: HashSet<&'a str>,
    /// The answer.
    pub held: &'a str,
}

/// Clicks in two parts.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldOut<'a> {
    /// To train on, by visitor and time.
    pub train: Vec<Click<'a>>,
    /// To ask, by visitor.
    pub cases: Vec<Case<'a>>,
}

/// How many questions had the answer among the recommended items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HitRate {
    /// With it.
    pub hits: usize,
    /// All.
    pub cases: usize,
}

impl HitRate {
    /// The share of hits, from 0 to 1; `None` where nothing was asked.
    pub fn rate(self) -> Option<f64> {
        (self.cases > 0).then(|| self.hits as f64 / self.cases as f64)
    }
}

impl<'a> HoldOut<'a> {
    /// Holds out the newest item of each visitor with at least `min` different items (two, where it is less). An item's
    /// time is its newest click; of equal times, the higher id is the newer. The order of clicks changes nothing.
    pub fn of(clicks: impl IntoIterator<Item = Click<'a>>, min: usize) -> Self {
        let mut clicks: Vec<Click<'a>> = clicks.into_iter().collect();
        clicks.sort_unstable();
        let popular = of_several(&clicks);
        let (mut train, mut cases) = (Vec::with_capacity(clicks.len()), Vec::new());
        for of_user in clicks.chunk_by(|a, b| a.user == b.user) {
            let held = of_user.last().map(|click| click.item).filter(|item| popular.contains(item));
            let left = of_user.iter().filter(|click| Some(click.item) != held);
            let seen: HashSet<&str> = left.clone().map(|click| click.item).collect();
            match (held, left.clone().next_back()) {
                (Some(held), Some(newest)) if seen.len() + 1 >= min => {
                    train.extend(left);
                    cases.push(Case { context: newest.item, seen, held });
                }
                _ => train.extend(of_user),
            }
        }
        Self { train, cases }
    }

    /// Asks a recommender all questions; its answers are the items it recommends, as many as count.
    pub fn hit_rate<I: AsRef<str>>(&self, recommend: impl Fn(&Case<'a>) -> Vec<I>) -> HitRate {
        let hit = |case: &&Case<'a>| recommend(case).iter().any(|item| item.as_ref() == case.held);
        HitRate { hits: self.cases.iter().filter(hit).count(), cases: self.cases.len() }
    }
}

/// Items that several visitors clicked, of clicks by visitor.
fn of_several<'a>(clicks: &[Click<'a>]) -> HashSet<&'a str> {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let mut several = HashSet::new();
    for click in clicks {
        if *first.entry(click.item).or_insert(click.user) != click.user {
            several.insert(click.item);
        }
    }
    several
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clicks(of: &[(&'static str, &'static str)]) -> Vec<Click<'static>> {
        of.iter().zip(0..).map(|(&(user, item), time)| Click { user, time, item }).collect()
    }

    #[test]
    fn the_newest_item_is_held_out_with_all_its_clicks() {
        let clicks = clicks(&[("u", "c"), ("u", "a"), ("v", "c"), ("u", "b"), ("u", "a"), ("u", "c")]);
        let split = HoldOut::of(clicks.iter().copied(), 3);
        assert_eq!(split.cases, [Case { context: "a", seen: HashSet::from_iter(["a", "b"]), held: "c" }]);
        assert_eq!(split.train, [1, 3, 4, 2].map(|click| clicks[click]));
        let reversed = HoldOut::of(clicks.iter().rev().copied(), 3);
        assert_eq!(reversed, split);
    }

    #[test]
    fn visitors_with_few_items_or_one_of_their_own_are_trained_on_whole() {
        let few = clicks(&[("u", "a"), ("u", "a"), ("u", "b"), ("v", "b")]);
        assert_eq!(HoldOut::of(few.iter().copied(), 3), HoldOut { train: few, cases: vec![] });
        let own = clicks(&[("u", "a"), ("u", "b"), ("u", "c"), ("v", "b")]);
        assert_eq!(HoldOut::of(own.iter().copied(), 0), HoldOut { train: own, cases: vec![] });
    }

    #[test]
    fn hits_are_counted_over_all_cases() {
        let clicks = clicks(&[("u", "a"), ("u", "b"), ("v", "b"), ("v", "a")]);
        let split = HoldOut::of(clicks, 2);
        let rate = split.hit_rate(|_| vec!["x", "b"]);
        assert_eq!((rate, rate.rate()), (HitRate { hits: 1, cases: 2 }, Some(0.5)));
        assert_eq!(HitRate::default().rate(), None);
    }
}
