//! `position`: where an item was shown.

use super::compiler::{Compile, Compiled, Compiler};
use super::{Columns, Extractor};
use crate::candidates::{Candidates, Purpose};
use rankwright_config::feature;

/// The shown position from 0 in training; a constant when serving, where no position is known yet.
pub(crate) struct Position(f64);

impl Compile for feature::Position {
    fn meaning(&self) -> String {
        "position".to_string()
    }

    fn extractor(&self, _: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Position(self.served)))
    }
}

impl Extractor for Position {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        match candidates.purpose {
            Purpose::Serving => columns.set_all(0, self.0),
            Purpose::Training => (0..candidates.len()).for_each(|item| columns.set(item, 0, item as f64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn training_sees_the_position_and_serving_the_constant() {
        let shop = Shop::new("{name: position, type: position, position: 5}");
        assert_rows(&shop.rows(["a", "b"]), [[5.0], [5.0]]);
        assert_rows(&shop.training_rows(["a", "b"]), [[0.0], [1.0]]);
    }
}
