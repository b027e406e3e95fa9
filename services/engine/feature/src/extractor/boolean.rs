//! `boolean`: 1 or 0.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::slot::Slots;
use rankwright_config::feature;
use rankwright_state::FieldValue;
use std::time::Duration;

/// Turns true into 1 and false into 0.
pub(crate) struct Boolean(FieldReader);

impl Compile for feature::Boolean {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("boolean {}", self.source)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Boolean(compiler.reader(&self.source))))
    }
}

impl Extractor for Boolean {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.map(candidates, &self.0, |value| match value {
            Some(FieldValue::Bool(flag)) => f64::from(u8::from(*flag)),
            _ => MISSING,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn true_is_1_false_is_0_and_anything_else_is_missing() {
        let shop = Shop::new("{name: stock, type: boolean, source: item.stock}")
            .item("yes", [("stock", true.into())])
            .item("no", [("stock", false.into())])
            .item("odd", [("stock", 1.0.into())]);
        assert_rows(&shop.rows(["yes", "no", "odd", "unknown"]), [[1.0], [0.0], [f32::NAN], [f32::NAN]]);
    }

    #[test]
    fn a_boolean_of_the_request_counts() {
        let shop = Shop::new("{name: banner, type: boolean, source: ranking.banner}");
        assert_rows(&shop.asked("banner", true).rows(["a"]), [[1.0]]);
    }

    #[test]
    fn a_field_of_an_interaction_is_missing() {
        let shop = Shop::new("{name: banner, type: boolean, source: 'interaction:click.banner'}");
        assert_rows(&shop.asked("banner", true).rows(["a"]), [[f32::NAN]]);
    }
}
