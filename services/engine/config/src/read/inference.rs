//! `inference`: language models.

use crate::inference::{Inference, InferenceKind, TextModel};
use crate::section::Section;
use crate::value::Value;
use std::collections::BTreeMap;

pub(super) fn inference(value: &Value<'_>) -> BTreeMap<String, Inference> {
    let named = value.named("a mapping of names to language models");
    named.into_iter().filter_map(|(name, value)| Some((name, one(&value)?))).collect()
}

fn one(value: &Value<'_>) -> Option<Inference> {
    let section = value.section()?;
    let kinds = [InferenceKind::BiEncoder, InferenceKind::CrossEncoder].map(|kind| (kind.name(), kind));
    let kinds = kinds.into_iter().chain(BI_ENCODER.map(|name| (name, InferenceKind::BiEncoder))).collect::<Vec<_>>();
    let kind = section.required("type", "bi-encoder or cross-encoder");
    let kind = kind.and_then(|value| value.choice("inference type", &kinds));
    let model = section.required("model", HANDLES).and_then(|value| handle(&value));
    let dim = if kind == Some(InferenceKind::CrossEncoder) {
        section.ignored(&[CROSS_DIM]);
        None
    } else {
        section.get("dim").and_then(|value| dim(&value))
    };
    section.ignored(&[CACHE]);
    let [model_file, tokenizer_file] = files(&section);
    section.finish();
    Some(Inference { kind: kind?, model: TextModel { handle: model?, model_file, tokenizer_file }, dim })
}

/// Other names of a bi-encoder.
pub(crate) const BI_ENCODER: [&str; 2] = ["transformer", "bert"];

/// Of a cross-encoder, which configurations of bi-encoders give it.
pub(crate) const CROSS_DIM: (&str, &str) = ("dim", "a cross-encoder has scores, and no embeddings");

/// The length of an embedding.
pub(crate) fn dim(value: &Value<'_>) -> Option<usize> {
    value.whole(1..=65_536)
}

const CACHE: (&str, &str) = ("cache", "every text is computed; results are kept in memory");
const VOCABULARY: (&str, &str) = ("vocabFile", "the vocabulary is read from the file of the tokenizer, tokenizer.json");

/// Names of files within a model's folder: the graph's and the tokenizer's.
pub(crate) fn files(section: &Section<'_>) -> [Option<String>; 2] {
    section.ignored(&[VOCABULARY]);
    ["modelFile", "tokenizerFile"].map(|key| section.get(key).and_then(|value| value.text()))
}

const HANDLES: &str = "<namespace>/<model>, file:///<folder> or s3://<bucket>/<prefix>/";

/// A model handle: `<namespace>/<model>`, `file:///<folder>` or `s3://<bucket>/<prefix>/`.
pub(crate) fn handle(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    let local = text.strip_prefix("file:///").is_some();
    let bucket = text.strip_prefix("s3://").is_some_and(|place| !place.is_empty() && !place.starts_with('/'));
    let named = text.split_once('/').is_some_and(|(space, name)| !space.is_empty() && !name.is_empty());
    let hub = named && !text.contains("://") && text.matches('/').count() == 1;
    if local || bucket || hub { Some(text) } else { value.other(&format!("a model handle: {HANDLES}")) }
}
