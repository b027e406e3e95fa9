//! `features`: the list, and the keys that all of them share.

use super::Names;
use crate::error::shown;
use crate::feature::{Feature, Kind};
use crate::nearest::{close, nearest};
use crate::schema::FEATURE_TYPES;
use crate::tree::Place;
use crate::value::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a stored value counts, where nothing is said of that.
pub(super) const NINETY_DAYS: Duration = Duration::from_secs(90 * 24 * 60 * 60);

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
    let (mut features, mut empty) = (Vec::new(), Vec::new());
    for definition in &definitions {
        let mistakes = definition.report.mistakes();
        let Some(feature) = feature(definition, &mut names) else { continue };
        if feature.columns().next().is_some() {
            features.push((definition, feature));
        } else if definition.report.mistakes() == mistakes {
            empty.push((definition, feature)); // else its columns are wrong, and a model that lists it is not
        }
    }
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
    let type_name = match of_type.as_ref().and_then(known_type) {
        Some(known) => known,
        None => {
            let names: Vec<&str> = FEATURE_TYPES.iter().map(|of| of.name).collect();
            section.guess(&names, |section, name| drop(Kind::read(name, section)))?
        }
    };
    let kind = Kind::read(type_name, &section);
    if let (None, Some(kind)) = (refresh, &kind) {
        section.leaves_out("refresh", &kind.usual_refresh());
    }
    section.finish();
    let kind = kind?;
    Some(Feature { name: name?, refresh: Some(refresh.unwrap_or(kind.usual_refresh())), ttl, kind })
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
    if let Some(name) = value.traced(spellings()) {
        return FEATURE_TYPES.iter().find(|of| of.name == name || of.aliases.contains(&name)).map(|of| of.name);
    }
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
