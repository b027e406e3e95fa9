//! What items carry.

use super::{Class, Facts, Known};
use crate::propose::draft::Draft;
use crate::propose::yaml::{amount, count, list, percent, word};

pub(super) fn propose(facts: &Facts<'_>, draft: &mut Draft) {
    draft.section("Items");
    for known in &facts.items {
        values(known, known.name, draft);
        match &known.class {
            Class::Seconds | Class::Date => age(known, draft),
            Class::Tags(_) if facts.all_rules() && known.field.lists.vary() => size(known, draft),
            Class::Text => words(known, draft),
            Class::Names | Class::Address | Class::Agent if !facts.has_history() || !known.class.is_shared() => {
                draft.leave_out(&known.source, "its texts are neither categories nor words".to_owned());
            }
            _ => {}
        }
    }
    draft.section("Items beside the others of their list");
    facts.items.iter().for_each(|known| beside(facts, known, draft));
}

/// The value itself: what items, visitors and rankings have in common.
pub(super) fn values(known: &Known<'_>, name: &str, draft: &mut Draft) {
    let source = word(&known.source);
    let carried = known.carried();
    match &known.class {
        Class::Useless(why) => draft.leave_out(&known.source, why.clone()),
        Class::Flag => {
            draft.feature(name, format!("type: boolean, field: {source}"), format!("true or false, {carried}"));
        }
        Class::Amount => {
            let why = format!("numbers, {carried}: {}", known.spread());
            draft.feature(name, format!("type: number, field: {source}"), why);
        }
        Class::Vector => {
            let (least, greatest) = known.field.lists.span.unwrap_or_default();
            let why = format!("lists of {least} to {greatest} numbers, {carried}");
            draft.feature(name, format!("type: vector, field: {source}"), why);
        }
        Class::Category(values) => {
            let keys = format!("type: string, field: {source}, encode: index, values: {}", names(values));
            draft.feature(name, keys, format!("categories, {carried}: {}", shares(known, values)));
        }
        Class::Tags(values) => {
            let keys = format!("type: string, field: {source}, encode: onehot, values: {}", names(values));
            draft.feature(name, keys, format!("lists of texts, {carried}: {}", shares(known, values)));
        }
        Class::Seconds | Class::Date | Class::Agent | Class::Address | Class::Names | Class::Text => {}
    }
}

/// `5 of about 5 values; most frequent "red" (33 %), rarest "blue" (1 %)`
fn shares(known: &Known<'_>, values: &[(&str, u64)]) -> String {
    let events = known.field.events;
    let told = |(value, count): &(&str, u64)| format!("{value:?} ({})", percent(*count, events));
    let (first, last) = (values.first().map(told).unwrap_or_default(), values.last().map(told).unwrap_or_default());
    let all = known.field.texts.distinct.count().max(values.len() as u64);
    format!("{} of about {} values, from {first} to {last}", values.len(), count(all))
}

fn names(values: &[(&str, u64)]) -> String {
    list(values.iter().map(|(value, _)| *value))
}

fn age(known: &Known<'_>, draft: &mut Draft) {
    let what = if known.class == Class::Date { "dates and times" } else { "epoch seconds" };
    let keys = format!("type: item_age, source: {}", word(&known.source));
    draft.feature(&format!("{}_age", known.name), keys, format!("{what}, {}: the time since", known.carried()));
}

fn size(known: &Known<'_>, draft: &mut Draft) {
    let (least, greatest) = known.field.lists.span.unwrap_or_default();
    let why = format!("lists of {least} to {greatest} texts, {}: their length", known.carried());
    draft.feature(&format!("{}_count", known.name), format!("type: list_size, field: {}", word(&known.source)), why);
}

fn words(known: &Known<'_>, draft: &mut Draft) {
    let average = amount((known.field.texts.words() * 10.0).round() / 10.0);
    let why = format!("texts, {}: {average} words on average", known.carried());
    draft.feature(&format!("{}_words", known.name), format!("type: word_count, field: {}", word(&known.source)), why);
}

/// How the item differs from the rest of its list.
fn beside(facts: &Facts<'_>, known: &Known<'_>, draft: &mut Draft) {
    let why = match &known.class {
        Class::Seconds if facts.all_rules() => {
            format!("epoch seconds, {}: the distance from the median of the list", known.carried())
        }
        Class::Amount => format!("numbers, {}: the distance from the median of the list", known.carried()),
        class if class.is_shared() && (facts.all_rules() || !matches!(class, Class::Names)) => {
            let count = count(known.field.texts.distinct.count());
            format!("about {count} values, {}: how many items of the list share them", known.carried())
        }
        _ => return,
    };
    draft.feature(
        &format!("{}_diversity", known.name),
        format!("type: diversity, source: {}", word(&known.source)),
        why,
    );
}
