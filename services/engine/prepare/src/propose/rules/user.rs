//! What visitors carry.

use super::{Class, Facts, Known, item};
use crate::propose::draft::Draft;
use crate::propose::yaml::word;

pub(super) fn propose(facts: &Facts<'_>, draft: &mut Draft) {
    draft.section("Visitors");
    for known in &facts.users {
        let name = format!("user_{}", known.name);
        item::values(known, &name, draft);
        match known.class {
            Class::Seconds | Class::Date => since(known, &name, draft),
            Class::Names | Class::Text | Class::Address | Class::Agent => {
                draft.leave_out(&known.source, "its texts are no categories".to_owned());
            }
            _ => {}
        }
    }
}

fn since(known: &Known<'_>, name: &str, draft: &mut Draft) {
    let why = format!("dates, {}: the time since", known.carried());
    draft.feature(&format!("{name}_age"), format!("type: time_diff, field: {}", word(&known.source)), why);
}
