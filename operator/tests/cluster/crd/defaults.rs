//! What was not said is shown.

use super::{cases, check, everywhere, holds, schema};
use crate::cluster::in_own_namespace;
use crate::samples::{minimal, whole};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The defaults of a schema, by their places.
fn defaults_of(schema: &Value, at: &str, defaults: &mut BTreeSet<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}.{name}");
        if field.get("default").is_some() {
            defaults.insert(place.clone());
        }
        defaults_of(field, &place, defaults);
    }
    for part in ["items", "additionalProperties"].into_iter().filter_map(|part| schema.get(part)) {
        defaults_of(part, at, defaults);
    }
}

/// Sees that what was not said is there by its default; where that was so.
fn shown(schema: &Value, at: &str, said: &Value, taken: &Value, places: &mut BTreeSet<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}.{name}");
        if let Some(default) = field.get("default").filter(|_| said[name].is_null()) {
            assert!(holds(&taken[name], default), "{place} is {}, not {default}, of {said}", taken[name]);
            places.insert(place.clone());
        }
        if !taken[name].is_null() {
            shown(field, &place, &said[name], &taken[name], places);
        }
    }
    for part in ["items", "additionalProperties"].into_iter().filter_map(|part| schema.get(part)) {
        match taken {
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(at_, each)| shown(part, at, &said[at_], each, places));
            }
            Value::Object(map) => map.iter().for_each(|(key, each)| shown(part, at, &said[key], each, places)),
            _ => {}
        }
    }
}

#[tokio::test]
async fn samples_are_accepted_and_every_default_is_shown() {
    let Some(cluster) = in_own_namespace().await else { return };
    let (schema, mut places, mut defaults) = (schema(), BTreeSet::new(), BTreeSet::new());
    let nothing_more = ("a sample as it is", json!({}), None);
    let mut accepted =
        check(&cluster, &minimal(), [vec![nothing_more.clone()], everywhere(cases())].concat()).await.accepted;
    let Some(cluster) = in_own_namespace().await else { return };
    accepted.extend(check(&cluster, &whole(), vec![nothing_more]).await.accepted);
    for (said, taken) in &accepted {
        shown(&schema, "", said, taken, &mut places);
    }
    defaults_of(&schema, "", &mut defaults);
    assert!(defaults.len() > 50, "{defaults:#?}");
    let unseen: Vec<_> = defaults.difference(&places).collect();
    assert!(unseen.is_empty(), "no case leaves it out: {unseen:#?}");
}
