//! What `GET /metrics` shows of connections.

use prometheus::{IntCounterVec, IntGauge, Opts, Registry};

/// Why connections that waited for their clients were closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// There were as many as there may be.
    Limit,
    /// The process had no file descriptors left.
    Files,
    /// Their unfinished heads took too much memory together.
    Heads,
    /// Their clients did not take their answers, which took too much memory together.
    Answers,
}

impl Closed {
    pub(crate) const ALL: [Self; 4] = [Self::Limit, Self::Files, Self::Heads, Self::Answers];

    fn label(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Files => "files",
            Self::Heads => "heads",
            Self::Answers => "answers",
        }
    }

    /// For the log.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Limit => "as many are open as api.limits.maxConnections allows, and new ones came",
            Self::Files => "the process has no file descriptors left for new ones (ulimit -n)",
            Self::Heads => "their unfinished request heads took more memory than all may take together",
            Self::Answers => "answers that their clients did not take needed more memory than all may take together",
        }
    }
}

/// Metrics of the connections of a server.
#[derive(Debug, Clone)]
pub struct ConnectionMetrics {
    pub(crate) open: IntGauge,
    closed: IntCounterVec,
}

impl ConnectionMetrics {
    /// Metrics that no registry shows yet.
    ///
    /// # Errors
    /// When their names are not valid.
    pub fn new() -> Result<Self, prometheus::Error> {
        let help = "Connections closed while they waited for their clients, by reason.";
        let closed = IntCounterVec::new(Opts::new("service_closed_connections_total", help), &["reason"])?;
        for why in Closed::ALL {
            closed.with_label_values(&[why.label()]);
        }
        Ok(Self { open: IntGauge::new("service_connections", "Open connections.")?, closed })
    }

    pub(super) fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        registry.register(Box::new(self.open.clone()))?;
        registry.register(Box::new(self.closed.clone()))
    }

    /// Counts connections that were closed.
    pub(crate) fn count(&self, why: Closed, closed: u64) {
        self.closed.with_label_values(&[why.label()]).inc_by(closed);
    }
}
