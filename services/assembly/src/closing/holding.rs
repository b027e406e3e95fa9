//! Tasks that one process has at a time.

use parking_lot::Mutex;
use rankwright_state::{Error, Store};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Closing rankings.
pub(crate) const TASK: &str = "closer";
/// Prefix of the names of holders that forget a visitor or an item.
pub(crate) const FORGETS: &str = "forget ";
/// Filling a state beside the live one.
pub(crate) const REBUILD: &str = "rebuild";
/// A process that does not show itself for this time is followed by another.
pub(crate) const HELD: Duration = Duration::from_secs(10);
/// Between two attempts to get a task that another process holds.
pub(super) const AGAIN: Duration = Duration::from_millis(200);

/// Keeps a task for its holder while it is there, however long that takes.
pub(crate) struct Holding(JoinHandle<()>);

/// Whether a task was one's own all the while, in the times of this process alone: who stands still, or does not reach the state,
/// cannot tell what others did meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Tenure(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// Until then no other process has it.
    until: Option<Instant>,
    /// Another process may have had it.
    lapsed: bool,
}

impl Tenure {
    /// It is one's own, by an answer to what was asked then.
    fn goes_on(&self, asked: Instant, span: Duration) {
        let mut times = self.0.lock();
        times.lapsed |= times.until.is_some_and(|until| until < Instant::now());
        times.until = Some(asked + span);
    }

    /// Whether another process may have had the task since the last call.
    pub(super) fn take_lapse(&self) -> bool {
        let mut times = self.0.lock();
        // who stood still may be faster here than with the next answer of the state
        let is_over = times.until.is_some_and(|until| until < Instant::now());
        std::mem::take(&mut times.lapsed) || is_over
    }

    /// It is given up.
    pub(super) fn ends(&self) {
        *self.0.lock() = Times::default();
    }

    /// As if nothing had been heard of it for long.
    #[cfg(test)]
    pub(super) fn stands_still(&self) {
        let mut times = self.0.lock();
        times.until = times.until.and_then(|until| until.checked_sub(HELD * 2));
    }
}

impl Holding {
    /// `None` where another process has it.
    pub(crate) async fn begin(
        state: Arc<dyn Store>,
        holder: &str,
        tenure: &Arc<Tenure>,
    ) -> Result<Option<Self>, Error> {
        Self::for_spans_of(HELD, state, holder, tenure).await
    }

    pub(super) async fn for_spans_of(
        span: Duration,
        state: Arc<dyn Store>,
        holder: &str,
        tenure: &Arc<Tenure>,
    ) -> Result<Option<Self>, Error> {
        let asked = Instant::now();
        if !state.hold(TASK, holder, span).await? {
            return Ok(None);
        }
        tenure.goes_on(asked, span);
        Ok(Some(Self::kept(TASK, span, state, holder, tenure.clone())))
    }

    /// The task of filling a state beside the live one, so that others see it. A process that was killed keeps it for a moment,
    /// and another one that fills a state for as long as that takes.
    pub(crate) async fn of_rebuild(state: Arc<dyn Store>, holder: &str) -> Result<Self, Error> {
        state.hold(REBUILD, holder, HELD).await?;
        Ok(Self::kept(REBUILD, HELD, state, holder, Arc::default()))
    }

    fn kept(task: &'static str, span: Duration, state: Arc<dyn Store>, holder: &str, tenure: Arc<Tenure>) -> Self {
        let holder = holder.to_owned();
        let holding = tokio::spawn(async move {
            let mut pause = AGAIN;
            loop {
                tokio::time::sleep(pause).await;
                let asked = Instant::now();
                pause = match state.hold(task, &holder, span).await {
                    Ok(true) => {
                        tenure.goes_on(asked, span);
                        span / 4
                    }
                    Ok(false) => AGAIN.min(span / 4),
                    Err(error) => {
                        tracing::warn!(%error, task, "another process may take this over meanwhile");
                        span / 4
                    }
                };
            }
        });
        Self(holding)
    }

    /// Gives it up; the state is no longer in use by it.
    pub(crate) async fn end(mut self) {
        self.0.abort();
        let _aborted = (&mut self.0).await;
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It may see that by other means before its next question is answered.
    #[test]
    fn who_has_not_been_told_that_the_task_is_its_own_for_too_long_has_lost_it() {
        let tenure = Tenure::default();
        assert!(!tenure.take_lapse());
        let asked = Instant::now();
        tenure.goes_on(asked, HELD);
        assert!(!tenure.take_lapse());
        tenure.goes_on(asked.checked_sub(HELD * 2).expect("the machine is not that young"), HELD);
        assert!(tenure.take_lapse());
        tenure.ends();
        assert!(!tenure.take_lapse());
    }
}
