//! Records that another thread reads and decodes, while those before them are used.

use crate::error::Error;
use rankwright_clickthrough::{Clickthrough, Losses, Records};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Records that one thread hands to the other at once,
const AT_ONCE: usize = 256;
/// unless they have more items than this before: long lists are large.
const ITEMS_AT_ONCE: usize = 4096;
/// Number of batches that may wait.
const WAITING: usize = 4;

type Decoded = Vec<rankwright_clickthrough::Result<Clickthrough>>;

/// Gives records in their order, until there are no more or enough of them; what was left out of those that were read.
pub(crate) fn each(
    mut records: Records,
    take: impl FnMut(Clickthrough) -> Result<ControlFlow<()>, Error>,
) -> Result<Losses, Error> {
    thread::scope(|scope| {
        let (sender, decoded) = sync_channel::<Decoded>(WAITING);
        let reading = scope.spawn(move || {
            loop {
                let some = batch(records.by_ref().map(|entry| Ok(entry?.1)));
                if some.is_empty() || sender.send(some).is_err() {
                    return records.losses().clone();
                }
            }
        });
        let outcome = all(decoded, take);
        let losses = reading.join().expect("records are errors where they cannot be read, and no panics");
        outcome.map(|()| losses)
    })
}

/// The next records, as many as are handed over at once; none at the end.
fn batch(mut records: impl Iterator<Item = rankwright_clickthrough::Result<Clickthrough>>) -> Decoded {
    let (mut some, mut items) = (Vec::with_capacity(AT_ONCE), 0);
    while some.len() < AT_ONCE && items < ITEMS_AT_ONCE {
        let Some(record) = records.next() else { break };
        items += record.as_ref().map_or(0, |record| record.items.len());
        some.push(record);
    }
    some
}

/// Its end lets the other thread end.
fn all(
    decoded: Receiver<Decoded>,
    mut take: impl FnMut(Clickthrough) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    for record in decoded.into_iter().flatten() {
        if take(record?)?.is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{record, store};
    use rankwright_clickthrough::ClickthroughStore;

    const MANY: usize = AT_ONCE * (WAITING + 4) + 7;

    /// The ids of records that come before `most` of them have.
    fn taken(most: usize) -> (Vec<String>, Result<Losses, Error>) {
        let records = (0..MANY).chain([3]).map(|number| record(&number.to_string(), 1)).collect();
        let (store, mut ids) = (store(&["x"], records), Vec::new());
        let losses = each(store.read().expect("memory is read"), |record| {
            ids.push(record.ranking.as_str().to_owned());
            Ok(if ids.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        (ids, losses)
    }

    #[test]
    fn all_records_come_in_their_order_with_what_was_left_out() {
        let (ids, losses) = taken(usize::MAX);
        assert_eq!(ids, (0..MANY).map(|number| number.to_string()).collect::<Vec<_>>());
        assert_eq!(losses.expect("nothing fails").duplicates, 1);
    }

    #[test]
    fn a_batch_ends_by_records_or_by_their_items() {
        let of = |items: usize| batch((0..MANY).map(|number| Ok(record(&number.to_string(), items)))).len();
        assert_eq!([of(1), of(16), of(1000), of(10_000)], [AT_ONCE, 256, 5, 1]);
        assert!(batch(std::iter::empty()).is_empty());
    }

    #[test]
    fn reading_ends_where_no_more_is_wanted_or_something_fails() {
        let (ids, losses) = taken(5);
        assert_eq!((ids.len(), losses.is_ok()), (5, true));
        let store = store(&["x"], (0..MANY).map(|number| record(&number.to_string(), 1)).collect());
        let full = || Error::TooManyInteractions { model: "m".to_owned(), most: 1 };
        let failed = each(store.read().expect("memory is read"), |_| Err(full()));
        assert_eq!(failed.map_err(|error| error.to_string()).err(), Some(full().to_string()));
    }
}
