//! The definition as the API server gets it: descriptions say the defaults, which `kubectl explain` shows nowhere else.

use crate::RankingService;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;

/// The definition of a `RankingService`.
///
/// # Panics
/// Never: a definition is JSON, and one with longer descriptions is still a definition.
pub fn definition() -> CustomResourceDefinition {
    let mut value = serde_json::to_value(RankingService::crd()).expect("a definition is JSON");
    let versions = value.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for schema in versions.into_iter().flatten().filter_map(|version| version.pointer_mut("/schema/openAPIV3Schema")) {
        describe(schema);
    }
    serde_json::from_value(value).expect("a definition with longer descriptions is one")
}

/// Has the description of each field below say its default.
fn describe(schema: &mut Value) {
    for part in ["items", "additionalProperties"] {
        schema.get_mut(part).into_iter().for_each(describe);
    }
    for field in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(|of| of.values_mut())
    {
        if let (Some(default), Some(Value::String(text))) =
            (field.get("default").and_then(shown), field.get("description"))
        {
            field["description"] = format!("{text} Default: {default}.").into();
        }
        describe(field);
    }
}

/// A default as its author would write it; nothing where the fields of an object have their own.
fn shown(default: &Value) -> Option<String> {
    match default {
        Value::Object(_) | Value::Null => None,
        Value::Array(entries) if entries.is_empty() => Some("none".to_owned()),
        Value::Array(entries) => Some(entries.iter().filter_map(shown).collect::<Vec<_>>().join(", ")),
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(default.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// All fields below a schema, by their paths.
    fn fields(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
        for part in ["items", "additionalProperties"] {
            schema.get(part).into_iter().for_each(|inner| fields(path, inner, found));
        }
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{name}");
            found.push((path.clone(), field.clone()));
            fields(&path, field, found);
        }
    }

    #[test]
    fn each_field_says_its_default_once() {
        let definition = serde_json::to_value(definition()).unwrap();
        let mut found = Vec::new();
        fields("", definition.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap(), &mut found);
        let text = |field: &Value| field["description"].as_str().unwrap_or_default().to_owned();
        for (path, field) in &found {
            let text = text(field);
            assert!(text.matches("Default:").count() <= 1, "{path} says its default twice: {text}");
            if let Some(default) = field.get("default").and_then(shown) {
                assert!(text.ends_with(&format!(". Default: {default}.")), "{path}: {default} is not said: {text}");
            }
        }
        let of = |path: &str| text(&found.iter().find(|(found, _)| found == path).unwrap().1);
        assert!(of(".spec.rank.replicas").ends_with(" Default: 2."));
        assert!(of(".spec.rank.ingress.paths").contains(" Default: /rank, /recommend,"));
        assert!(!of(".spec.rank.service").contains("Default"), "the fields in it say theirs");
    }
}
