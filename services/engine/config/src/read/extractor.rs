//! Features that look at fields: what each type needs besides the common keys.

use super::field::{self, USUAL, item_field, reference};
use crate::error::shown;
use crate::feature::{
    AgeSource, AgentField, Encoding, Entity, Kind, LocalTimeSource, Reducer, Source, TimePart, Visitor,
};
use crate::nearest::nearest;
use crate::section::Section;
use crate::value::Value;

const LONGEST_VECTOR: usize = 4096;

/// One field; a scope may be given, and follows from the field.
pub(super) fn scalar(section: &Section<'_>) -> Option<Source> {
    let source = field::source(section, USUAL);
    if let Some(source) = &source {
        ignored_scope(section, Some(&source.entity));
    } else {
        section.get("scope"); // it may be right
    }
    source
}

pub(super) fn vector(section: &Section<'_>) -> Option<Kind> {
    let source = scalar(section);
    let reduce = match section.get("reduce") {
        None => vec![Reducer::Min, Reducer::Max, Reducer::Size, Reducer::Avg],
        Some(value) => value.one_or_none_or_more("a list of reducers").iter().filter_map(reducer).collect(),
    };
    Some(Kind::Vector { source: source?, reduce })
}

fn reducer(value: &Value<'_>) -> Option<Reducer> {
    const WORDS: [(&str, Reducer); 9] = [
        ("first", Reducer::First),
        ("last", Reducer::Last),
        ("min", Reducer::Min),
        ("max", Reducer::Max),
        ("random", Reducer::Random),
        ("avg", Reducer::Avg),
        ("sum", Reducer::Sum),
        ("size", Reducer::Size),
        ("euclidean_distance", Reducer::EuclideanDistance),
    ];
    let text = value.text()?;
    let word = match text.as_str() {
        "euclideanDistance" => Some(Reducer::EuclideanDistance),
        text => WORDS.iter().find(|&&(word, _)| word == text).map(|&(_, reducer)| reducer),
    };
    let length = |digits: &str| digits.parse().ok().filter(|length| (1..=LONGEST_VECTOR).contains(length));
    let found = word.or_else(|| text.strip_prefix("vector").and_then(length).map(Reducer::Vector));
    if found.is_none() {
        let words = WORDS.map(|(word, _)| word);
        let accepted = format!("{}, or vectorN with N from 1 to {LONGEST_VECTOR}", words.join(", "));
        let near = nearest(&text, words).map(|word| format!("`{word}`"));
        value.wrong_near(format!("unknown reducer `{}`", shown(&text)), accepted, near);
    }
    found
}

pub(super) fn string(section: &Section<'_>) -> Option<Kind> {
    let encodings = [("index", Encoding::Index), ("onehot", Encoding::OneHot)];
    let source = scalar(section);
    let encode = section.get("encode");
    if encode.is_none() {
        section.warn(
            "`encode` is missing: index is used here, onehot by the upstream service. Of a list, index reads the first \
             element alone. Write `encode: index` or `encode: onehot`",
        );
    }
    let encode = encode.and_then(|value| value.choice("encoding", &encodings)).unwrap_or(Encoding::Index);
    let values = section.required("values", "a list of the known values").map(|value| values(&value));
    Some(Kind::Text { source: source?, values: values?, encode })
}

fn values(value: &Value<'_>) -> Vec<String> {
    let mut known = std::collections::HashSet::new();
    let mut values = Vec::new();
    for element in value.one_or_more("a list of the known values") {
        let Some(text) = element.text() else { continue };
        if known.insert(text.clone()) {
            values.push(text);
        } else {
            element.warn(format!("the value `{}` is listed twice; the second one does nothing", shown(&text)));
        }
    }
    values
}

pub(super) fn user_agent(section: &Section<'_>) -> Option<Kind> {
    const OWNERS: &[Entity] = &[Entity::Ranking, Entity::User, Entity::Any];
    let fields = [
        ("platform", AgentField::Platform),
        ("os", AgentField::Os),
        ("browser", AgentField::Browser),
        ("bot", AgentField::Bot),
    ];
    let source = section.required("source", "ranking.<field>").and_then(|value| reference(&value, OWNERS));
    ignored_scope(section, source.as_ref().map_or(Some(&Entity::Ranking), |source| Some(&source.entity)));
    let field = section.required("field", "platform, os, browser or bot");
    let field = field.and_then(|value| value.choice("property of a user agent", &fields));
    Some(Kind::UserAgent { source: source?, field: field? })
}

