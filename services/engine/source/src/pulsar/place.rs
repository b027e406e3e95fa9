//! How far a partition is read: up to an entry, which its ledger and its number there name.
//!
//! An entry is a message, or a batch of them. It is handed on whole, so no place lies between two messages of a batch.

use pulsar::message::proto::MessageIdData;
use rankwright_event::Timestamp;
use std::fmt;
use std::str::FromStr;

/// Everything up to this entry lies behind. Places of one partition follow each other in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) ledger: i64,
    pub(super) entry: i64,
}

/// Where reading goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begin {
    pub(super) after: Place,
    /// Messages that were published earlier are left out: until the first one that was not, or all, where they are dealt out.
    pub(super) since: Option<Timestamp>,
    /// What comes behind is dealt out by a subscription that readers share: no place tells what they have read of it.
    pub(super) dealt: bool,
}

/// Ends the text of a place behind which messages are dealt out.
const DEALT: &str = " shared";

impl Place {
    /// Nothing lies behind.
    pub(super) const START: Self = Self { ledger: -1, entry: -1 };

    /// Behind an entry; the protocol's -1 comes as the largest number there is.
    pub(super) fn behind(id: &MessageIdData) -> Self {
        Self { ledger: id.ledger_id.cast_signed(), entry: id.entry_id.cast_signed() }
    }

    /// The entry, for the broker.
    pub(super) fn id(self) -> MessageIdData {
        let (ledger_id, entry_id) = (self.ledger.cast_unsigned(), self.entry.cast_unsigned());
        MessageIdData { ledger_id, entry_id, ..MessageIdData::default() }
    }
}

impl Begin {
    /// Behind a place, whatever the time.
    pub(super) fn after(after: Place) -> Self {
        Self { after, since: None, dealt: false }
    }
}

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.after.ledger, self.after.entry)?;
        self.since.map_or(Ok(()), |since| write!(f, "@{}", since.millis()))?;
        f.write_str(if self.dealt { DEALT } else { "" })
    }
}

impl FromStr for Begin {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (text, dealt) = text.strip_suffix(DEALT).map_or((text, false), |text| (text, true));
        let (place, since) = text.split_once('@').map_or((text, None), |(place, since)| (place, Some(since)));
        let since = since.map(str::parse).transpose()?.map(Timestamp::from_millis);
        let (ledger, entry) = place.split_once(':').unwrap_or((place, ""));
        Ok(Self { after: Place { ledger: ledger.parse()?, entry: entry.parse()? }, since, dealt })
    }
}

#[cfg(test)]
mod tests {
    use super::{Begin, Place};

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["7:12", "-1:-1", "7:-1@1700000000000", "7:12 shared"] {
            assert_eq!(text.parse::<Begin>().map(|begin| begin.to_string()).as_deref(), Ok(text));
        }
        assert!("7".parse::<Begin>().is_err());
        assert!("7:x".parse::<Begin>().is_err());
    }

    #[test]
    fn places_follow_each_other_as_entries_do() {
        let place = |ledger, entry| Place { ledger, entry };
        assert!([Place::START, place(7, -1), place(7, 0), place(7, 1), place(8, -1)].is_sorted());
        assert_eq!(Place::behind(&Place::START.id()), Place::START);
    }
}
