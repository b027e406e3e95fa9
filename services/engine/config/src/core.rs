//! `core`: joining, ingesting and tracking.

use std::time::Duration;

/// Settings of the engine itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Core {
    /// How rankings and interactions become click-throughs.
    pub clickthrough: Clickthrough,
    /// How live events are taken in.
    pub ingest: Ingest,
    /// What is reported about this installation.
    pub tracking: Tracking,
}

/// How rankings and interactions become click-throughs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clickthrough {
    /// `maxParallelSessions`: open rankings that a process holds in memory; default 10,000.
    pub max_parallel_sessions: usize,
    /// `maxOpenBytes`: about how many bytes of memory open rankings may take, whatever their number; default 256 MiB.
    pub max_open_bytes: usize,
    /// `maxSessionLength`: inactivity after which a ranking closes; default 30 minutes.
    pub max_session_length: Duration,
    /// `rankingWait`: how long, in event time, an interaction waits for a ranking of another partition; default 10 seconds.
    pub ranking_wait: Duration,
}

/// How live events are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ingest {
    /// `eventIdWindow`: how long ids of events are remembered, so that a retry has no second effect; default 5 minutes.
    pub event_id_window: Duration,
    /// `maxAhead`: live events further ahead of the wall clock are refused; default an hour.
    pub max_ahead: Duration,
}

/// What is reported about this installation. Nothing is sent anywhere: there is no default endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracking {
    /// Anonymous usage counters; default true.
    pub analytics: bool,
    /// Errors; default true.
    pub errors: bool,
}

impl Default for Clickthrough {
    fn default() -> Self {
        Self {
            max_parallel_sessions: 10_000,
            max_open_bytes: 256 << 20,
            max_session_length: Duration::from_secs(30 * 60),
            ranking_wait: Duration::from_secs(10),
        }
    }
}

impl Default for Ingest {
    fn default() -> Self {
        Self { event_id_window: Duration::from_secs(5 * 60), max_ahead: Duration::from_secs(60 * 60) }
    }
}

impl Default for Tracking {
    fn default() -> Self {
        Self { analytics: true, errors: true }
    }
}
