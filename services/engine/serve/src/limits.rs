//! What a request may hold; the configuration's `api.limits` beside what is fixed.

use rankwright_config as config;
use rankwright_event::{Event, Ranking, Timestamp};
use std::time::{Duration, Instant};

/// What a request may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// As configured.
    pub(crate) api: config::Limits,
    /// Live events further ahead of the wall clock than this are refused.
    pub(crate) ahead: Duration,
}

/// A request that holds too much, or what it must not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// Items of a ranking or recommendation.
    #[error("{found} items are too many: at most {most} are accepted (api.limits.maxItemsPerRequest)")]
    Items {
        /// Where they are.
        path: String,
        /// How many there are.
        found: usize,
        /// How many may be there.
        most: usize,
    },
    /// Events of a batch.
    #[error("{found} events are too many: at most {most} are accepted at once (api.limits.maxEventsPerBatch)")]
    Events {
        /// How many there are.
        found: usize,
        /// How many may be there.
        most: usize,
    },
    /// An event of the future.
    #[error("{at} is more than {ahead:?} ahead of the clock (core.ingest.maxAhead)")]
    Ahead {
        /// Where the event is.
        path: String,
        /// Its time.
        at: Timestamp,
        /// How far events may be ahead.
        ahead: Duration,
    },
}

impl Limits {
    /// Checks a ranking that is to be ordered.
    pub(crate) fn check_ranking(&self, ranking: &Ranking) -> Result<(), Excess> {
        self.check_items("items", ranking.items.len())
    }

    /// When text models have to be done with a rank request that arrived at `began`, if they are asked now.
    pub(crate) fn texts_by(&self, began: Instant) -> Instant {
        (Instant::now() + self.api.text_timeout).min(began + self.api.request_timeout)
    }

    /// Checks how many items there are at `path`.
    pub(crate) fn check_items(&self, path: &str, found: usize) -> Result<(), Excess> {
        let most = self.api.max_items_per_request;
        if found > most {
            return Err(Excess::Items { path: path.to_owned(), found, most });
        }
        Ok(())
    }

    /// Checks a batch of live events, as of the wall clock's `now`.
    pub(crate) fn check_events(&self, events: &[Event], now: Timestamp) -> Result<(), Excess> {
        let (found, most) = (events.len(), self.api.max_events_per_batch);
        if found > most {
            return Err(Excess::Events { found, most });
        }
        let latest = now.plus(self.ahead);
        events.iter().enumerate().try_for_each(|(index, event)| self.check_event(index, event, latest))
    }

    fn check_event(&self, index: usize, event: &Event, latest: Timestamp) -> Result<(), Excess> {
        let at = event.timestamp();
        if at > latest {
            return Err(Excess::Ahead { path: format!("[{index}].timestamp"), at, ahead: self.ahead });
        }
        match event {
            Event::Ranking(ranking) => self.check_items(&format!("[{index}].items"), ranking.items.len()),
            _ => Ok(()),
        }
    }
}

impl Excess {
    /// Where in the body it is; empty for the whole.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Items { path, .. } | Self::Ahead { path, .. } => path,
            Self::Events { .. } => "",
        }
    }
}
