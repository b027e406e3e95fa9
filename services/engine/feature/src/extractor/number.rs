//! `number`: a number as it stands.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::slot::Slots;
use rankwright_config::feature;
use rankwright_state::FieldValue;
use std::time::Duration;

/// Copies a number; anything else is missing.
pub(crate) struct Number(pub(super) FieldReader);

impl Compile for feature::Number {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("number {}", self.source)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Number(compiler.reader(&self.source))))
    }
}

impl Extractor for Number {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.map(candidates, &self.0, |value| value.and_then(FieldValue::number).unwrap_or(MISSING));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn a_number_is_taken_from_the_item() {
        let shop = Shop::new("{name: price, type: number, scope: item, source: item.price}")
            .item("a", [("price", 9.5.into())]);
        assert_rows(&shop.rows(["a", "unknown"]), [[9.5], [f32::NAN]]);
    }

    #[test]
    fn a_number_sent_with_an_item_takes_the_place_of_the_stored_one() {
        let shop = Shop::new("{name: price, type: number, source: item.price}").item("a", [("price", 9.5.into())]);
        assert_rows(&shop.sent("a", "price", 7.0).rows(["a"]), [[7.0]]);
    }

    #[test]
    fn a_number_of_the_request_holds_for_every_item() {
        let shop = Shop::new("{name: discount, type: number, source: ranking.discount}");
        assert_rows(&shop.asked("discount", 0.5).rows(["a", "b"]), [[0.5], [0.5]]);
    }

    #[test]
    fn a_number_of_the_visitor_holds_for_every_item() {
        let shop = Shop::new("{name: age, type: number, source: user.age}").user([("age", 30.0.into())]);
        assert_rows(&shop.rows(["a", "b"]), [[30.0], [30.0]]);
    }

    #[test]
    fn a_text_is_no_number() {
        let shop = Shop::new("{name: price, type: number, source: item.price}").item("a", [("price", "cheap".into())]);
        assert_rows(&shop.rows(["a"]), [[f32::NAN]]);
    }

    #[test]
    fn a_value_older_than_its_ttl_is_missing() {
        let shop =
            Shop::new("{name: price, type: number, source: item.price, ttl: 1h}").item("a", [("price", 9.5.into())]);
        let shop = shop.at(3599);
        assert_rows(&shop.rows(["a"]), [[9.5]]);
        assert_rows(&shop.at(3601).rows(["a"]), [[f32::NAN]]);
    }

    #[test]
    fn a_field_of_an_interaction_is_missing() {
        for source in ["interaction:click.price", "*.price"] {
            let shop = Shop::new(&format!("{{name: price, type: number, source: '{source}'}}"));
            let shop = shop.item("a", [("price", 9.5.into())]).asked("price", 1.0);
            assert_rows(&shop.sent("a", "price", 2.0).rows(["a"]), [[f32::NAN]]);
        }
    }

    #[test]
    fn a_value_that_is_never_kept_is_missing_unless_the_request_brings_it() {
        let shop =
            Shop::new("{name: price, type: number, source: item.price, ttl: 0s}").item("a", [("price", 9.5.into())]);
        assert_rows(&shop.rows(["a"]), [[f32::NAN]]);
        assert_rows(&shop.sent("a", "price", 4.0).rows(["a"]), [[4.0]]);
    }
}
