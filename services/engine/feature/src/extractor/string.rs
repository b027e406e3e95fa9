//! `string`: a category, as one column a known value or as its position among them.

use super::field::FieldReader;
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use rankwright_config::feature::Encoding;
use rankwright_state::{FieldValue, Term};

/// Encodes a string or a list of strings.
pub(crate) struct Text {
    reader: FieldReader,
    values: Vec<u64>, // hashes of the known values
    encode: Encoding,
}

impl Text {
    pub(crate) fn new(reader: FieldReader, values: &[String], encode: Encoding) -> Self {
        Self { reader, values: values.iter().map(|value| Term::hash_of(value)).collect(), encode }
    }

    fn place(&self, hash: u64) -> Option<usize> {
        self.values.iter().position(|&value| value == hash)
    }

    fn index(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.map(candidates, &self.reader, |value| {
            let first = value.and_then(|value| value.hashes().first());
            first.and_then(|&hash| self.place(hash)).map_or(0.0, |place| (place + 1) as f64)
        });
    }

    fn one_hot(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        (0..self.values.len()).for_each(|column| columns.set_all(column, 0.0));
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
}
