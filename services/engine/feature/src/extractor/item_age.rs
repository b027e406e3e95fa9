//! `item_age`: seconds since a time that the item carries.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::time_diff::seconds;
use super::{Columns, Extractor, MISSING};
use crate::candidates::Candidates;
use crate::slot::{Meaning, Slots};
use rankwright_config::feature::{self, AgeSource};
use rankwright_state::Slot;
use std::time::Duration;

/// Age of an item by one of its fields, or since its metadata changed last.
pub(crate) enum ItemAge {
    /// By a field.
    Field(FieldReader),
    /// Since the newest metadata event.
    Updated(Slot, Duration),
}

/// Where the time lies.
fn time(of: &feature::ItemAge) -> Meaning {
    match &of.source {
        AgeSource::Field(field) => Meaning::ItemField(field.clone()),
        AgeSource::Updated => Meaning::ItemUpdated,
    }
}

impl Compile for feature::ItemAge {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        slots.need(time(self), ttl, 0);
    }

    fn meaning(&self) -> String {
        format!("item_age {:?}", self.source)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(match &self.source {
            AgeSource::Field(field) => ItemAge::Field(compiler.item(field)),
            AgeSource::Updated => ItemAge::Updated(compiler.slots.slot(&time(self)), compiler.ttl),
        }))
    }
}

impl Extractor for ItemAge {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let now = candidates.now.seconds();
        let age = |then: Option<f64>| then.map_or(MISSING, |then| now - then);
        match self {
            Self::Field(reader) => columns.map(candidates, reader, |value| age(seconds(value))),
            Self::Updated(slot, ttl) => {
                for item in 0..candidates.len() {
                    let entity = candidates.items[item];
                    let then = entity.and_then(|entity| seconds(entity.field(*slot, candidates.now, *ttl)));
                    columns.set(item, 0, age(then));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn a_time_may_be_a_number_a_number_in_a_string_or_a_date() {
        let shop = Shop::new("{name: age, type: item_age, source: item.created}")
            .item("number", [("created", 100.0.into())])
            .item("string", [("created", "100".into())])
            .item("date", [("created", "1970-01-01T01:01:40+01:00".into())])
            .item("odd", [("created", "long ago".into())]);
        assert_rows(&shop.at(400).rows(["number", "string", "date", "odd"]), [[300.0], [300.0], [300.0], [f32::NAN]]);
    }

    #[test]
    fn without_a_field_the_newest_metadata_counts() {
        let shop = Shop::new("{name: age, type: item_age, source: item.timestamp}").item("a", [("x", 1.0.into())]);
        assert_rows(&shop.at(400).rows(["a", "unknown"]), [[400.0], [f32::NAN]]);
    }
}
