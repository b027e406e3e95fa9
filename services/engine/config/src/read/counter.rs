//! Features that count interactions, or remember them.

use super::extractor::visitor;
use super::field::{item_field, reference};
use crate::error::shown;
use crate::feature::{Entity, Kind, RateScope, Scope};
use crate::nearest::nearest;
use crate::section::Section;
use crate::value::Value;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MILLISECOND: Duration = Duration::from_millis(1);
/// Windows are bounded by what a counter may remember.
const LONGEST_WINDOW: u64 = 100_000;

pub(super) fn interacted_with(section: &Section<'_>) -> Option<Kind> {
    let interaction = interaction(section, "interaction");
    let what = "a list of item.<field>";
    let fields = section.either("field", "source").or_else(|| section.missing("field", what));
    let fields = fields.map(|value| value.one_or_none_or_more(what).iter().filter_map(item_field).collect());
    let scope = visitor(section);
    let count = section.or("count", 100, |value| value.whole(1..=100_000));
    let duration = section.or("duration", DAY, |value| value.duration(MILLISECOND));
    Some(Kind::InteractedWith { interaction: interaction?, fields: fields?, scope, count, duration })
}

pub(super) fn interaction_count(section: &Section<'_>) -> Option<Kind> {
    let (interaction, scope) = (interaction(section, "interaction"), scope(section));
    Some(Kind::InteractionCount { interaction: interaction?, scope })
}

pub(super) fn window_count(section: &Section<'_>) -> Option<Kind> {
    let (interaction, scope) = (interaction(section, "interaction"), scope(section));
    let bucket = bucket(section, "bucket_size", "bucket");
    let windows = windows(section, "windows", "periods");
    if let Some(value) = section.get("count") {
        value.warn("count does nothing in a window_count");
    }
    Some(Kind::WindowCount { interaction: interaction?, scope, bucket: bucket?, windows: windows? })
}

pub(super) fn rate(section: &Section<'_>) -> Option<Kind> {
    let (top, bottom) = (interaction(section, "top"), interaction(section, "bottom"));
    let bucket = bucket(section, "bucket", "bucket_size");
    let periods = windows(section, "periods", "windows");
    let scope = section.or("scope", RateScope::Item, |value| rate_scope(&value));
    let normalize = section.section("normalize").map(normalize);
    Some(Kind::Rate { top: top?, bottom: bottom?, bucket: bucket?, periods: periods?, scope, normalize })
}

fn normalize(section: Section<'_>) -> f64 {
    let weight = section.or("weight", 10.0, |value| value.number("a number over 0", |number| number > 0.0));
    section.finish();
    weight
}

fn rate_scope(value: &Value<'_>) -> Option<RateScope> {
    const ACCEPTED: &str = "item, item.<field> or ranking.<field>";
    let text = value.text()?;
    if text == "item" {
        return Some(RateScope::Item);
    }
    if !text.contains('.') {
        let near = nearest(&text, ["item"]).map(|word| format!("`{word}`"));
        value.wrong_near(format!("unsupported scope `{}` of a rate", shown(&text)), ACCEPTED, near);
        return None;
    }
    let source = reference(value, &[Entity::Item, Entity::Ranking])?;
    Some(match source.entity {
        Entity::Ranking => RateScope::RankingField(source.field),
        _ => RateScope::ItemField(source.field),
    })
}

/// Whose counter it is; the item's, if nothing is said.
fn scope(section: &Section<'_>) -> Scope {
    let scopes = [("item", Scope::Item), ("user", Scope::User), ("session", Scope::Session), ("global", Scope::Global)];
    section.or("scope", Scope::Item, |value| match value.scalar() {
        Some(text) if text.contains('.') => field_scope(&value),
        _ => value.choice("scope", &scopes),
    })
}

fn field_scope(value: &Value<'_>) -> Option<Scope> {
    let source = reference(value, &[Entity::Item, Entity::Ranking])?;
    Some(match source.entity {
        Entity::Ranking => Scope::RankingField(source.field),
        _ => Scope::ItemField(source.field),
    })
}

fn interaction(section: &Section<'_>, key: &'static str) -> Option<String> {
    section.required(key, "a type of interaction, such as click").and_then(|value| value.text())
}

fn bucket(section: &Section<'_>, key: &'static str, alias: &'static str) -> Option<Duration> {
    let value = section.either(key, alias).or_else(|| section.missing(key, "a duration such as 24h"));
    value.and_then(|value| value.duration(MILLISECOND))
}

fn windows(section: &Section<'_>, key: &'static str, alias: &'static str) -> Option<Vec<u32>> {
    let what = "a list of lengths in buckets, such as [7, 30]";
    let value = section.either(key, alias).or_else(|| section.missing(key, what))?;
    Some(value.one_or_none_or_more(what).iter().filter_map(|value| value.whole(1..=LONGEST_WINDOW)).collect())
}
