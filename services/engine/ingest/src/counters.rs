//! Counters of ingest.

use rankwright_event::{Event, RankingId};

/// Examples of rankings that interactions name and that never came.
const NAMED: usize = 2;

/// Keeps a ranking that never came as one of a few examples.
pub(crate) fn name(examples: &mut Vec<RankingId>, ranking: &RankingId) {
    if examples.len() < NAMED && !examples.contains(ranking) {
        examples.push(ranking.clone());
    }
}

/// What a batch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Applied {
    /// Events taken in.
    pub accepted: u64,
    /// Values of features written.
    pub updated: u64,
}

/// What happened since the start, and what is going on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Item events.
    pub items: u64,
    /// User events.
    pub users: u64,
    /// Ranking events.
    pub rankings: u64,
    /// Interaction events.
    pub interactions: u64,
    /// Values of features written.
    pub updated: u64,
    /// Click-throughs of rankings.
    pub clickthroughs: u64,
    /// Interactions without a ranking, or of an unknown one.
    pub unranked: u64,
    /// Of them, those that name a ranking which was not there while they waited for it.
    pub unknown: u64,
    /// Rankings that were sent again while open, and left alone.
    pub repeated: u64,
    /// Events of requests that were taken in before, and left alone.
    pub known: u64,
    /// Rankings that were forced to close because too many were open, or took too much memory.
    pub evicted: u64,
    /// Interactions that had to stop waiting for their ranking because too many waited, or took too much memory.
    pub evicted_interactions: u64,
    /// Rankings that take interactions.
    pub open: u64,
    /// About how many bytes of memory they and waiting interactions take; `None` where a store outside this memory has them.
    pub open_bytes: Option<u64>,
    /// Rankings that interactions wait for.
    pub awaited: u64,
    /// Click-throughs that are not durable yet.
    pub outbox: u64,
    /// Estimated bytes of memory of those that their store has not taken.
    pub outbox_bytes: u64,
}

impl Counters {
    /// How many events there are of each kind.
    pub fn of(events: &[Event]) -> Self {
        let mut counters = Self::default();
        events.iter().for_each(|event| counters.see(event));
        counters
    }

    /// One more event.
    pub(crate) fn see(&mut self, event: &Event) {
        match event {
            Event::Item(_) => self.items += 1,
            Event::User(_) => self.users += 1,
            Event::Ranking(_) => self.rankings += 1,
            Event::Interaction(_) => self.interactions += 1,
        }
    }

    /// These and others together.
    pub fn and(self, other: Self) -> Self {
        Self {
            items: self.items + other.items,
            users: self.users + other.users,
            rankings: self.rankings + other.rankings,
            interactions: self.interactions + other.interactions,
            updated: self.updated + other.updated,
            clickthroughs: self.clickthroughs + other.clickthroughs,
            unranked: self.unranked + other.unranked,
            unknown: self.unknown + other.unknown,
            repeated: self.repeated + other.repeated,
            known: self.known + other.known,
            evicted: self.evicted + other.evicted,
            evicted_interactions: self.evicted_interactions + other.evicted_interactions,
            open: self.open + other.open,
            open_bytes: match (self.open_bytes, other.open_bytes) {
                (Some(these), Some(others)) => Some(these + others),
                (these, others) => these.or(others),
            },
            awaited: self.awaited + other.awaited,
            outbox: self.outbox + other.outbox,
            outbox_bytes: self.outbox_bytes + other.outbox_bytes,
        }
    }
}
