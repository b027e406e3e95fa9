//! `inference`: language models.

use crate::inference::Inference;
use crate::section::Section;
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
    if kind == Some(true) {
        section.ignored(&[CROSS_DIM]);
    } else {
        let _checked = section.get("dim").and_then(|value| dim(&value));
    }
    let _checked = section.get("cache").and_then(|value| value.text());
    files(&section);
    section.finish();
    let (cross, model) = (kind?, model?);
    Some(if cross { Inference::CrossEncoder { model } } else { Inference::BiEncoder { model } })
}

/// Of a cross-encoder, which configurations of bi-encoders give it.
pub(crate) const CROSS_DIM: (&str, &str) = ("dim", "a cross-encoder has scores, and no embeddings");

/// The length of an embedding.
pub(crate) fn dim(value: &Value<'_>) -> Option<usize> {
    value.whole(1..=65_536)
}

/// Names of files within a model's folder. Checked here; not opened yet.
pub(crate) fn files(section: &Section<'_>) {
    for key in ["modelFile", "tokenizerFile", "vocabFile"] {
        let _checked = section.get(key).and_then(|value| value.text());
    }
}

/// A model handle: `<namespace>/<model>` or `file:///<folder>`.
pub(crate) fn handle(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    let local = text.strip_prefix("file://").is_some_and(|path| path.len() > 1);
    let named = text.split_once('/').is_some_and(|(space, name)| !space.is_empty() && !name.is_empty());
    let hub = named && !text.contains("://") && text.matches('/').count() == 1;
    if local || hub { Some(text) } else { value.other("a model handle: <namespace>/<model> or file:///<folder>") }
}
