//! One visit to the shop: who comes, from where, looking for what.

use super::clock::SECOND;
use super::random::Random;
use super::visitor::Visitor;
use super::vocabulary::{CATEGORIES, COLORS, OWN_PAGE, REFERER_WEIGHTS, REFERERS, TAGS};

/// A visit, open as long as lists are to come.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) number: u64,
    pub(crate) user: u64,
    /// Whether the visitor is known to the shop.
    pub(crate) signed_in: bool,
    pub(crate) visitor: Visitor,
    pub(crate) random: Random,
    /// What the current list was asked for.
    pub(crate) query: Query,
    /// Lists that are still to come, the current one included.
    pub(crate) lists: u32,
    /// Where the current list was come to from.
    pub(crate) referer: &'static str,
    /// Hidden: whether it is about reduced items.
    pub(crate) bargain: bool,
    /// Hidden: brand and colour of what was clicked last.
    pub(crate) clicked: Vec<(u8, u8)>,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    pub(crate) category: u8,
    pub(crate) noun: Option<u8>,
    pub(crate) color: Option<u8>,
    pub(crate) tag: Option<usize>,
}

/// Clicks that a visit remembers.
const REMEMBERED: usize = 3;

impl Visit {
    /// The visit of this number, with `lists` lists, by one of `users` visitors: a few come often, most seldom.
    pub(crate) fn new(seed: u64, number: u64, lists: u32, users: usize) -> Self {
        let mut random = Random::of(seed, "visit", number);
        let share = random.unit();
        let user = ((share * share) * users as f64) as u64;
        let visitor = Visitor::of(seed, user);
        let from = random.weighted(&REFERER_WEIGHTS);
        Self {
            number,
            user,
            signed_in: random.chance(0.9),
            query: Query::of(&visitor, &mut random),
            lists,
            referer: REFERERS[from],
            bargain: random.chance(if REFERERS[from].contains("mail") { 0.7 } else { 0.15 }),
            clicked: Vec::new(),
            visitor,
            random,
        }
    }

    /// Goes on to the next list: the same search refined, or another one. Returns how long that took.
    pub(crate) fn proceed(&mut self) -> i64 {
        let next = Query::of(&self.visitor, &mut self.random);
        self.query = if self.random.chance(0.6) { Query { category: self.query.category, ..next } } else { next };
        self.referer = OWN_PAGE;
        self.lists -= 1;
        (10.0 + 110.0 * self.random.unit()) as i64 * SECOND
    }

    /// Remembers a click.
    pub(crate) fn remember(&mut self, brand: u8, color: u8) {
        if self.clicked.len() == REMEMBERED {
            self.clicked.remove(0);
        }
        self.clicked.push((brand, color));
    }
}

impl Query {
    fn of(visitor: &Visitor, random: &mut Random) -> Self {
        let any = random.below(CATEGORIES.len()) as u8;
        let category = if random.chance(0.75) { *random.pick(&visitor.categories) } else { any };
        let color = if random.chance(0.4) { visitor.color } else { random.below(COLORS.len()) as u8 };
        Self {
            category,
            noun: random.chance(0.5).then(|| random.below(5) as u8),
            color: random.chance(0.35).then_some(color),
            tag: random.chance(0.25).then(|| random.below(TAGS.len())),
        }
    }

    /// The words that the visitor typed.
    pub(crate) fn text(&self) -> String {
        let category = &CATEGORIES[usize::from(self.category)];
        let noun = self.noun.map_or(category.name, |noun| category.nouns[usize::from(noun)]);
        let words = [self.color.map(|color| COLORS[usize::from(color)]), self.tag.map(|tag| TAGS[tag]), Some(noun)];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        words.join(" ")
    }
}
