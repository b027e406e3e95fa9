//! `diversity`: how an item differs from the rest of its ranking.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::tally::Tally;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::slot::{Meaning, Slots};
use rankwright_config::feature;
use rankwright_state::FieldValue;
use std::time::Duration;

/// A number's distance from the ranking's median, or how frequent an item's strings are within the ranking.
pub(crate) struct Diversity {
    reader: FieldReader,
    /// How many items with a value are compared with, from the top of the list.
    top: Option<usize>,
}

impl Compile for feature::Diversity {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        slots.need(Meaning::ItemField(self.field.clone()), ttl, 0);
    }

    fn meaning(&self) -> String {
        format!("diversity {:?} {:?}", self.field, self.top)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Diversity { reader: compiler.item(&self.field), top: self.top }))
    }
}

/// The values of all items, in order.
type Values<'v> = [Option<&'v FieldValue>];

impl Diversity {
    /// The values that make the middle.
    fn compared<'v>(&self, values: &Values<'v>) -> impl Iterator<Item = &'v FieldValue> {
        values.iter().flatten().copied().take(self.top.unwrap_or(usize::MAX))
    }

    fn numbers(&self, values: &Values<'_>, columns: &mut Columns<'_>) {
        let median = median(self.compared(values).filter_map(FieldValue::number).collect());
        let difference = |value: Option<&FieldValue>| value.and_then(FieldValue::number).map(|value| value - median);
        columns.map_values(values, |value| difference(value).unwrap_or(MISSING));
    }

    fn strings(&self, values: &Values<'_>, columns: &mut Columns<'_>) {
        let total: usize = self.compared(values).map(|value| value.hashes().len()).sum();
        let tally = Tally::of(self.compared(values).flat_map(FieldValue::hashes), total);
        columns.map_values(values, |value| match value {
            Some(value @ (FieldValue::Text(_) | FieldValue::Texts(_))) if total > 0 => {
                f64::from(tally.sum(value.hashes())) / total as f64
            }
            _ => MISSING,
        });
    }
}

impl Extractor for Diversity {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let values = self.reader.all(candidates);
        let numeric = values.iter().flatten().any(|value| value.number().is_some());
        if numeric { self.numbers(&values, columns) } else { self.strings(&values, columns) }
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    if numbers.is_empty() {
        return MISSING;
    }
    let (length, middle) = (numbers.len(), numbers.len() / 2);
    let (below, upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if length.is_multiple_of(2) => f64::midpoint(lower, *upper),
        _ => *upper,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};
    use rankwright_event::Value;

    fn prices(more: &str) -> Shop {
        let shop = Shop::new(&format!("{{name: div, type: diversity, source: item.price{more}}}"));
        let priced = |shop: Shop, (id, price): (&str, f64)| shop.item(id, [("price", price.into())]);
        [("a", 100.0), ("b", 200.0), ("c", 250.0), ("d", 300.0), ("e", 220.0)].into_iter().fold(shop, priced)
    }

    #[test]
    fn a_number_is_compared_with_the_median() {
        let rows = prices("").rows(["a", "b", "c", "d", "e", "unknown"]);
        assert_rows(&rows, [[-120.0], [-20.0], [30.0], [80.0], [0.0], [f32::NAN]]);
    }

    #[test]
    fn only_the_top_items_make_the_median() {
        assert_rows(&prices(", top: 3").rows(["a", "b", "c", "d"]), [[-100.0], [0.0], [50.0], [100.0]]);
    }

    #[test]
    fn strings_are_as_diverse_as_they_are_rare() {
        let colors = |colors: &[&str]| Value::Texts(colors.iter().map(|&color| color.into()).collect());
        let shop = Shop::new("{name: div, type: diversity, source: item.color}")
            .item("a", [("color", colors(&["red", "blue"]))])
            .item("b", [("color", "red".into())])
            .item("c", [("color", "green".into())]);
        assert_rows(&shop.rows(["a", "b", "c", "unknown"]), [[0.75], [0.5], [0.25], [f32::NAN]]);
    }
}
