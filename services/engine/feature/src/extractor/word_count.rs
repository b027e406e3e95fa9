//! `word_count`: number of words of a text.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::lexicon::words;
use crate::slot::Slots;
use rankwright_config::feature;
use rankwright_state::FieldValue;
use std::time::Duration;

/// Counts the words of a string.
pub(crate) struct WordCount(FieldReader);

impl Compile for feature::WordCount {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("word_count {}", self.source)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(WordCount(compiler.reader(&self.source))))
    }
}

impl Extractor for WordCount {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.map(candidates, &self.0, |value| match value {
            Some(FieldValue::Text(text)) => words::count(text.as_str()) as f64,
            _ => MISSING,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn words_of_an_item_and_of_a_query_are_counted() {
        let shop = Shop::new("{name: words, type: word_count, source: item.title}")
            .item("a", [("title", "red shoes  now".into())]);
        assert_rows(&shop.rows(["a", "unknown"]), [[3.0], [f32::NAN]]);
        let shop = Shop::new("{name: words, type: word_count, source: ranking.query}");
        assert_rows(&shop.asked("query", "red shoes").rows(["a"]), [[2.0]]);
    }
}
