//! User agents: what the string that a browser sends says of the visitor's device.
//!
//! Families come from the rules of uap-core, crawlers from `iscrawl` and those same rules. The rules take tens of
//! milliseconds to compile, so they are built on first use; a parse takes microseconds, and a shop sees the same
//! agents again and again, so each thread remembers the last few hundred of them.

mod cache;
mod classes;
mod crawler;
mod rules;

pub(crate) use classes::{Browser, Os, Platform};

use cache::Cache;
use rules::Rules;
use std::cell::RefCell;
use std::sync::LazyLock;

/// The user agent rules, compiled.
pub(crate) struct Agents {
    rules: Rules,
}

/// All that is known of one user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Properties {
    /// Kind of device; none for televisions, consoles, crawlers and whatever names no device.
    pub(crate) platform: Option<Platform>,
    /// Operating system; none where it is not named, or none of the six.
    pub(crate) os: Option<Os>,
    /// Browser; none of an empty text alone.
    pub(crate) browser: Option<Browser>,
    /// Whether it is a crawler, a library or another machine.
    pub(crate) bot: bool,
}

/// Longer agents are cut here: what matters stands in front, and memory and time stay bounded.
const MAX_LENGTH: usize = 1024;

impl Agents {
    /// The one set of rules of this process, compiled by the first caller (about 50 ms).
    pub(crate) fn shared() -> &'static Self {
        static SHARED: LazyLock<Agents> = LazyLock::new(|| Agents { rules: Rules::compile() });
        &SHARED
    }

    /// Kind of device.
    pub(crate) fn platform(&self, agent: &str) -> Option<Platform> {
        self.properties(agent).platform
    }

    /// Operating system.
    pub(crate) fn os(&self, agent: &str) -> Option<Os> {
        self.properties(agent).os
    }

    /// Browser.
    pub(crate) fn browser(&self, agent: &str) -> Option<Browser> {
        self.properties(agent).browser
    }

    /// Whether it is a crawler, a library or another machine.
    pub(crate) fn bot(&self, agent: &str) -> bool {
        self.properties(agent).bot
    }

    /// Everything at once.
    pub(crate) fn properties(&self, agent: &str) -> Properties {
        thread_local! {
            static RECENT: RefCell<Cache> = RefCell::default();
        }
        let agent = &agent[..agent.floor_char_boundary(MAX_LENGTH)];
        RECENT.with_borrow_mut(|recent| recent.get_or_insert_with(agent, |agent| self.rules.classify(agent)))
    }
}

#[cfg(test)]
mod tests;
