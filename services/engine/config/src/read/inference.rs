//! `inference`: language models.

use crate::inference::Inference;
use crate::value::Value;
use std::collections::BTreeMap;

pub(super) fn inference(value: &Value<'_>) -> BTreeMap<String, Inference> {
    let named = value.named("a mapping of names to language models");
    named.into_iter().filter_map(|(name, value)| Some((name, one(&value)?))).collect()
}

fn one(value: &Value<'_>) -> Option<Inference> {
    let section = value.section()?;
    let kinds = [("bi-encoder", false), ("cross-encoder", true)];
    let kind = section.required("type", "bi-encoder or cross-encoder");
    let kind = kind.and_then(|value| value.choice("inference type", &kinds));
    let model = section.required("model", "<namespace>/<model> or file:///<folder>").and_then(|value| handle(&value));
    section.finish();
    let (cross, model) = (kind?, model?);
    Some(if cross { Inference::CrossEncoder { model } } else { Inference::BiEncoder { model } })
}

/// A model handle: `<namespace>/<model>` or `file:///<folder>`.
pub(super) fn handle(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    let local = text.strip_prefix("file://").is_some_and(|path| path.len() > 1);
    let named = text.split_once('/').is_some_and(|(space, name)| !space.is_empty() && !name.is_empty());
    let hub = named && !text.contains("://") && text.matches('/').count() == 1;
    if local || hub { Some(text) } else { value.other("a model handle: <namespace>/<model> or file:///<folder>") }
}
