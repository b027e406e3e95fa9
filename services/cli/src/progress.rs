//! What a person sees of long work: a moving line on a terminal, plain log lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tracing::info;

/// Elsewhere than on a terminal, one line in so much time.
const QUIET: Duration = Duration::from_secs(10);

/// Progress of one piece of work whose size is known.
pub(crate) struct Progress {
    what: &'static str,
    bar: Option<ProgressBar>,
    started: Instant,
    told: Instant,
}

impl Progress {
    /// Begins; `total` is in the unit of [`Progress::at`].
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total);
            let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3}% {msg} {eta} left");
            bar.set_style(style.expect("the template is fixed, and a test draws it"));
            bar.set_prefix(what);
            bar
        });
        let now = Instant::now();
        Self { what, bar, started: now, told: now }
    }

    /// So far: `done` of the total, and `count` things that are worth telling.
    pub(crate) fn at(&mut self, done: u64, count: u64, unit: &str) {
        let rate = count as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{count} {unit}, {rate:.0}/s"));
            bar.set_position(done);
        } else if self.told.elapsed() > QUIET {
            self.told = Instant::now();
            info!(count, rate = format!("{rate:.0}/s"), "{}: {unit}", self.what);
        }
    }

    /// Time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes the moving line away.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_can_be_drawn() {
        assert!(ProgressStyle::with_template("{prefix} {bar:30} {percent:>3}% {msg} {eta} left").is_ok());
        let mut progress = Progress::new("import", 10);
        progress.at(5, 100, "events");
        progress.end();
        assert!(progress.elapsed() < Duration::from_secs(60));
    }
}
