//! Kinds of events, and the keys that each has.

use super::cursor::Cursor;
use super::error::{Fault, Within};

/// The kinds of events, as `event` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Item,
    User,
    Ranking,
    Interaction,
}

impl Kind {
    /// Whether an event of this kind has such a key; it ignores all others.
    #[inline]
    pub(super) fn has(self, key: &str) -> bool {
        match key {
            "item" => matches!(self, Self::Item | Self::Interaction),
            "user" => self != Self::Item,
            "session" => matches!(self, Self::Ranking | Self::Interaction),
            "items" => self == Self::Ranking,
            "ranking" | "type" => self == Self::Interaction,
            _ => true,
        }
    }

    /// The kind that `event` calls so.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "item" | "metadata" => Some(Self::Item), // its old name
            "user" => Some(Self::User),
            "ranking" => Some(Self::Ranking),
            "interaction" => Some(Self::Interaction),
            _ => None,
        }
    }

    /// As `event` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::User => "user",
            Self::Ranking => "ranking",
            Self::Interaction => "interaction",
        }
    }

    /// Reads the value of `event`.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        const EXPECTED: &str = r#""item", "user", "ranking" or "interaction""#;
        cursor.peek();
        let start = cursor.at;
        let kind = Self::named(&cursor.string(EXPECTED)?);
        kind.ok_or_else(|| {
            cursor.at = start;
            cursor.unexpected(EXPECTED)
        })
    }

    /// Reads the value of `event` in a rank request: a ranking, which need not be said.
    pub(super) fn read_request(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        const EXPECTED: &str = r#""ranking" in a rank request"#;
        cursor.peek();
        let start = cursor.at;
        if cursor.took_word("null") || cursor.string(EXPECTED)? == "ranking" {
            return Ok(Self::Ranking);
        }
        cursor.at = start;
        Err(cursor.unexpected(EXPECTED))
    }

    /// Looks only for the kind of the event that follows.
    pub(super) fn find(cursor: &mut Cursor<'_>) -> Result<Option<Self>, Fault> {
        let mut kind = None;
        cursor.object("an event: an object", |cursor, key| {
            match key {
                "event" => kind = Some(Self::read(cursor).at_key("event")?),
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(kind)
    }
}
