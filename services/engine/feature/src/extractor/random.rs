//! `random`: a number by chance, which a model cannot learn from.

use super::compiler::{Compile, Compiled, Compiler};
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use crate::column::digest;
use crate::lexicon::words::scrambled;
use rankwright_config::feature;

/// A number from 0 to 1, decided by the feature, the ranking and the item: training sees what serving saw.
pub(crate) struct Random(u64);

impl Compile for feature::Random {
    fn meaning(&self) -> String {
        "random".to_string()
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Random::new(compiler.name)))
    }
}

impl Random {
    /// The random feature of this name.
    fn new(name: &str) -> Self {
        Self(digest(name))
    }

    fn number(&self, ranking: u64, item: &str) -> f64 {
        const STEPS: u64 = 1 << 24; // as many as an `f32` tells apart below 1
        let hash = scrambled(scrambled(ranking ^ self.0) ^ digest(item));
        (hash % STEPS) as f64 / STEPS as f64
    }
}

impl Extractor for Random {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let ranking = candidates.ranking.id.digest();
        for (place, item) in candidates.ranking.items.iter().enumerate() {
            columns.set(place, 0, self.number(ranking, item.id.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;
    use crate::testing::Shop;

    #[test]
    fn training_sees_the_number_that_serving_saw() {
        let shop = Shop::new("{name: chance, type: random}");
        assert_eq!(shop.rows(["a", "b", "c"]), shop.training_rows(["a", "b", "c"]));
        assert_eq!(shop.rows(["c", "a"])[1], shop.rows(["a", "b"])[0], "the place of an item is of no account");
    }

    #[test]
    fn items_rankings_and_features_have_numbers_of_their_own() {
        let shop = Shop::with(&["{name: one, type: random}", "{name: two, type: random}"]);
        let rows = shop.rows(["a", "b"]).concat();
        let other = Random::new("one").number(1, "a") as f32;
        for (place, number) in rows.iter().enumerate() {
            assert!(!rows[..place].contains(number) && *number != other, "{rows:?} {other}");
        }
    }

    #[test]
    fn numbers_are_spread_evenly_from_0_to_1() {
        let mut tenths = [0; 10];
        for ranking in 0..100 {
            for item in 0..100 {
                let number = f64::from(Random::new("r").number(ranking, &item.to_string()) as f32);
                tenths[(number * 10.0) as usize] += 1; // 1 itself would be out of bounds
            }
        }
        assert!(tenths.iter().all(|&count| (850..1150).contains(&count)), "{tenths:?}");
    }
}
