//! Selectors: which rankings feed a model. The keys of one tell which kind it is.

use crate::model::Selector;
use crate::section::Section;
use crate::value::Value;

/// The selector of a model; all is accepted where there is none.
pub(super) fn optional(section: &Section<'_>) -> Selector {
    section.or("selector", Selector::Accept(true), |value| selector(&value))
}

fn selector(value: &Value<'_>) -> Option<Selector> {
    let section = value.nested("selector")?;
    let found = [accept, field, sampling, position, length, and, or, not].map(|read| read(&section));
    let mut found = found.into_iter().flatten();
    let (first, second) = (found.next(), found.next());
    if second.is_some() {
        section.wrong("this is more than one selector", "one selector; several of them under and: or or:");
    }
    let accepted = "accept, rankingField with value, ratio, minInteractionPosition or maxInteractionPosition, \
                    minItems or maxItems, and, or, not";
    if section.is_empty() {
        value.wrong("found a selector without keys", accepted);
    }
    section.finish();
    first
}

/// A selector whose keys are there. A wrong one is reported already, and any other may stand in its place.
fn found(selector: Option<Selector>) -> Option<Selector> {
    selector.or(Some(Selector::Accept(true)))
}

fn accept(section: &Section<'_>) -> Option<Selector> {
    let value = section.get("accept")?;
    found(value.boolean().map(Selector::Accept))
}

fn field(section: &Section<'_>) -> Option<Selector> {
    let (field, value) = (section.get("rankingField"), section.get("value"));
    if field.is_none() && value.is_none() {
        return None;
    }
    let field = field.or_else(|| section.lacks("rankingField", "a ranking field"));
    let value = value.or_else(|| section.lacks("value", "what the ranking field should be"));
    let name = field.and_then(|field| field.text()).map(|name| name.trim_start_matches("ranking.").to_owned());
    let values = value.map(|value| value.texts("a text or a list of texts"));
    found(name.zip(values).map(|(ranking_field, values)| Selector::Field { ranking_field, values }))
}

fn sampling(section: &Section<'_>) -> Option<Selector> {
    let ratio = section.get("ratio")?;
    found(ratio.number("a number from 0 to 1", |ratio| (0.0..=1.0).contains(&ratio)).map(Selector::Sampling))
}

fn position(section: &Section<'_>) -> Option<Selector> {
    let (min, max) = bounds(section, "minInteractionPosition", "maxInteractionPosition")?;
    found(Some(Selector::InteractionPosition { min, max }))
}

fn length(section: &Section<'_>) -> Option<Selector> {
    let (min, max) = bounds(section, "minItems", "maxItems")?;
    found(Some(Selector::Length { min, max }))
}

fn bounds(section: &Section<'_>, low: &'static str, high: &'static str) -> Option<(Option<usize>, Option<usize>)> {
    let bound = |value: &Value<'_>| value.whole(0..=1_000_000_000);
    let (min, max) = (section.get(low), section.get(high));
    if min.is_none() && max.is_none() {
        return None;
    }
    let (least, most) = (min.as_ref().and_then(bound), max.as_ref().and_then(bound));
    if let (Some(least), Some(most), Some(value)) = (least, most, &max)
        && least > most
    {
        value.wrong(format!("{most} is less than `{low}`, which is {least}"), "a range that holds something");
    }
    Some((least, most))
}

fn and(section: &Section<'_>) -> Option<Selector> {
    let value = section.get("and")?;
    found(Some(Selector::And(nested(&value))))
}

fn or(section: &Section<'_>) -> Option<Selector> {
    let value = section.get("or")?;
    found(Some(Selector::Or(nested(&value))))
}

fn not(section: &Section<'_>) -> Option<Selector> {
    let value = section.get("not")?;
    found(selector(&value).map(|selector| Selector::Not(Box::new(selector))))
}

fn nested(value: &Value<'_>) -> Vec<Selector> {
    value.elements("a list of selectors").iter().filter_map(selector).collect()
}
