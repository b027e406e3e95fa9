//! `string`: a category, as one column a known value or as its position among them.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use crate::slot::Slots;
use rankwright_config::feature::{self, Encoding};
use rankwright_state::{FieldValue, Term};
use std::time::Duration;

/// Encodes a string or a list of strings.
pub(crate) struct Text {
    reader: FieldReader,
    /// Hashes of the known values, in order, each with its place in the list.
    values: Vec<(u64, usize)>,
    encode: Encoding,
}

impl Compile for feature::Text {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        let word = match self.encode {
            Encoding::OneHot => "onehot",
            Encoding::Index => "index",
        };
        format!("{word} {} {:?}", self.source, self.values)
    }

    fn is_categorical(&self) -> bool {
        self.encode == Encoding::Index
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Text::new(compiler.reader(&self.source), &self.values, self.encode)))
    }
}

impl Text {
    fn new(reader: FieldReader, values: &[String], encode: Encoding) -> Self {
        let hashes = values.iter().map(|value| Term::hash_of(value));
        let mut values: Vec<(u64, usize)> = hashes.enumerate().map(|(place, hash)| (hash, place)).collect();
        values.sort_unstable();
        Self { reader, values, encode }
    }

    fn place(&self, hash: u64) -> Option<usize> {
        let found = self.values.partition_point(|&(value, _)| value < hash);
        self.values.get(found).filter(|&&(value, _)| value == hash).map(|&(_, place)| place)
    }

    fn index(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.map(candidates, &self.reader, |value| {
            let first = value.and_then(|value| value.hashes().first());
            first.and_then(|&hash| self.place(hash)).map_or(0.0, |place| (place + 1) as f64)
        });
    }

    fn one_hot(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.clear(self.values.len());
        for (item, value) in self.reader.all(candidates).into_iter().enumerate() {
            let hashes = value.map_or(&[][..], FieldValue::hashes);
            hashes.iter().filter_map(|&hash| self.place(hash)).for_each(|column| columns.set(item, column, 1.0));
        }
    }
}

impl Extractor for Text {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        match self.encode {
            Encoding::Index => self.index(candidates, columns),
            Encoding::OneHot => self.one_hot(candidates, columns),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};
    use rankwright_event::Value;

    fn tags(encode: &str) -> Shop {
        Shop::new(&format!("{{name: tag, type: string, source: item.tag, values: [red, green], encode: {encode}}}"))
            .item("green", [("tag", "green".into())])
            .item("both", [("tag", Value::Texts(vec!["green".into(), "red".into()]))])
            .item("blue", [("tag", "blue".into())])
            .item("none", [("tag", Value::Texts(vec![]))])
    }

    #[test]
    fn index_is_the_position_of_the_first_value_from_1() {
        let shop = tags("index");
        assert_rows(&shop.rows(["green", "both", "blue", "none", "unknown"]), [[2.0], [2.0], [0.0], [0.0], [0.0]]);
        assert_eq!(shop.columns(), ["tag"]);
    }

    #[test]
    fn onehot_has_a_column_for_each_known_value() {
        let shop = tags("onehot");
        assert_rows(&shop.rows(["green", "both", "blue", "unknown"]), [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]);
        assert_eq!(shop.columns(), ["tag_red", "tag_green"]);
    }

    #[test]
    fn many_values_are_found_at_their_places() {
        let values: Vec<String> = (0..1000).map(|value| format!("v{value}")).collect();
        let of = |encode: &str| {
            let listed = values.join(", ");
            Shop::new(&format!("{{name: v, type: string, source: item.v, encode: {encode}, values: [{listed}]}}"))
                .item("first", [("v", "v0".into())])
                .item("some", [("v", "v617".into())])
                .item("last", [("v", "v999".into())])
        };
        let items = ["first", "some", "last"];
        assert_rows(&of("index").rows(items), [[1.0], [618.0], [1000.0]]);
        for (row, set) in of("onehot").rows(items).iter().zip([0, 617, 999]) {
            let expected: Vec<f32> = (0..1000).map(|column| if column == set { 1.0 } else { 0.0 }).collect();
            assert_eq!(*row, expected);
        }
    }

    #[test]
    fn the_id_is_a_field_that_every_item_has() {
        let shop = Shop::new("{name: best, type: string, source: item.id, encode: index, values: [b, c]}");
        let shop = shop.item("d", [("id", "c".into())]);
        assert_rows(&shop.rows(["a", "b", "c", "d"]), [[0.0], [1.0], [2.0], [2.0]]);
        assert_rows(&shop.sent("a", "id", "b").rows(["a", "b"]), [[1.0], [1.0]]);
    }
}
