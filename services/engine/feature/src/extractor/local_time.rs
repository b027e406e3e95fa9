//! `local_time`: a part of the visitor's date and time.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::lexicon::local_time::{of_timestamp, part};
use rankwright_config::feature::{self, LocalTimeSource, TimePart};
use rankwright_state::FieldValue;

/// A part of a date and time as its zone shows it; of the ranking's own time in UTC where no field is named.
pub(crate) struct LocalTime {
    reader: Option<FieldReader>,
    part: TimePart,
}

impl Compile for feature::LocalTime {
    fn meaning(&self) -> String {
        format!("local_time {:?} {:?}", self.source, self.parse)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        let reader = match &self.source {
            LocalTimeSource::Field(field) => Some(compiler.request(field)),
            LocalTimeSource::Timestamp => None,
        };
        Ok(Box::new(LocalTime { reader, part: self.parse }))
    }
}

impl Extractor for LocalTime {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        match &self.reader {
            None => columns.set_all(0, of_timestamp(candidates.now, self.part)),
            Some(reader) => columns.map(candidates, reader, |value| match value {
                Some(FieldValue::Text(text)) => part(text.as_str(), self.part).unwrap_or(MISSING),
                _ => MISSING,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    fn local(part: &str) -> Shop {
        Shop::new(&format!("{{name: time, type: local_time, source: ranking.localts, parse: {part}}}"))
    }

    #[test]
    fn each_part_is_the_local_one() {
        let parts = [
            ("day_of_week", 5.0),
            ("time_of_day", 23.5),
            ("day_of_month", 7.0),
            ("month_of_year", 1.0),
            ("year", 2022.0),
            ("second", 1_641_591_000.0),
        ];
        for (part, expected) in parts {
            assert_rows(&local(part).asked("localts", "2022-01-07T23:30:00+02:00").rows(["a"]), [[expected]]);
        }
    }

    #[test]
    fn without_a_field_the_time_of_the_ranking_counts() {
        let shop = Shop::new("{name: time, type: local_time, source: ranking.timestamp, parse: time_of_day}");
        assert_rows(&shop.at(5400).rows(["a"]), [[1.5]]);
    }

    #[test]
    fn what_is_no_date_is_missing() {
        assert_rows(&local("year").asked("localts", "today").rows(["a"]), [[f32::NAN]]);
        assert_rows(&local("year").rows(["a"]), [[f32::NAN]]);
    }
}
