//! `field_match`: how well a ranking's field matches an item's.

use super::compiler::{Compile, Compiled, Compiler};
use crate::plan::Error;
use rankwright_config::feature;

impl Compile for feature::FieldMatch {
    fn meaning(&self) -> String {
        format!("field_match {} {}", self.ranking_field, self.item_field)
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        Err(Error::NotYet { feature: compiler.name.to_string(), what: "field_match" })
    }
}
