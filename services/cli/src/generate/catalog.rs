//! The shop's items: what everybody sees of them, and how much they please.

use super::clock::{DAY, HOUR, START, Wave};
use super::random::Random;
use super::vocabulary::{BRANDS, CATEGORIES, COLORS, TAGS};
use rankwright_event::ItemId;

/// One item.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) category: u8,
    pub(crate) noun: u8,
    pub(crate) brand: u8,
    pub(crate) color: u8,
    /// A bit for each tag.
    pub(crate) tags: u16,
    /// Without reduction.
    pub(crate) list_price: f64,
    /// Part of the price taken off, 0 to 1.
    pub(crate) discount: f64,
    /// When it came into the shop, in milliseconds since 1970.
    pub(crate) released: i64,
    /// Hidden: how good it is, about normal.
    pub(crate) quality: f64,
    /// Hidden: how its popularity comes and goes.
    pub(crate) fashion: Wave,
}

impl Item {
    /// What it costs.
    pub(crate) fn price(&self) -> f64 {
        (self.list_price * (1.0 - self.discount) * 100.0).round() / 100.0
    }

    /// How its price compares with the middle of its category: 1 for twice as dear, -1 for half.
    pub(crate) fn dearness(&self) -> f64 {
        (self.price() / CATEGORIES[usize::from(self.category)].price).log2()
    }

    /// Whether it has this tag.
    pub(crate) fn has(&self, tag: usize) -> bool {
        self.tags & (1 << tag) != 0
    }
}

/// All items, and which of them can be bought.
pub(crate) struct Catalog {
    /// By number, in the order of their release.
    pub(crate) items: Vec<Item>,
    /// Identifiers of the items.
    pub(crate) ids: Vec<ItemId>,
    /// Numbers of the released items of each category.
    pub(crate) shelves: [Vec<u32>; CATEGORIES.len()],
    /// How many are released.
    pub(crate) released: usize,
    /// How many were there before the simulation.
    old: usize,
}

/// One item in six comes into the shop during the simulation.
const NEW: f64 = 1.0 / 6.0;

impl Catalog {
    /// A catalog of `count` items (at least one), none of them released, for a simulation of `days` days.
    pub(crate) fn new(seed: u64, count: usize, days: u32) -> Self {
        let old = count - (count as f64 * NEW) as usize;
        let items = (0..count).map(|number| item(seed, number, release(seed, number, old, count, days))).collect();
        let ids = (0..count).map(|number| ItemId::from(format!("p{number}"))).collect();
        Self { items, ids, shelves: Default::default(), released: 0, old }
    }

    /// When the next item is announced, if there is one: old items within the hour before the simulation.
    pub(crate) fn next_release(&self) -> Option<i64> {
        let announced = || START - HOUR + HOUR * self.released as i64 / self.old as i64;
        let next = self.items.get(self.released)?;
        Some(if self.released < self.old { announced() } else { next.released })
    }

    /// Puts the next item on its shelf, and says which one that is.
    pub(crate) fn release(&mut self) -> usize {
        let number = self.released;
        self.shelves[usize::from(self.items[number].category)].push(number as u32);
        self.released += 1;
        number
    }
}

/// When an item comes: new ones are spread over the simulation, the old ones came before it.
fn release(seed: u64, number: usize, old: usize, count: usize, days: u32) -> i64 {
    let mut random = Random::of(seed, "release", number as u64);
    let Some(new) = number.checked_sub(old) else {
        return START - DAY - (random.unit() * 300.0 * DAY as f64) as i64;
    };
    let part = (new as f64 + random.unit()) / (count - old) as f64;
    START + (part * 0.9 * f64::from(days) * DAY as f64) as i64
}

fn item(seed: u64, number: usize, released: i64) -> Item {
    let mut random = Random::of(seed, "item", number as u64);
    let category = random.weighted(&std::array::from_fn::<f64, { CATEGORIES.len() }, _>(|at| 1.0 / (at as f64 + 4.0)));
    let brand = random.below(BRANDS.len());
    let maker = brand_quality(seed, brand);
    let tags = (0..1 + random.below(4)).fold(0, |tags, _| tags | (1 << random.below(TAGS.len())));
    Item {
        category: category as u8,
        noun: random.below(5) as u8,
        brand: brand as u8,
        color: random.below(COLORS.len()) as u8,
        tags,
        list_price: rounded(CATEGORIES[category].price * (0.5 * random.normal() + 0.3 * maker).exp2()),
        discount: 0.0,
        released,
        quality: 0.5 * maker + 0.85 * random.normal(),
        fashion: Wave {
            height: 0.7 * random.normal().abs(),
            period: random.between(3.0, 16.0) * DAY as f64,
            phase: random.unit(),
        },
    }
}

/// Hidden: some makers are better, and a little dearer.
fn brand_quality(seed: u64, brand: usize) -> f64 {
    Random::of(seed, "brand", brand as u64).normal()
}

/// Prices end on 9 tenths or 5.
fn rounded(price: f64) -> f64 {
    (price * 2.0).round().max(2.0) / 2.0 - 0.05
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_released_in_time_and_most_of_them_before_the_start() {
        let mut catalog = Catalog::new(1, 600, 7);
        let mut times = Vec::new();
        while let Some(time) = catalog.next_release() {
            times.push(time);
            assert_eq!(catalog.release() + 1, times.len());
        }
        assert!(times.is_sorted() && times.len() == 600);
        assert_eq!(times.iter().filter(|&&time| time < START).count(), 500);
        assert!(times[599] < START + 7 * DAY);
        assert_eq!(catalog.shelves.iter().map(Vec::len).sum::<usize>(), 600);
    }

    #[test]
    fn items_have_prices_and_tags_that_shops_have() {
        for item in Catalog::new(3, 500, 7).items {
            assert!((0.95..5000.0).contains(&item.price()) && (1..=4).contains(&item.tags.count_ones()), "{item:?}");
            assert!(item.released < START + 7 * DAY);
        }
        assert_eq!(Catalog::new(3, 1, 7).next_release(), Some(START - HOUR));
    }

    #[test]
    fn a_reduced_item_is_cheaper() {
        let mut item = Catalog::new(3, 1, 7).items.remove(0);
        let (price, dearness) = (item.price(), item.dearness());
        item.discount = 0.5;
        assert!((item.price() / price - 0.5).abs() < 0.01 && (dearness - item.dearness() - 1.0).abs() < 0.02);
    }
}
