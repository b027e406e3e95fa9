//! `relevancy` (deprecated): the score that came with an item of the ranking.

use super::field::FieldReader;
use super::number::Number;
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use rankwright_config::feature::{Entity, Source};

/// The per-item ranking field `relevancy`.
pub(crate) struct Relevancy(Number);

impl Relevancy {
    /// The field it reads.
    pub(crate) fn source() -> Source {
        Source { entity: Entity::Ranking, field: "relevancy".to_string() }
    }

    pub(crate) fn new(reader: FieldReader) -> Self {
        Self(Number(reader))
    }
}

impl Extractor for Relevancy {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        self.0.fill(candidates, columns);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn the_score_sent_with_an_item_is_taken_and_may_be_missing() {
        let shop = Shop::new("{name: relevancy, type: relevancy}");
        assert_rows(&shop.sent("a", "relevancy", 2.5).rows(["a", "b"]), [[2.5], [f32::NAN]]);
    }
}
