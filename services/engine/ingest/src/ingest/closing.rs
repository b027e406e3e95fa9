//! What ends: rankings whose time is over, interactions that no ranking caused, and the click-throughs that are owed then.

use super::Ingest;
use crate::counters;
use crate::error::Error;
use crate::join::Due;
use crate::record::{self, Closed, JoinId, Open};
use rankwright_clickthrough::Clickthrough;
use rankwright_event::{Interaction, Tenant, Timestamp};
use rankwright_state::Key;

/// Rankings that are closed with one commit, where no events belong to it as well,
const AT_ONCE: usize = 1000;
/// unless their click-throughs take more bytes of memory than this before.
const MOST_CLOSED_BYTES: usize = 16 << 20;

/// What a batch has closed, in order.
#[derive(Default)]
pub(super) struct Owed {
    all: Vec<(Option<Key>, Closed)>,
    /// About how many bytes that takes.
    bytes: usize,
    /// Number of the next closed record in a durable state: a ranking that is shown again may close again before its first
    /// click-through is durable elsewhere.
    pub(super) next: u64,
}

impl Owed {
    fn push(&mut self, key: Option<Key>, closed: Closed) {
        self.bytes += closed.bytes();
        self.all.push((key, closed));
    }

    /// Gives all up, in order.
    pub(super) fn take(&mut self) -> Vec<(Option<Key>, Closed)> {
        self.bytes = 0;
        std::mem::take(&mut self.all)
    }

    /// Where a click-through lies until it is durable elsewhere, in the order of closing.
    fn key(&mut self, tenant: &Tenant, id: &str) -> Key {
        let number = self.next;
        self.next += 1;
        record::closed_key(tenant, number, id)
    }
}

impl Ingest {
    /// Closes what is due before `watermark`, some with each commit, however many there are.
    pub(super) async fn close_by_commits(&mut self, watermark: Timestamp) -> Result<(), Error> {
        debug_assert!(!self.taken, "these commits would have effects in them whose position they do not name");
        let mut closed = 0;
        while let Some(due) = self.join.close_before(watermark) {
            self.close(due).await?;
            closed += 1;
            if closed % AT_ONCE == 0 || self.owed.bytes > MOST_CLOSED_BYTES {
                self.commit(self.lease.position.clone()).await?;
                if self.outbox.is_full() {
                    self.outbox.flush()?;
                }
            }
        }
        Ok(())
    }

    pub(super) async fn close_until(&mut self, watermark: Timestamp) -> Result<(), Error> {
        while let Some(due) = self.join.close_before(watermark) {
            self.close(due).await?;
        }
        self.give_up(watermark).await
    }

    /// Interactions wait no longer whose rankings have not come by `watermark`, or that are too many.
    pub(super) async fn give_up(&mut self, watermark: Timestamp) -> Result<(), Error> {
        while let Some((id, interactions)) = self.join.give_up(watermark) {
            self.remove(&id);
            for interaction in interactions {
                self.unranked(interaction).await?;
            }
        }
        Ok(())
    }

    /// An interaction that no known ranking caused takes effect.
    pub(super) async fn unranked(&mut self, interaction: Interaction) -> Result<(), Error> {
        self.counters.unranked += 1;
        if let Some(ranking) = &interaction.ranking {
            self.counters.unknown += 1;
            counters::name(&mut self.unknown, ranking);
        }
        let item = self.fetch(self.plan.unranked_reads(&interaction).as_slice()).await?;
        self.plan.unranked(&interaction, &item, &mut self.overlay);
        let record = Clickthrough::of_interaction(&interaction);
        let key = self.durable.then(|| self.owed.key(&interaction.tenant, interaction.id.as_str()));
        if let Some(key) = &key {
            let (slot, stored) = record::alone_value(&interaction);
            self.overlay.write(key, slot, stored);
        }
        self.plan.interaction(&interaction, &mut self.overlay);
        self.owed.push(key, Closed::Written(record));
        Ok(())
    }

    /// A ranking takes no more interactions.
    pub(super) async fn close(&mut self, due: Due) -> Result<(), Error> {
        let mut open = match due {
            Due::Here(open) => open,
            Due::Stored { id, worth_keeping: true } => self.stored(&id).await?,
            Due::Stored { id, worth_keeping: false } => {
                self.remove(&id);
                return Ok(());
            }
        };
        self.remove(&JoinId::of(&open.ranking));
        if !open.is_worth_keeping() {
            return Ok(());
        }
        let items = self.fetch(&open.close_reads(&self.plan)).await?;
        open.close(&self.plan, &items, &mut self.overlay);
        self.counters.clickthroughs += 1;
        self.owe(open);
        Ok(())
    }

    /// The state has the record no longer.
    pub(super) fn remove(&mut self, id: &JoinId) {
        if self.durable {
            self.changed.remove(id);
            self.overlay.remove(&id.key());
        }
    }

    /// A click-through whose effects are there is on its way.
    pub(super) fn owe(&mut self, open: Open) {
        let key = self.durable.then(|| self.owed.key(&open.ranking.tenant, open.ranking.id.as_str()));
        if let Some(key) = &key {
            let values = [open.shown_value(self.plan.tags()), record::interactions_value(&open.interactions)];
            values.into_iter().for_each(|(slot, stored)| self.overlay.write(key, slot, stored));
        }
        self.owed.push(key, Closed::Ranking(open));
    }
}
