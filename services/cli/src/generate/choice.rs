//! What makes a visitor click: the examination model.
//!
//! A visitor looks at a position with a probability that falls with it, whatever stands there, and clicks on what was
//! looked at if it pleases (Richardson, Dominowska and Ragno, "Predicting clicks", 2007; Craswell and others, "An
//! experimental comparison of click position-bias models", 2008). So a list's top gets clicks that it has not earned,
//! which a model must see through.

use super::catalog::Item;
use super::clock::{DAY, Wave, is_weekend};
use super::visit::Visit;
use super::vocabulary::CATEGORIES;

/// How likely a visitor looks at a position, counted from 0.
pub(crate) fn examination(position: usize) -> f64 {
    1.0 / (1.0 + 0.15 * position as f64)
}

/// How likely an item that was looked at is clicked.
pub(crate) fn attraction(appeal: f64) -> f64 {
    1.0 / (1.0 + (6.6 - 2.0 * appeal).exp())
}

/// How likely an item that was clicked is bought.
pub(crate) fn conversion(appeal: f64) -> f64 {
    1.0 / (1.0 + (3.9 - 0.75 * appeal).exp())
}

/// Hidden: how much an item pleases in this visit at this time; around 0 for an item like any other.
pub(crate) fn appeal(item: &Item, visit: &Visit, time: i64, market: &Market) -> f64 {
    item.quality + item.fashion.at(time) + market.mood(item, visit, time) + taste(item, visit) + intent(item, visit)
        - price_gap(item, visit)
}

/// What the visitor always likes.
fn taste(item: &Item, visit: &Visit) -> f64 {
    let visitor = &visit.visitor;
    let likes = |liked: bool, much: f64| if liked { much } else { 0.0 };
    likes(visitor.categories.contains(&item.category), 0.5)
        + likes(visitor.brands.contains(&item.brand), 1.1)
        + likes(visitor.color == item.color, 0.5)
        + 0.6 * f64::from((visitor.tags & item.tags).count_ones())
        + likes(item.discount > 0.0, if visit.bargain { 1.2 } else { 0.3 })
}

/// What this visit is about: the query, and what was clicked before.
fn intent(item: &Item, visit: &Visit) -> f64 {
    let wanted = |wanted: bool, much: f64| if wanted { much } else { 0.0 };
    let similar = visit.clicked.iter().filter(|&&(brand, color)| brand == item.brand || color == item.color).count();
    wanted(item.category == visit.query.category, 0.9)
        + wanted(item.category == visit.query.category && visit.query.noun == Some(item.noun), 0.6)
        + wanted(visit.query.color == Some(item.color), 0.7)
        + wanted(visit.query.tag.is_some_and(|tag| item.has(tag)), 0.5)
        + 0.3 * similar.min(3) as f64
}

/// How far the price is from the one looked for; on a phone one looks for less.
fn price_gap(item: &Item, visit: &Visit) -> f64 {
    let budget = visit.visitor.budget - if visit.visitor.on_phone() { 0.4 } else { 0.0 };
    0.8 * (item.dearness() - budget).abs()
}

/// Hidden: what everybody likes at a time.
pub(crate) struct Market {
    /// The rise and fall of each category.
    pub(crate) categories: [Wave; CATEGORIES.len()],
}

impl Market {
    /// Fashion, weekends, and the charm of what is new.
    fn mood(&self, item: &Item, visit: &Visit, time: i64) -> f64 {
        let category = usize::from(item.category);
        let weekend = if is_weekend(time, visit.visitor.offset()) { CATEGORIES[category].weekend } else { 0.0 };
        let age = (time - item.released).max(0) as f64 / (3 * DAY) as f64;
        self.categories[category].at(time) + weekend + 0.9 / (1.0 + age)
    }
}
