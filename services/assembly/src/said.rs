//! What goes wrong again and again: said when it changes, and once a minute.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// What is known already is said again after this time.
const REMIND: Duration = Duration::from_secs(60);

/// What was said last.
#[derive(Debug, Default)]
pub(crate) struct Said(Mutex<Option<(String, Instant)>>);

impl Said {
    /// Whether to say it.
    pub(crate) fn is_news(&self, text: &str) -> bool {
        let mut last = self.0.lock();
        let news = last.as_ref().is_none_or(|(said, at)| said != text || at.elapsed() >= REMIND);
        if news {
            *last = Some((text.to_owned(), Instant::now()));
        }
        news
    }

    /// It is over; whether there was something.
    pub(crate) fn over(&self) -> bool {
        self.0.lock().take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_said_again_at_once() {
        let said = Said::default();
        assert!(!said.over());
        assert_eq!(["a", "a", "b", "b", "a"].map(|text| said.is_news(text)), [true, false, true, false, true]);
        assert!(said.over() && !said.over() && said.is_news("a"));
    }
}
