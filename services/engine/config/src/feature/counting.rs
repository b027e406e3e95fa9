//! Keys of features that count interactions, or remember them.

use crate::section::Section;
use std::time::Duration;

pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
/// Windows are bounded by what a counter may remember.
const LONGEST_WINDOW: u64 = 100_000;

pub(super) fn interaction(section: &Section<'_>, key: &'static str) -> Option<String> {
    section.required(key, "a type of interaction, such as click").and_then(|value| value.text())
}

pub(super) fn bucket(section: &Section<'_>, key: &'static str, alias: &'static str) -> Option<Duration> {
    let value = section.either(key, alias).or_else(|| section.missing(key, "a duration such as 24h"));
    value.and_then(|value| value.duration(MILLISECOND))
}

pub(super) fn windows(section: &Section<'_>, key: &'static str, alias: &'static str) -> Option<Vec<u32>> {
    let what = "a list of lengths in buckets, such as [7, 30]";
    let value = section.either(key, alias).or_else(|| section.missing(key, what))?;
    Some(value.one_or_none_or_more(what).iter().filter_map(|value| value.whole(1..=LONGEST_WINDOW)).collect())
}
