//! `list_size`: number of elements of a list.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::slot::Slots;
use rankwright_config::feature;
use rankwright_state::FieldValue;
use std::time::Duration;

/// Counts the elements of a list of strings or numbers; a single string or number is a list of one.
pub(crate) struct ListSize(FieldReader);

impl Compile for feature::ListSize {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("list_size {}", self.source)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(ListSize(compiler.reader(&self.source))))
    }
}

impl Extractor for ListSize {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.map(candidates, &self.0, |value| match value {
            Some(FieldValue::Bool(_)) | None => MISSING,
            Some(value) => value.hashes().len().max(value.numbers().len()) as f64,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};
    use rankwright_event::Value;

    #[test]
    fn elements_of_lists_are_counted() {
        let shop = Shop::new("{name: size, type: list_size, source: item.tags}")
            .item("texts", [("tags", Value::Texts(vec!["a".into(), "b".into()]))])
            .item("numbers", [("tags", Value::Numbers(vec![1.0, 2.0, 3.0]))])
            .item("empty", [("tags", Value::Texts(vec![]))]);
        assert_rows(&shop.rows(["texts", "numbers", "empty", "unknown"]), [[2.0], [3.0], [0.0], [f32::NAN]]);
    }
}
