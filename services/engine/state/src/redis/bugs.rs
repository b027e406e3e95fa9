//! Classic mistakes over one Redis, put in on purpose: the tests of faults have to notice each of them.
//!
//! They are there with the feature `classic-bugs` alone, and one at a time: the one that `RANKWRIGHT_CLASSIC_BUG` names.

use crate::{Commit, Space};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// A position moves before the effects of what lies behind it.
    PositionFirst,
    /// Neither a writer's epoch nor its position is compared.
    NoLease,
    /// The store does not remember which events were taken in.
    NoMemory,
    /// No shard remembers which batch was the last one there.
    NoMarkers,
}

impl Bug {
    /// Whether it is in this program.
    pub(super) fn is_in(self) -> bool {
        let name = match self {
            Self::PositionFirst => "position-first",
            Self::NoLease => "no-lease",
            Self::NoMemory => "no-memory",
            Self::NoMarkers => "no-markers",
        };
        cfg!(feature = "classic-bugs") && std::env::var("RANKWRIGHT_CLASSIC_BUG").is_ok_and(|named| named == name)
    }
}

/// A batch that leaves no trace of its event ids.
pub(super) fn forgotten(mut commit: Commit) -> Commit {
    commit.writes.retain(|(key, _)| key.scope.space() != Space::Seen);
    commit.absent.retain(|key| key.scope.space() != Space::Seen);
    commit
}

/// The script of a commit that does not check the lease: every process that believes to be the writer may commit.
pub(super) fn unguarded(commit: &str) -> String {
    let guard = |line: &str| line.contains("if writer[1] ~=") || line.contains("(writer[2] or '') ~=");
    commit.lines().filter(|line| !guard(line)).collect::<Vec<_>>().join("\n")
}

/// The script of a part that does not see that it is in the shard already.
pub(super) fn unmarked(part: &str) -> String {
    let guard = |line: &str| line.contains("if number == tonumber(ARGV[1])");
    part.lines().filter(|line| !guard(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bug_is_in_by_chance() {
        let guarded =
            "a\n  if writer[1] ~= 1 then return {1} end\n  if not b and (writer[2] or '') ~= 2 then return {1} end\nb";
        assert_eq!(unguarded(guarded), "a\nb");
        let marked = "a\n    if number == tonumber(ARGV[1]) then return {3} end\nb";
        assert_eq!(unmarked(marked), "a\nb");
        let bugs = [Bug::PositionFirst, Bug::NoLease, Bug::NoMemory, Bug::NoMarkers];
        assert!(bugs.into_iter().all(|bug| !bug.is_in()));
    }
}
