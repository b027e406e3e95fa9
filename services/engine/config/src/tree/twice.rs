//! Keys that come twice.

use super::{Data, Entry, Node, Place};
use std::collections::{BTreeSet, HashMap};

/// Hands what a repeated key brings to its first, where both hold lists, or both hold named sections alone: so that each
/// of it is looked at. The key stays repeated, which is a mistake.
pub(super) fn joined(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut first = HashMap::new();
    for place in 0..entries.len() {
        match first.get(&entries[place].key) {
            None => drop(first.insert(entries[place].key.clone(), place)),
            Some(&earlier) => {
                let (before, rest) = entries.split_at_mut(place);
                join(&mut before[earlier].node, &mut rest[0].node);
            }
        }
    }
    entries
}

fn join(first: &mut Node, again: &mut Node) {
    match (&mut first.data, &mut again.data) {
        (Data::List(items), Data::List(more)) => items.append(more),
        (Data::Map(items), Data::Map(more)) if items.iter().chain(more.iter()).all(is_section) => {
            items.append(more);
            *items = joined(std::mem::take(items));
        }
        _ => {}
    }
}

/// The tree with what a repeated key brings in the place of its first, and where that stands. Nothing where no key comes
/// twice but for those that are joined.
pub(crate) fn with_last(root: &Node) -> Option<(Node, BTreeSet<Place>)> {
    let (mut root, mut places) = (root.clone(), BTreeSet::new());
    take_last(&mut root, &mut places);
    (!places.is_empty()).then_some((root, places))
}

fn take_last(node: &mut Node, places: &mut BTreeSet<Place>) {
    match &mut node.data {
        Data::Scalar { .. } => {}
        Data::List(items) => items.iter_mut().for_each(|item| take_last(item, places)),
        Data::Map(entries) => {
            let mut first: HashMap<String, usize> = HashMap::new();
            let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
            for entry in std::mem::take(entries) {
                match first.get(&entry.key) {
                    None => {
                        first.insert(entry.key.clone(), kept.len());
                        kept.push(entry);
                    }
                    Some(&earlier) if !is_empty(&entry.node) => {
                        places.insert(entry.place);
                        all_places(&entry.node, places);
                        kept[earlier] = entry;
                    }
                    Some(_) => {} // it was joined to the first
                }
            }
            kept.iter_mut().for_each(|entry| take_last(&mut entry.node, places));
            *entries = kept;
        }
    }
}

fn all_places(node: &Node, places: &mut BTreeSet<Place>) {
    places.insert(node.place);
    match &node.data {
        Data::Scalar { .. } => {}
        Data::List(items) => items.iter().for_each(|item| all_places(item, places)),
        Data::Map(entries) => entries.iter().for_each(|entry| {
            places.insert(entry.place);
            all_places(&entry.node, places);
        }),
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.data {
        Data::Scalar { .. } => false,
        Data::List(items) => items.is_empty(),
        Data::Map(entries) => entries.is_empty(),
    }
}

fn is_section(entry: &Entry) -> bool {
    matches!(entry.node.data, Data::Map(_))
}
