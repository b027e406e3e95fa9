//! Keys that come twice.

use super::{Data, Entry, Node};
use std::collections::HashMap;

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

fn is_section(entry: &Entry) -> bool {
    matches!(entry.node.data, Data::Map(_))
}