pub(super) fn referer(section: &Section<'_>) -> Option<Kind> {
    let scope = visitor(section);
    let source = field::source(section, &[Entity::Ranking, Entity::User, Entity::Interaction(None)])?;
    match (&source.entity, section.get("scope")) {
        (Entity::User, Some(value)) if scope == Visitor::Session => {
            value.warn("the scope session does nothing: a field of the user is kept with the user");
        }
        _ => {}
    }
    let scope = if source.entity == Entity::User { Visitor::User } else { scope };
    Some(Kind::Referer { source, scope })
}

pub(super) fn position(section: &Section<'_>) -> Option<Kind> {
    let accepted = "a number, 0 or more";
    ignored_scope(section, None);
    let position = section.required("position", "the position that every item has when serving");
    let position = position.and_then(|value| value.number(accepted, |number| number >= 0.0));
    Some(Kind::Position(position?))
}

pub(super) fn diversity(section: &Section<'_>) -> Option<Kind> {
    ignored_scope(section, Some(&Entity::Item));
    let source = field::source(section, &[Entity::Item]);
    let top = section.get("top").and_then(|value| value.whole(1..=1_000_000));
    Some(Kind::Diversity { field: source?.field, top })
}

pub(super) fn local_time(section: &Section<'_>) -> Option<Kind> {
    let parts = [
        ("day_of_week", TimePart::DayOfWeek),
        ("time_of_day", TimePart::TimeOfDay),
        ("day_of_month", TimePart::DayOfMonth),
        ("month_of_year", TimePart::MonthOfYear),
        ("year", TimePart::Year),
        ("second", TimePart::Second),
    ];
    ignored_scope(section, Some(&Entity::Ranking));
    let source = match section.either("source", "field") {
        None => LocalTimeSource::Timestamp,
        Some(value) => match reference(&value, &[Entity::Ranking]).map(|source| source.field) {
            Some(field) if field != "timestamp" => LocalTimeSource::Field(field),
            _ => LocalTimeSource::Timestamp,
        },
    };
    let parse = section.required("parse", "the part of the date and time that is wanted, such as day_of_week");
    let parse = parse.and_then(|value| value.choice("part of a date and time", &parts));
    Some(Kind::LocalTime { source, parse: parse? })
}

pub(super) fn item_age(section: &Section<'_>) -> Option<Kind> {
    ignored_scope(section, Some(&Entity::Item));
    let source = section.either("source", "field").or_else(|| section.missing("source", "item.<field>"));
    Some(Kind::ItemAge(match item_field(&source?)? {
        field if field == "timestamp" => AgeSource::Updated,
        field => AgeSource::Field(field),
    }))
}

/// Whose history is kept; the visit's, if nothing is said.
pub(super) fn visitor(section: &Section<'_>) -> Visitor {
    let scopes = [("session", Visitor::Session), ("user", Visitor::User)];
    section.or("scope", Visitor::Session, |value| value.choice("scope", &scopes))
}

/// Checks a scope that follows from the type, or from the field of this entity, anyway.
pub(super) fn ignored_scope(section: &Section<'_>, entity: Option<&Entity>) {
    let Some(value) = section.get("scope") else { return };
    let words = ["item", "user", "session", "ranking", "global"].map(|word| (word, word));
    let Some(scope) = value.choice("scope", &words) else { return };
    match entity {
        Some(entity) if field::name(entity) == scope => {}
        Some(entity @ (Entity::Item | Entity::User)) => {
            let owner = field::name(entity);
            value.warn(format!("the scope {scope} does nothing: a field of the {owner} is kept with the {owner}"));
        }
        Some(Entity::Ranking) => {
            value.warn(format!("the scope {scope} does nothing: a field of the ranking comes with each request"));
        }
        Some(Entity::Interaction(_) | Entity::Any) => {} // a warning says already that the value is missing
        _ => value.warn(format!("the scope {scope} does nothing with this type")),
    }
}
