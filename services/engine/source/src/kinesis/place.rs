//! How far a shard is read.

use rankwright_event::Timestamp;
use std::fmt;
use std::str::FromStr;

/// Where reading of a shard goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// At the oldest record there is.
    Start,
    /// At the first record that arrived at this time or later.
    Since(Timestamp),
    /// Behind the record of this sequence number.
    After(String),
    /// Nowhere: the shard is closed, and read.
    End,
}

/// What is no place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoPlace;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Since(time) => write!(f, "@{}", time.millis()),
            Self::After(number) => f.write_str(number),
            Self::End => f.write_str("end"),
        }
    }
}

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        match text {
            "start" => Ok(Self::Start),
            "end" => Ok(Self::End),
            _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Self::After(text.to_owned())),
            _ => {
                let time = text.strip_prefix('@').and_then(|time| time.parse().ok());
                time.map(|time| Self::Since(Timestamp::from_millis(time))).ok_or(NoPlace)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NoPlace, Place};

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["start", "end", "@1700000000000", "49590338271490256608559692538361571095921575989136588898"] {
            assert_eq!(text.parse::<Place>().map(|place| place.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "@", "latest", "1x"] {
            assert_eq!(text.parse::<Place>(), Err(NoPlace));
        }
    }
}
