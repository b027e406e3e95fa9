//! The log: text or JSON, at a level that can be changed while the operator runs.

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For collectors of logs.
    Json,
}

/// Changes the level.
#[derive(Clone)]
pub struct Level(reload::Handle<EnvFilter, Registry>);

/// Sends the log to standard error from now on.
///
/// # Errors
/// When `filter` is none, such as `info` or `rankwright_operator=debug,kube=info`.
pub fn start(filter: &str, format: Format) -> anyhow::Result<Level> {
    let (filter, handle) = reload::Layer::new(EnvFilter::try_new(filter)?);
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false).log_internal_errors(false);
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        Format::Text => registry.with(lines.with_target(false)).try_init()?,
        Format::Json => registry.with(lines.json().flatten_event(true)).try_init()?,
    }
    Ok(Level(handle))
}

impl Level {
    /// Logs by this filter from now on.
    ///
    /// # Errors
    /// When it is none.
    pub fn set(&self, filter: &str) -> anyhow::Result<()> {
        self.0.reload(EnvFilter::try_new(filter.trim())?)?;
        Ok(())
    }
}
