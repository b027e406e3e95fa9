//! Visitors and their hidden tastes.

use super::clock::{DAY, START};
use super::random::Random;
use super::vocabulary::{AGENT_WEIGHTS, BRANDS, CATEGORIES, COLORS, COUNTRIES, CRAWLER, PHONES, TAGS};

/// One visitor. Found by number whenever a visit begins, so that none has to be kept.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    /// Hidden: the three categories visited most, the dearest first.
    pub(crate) categories: [u8; 3],
    /// Hidden: brands that please.
    pub(crate) brands: [u8; 3],
    /// Hidden: a bit for each tag that pleases.
    pub(crate) tags: u16,
    /// Hidden: the colour that pleases.
    pub(crate) color: u8,
    /// Hidden: the price looked for, as [`super::catalog::Item::dearness`].
    pub(crate) budget: f64,
    /// Which of the user agents.
    pub(crate) agent: usize,
    /// Which of the countries.
    pub(crate) country: usize,
    /// In years.
    pub(crate) age: u32,
    /// When the account was made, in milliseconds since 1970.
    pub(crate) registered: i64,
}

impl Visitor {
    /// The visitor of this number.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        let mut random = Random::of(seed, "user", number);
        let popular: [f64; CATEGORIES.len()] = std::array::from_fn(|at| 1.0 / (at as f64 + 4.0));
        Self {
            categories: [(); 3].map(|()| random.weighted(&popular) as u8),
            brands: [(); 3].map(|()| random.below(BRANDS.len()) as u8),
            tags: (0..3).fold(0, |tags, _| tags | (1 << random.below(TAGS.len()))),
            color: random.below(COLORS.len()) as u8,
            budget: 0.6 * random.normal(),
            agent: random.weighted(&AGENT_WEIGHTS),
            country: random.below(COUNTRIES.len()),
            age: random.between(18.0, 75.0) as u32,
            registered: START - (random.unit() * 900.0 * DAY as f64) as i64,
        }
    }

    /// Whether it is a machine, which looks and never clicks.
    pub(crate) fn crawls(&self) -> bool {
        self.agent == CRAWLER
    }

    /// Whether it looks at the shop on a phone.
    pub(crate) fn on_phone(&self) -> bool {
        self.agent < PHONES
    }

    /// Hours between its clock and UTC.
    pub(crate) fn offset(&self) -> i64 {
        COUNTRIES[self.country].1
    }
}
