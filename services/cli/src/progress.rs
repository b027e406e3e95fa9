//! What a person sees of long work: a moving line on a terminal, plain log lines elsewhere.

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use tracing::info;

/// Elsewhere than on a terminal, one line in so much time.
const QUIET: Duration = Duration::from_secs(10);

/// The moving line that is on the terminal now.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes the log to standard error; the moving line steps aside for it.
pub(crate) struct Log;

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
            bar.set_style(style());
            bar.set_prefix(what);
            *SHOWN.lock() = Some(bar.clone());
            bar
        });
        let now = Instant::now();
        Self { what, bar, started: now, told: now }
    }

    /// The same piece of work, of another size.
    pub(crate) fn of(&mut self, total: u64) -> &mut Self {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
        self
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

    /// Takes the moving line away, as dropping it does.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            *SHOWN.lock() = None;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        aside(SHOWN.lock().as_ref(), || io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// How the moving line looks. Time left is told when a part of the total is done.
fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3}% {msg} {left}");
    let left = |state: &ProgressState, line: &mut dyn fmt::Write| {
        if state.pos() > 0 {
            let _ = write!(line, "{:#} left", HumanDuration(state.eta())); // a line takes any text
        }
    };
    style.expect("the template is fixed, and a test draws it").with_key("left", left)
}

/// Writes where the moving line is, which is drawn again below.
fn aside<T>(line: Option<&ProgressBar>, write: impl FnOnce() -> T) -> T {
    match line {
        Some(line) => line.suspend(write),
        None => write(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{ProgressDrawTarget, TermLike};
    use std::sync::Arc;

    /// A terminal that keeps what is on its only line.
    #[derive(Debug, Default, Clone)]
    struct OneLine(Arc<Mutex<String>>);

    impl TermLike for OneLine {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().clear();
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_logged_does_not_land_on_the_moving_line() {
        let terminal = OneLine::default();
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), 255);
        let bar = ProgressBar::with_draw_target(Some(10), target);
        bar.tick();
        let shown = || terminal.0.lock().trim().to_owned();
        assert!(shown().contains("0/10"), "{}", shown());
        aside(Some(&bar), || assert_eq!(shown(), ""));
        assert!(shown().contains("0/10"), "{}", shown());
    }

    #[test]
    fn the_line_can_be_drawn() {
        let terminal = OneLine::default();
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), 255);
        let bar = ProgressBar::with_draw_target(Some(10), target).with_style(style());
        let shown = |done| {
            bar.set_position(done);
            bar.tick();
            terminal.0.lock().clone()
        };
        assert!(!shown(0).contains("left"), "nothing is known yet");
        assert!(shown(5).contains("left"));
        let mut progress = Progress::new("import", 10);
        progress.at(5, 100, "events");
        progress.end();
        assert!(progress.elapsed() < Duration::from_secs(60));
    }
}
