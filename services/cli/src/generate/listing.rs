//! The lists that the shop shows: what its search finds, best match first.
//!
//! The search knows words and a little of what sells, and nothing of the visitor. That is the order to be improved.

use super::catalog::Catalog;
use super::random::Random;
use super::visit::Query;

/// One item of a list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shown {
    /// Its number in the catalog.
    pub(crate) item: u32,
    /// How well the search finds that it matches, with three digits.
    pub(crate) relevancy: f64,
}

/// One item in five comes from another category than the one asked for.
const STRAY: f64 = 0.2;

/// At most `length` different items for a query, the best match first; fewer if the shop has fewer.
pub(crate) fn listing(catalog: &Catalog, query: &Query, length: usize, random: &mut Random) -> Vec<Shown> {
    let found = candidates(catalog, query, length, random);
    let mut shown: Vec<Shown> =
        found.into_iter().map(|item| Shown { item, relevancy: relevancy(catalog, item, query, random) }).collect();
    shown.sort_by(|one, other| other.relevancy.total_cmp(&one.relevancy).then(one.item.cmp(&other.item)));
    shown
}

fn candidates(catalog: &Catalog, query: &Query, length: usize, random: &mut Random) -> Vec<u32> {
    let (length, all) = (length.min(catalog.released), catalog.released);
    let mut found: Vec<u32> = Vec::with_capacity(length);
    let shelf = &catalog.shelves[usize::from(query.category)];
    let mut tries = 3 * length;
    while found.len() < length && tries > 0 {
        let stray = shelf.is_empty() || random.chance(STRAY);
        add(if stray { random.below(all) as u32 } else { *random.pick(shelf) }, &mut found);
        tries -= 1;
    }
    // a small shop has too few items to find them all by chance
    let mut next = random.below(all);
    while found.len() < length {
        add((next % all) as u32, &mut found);
        next += 1;
    }
    found
}

fn add(item: u32, found: &mut Vec<u32>) {
    if !found.contains(&item) {
        found.push(item);
    }
}

fn relevancy(catalog: &Catalog, number: u32, query: &Query, random: &mut Random) -> f64 {
    let item = &catalog.items[number as usize];
    let matches = |matches: bool, much: f64| if matches { much } else { 0.0 };
    let category = item.category == query.category;
    let score = matches(category, 1.0)
        + matches(category && query.noun == Some(item.noun), 0.6)
        + matches(query.color == Some(item.color), 0.5)
        + matches(query.tag.is_some_and(|tag| item.has(tag)), 0.5)
        + 0.15 * item.quality
        + random.normal();
    (score.max(0.0) * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(items: usize) -> Catalog {
        let mut catalog = Catalog::new(1, items, 7);
        while catalog.next_release().is_some() {
            catalog.release();
        }
        catalog
    }

    const QUERY: Query = Query { category: 0, noun: Some(1), color: None, tag: None };

    #[test]
    fn a_list_holds_different_items_the_best_match_first() {
        let mut random = Random::of(1, "test", 0);
        for (items, length) in [(1000, 24), (30, 24), (24, 24), (5, 5), (1, 1)] {
            let shown = listing(&catalog(items), &QUERY, 24, &mut random);
            let mut numbers: Vec<u32> = shown.iter().map(|shown| shown.item).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), length, "of {items}");
            assert!(shown.is_sorted_by(|one, other| one.relevancy >= other.relevancy));
        }
    }

    #[test]
    fn most_of_a_list_is_what_was_asked_for() {
        let (catalog, mut random) = (catalog(1000), Random::of(1, "test", 0));
        let shown = listing(&catalog, &QUERY, 24, &mut random);
        let asked = shown.iter().filter(|shown| catalog.items[shown.item as usize].category == 0).count();
        assert!((14..24).contains(&asked), "{asked}");
    }
}
