//! `time_diff`: seconds from a time in a field to the ranking.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::lexicon::local_time::epoch_seconds;
use crate::slot::Slots;
use rankwright_config::feature;
use rankwright_state::FieldValue;
use std::time::Duration;

/// Subtracts a field of epoch seconds from the ranking's time.
pub(crate) struct TimeDiff(FieldReader);

impl Compile for feature::TimeDiff {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("time_diff {}", self.source)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(TimeDiff(compiler.reader(&self.source))))
    }
}

impl Extractor for TimeDiff {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let now = candidates.now.seconds();
        columns.map(candidates, &self.0, |value| seconds(value).map_or(MISSING, |then| now - then));
    }
}

/// Epoch seconds of a number, of a number in a string, or of an ISO 8601 date and time with a zone.
pub(crate) fn seconds(value: Option<&FieldValue>) -> Option<f64> {
    match value? {
        FieldValue::Number(seconds) => Some(*seconds),
        FieldValue::Text(text) => epoch_seconds(text.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn the_difference_is_in_seconds() {
        let shop =
            Shop::new("{name: age, type: time_diff, source: item.created}").item("a", [("created", 100.0.into())]);
        assert_rows(&shop.at(400).rows(["a", "unknown"]), [[300.0], [f32::NAN]]);
    }
}
