//! `vector`: a list of numbers, reduced.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::lexicon::words::reduce;
use crate::slot::Slots;
use rankwright_config::feature::{self, Reducer};
use rankwright_state::FieldValue;
use std::time::Duration;

/// Reduces a list of numbers, or one number, to a few columns.
pub(crate) struct Vector {
    reader: FieldReader,
    reduce: Vec<Reducer>,
}

impl Compile for feature::Vector {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("vector {}", self.source)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Vector { reader: compiler.reader(&self.source), reduce: self.reduce.clone() }))
    }
}

impl Extractor for Vector {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let seed = candidates.ranking.id.digest();
        let mut reduced = Vec::new();
        for item in 0..candidates.len() {
            reduced.clear();
            match self.reader.of(candidates, item) {
                Some(value @ (FieldValue::Number(_) | FieldValue::Numbers(_))) => {
                    self.reduce.iter().for_each(|&reducer| reduce(reducer, value.numbers(), seed, &mut reduced));
                }
                // the format does not tell an empty list of numbers from one of strings
                Some(FieldValue::Texts(texts)) if texts.texts().is_empty() => {
                    self.reduce.iter().for_each(|&reducer| reduce(reducer, &[], seed, &mut reduced));
                }
                _ => reduced.resize(self.reduce.iter().map(|&reducer| width(reducer)).sum(), MISSING),
            }
            reduced.iter().enumerate().for_each(|(column, &value)| columns.set(item, column, value));
        }
    }
}

/// How many columns a reducer fills.
fn width(reducer: Reducer) -> usize {
    match reducer {
        Reducer::Vector(length) => length,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};
    use rankwright_event::Value;

    #[test]
    fn a_list_becomes_min_max_size_and_mean() {
        let shop = Shop::new("{name: sizes, type: vector, source: item.sizes}")
            .item("a", [("sizes", Value::Numbers(vec![3.0, 1.0, 2.0]))]);
        assert_rows(&shop.rows(["a", "unknown"]), [[1.0, 3.0, 3.0, 2.0], [f32::NAN; 4]]);
    }

    #[test]
    fn the_first_numbers_are_padded_with_zeros() {
        let shop = Shop::new("{name: v, type: vector, field: item.v, reduce: [vector3, sum]}")
            .item("a", [("v", Value::Numbers(vec![3.0, 1.0]))])
            .item("b", [("v", Value::Number(5.0))]);
        assert_rows(&shop.rows(["a", "b"]), [[3.0, 1.0, 0.0, 4.0], [5.0, 0.0, 0.0, 5.0]]);
        assert_eq!(shop.columns(), ["v_vector3_0", "v_vector3_1", "v_vector3_2", "v_sum"]);
    }
}
