//! The log: text or JSON, at a level that can be changed while the operator runs.

use std::io::{self, Write};
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
    let lines = fmt::layer().with_ansi(false).log_internal_errors(false);
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        Format::Text => {
            registry.with(lines.with_target(false).with_writer(|| OneLine(io::stderr()))).try_init()?;
        }
        Format::Json => registry.with(lines.json().flatten_event(true).with_writer(io::stderr)).try_init()?,
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

/// Writes each event as one line: texts of others, such as what the API server says, may have line breaks and escape sequences.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    /// Takes what is one event, with the line break at its end.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.write_all(one_line(event).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The text as one line: control characters inside are escaped.
fn one_line(event: &[u8]) -> String {
    let text = String::from_utf8_lossy(event.strip_suffix(b"\n").unwrap_or(event));
    let mut line = String::with_capacity(event.len() + 1);
    for c in text.chars() {
        match c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let mut written = OneLine(Vec::new());
        written.write_all("WARN no\nERROR all is lost\x1b[2J\u{9b}\u{2028} é\n".as_bytes()).unwrap();
        let line = String::from_utf8(written.0).unwrap();
        assert_eq!(line, "WARN no\\nERROR all is lost\\u{1b}[2J\\u{9b}\\u{2028} é\n");
    }
}
