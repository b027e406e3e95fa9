//! Values that have a spelling of their own, in the configuration and on the command line alike.

use crate::duration;
use crate::error::Invalid;
use crate::model::{Arm, Metric, Split, SplitField, SplitStrategy};
use crate::source::{EventFormat, FileOrder, Offset};
use rankwright_event::Timestamp;
use std::fmt;
use std::str::FromStr;

impl FromStr for Split {
    type Err = Invalid;

    /// `time=80%`, `random`, `hold_last=70%` (without a number it is 80 %), or `field=name:train:test`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        const ACCEPTED: &str =
            "random, time or hold_last, each with =N% if it is not 80%, or field=<ranking field>:<train>:<test>";
        let invalid = || Invalid::new("split", text, ACCEPTED);
        let (name, part) = text.split_once('=').map_or((text, None), |(name, part)| (name, Some(part)));
        let strategy = match name.trim() {
            "field" => {
                let field = part.and_then(SplitField::read).ok_or_else(invalid)?;
                return Ok(Self { strategy: SplitStrategy::Field(Box::new(field)), ratio: 0.8 });
            }
            "random" => SplitStrategy::Random,
            "time" => SplitStrategy::Time,
            "hold_last" => SplitStrategy::HoldLast,
            _ => return Err(invalid()),
        };
        let percent = part.map_or(Some(80.0), percent).ok_or_else(invalid)?;
        Ok(Self { strategy, ratio: percent / 100.0 })
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.strategy {
            SplitStrategy::Random => "random",
            SplitStrategy::Time => "time",
            SplitStrategy::HoldLast => "hold_last",
            SplitStrategy::Field(field) => return write!(f, "field={}:{}:{}", field.name, field.train, field.test),
        };
        write!(f, "{name}={}%", self.ratio * 100.0)
    }
}

impl SplitField {
    /// `name:train:test`, the two values being different ones.
    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let [name, train, test] = parts[..] else { return None };
        let name = ranking_field(name);
        let fits = [name, train, test].iter().all(|part| !part.is_empty()) && train != test;
        fits.then(|| Self { name: name.to_owned(), train: train.to_owned(), test: test.to_owned() })
    }
}

fn percent(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, told) = text.strip_suffix('%').map_or((text, false), |number| (number.trim_end(), true));
    // without the sign 0.8 is hardly less than one per cent
    crate::scalar::number(number).filter(|&percent| percent > 0.0 && percent <= 100.0 && (told || percent > 1.0))
}

impl FromStr for Arm {
    type Err = Invalid;

    /// `ranker`, or `ranker=random` where lists with this value are in random order.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (field, value) = text.split_once('=').map_or((text, None), |(field, value)| (field, Some(value.trim())));
        let field = ranking_field(field);
        if field.is_empty() || value.is_some_and(str::is_empty) {
            let accepted = "a ranking field, or <ranking field>=<value of lists in random order>";
            return Err(Invalid::new("arm", text, accepted));
        }
        Ok(Self { field: field.to_owned(), randomized: value.map(str::to_owned) })
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.randomized {
            Some(value) => write!(f, "{}={value}", self.field),
            None => f.write_str(&self.field),
        }
    }
}

/// A ranking field's name, which may be written as `ranking.name`.
pub fn ranking_field(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("ranking.").unwrap_or(text)
}

impl FromStr for Metric {
    type Err = Invalid;

    /// `NDCG`, `NDCG@10`, `MAP`, `MAP@10`, `MRR`, in any case.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || Invalid::new("metric", text, "NDCG, NDCG@10, MAP, MAP@10 or MRR");
        let upper = text.trim().to_ascii_uppercase();
        let (name, cutoff) = upper.split_once('@').map_or((upper.as_str(), None), |(name, k)| (name, Some(k)));
        let cutoff = cutoff.map(|k| k.parse().ok().filter(|&k: &usize| k > 0).ok_or_else(invalid)).transpose()?;
        match (name, cutoff) {
            ("NDCG", cutoff) => Ok(Self::Ndcg(cutoff)),
            ("MAP", cutoff) => Ok(Self::Map(cutoff)),
            ("MRR", None) => Ok(Self::Mrr),
            _ => Err(invalid()),
        }
    }
}

impl FromStr for Offset {
    type Err = Invalid;

    /// `earliest`, `latest`, `ts=<time>`, `last=<duration>`. A time is Unix seconds or milliseconds, or ISO 8601.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let accepted = "earliest, latest, ts=<Unix time or ISO 8601 date and time, up to the year 9999> or last=<duration, at most 36600d>";
        let invalid = || Invalid::new("offset", text, accepted);
        match text.split_once('=') {
            None if text == "earliest" => Ok(Self::Earliest),
            None if text == "latest" => Ok(Self::Latest),
            Some(("ts", time)) => unix(time).map(Self::At).ok_or_else(invalid),
            Some(("last", length)) => duration::parse(length).map(Self::Last).map_err(|_| invalid()),
            _ => Err(invalid()),
        }
    }
}

