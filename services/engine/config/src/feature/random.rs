//! `random`: a number by chance.

use super::Definition;
use super::scope::ignored_scope;
use crate::section::Section;

/// A number from 0 to 1 for each item of a ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random;

impl Definition for Random {
    const NAME: &str = "random";
    const EXAMPLE: &str = "{name: chance, type: random}";
    const DOC: &str =
        "a random number from 0 to 1 for each item of a ranking, such as a baseline that a useful feature has to beat";
    const OF_FIELDS_ALONE: bool = false;

    fn read(section: &Section<'_>) -> Option<Self> {
        ignored_scope(section, None);
        Some(Self)
    }
}
