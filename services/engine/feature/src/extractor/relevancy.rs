//! `relevancy` (deprecated): the score that came with an item of the ranking.

use super::compiler::{Compile, Compiled, Compiler};
use super::number::Number;
use rankwright_config::feature;

impl Compile for feature::Relevancy {
    fn meaning(&self) -> String {
        "relevancy".to_string()
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Ok(Box::new(Number(compiler.reader(&self.source()))))
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
