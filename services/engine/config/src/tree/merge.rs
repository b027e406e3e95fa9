//! Merge keys: `<<: *anchor` brings the keys of another mapping.

use super::{Data, Entry, mistake};
use crate::error::Mistake;

/// Resolves merge keys: what they bring gives way to what is written beside them.
pub(super) fn merged(entries: Vec<Entry>) -> Result<Vec<Entry>, Mistake> {
    let (merges, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.key == "<<");
    for merge in merges {
        let sources = match merge.node.data {
            Data::List(items) => items,
            _ => vec![merge.node],
        };
        for source in sources {
            let Data::Map(brought) = source.data else {
                return Err(mistake(
                    source.place,
                    "`<<` merges something other than a mapping",
                    "an alias of a mapping",
                ));
            };
            let missing = |entry: &Entry| !own.iter().any(|present| present.key == entry.key);
            let brought: Vec<_> = brought.into_iter().filter(missing).collect();
            own.extend(brought);
        }
    }
    Ok(own)
}
