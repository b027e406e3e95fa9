//! What rankings and their items carry.

use super::{Class, Facts, Known, item};
use crate::propose::draft::Draft;
use crate::propose::yaml::word;

pub(super) fn propose(facts: &Facts<'_>, draft: &mut Draft) {
    draft.section("Rankings");
    for known in &facts.shown {
        item::values(known, known.name, draft);
        if !matches!(known.class, Class::Useless(_) | Class::Flag | Class::Amount | Class::Vector)
            && !matches!(known.class, Class::Category(_) | Class::Tags(_))
        {
            draft.leave_out(&known.source, "texts of items of rankings are neither categories nor numbers".to_owned());
        }
    }
    for known in &facts.rankings {
        if !facts.is_of_items(known.name) {
            of_all_items(facts, known, draft);
        } else if !facts.is_read_elsewhere(known) {
            draft.leave_out(&known.source, "items of rankings have a field of this name, which goes first".to_owned());
        }
    }
    if facts.all_rules() && facts.seen.days() >= 1.0 && !facts.rankings.iter().any(|known| known.class == Class::Date) {
        let keys = "type: local_time, source: ranking.timestamp, parse: time_of_day".to_owned();
        draft.feature("hour", keys, "the time of the ranking in UTC: no field has the visitor's own".to_owned());
    }
}

/// A field whose value all items of a ranking have in common.
fn of_all_items(facts: &Facts<'_>, known: &Known<'_>, draft: &mut Draft) {
    let (source, carried) = (word(&known.source), known.carried());
    item::values(known, &format!("ranking_{}", known.name), draft);
    match known.class {
        Class::Agent => {
            let parts: &[&str] =
                if facts.all_rules() { &["platform", "os", "browser", "bot"] } else { &["platform", "os"] };
            for part in parts {
                let why = format!("user agents, {carried}: the visitor's {part}");
                draft.feature(part, format!("type: ua, source: {source}, field: {part}"), why);
            }
        }
        Class::Date => {
            for (name, part) in [("hour", "time_of_day"), ("weekday", "day_of_week")] {
                let why = format!("dates and times, {carried}: the visitor's {name}");
                draft.feature(name, format!("type: local_time, source: {source}, parse: {part}"), why);
            }
        }
        Class::Address => {
            let scope =
                facts.visitor_scopes().into_iter().last().map_or(String::new(), |scope| format!(", scope: {scope}"));
            let why = format!("addresses of pages, {carried}: where the visitor came from");
            draft.feature("came_from", format!("type: referer, source: {source}{scope}"), why);
        }
        Class::Text if facts.all_rules() => {
            let why = format!("texts, {carried}: their number of words");
            draft.feature(&format!("{}_words", known.name), format!("type: word_count, field: {source}"), why);
        }
        Class::Text if !facts.has_texts() => {
            draft.leave_out(&known.source, "no item has a text to compare it with".to_owned());
        }
        Class::Names => draft.leave_out(&known.source, "its values are too many for categories".to_owned()),
        Class::Seconds => draft.leave_out(&known.source, "its numbers look like epoch seconds".to_owned()),
        _ => {}
    }
}

impl Facts<'_> {
    /// Whether items have texts, which queries are compared with.
    fn has_texts(&self) -> bool {
        self.items.iter().any(|known| known.class == Class::Text)
    }

    /// Whether queries are compared with texts, or rates are counted by this field.
    fn is_read_elsewhere(&self, known: &Known<'_>) -> bool {
        match known.class {
            Class::Text => self.has_texts(),
            Class::Category(_) => {
                self.wanted().first().is_some_and(|base| base.taken.with_ranking * 2 >= base.taken.count)
            }
            _ => false,
        }
    }

    /// Whether items of rankings have a field of this name, which goes first.
    fn is_of_items(&self, name: &str) -> bool {
        self.shown.iter().any(|known| known.name == name)
    }
}
