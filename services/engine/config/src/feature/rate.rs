//! `rate`: one interaction per another.

use super::counting::{HOUR, bucket, interaction, windows};
use super::{Definition, RateScope, Source};
use crate::schema::{Key, key};
use crate::section::Section;
use std::time::Duration;

/// One interaction per another; one column a period.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Dividend.
    pub top: String,
    /// Divisor, such as `impression`.
    pub bottom: String,
    /// Length of a bucket.
    pub bucket: Duration,
    /// Period lengths in buckets; never empty, each at least 1.
    pub periods: Vec<u32>,
    /// What the counters belong to.
    pub scope: RateScope,
    /// Weight of the global rate; absent means the plain rate.
    pub normalize: Option<f64>,
}

impl Definition for Rate {
    const NAME: &str = "rate";
    const EXAMPLE: &str = "{name: ctr, type: rate, top: click, bottom: impression, bucket: 24h, periods: [7, 30], normalize: {weight: 10}}";
    const DOC: &str = "one kind of interaction per another, such as the click-through rate, a column per period";
    const USUAL_REFRESH: Duration = HOUR;
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("top", "", "type of the interactions that are counted"),
        key("bottom", "", "type of those that they are divided by, such as `impression`"),
        key("bucket", "", "length of a bucket of time"),
        key("periods", "", "lengths of the periods in buckets, a column each"),
        key("scope", "", "what has a counter of its own: `item`, each value of `item.<field>`, or an item within one value of `ranking.<field>`"),
        key("normalize", "none", "draws rates of few counts towards the rate of all items"),
        key("normalize.weight", "", "how strongly: as if there were this many more `top` interactions, at the rate of all items"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let (top, bottom) = (interaction(section, "top"), interaction(section, "bottom"));
        let bucket = bucket(section, "bucket", "bucket_size");
        let periods = windows(section, "periods", "windows");
        let scope = section.or("scope", RateScope::Item, |value| RateScope::read(&value));
        let normalize = section.section("normalize").map(normalize);
        Some(Self { top: top?, bottom: bottom?, bucket: bucket?, periods: periods?, scope, normalize })
    }

    fn suffixes(&self) -> Vec<String> {
        self.periods.iter().map(ToString::to_string).collect()
    }

    fn sources(&self) -> Vec<Source> {
        self.scope.source().into_iter().collect()
    }

    fn interactions(&self) -> Vec<&str> {
        vec![&self.top, &self.bottom]
    }
}

fn normalize(section: Section<'_>) -> f64 {
    let weight = section.or("weight", 10.0, |value| value.number("a number over 0", |number| number > 0.0));
    section.finish();
    weight
}
