//! `diversity`: how an item differs from the rest of its ranking.

use super::field::FieldReader;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use hashbrown::HashMap;
use rankwright_state::FieldValue;

/// A number's distance from the ranking's median, or how frequent an item's strings are within the ranking.
pub(crate) struct Diversity {
    pub(crate) reader: FieldReader,
    /// Only the first so many items with a value are compared with.
    pub(crate) top: Option<usize>,
}

impl Diversity {
    fn compared<'c>(&self, candidates: &'c Candidates<'_>) -> impl Iterator<Item = &'c FieldValue> {
        let values = (0..candidates.len()).filter_map(|item| self.reader.of(candidates, item));
        values.take(self.top.unwrap_or(usize::MAX))
    }

    fn numbers(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let median = median(self.compared(candidates).filter_map(FieldValue::number).collect());
        let difference = |value: Option<&FieldValue>| value.and_then(FieldValue::number).map(|value| value - median);
        columns.map(candidates, &self.reader, |value| difference(value).unwrap_or(MISSING));
    }

    fn strings(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let mut tally: HashMap<u64, u32, foldhash::fast::FixedState> = HashMap::default();
        let mut total = 0;
        for term in self.compared(candidates).flat_map(FieldValue::terms) {
            *tally.entry(term.hash()).or_default() += 1;
            total += 1;
        }
        columns.map(candidates, &self.reader, |value| {
            let Some(value @ (FieldValue::Text(_) | FieldValue::Texts(_))) = value else { return MISSING };
            let shared: u32 = value.terms().iter().filter_map(|term| tally.get(&term.hash())).sum();
            if total == 0 { MISSING } else { f64::from(shared) / f64::from(total) }
        });
    }
}

impl Extractor for Diversity {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let numeric = (0..candidates.len()).find_map(|item| self.reader.of(candidates, item)?.number()).is_some();
        if numeric { self.numbers(candidates, columns) } else { self.strings(candidates, columns) }
    }
}

/// The middle value; halfway between the two middle ones of an even number. NaN of none.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match (numbers.len(), numbers.len() / 2) {
        (0, _) => MISSING,
        (length, middle) if length % 2 == 1 => numbers[middle],
        (_, middle) => f64::midpoint(numbers[middle - 1], numbers[middle]),
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
