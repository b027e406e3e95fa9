//! `ua`: what a user agent says of the visitor's device.

use super::scope::ignored_scope;
use super::{Definition, Entity, Source, reference};
use crate::schema::{Key, key};
use crate::section::Section;

/// What a user agent says of the visitor's device; one column a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAgent {
    /// Where the user agent string is.
    pub source: Source,
    /// Which of its properties.
    pub field: AgentField,
}

/// Property of a user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentField {
    /// mobile, desktop, tablet
    Platform,
    /// ios, android, windows, linux, macos, chrome os
    Os,
    /// safari, chrome, firefox, opera, ie, other
    Browser,
    /// a known crawler or not
    Bot,
}

const OWNERS: &[Entity] = &[Entity::Ranking, Entity::User, Entity::Any];

impl Definition for UserAgent {
    const NAME: &str = "ua";
    const EXAMPLE: &str = "{name: platform, type: ua, source: ranking.ua, field: platform}";
    const DOC: &str = "what the user agent says about the visitor: platform, os, browser or bot, a column per value";
    const OF_FIELDS_ALONE: bool = true;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("source", "", "the field with the user agent: `ranking.x`, such as `ranking.ua`, or `user.x`"),
        key("field", "", "what is read of it: `platform`, `os`, `browser` or `bot`"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let fields = [
            ("platform", AgentField::Platform),
            ("os", AgentField::Os),
            ("browser", AgentField::Browser),
            ("bot", AgentField::Bot),
        ];
        let source = section.required("source", "ranking.<field>").and_then(|value| reference(&value, OWNERS));
        ignored_scope(section, source.as_ref().map_or(Some(&Entity::Ranking), |source| Some(&source.entity)));
        let field = section.required("field", "platform, os, browser or bot");
        let field = field.and_then(|value| value.choice("property of a user agent", &fields));
        Some(Self { source: source?, field: field? })
    }

    fn suffixes(&self) -> Vec<String> {
        self.field.values().iter().map(|name| name.replace(' ', "_")).collect()
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}

impl AgentField {
    /// What such a property may be, in the order of the columns.
    pub const fn values(self) -> &'static [&'static str] {
        match self {
            Self::Platform => &["mobile", "desktop", "tablet"],
            Self::Os => &["ios", "android", "windows", "linux", "macos", "chrome os"],
            Self::Browser => &["safari", "chrome", "firefox", "opera", "ie", "other"],
            Self::Bot => &["bot"],
        }
    }
}
