//! What was generated, in numbers.

use rankwright_event::{Event, Timestamp};
use std::fmt;
use std::path::PathBuf;

/// What [`super::run`] wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    /// Events that introduce items or change their prices.
    pub(crate) items: u64,
    /// Events that introduce visitors.
    pub(crate) users: u64,
    /// Lists shown.
    pub(crate) rankings: u64,
    /// Clicks on items of lists.
    pub(crate) clicks: u64,
    /// Purchases of clicked items.
    pub(crate) purchases: u64,
    /// Times of the first and the last event.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
    /// The events, in the order of time.
    pub(crate) events_file: PathBuf,
    /// A configuration for them.
    pub(crate) config_file: PathBuf,
    /// A rank request, a minute after the last event.
    pub(crate) request_file: PathBuf,
}

impl Summary {
    /// Number of all events.
    pub(crate) fn events(&self) -> u64 {
        self.items + self.users + self.rankings + self.clicks + self.purchases
    }

    /// Takes one more event into account.
    pub(super) fn count(&mut self, event: &Event) {
        let now = event.timestamp();
        self.span = Some((self.span.map_or(now, |(first, _)| first), now));
        *match event {
            Event::Item(_) => &mut self.items,
            Event::User(_) => &mut self.users,
            Event::Ranking(_) => &mut self.rankings,
            Event::Interaction(event) if event.kind == "purchase" => &mut self.purchases,
            Event::Interaction(_) => &mut self.clicks,
        } += 1;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { items, users, rankings, clicks, purchases, .. } = self;
        writeln!(f, "{} events: {items} of items, {users} of users, {rankings} rankings,", self.events())?;
        write!(f, "{clicks} clicks, {purchases} purchases")?;
        if let Some((first, last)) = self.span {
            write!(f, "; {first} to {last}")?;
        }
        for file in [&self.events_file, &self.config_file, &self.request_file] {
            write!(f, "\n{}", file.display())?;
        }
        Ok(())
    }
}
