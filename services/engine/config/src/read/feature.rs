//! `features`: the list, and the keys that all of them share.

use super::{Names, counter, extractor, field_match};
use crate::error::shown;
use crate::feature::{Feature, Kind};
use crate::nearest::{close, nearest};
use crate::schema::FEATURE_TYPES;
use crate::section::Section;
use crate::tree::Place;
use crate::value::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);
const NINETY_DAYS: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// What the list of features holds.
#[derive(Default)]
pub(super) struct Features {
    /// Right ones that have columns.
    pub(super) features: Vec<Feature>,
    /// Names of all.
    pub(super) names: Names,
    /// Names of right ones that have no columns.
    pub(super) left_out: Names,
}

pub(super) fn features(value: &Value<'_>) -> Features {
    let mut names = BTreeMap::new();
    let definitions = value.list("a list of features");
    let read = |definition| feature(definition, &mut names).map(|feature| (definition, feature));
    let (features, empty): (Vec<_>, Vec<_>) =
        definitions.iter().filter_map(read).partition(|(_, feature)| feature.columns().next().is_some());
    clashes(&features);
    for (definition, _) in &empty {
        definition.warn("an empty list gives the feature no columns: it is left out");
    }
    Features {
        features: features.into_iter().map(|(_, feature)| feature).collect(),
        names: names.into_keys().collect(),
        left_out: empty.into_iter().map(|(_, feature)| feature.name).collect(),
    }
}

/// Two columns of one name could not be told apart in a stored model.
fn clashes(features: &[(&Value<'_>, Feature)]) {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for (definition, feature) in features {
        let mut clash = None;
        for column in feature.columns() {
            match owners.get(&column) {
                Some(owner) => clash = clash.or(Some((column, *owner))),
                None => drop(owners.insert(column, &feature.name)),
            }
        }
        match clash {
            Some((column, owner)) if owner == feature.name => definition.wrong(
                format!("the column `{}` comes twice: a value is listed twice", shown(&column)),
                "each value once",
            ),
            Some((column, owner)) => {
                let problem = format!("the feature has a column `{}`, as `{}` has", shown(&column), shown(owner));
                definition.wrong(problem, "a name whose columns no other feature has");
            }
            None => {}
        }
    }
}

fn feature(value: &Value<'_>, names: &mut BTreeMap<String, Place>) -> Option<Feature> {
    let section = value.section()?;
    let name = section.required("name", "a unique name").and_then(|value| unique(&value, names));
    let refresh = section.get("refresh").and_then(|value| value.duration(Duration::ZERO));
    let ttl = section.or("ttl", NINETY_DAYS, |value| ttl(&value));
    let of_type = section.required("type", "what is computed, such as number or rate");
    let known = of_type.as_ref().and_then(known_type);
    let type_name = match known {
        Some(known) => known,
        None => {
            let names: Vec<&str> = FEATURE_TYPES.iter().map(|of| of.name).collect();
            section.guess(&names, |section, name| drop(kind(name, None, section)))?
        }
    };
    let kind = kind(type_name, of_type.as_ref().filter(|_| known.is_some()), &section);
    section.finish();
    let kind = kind?;
    let usual_refresh = if matches!(kind, Kind::Rate { .. }) { HOUR } else { Duration::ZERO };
    Some(Feature { name: name?, refresh: Some(refresh.unwrap_or(usual_refresh)), ttl, kind })
}

/// How long a value counts; one of `0s` is never kept.
fn ttl(value: &Value<'_>) -> Option<Duration> {
    let ttl = value.duration(Duration::ZERO)?;
    if ttl.is_zero() {
        value.warn("nothing is kept for so short a time: only values that a request brings along count");
    }
    Some(ttl)
}

fn unique(value: &Value<'_>, names: &mut BTreeMap<String, Place>) -> Option<String> {
    let name = value.text()?;
    if let Some(first) = names.get(&name) {
        let problem = format!("the name `{}` is taken by the feature in line {}", shown(&name), first.line);
        value.wrong(problem, "a unique name");
        return None;
    }
    names.insert(name.clone(), value.place());
    Some(name)
}

/// The type's own name, be it written by that or by another; for one that is misspelt a little, which is reported,
/// the right one, as the keys beside it hang on it.
fn known_type(value: &Value<'_>) -> Option<&'static str> {
    let text = value.text()?;
    let find = |text: &str| {
        let found = FEATURE_TYPES.iter().find(|of| of.name == text || of.aliases.contains(&text));
        found.map(|of| of.name)
    };
    find(&text).or_else(|| {
        let accepted = FEATURE_TYPES.iter().map(|of| of.name).collect::<Vec<_>>().join(", ");
        let (problem, near) = match text.as_str() {
            "relative_number" => ("the feature type `relative_number` no longer exists".to_owned(), Some("number")),
            other => (format!("unknown feature type `{}`", shown(other)), nearest(other, spellings())),
        };
        value.wrong_near(problem, accepted, near.map(|name| format!("`{name}`")));
        close(&text, spellings()).and_then(find)
    })
}

/// Names and other names.
fn spellings() -> impl Iterator<Item = &'static str> {
    FEATURE_TYPES.iter().flat_map(|of| std::iter::once(of.name).chain(of.aliases.iter().copied()))
}

fn kind(name: &str, of_type: Option<&Value<'_>>, section: &Section<'_>) -> Option<Kind> {
    match name {
        "number" => extractor::scalar(section).map(Kind::Number),
        "boolean" => extractor::scalar(section).map(Kind::Boolean),
        "word_count" => extractor::scalar(section).map(Kind::WordCount),
        "list_size" => extractor::scalar(section).map(Kind::ListSize),
        "time_diff" => extractor::scalar(section).map(Kind::TimeDiff),
        "vector" => extractor::vector(section),
        "string" => extractor::string(section),
        "field_match" => field_match::field_match(section),
        "ua" => extractor::user_agent(section),
        "interacted_with" => counter::interacted_with(section),
        "referer" => extractor::referer(section),
        "relevancy" => {
            if let Some(of_type) = of_type {
                of_type.warn("the feature type relevancy is deprecated: use number with field ranking.relevancy");
            }
            extractor::ignored_scope(section, None);
            Some(Kind::Relevancy)
        }
        "position" => extractor::position(section),
        "diversity" => extractor::diversity(section),
        "interaction_count" => counter::interaction_count(section),
        "window_count" => counter::window_count(section),
        "rate" => counter::rate(section),
        "local_time" => extractor::local_time(section),
        "item_age" => extractor::item_age(section),
        "random" => {
            extractor::ignored_scope(section, None);
            Some(Kind::Random)
        }
        _ => None, // a test proves that every type of the schema is read
    }
}
