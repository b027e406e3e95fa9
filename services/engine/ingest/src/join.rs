//! The join: which interactions belong to which ranking. It goes by event time alone.
//!
//! A ranking stays open until the watermark has passed its last activity by the session's length. An interaction that
//! names a ranking nobody has seen waits for it for a while, and then counts as one of an unknown ranking.

use crate::record::{JoinId, JoinRef, Open};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use rankwright_event::{Interaction, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

/// Open rankings, and interactions that wait for theirs.
pub(crate) struct Join {
    session_length: Duration,
    ranking_wait: Duration,
    /// At most so many are open; the oldest is forced to close.
    max_open: usize,
    open: HashMap<Arc<JoinId>, Open, RandomState>,
    /// When each closes at the earliest; later activity is found when its turn comes.
    deadlines: BinaryHeap<Reverse<(Timestamp, Arc<JoinId>)>>,
    waiting: HashMap<Arc<JoinId>, Vec<Interaction>, RandomState>,
    /// When waiting ends, by time and arrival.
    patience: BTreeMap<(Timestamp, u64), Arc<JoinId>>,
    arrivals: u64,
}

impl Join {
    pub(crate) fn new(session_length: Duration, ranking_wait: Duration, max_open: usize) -> Self {
        Self {
            session_length,
            ranking_wait,
            max_open: max_open.max(1),
            open: HashMap::default(),
            deadlines: BinaryHeap::new(),
            waiting: HashMap::default(),
            patience: BTreeMap::new(),
            arrivals: 0,
        }
    }

    /// Number of open rankings.
    pub(crate) fn open_rankings(&self) -> usize {
        self.open.len()
    }

    /// Number of rankings that interactions wait for.
    pub(crate) fn awaited_rankings(&self) -> usize {
        self.waiting.len()
    }

    /// An open ranking.
    pub(crate) fn get_mut(&mut self, id: &JoinRef<'_>) -> Option<&mut Open> {
        self.open.get_mut(id)
    }

    /// Opens a ranking; `None` where it is open already. Otherwise, the interactions that have waited for it.
    pub(crate) fn open(&mut self, open: Open) -> Option<Vec<Interaction>> {
        let id = Arc::new(JoinId::of(&open.ranking));
        if self.open.contains_key(&id.borrowed()) {
            return None;
        }
        self.deadlines.push(Reverse((open.last.plus(self.session_length), id.clone())));
        self.open.insert(id.clone(), open);
        let mut waited = self.waiting.remove(&id.borrowed()).unwrap_or_default();
        waited.sort_by(|left, right| (left.timestamp, &left.id).cmp(&(right.timestamp, &right.id)));
        Some(waited)
    }

    /// Keeps an interaction until its ranking comes; all that wait for the same one.
    pub(crate) fn wait(&mut self, id: JoinId, interaction: Interaction) -> &[Interaction] {
        let id = Arc::new(id);
        self.arrivals += 1;
        self.patience.insert((interaction.timestamp.plus(self.ranking_wait), self.arrivals), id.clone());
        let waiting = self.waiting.entry(id).or_default();
        waiting.push(interaction);
        waiting
    }

    /// Takes a ranking that closes before `watermark`, the one with the earliest deadline first.
    pub(crate) fn close_before(&mut self, watermark: Timestamp) -> Option<Open> {
        loop {
            let Reverse((deadline, _)) = self.deadlines.peek()?;
            if *deadline >= watermark {
                return None;
            }
            if let Some(open) = self.pop() {
                return Some(open);
            }
        }
    }

    /// Takes the ranking with the earliest deadline while there are too many.
    pub(crate) fn evict(&mut self) -> Option<Open> {
        while self.open.len() > self.max_open {
            if let Some(open) = self.pop() {
                return Some(open);
            }
        }
        None
    }

    /// Takes the one whose deadline comes first; `None` where that had moved, and was corrected.
    fn pop(&mut self) -> Option<Open> {
        let Reverse((deadline, id)) = self.deadlines.pop()?;
        let actual = self.open.get(&id.borrowed())?.last.plus(self.session_length);
        if actual > deadline {
            self.deadlines.push(Reverse((actual, id)));
            return None;
        }
        self.open.remove(&id.borrowed())
    }

    /// Takes interactions whose ranking has not come by `watermark`, those with the least patience first; also when
    /// more rankings are awaited than may be open.
    pub(crate) fn give_up(&mut self, watermark: Timestamp) -> Option<(Arc<JoinId>, Vec<Interaction>)> {
        while let Some(first) = self.patience.first_entry() {
            let overdue = first.key().0 < watermark || self.waiting.len() > self.max_open;
            if !overdue {
                return None;
            }
            let id = first.remove();
            if let Some(interactions) = self.waiting.remove(&id.borrowed()) {
                return Some((id, interactions));
            }
        }
        None
    }
}