/// Numbers below 10^11 are seconds: as such they reach to the year 5138, as milliseconds only to 1973.
fn unix(text: &str) -> Option<Timestamp> {
    const SECONDS_BELOW: i64 = 100_000_000_000;
    match text.parse::<i64>() {
        Ok(seconds) if seconds.abs() < SECONDS_BELOW => Some(Timestamp::from_millis(seconds * 1000)),
        _ => Timestamp::parse(text).ok(),
    }
}

impl FromStr for EventFormat {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "json" => Ok(Self::Json),
            "snowplow" | "snowplow:tsv" => Ok(Self::SnowplowTsv),
            "snowplow:json" => Ok(Self::SnowplowJson),
            _ => Err(Invalid::new("event format", text, "json, snowplow, snowplow:tsv or snowplow:json")),
        }
    }
}

impl EventFormat {
    /// How a configuration and `--format` name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::SnowplowTsv => "snowplow:tsv",
            Self::SnowplowJson => "snowplow:json",
        }
    }
}

impl FromStr for FileOrder {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "name" => Ok(Self::Name),
            "time" => Ok(Self::Time),
            "last-modified" => Ok(Self::LastModified),
            _ => Err(Invalid::new("file order", text, "name, time or last-modified")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::time::Duration;

    #[test]
    fn a_split_names_a_strategy_and_perhaps_its_part() {
        for (text, strategy, ratio) in [
            ("time=80%", SplitStrategy::Time, 0.8),
            ("random", SplitStrategy::Random, 0.8),
            ("hold_last=70%", SplitStrategy::HoldLast, 0.7),
            ("time=90", SplitStrategy::Time, 0.9),
        ] {
            assert_eq!(text.parse(), Ok(Split { strategy, ratio }), "{text}");
        }
        for text in ["", "tim", "time=", "time=0%", "time=101%", "time=x", "=80%", "random=-5%"] {
            assert!(text.parse::<Split>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_split_names_a_ranking_field_and_its_values_for_train_and_test() {
        let field = |name: &str, train: &str, test: &str| SplitField {
            name: name.to_owned(),
            train: train.to_owned(),
            test: test.to_owned(),
        };
        for (text, expected) in [
            ("field=split:train:test", field("split", "train", "test")),
            ("field=ranking.fold:a:b c", field("fold", "a", "b c")),
        ] {
            let split: Split = text.parse().unwrap();
            assert_eq!(split.field(), Some(&expected), "{text}");
            assert_eq!(split.to_string().parse(), Ok(split), "{text}");
        }
        for text in ["field", "field=", "field=80%", "field=split:a", "field=split:a:a", "field=:a:b", "field=s:a:b:c"]
        {
            assert!(text.parse::<Split>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_arm_names_a_ranking_field_and_perhaps_the_value_of_random_lists() {
        let arm = |field: &str, randomized: Option<&str>| Arm {
            field: field.to_owned(),
            randomized: randomized.map(str::to_owned),
        };
        for (text, expected) in [
            ("ranker", arm("ranker", None)),
            ("ranking.ranker", arm("ranker", None)),
            ("ranker=random", arm("ranker", Some("random"))),
            (" ranker = a=b ", arm("ranker", Some("a=b"))),
        ] {
            let parsed: Arm = text.parse().unwrap();
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed), "{text}");
        }
        assert!(["", "=", "ranker=", "=random", "ranking."].iter().all(|text| text.parse::<Arm>().is_err()));
    }

    #[test]
    fn a_metric_may_look_at_the_first_few_items_alone() {
        let parsed = ["NDCG@10", "ndcg", "MAP@5", "MAP", "MRR"].map(|text| text.parse::<Metric>().unwrap());
        assert_eq!(
            parsed,
            [Metric::Ndcg(Some(10)), Metric::Ndcg(None), Metric::Map(Some(5)), Metric::Map(None), Metric::Mrr]
        );
        assert!(["", "NDCG@", "NDCG@0", "NDCG@-1", "MRR@3", "AUC"].iter().all(|text| text.parse::<Metric>().is_err()));
    }

    #[test]
    fn an_offset_is_a_place_in_time() {
        let time = Timestamp::from_millis(1_636_907_100_000);
        for (text, offset) in [
            ("earliest", Offset::Earliest),
            ("latest", Offset::Latest),
            ("ts=1636907100", Offset::At(time)),
            ("ts=1636907100000", Offset::At(time)),
            ("ts=2021-11-14T16:25:00Z", Offset::At(time)),
            ("last=1d", Offset::Last(Duration::from_secs(86_400))),
        ] {
            assert_eq!(text.parse(), Ok(offset), "{text}");
        }
        for text in ["", "soonest", "ts=", "ts=noon", "last=", "last=-1h", "last"] {
            assert!(text.parse::<Offset>().is_err(), "{text}");
        }
    }
}
