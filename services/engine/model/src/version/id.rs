//! Names of versions, which sort by time.

use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Time and checksum of a version: `20211114T162500000Z-1a2b3c4d`. Usable as a file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct VersionId(String);

/// A text that names no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid model version {0:?}: expected one like \"20211114T162500000Z-1a2b3c4d\"")]
pub struct InvalidVersionId(String);

impl VersionId {
    /// Of a version made at such a time, with content of such a checksum.
    pub(crate) fn new(created_at: Timestamp, checksum: u32) -> Self {
        // the time's digits alone, to milliseconds: 2021-11-14T16:25:00.5Z becomes 20211114162500500
        let mut digits: String = created_at.to_string().chars().filter(char::is_ascii_digit).collect();
        while digits.len() < 17 {
            digits.push('0');
        }
        let (date, time) = digits.split_at(8);
        Self(format!("{date}T{time}Z-{checksum:08x}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for VersionId {
    type Error = InvalidVersionId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for VersionId {
    type Err = InvalidVersionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once("Z-").and_then(|(time, checksum)| Some((time.split_once('T')?, checksum)));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let valid = parts.is_some_and(|((date, time), checksum)| {
            let lengths = (date.len(), checksum.len()) == (8, 8) && (9..20).contains(&time.len());
            lengths && digits(date) && digits(time) && checksum.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        valid.then(|| Self(text.to_owned())).ok_or_else(|| InvalidVersionId(text.to_owned()))
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_come_back_from_their_text() {
        let ids: Vec<VersionId> = [0, 1, 999, 1_636_907_100_000, 1_636_907_100_500, 1_636_907_101_000]
            .map(|millis| VersionId::new(Timestamp::from_millis(millis), 0xff00_00ff))
            .into();
        assert!(ids.is_sorted());
        assert_eq!(ids[4].as_str(), "20211114T162500500Z-ff0000ff");
        assert!(ids.iter().all(|id| id.as_str().parse().as_ref() == Ok(id)));
    }

    #[test]
    fn what_could_lead_to_another_file_is_refused() {
        for text in ["", "current", "../20211114T162500500Z-ff0000ff", "20211114T162500500Z-ff0000/f", "20211114T1Z-0"]
        {
            assert!(text.parse::<VersionId>().is_err(), "{text}");
        }
    }
}
