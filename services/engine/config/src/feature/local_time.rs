//! `local_time`: a part of a local date and time.

use super::scope::ignored_scope;
use super::{Definition, Entity, Source, reference};
use crate::schema::{Key, key};
use crate::section::Section;

/// A part of a local date and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// Where the date and time is.
    pub source: LocalTimeSource,
    /// Which part.
    pub parse: TimePart,
}

/// Where a local date and time is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LocalTimeSource {
    /// A ranking field that holds an ISO date and time with a zone.
    Field(String),
    /// The ranking's own timestamp, in UTC.
    Timestamp,
}

/// Part of a local date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimePart {
    /// 1 (Monday) to 7
    DayOfWeek,
    /// 0.0 to 23.99
    TimeOfDay,
    /// 1 to 31
    DayOfMonth,
    /// 1 to 12
    MonthOfYear,
    /// such as 2021
    Year,
    /// seconds since 1970
    Second,
}

impl Definition for LocalTime {
    const NAME: &str = "local_time";
    const EXAMPLE: &str = "{name: hour, type: local_time, source: ranking.localts, parse: time_of_day}";
    const DOC: &str = "a part of the visitor's local date and time: day_of_week, time_of_day, day_of_month, month_of_year, year, second";
    const OF_FIELDS_ALONE: bool = true;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("source", "", "a ranking field with an ISO 8601 date and time with a zone, or `ranking.timestamp`: the ranking's own time in UTC"),
        key("parse", "", "the part that is read: `day_of_week`, `time_of_day`, `day_of_month`, `month_of_year`, `year` or `second`"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let parts = [
            ("day_of_week", TimePart::DayOfWeek),
            ("time_of_day", TimePart::TimeOfDay),
            ("day_of_month", TimePart::DayOfMonth),
            ("month_of_year", TimePart::MonthOfYear),
            ("year", TimePart::Year),
            ("second", TimePart::Second),
        ];
        ignored_scope(section, Some(&Entity::Ranking));
        let source = match section.either("source", "field") {
            None => {
                section.leaves_out("source", &"ranking.timestamp".to_owned());
                LocalTimeSource::Timestamp
            }
            Some(value) => match reference(&value, &[Entity::Ranking]).map(|source| source.field) {
                Some(field) if field != "timestamp" => LocalTimeSource::Field(field),
                _ => LocalTimeSource::Timestamp,
            },
        };
        let parse = section.required("parse", "the part of the date and time that is wanted, such as day_of_week");
        let parse = parse.and_then(|value| value.choice("part of a date and time", &parts));
        Some(Self { source, parse: parse? })
    }

    fn sources(&self) -> Vec<Source> {
        match &self.source {
            LocalTimeSource::Field(field) => vec![Source::ranking(field)],
            LocalTimeSource::Timestamp => vec![],
        }
    }
}
