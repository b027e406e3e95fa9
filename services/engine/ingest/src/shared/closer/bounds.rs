//! What a state in the memory of this process may have open at most.
//!
//! Other states keep any number of open rankings and waiting interactions. Here the oldest give way, as they do for a single
//! writer. The bounds hold after each tick: what comes between two of them is beyond.

use super::Closer;
use super::stored;
use crate::error::Error;
use crate::ingest::MOST_AWAITED_BYTES;
use rankwright_event::Timestamp;
use rankwright_state::{Entity, Key, Space};
use std::sync::Arc;

impl Closer {
    /// Whether no more events are to be taken in: what is open fills memory, and closes when what has closed is brought away.
    pub fn is_held_up(&self) -> bool {
        !self.store.durable() && self.outbox.is_full()
    }

    /// Closes the oldest rankings while there are too many, or they take too much memory. An interaction that comes for one
    /// of them afterwards counts as one of an unknown ranking.
    pub(super) async fn evict(&mut self) -> Result<(), Error> {
        if self.store.durable() {
            return Ok(());
        }
        let open = self.store.oldest(Space::Joins, Timestamp::MAX, usize::MAX).await?;
        let sizes: Vec<usize> = open.iter().map(|(_, record)| stored::size(record)).collect();
        let mut left = &open[..excess(&sizes, self.settings.max_open, self.settings.max_open_bytes)];
        while !left.is_empty() && !self.outbox.is_full() {
            let (some, others) = left.split_at(self.batch.min(left.len()));
            self.counters.evicted += some.len() as u64;
            self.close(some).await?;
            left = others;
        }
        Ok(())
    }

    /// How many interactions, the oldest, wait no longer because too many do. Those that have counted already wait for nothing.
    pub(super) fn too_many_wait(&self, waiting: &[(Key, Arc<Entity>)]) -> usize {
        if self.store.durable() {
            return 0;
        }
        let size = |entity: &Arc<Entity>| if stored::is_counted(entity) { 0 } else { stored::size(entity) };
        let sizes: Vec<usize> = waiting.iter().map(|(_, entity)| size(entity)).collect();
        excess(&sizes, self.settings.max_open, MOST_AWAITED_BYTES)
    }

    /// How many rankings take interactions, of all processes, and the memory that they take here.
    pub(super) async fn count_open(&mut self) -> Result<(), Error> {
        self.counters.open = self.store.count(Space::Joins).await? as u64;
        if !self.store.durable() {
            let mut bytes = 0;
            for space in [Space::Joins, Space::Waiting] {
                bytes += self.store.scan(space).await?.iter().map(|(_, entity)| stored::size(entity)).sum::<usize>();
            }
            self.counters.open_bytes = Some(bytes as u64);
        }
        (self.done.open, self.done.open_bytes) = (self.counters.open, self.counters.open_bytes);
        Ok(())
    }
}

/// How many have to go, from the first on, until there are at most `most`, within the bytes; one may be larger. What has
/// no size is none of them.
fn excess(sizes: &[usize], most: usize, most_bytes: usize) -> usize {
    let (mut left, mut bytes) = (sizes.iter().filter(|size| **size > 0).count(), sizes.iter().sum::<usize>());
    let goes = |size: &&usize| {
        let too_much = left > 1 && (left > most || bytes > most_bytes);
        left -= usize::from(**size > 0);
        bytes -= **size;
        too_much
    };
    sizes.iter().take_while(goes).count()
}

#[cfg(test)]
mod tests {
    use super::excess;

    #[test]
    fn the_first_go_until_neither_number_nor_bytes_are_too_large() {
        assert_eq!(excess(&[10, 10, 10], 3, 30), 0);
        assert_eq!(excess(&[10, 10, 10], 2, 30), 1);
        assert_eq!(excess(&[10, 10, 10], 3, 29), 1);
        assert_eq!(excess(&[10, 90, 10], 3, 20), 2);
        assert_eq!(excess(&[10, 10, 90], 3, 20), 2, "one may be larger");
        assert_eq!(excess(&[10, 90], 0, 0), 1);
        assert_eq!(excess(&[0, 10, 0, 10, 0, 10], 2, 30), 2, "what has no size is not counted");
        assert_eq!(excess(&[], 2, 30), 0);
    }
}
