//! `semantic`: a model that recommends items with similar texts.

use super::feature::NINETY_DAYS;
use super::inference::{dim, files, handle};
use super::recommender::{learning, store};
use crate::error::shown;
use crate::feature::{Entity, reference};
use crate::inference::TextModel;
use crate::model::{Encoder, Model, Semantic};
use crate::section::Section;
use crate::value::Value;
use std::time::Duration;

/// Whether a model computes embeddings, or a file holds them.
const ENCODERS: [(&str, bool); 4] = [("bert", true), ("csv", false), ("transformer", true), ("bi-encoder", true)];

/// What an item's text is made of means nothing where no text is read.
const WITHOUT_TEXTS: [(&str, &str); 2] = [
    ("itemFields", "a csv encoder has embeddings by item id, and reads no texts"),
    ("ttl", "a csv encoder reads no texts, and its embeddings do not expire"),
];

pub(super) fn semantic(section: &Section<'_>) -> Option<Model> {
    let (bert, encoder) = section.required("encoder", "a mapping with a type").map(|value| encoder(&value)).unzip();
    let (encoder, bert) = (encoder.flatten(), bert.flatten());
    let (item_fields, ttl) = match bert {
        Some(false) => {
            section.ignored(&WITHOUT_TEXTS);
            (Some(Vec::new()), NINETY_DAYS)
        }
        _ => texts(section),
    };
    store(section);
    let learning = learning(section, &[]);
    Some(Model::Semantic(Semantic { encoder: encoder?, item_fields: item_fields?, ttl, learning }))
}

/// Which fields an item's text is made of, and how long they count.
fn texts(section: &Section<'_>) -> (Option<Vec<String>>, Duration) {
    let what = "a list of item fields";
    let fields = section.required("itemFields", what).map(|value| {
        let mut fields = Vec::new();
        for value in value.one_or_more(what) {
            match field(&value) {
                Some(field) if fields.contains(&field) => {
                    value.wrong(format!("the field `{}` is given twice", shown(&field)), "each field once");
                }
                field => fields.extend(field),
            }
        }
        fields
    });
    let ttl = section.or("ttl", NINETY_DAYS, |value| value.duration(Duration::from_millis(1)));
    (fields, ttl)
}

/// `title`, or `item.title`.
fn field(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    if text.contains('.') { reference(value, &[Entity::Item]).map(|source| source.field) } else { Some(text) }
}

/// Whether it is a model, and what it is, as far as both can be told.
fn encoder(value: &Value<'_>) -> (Option<bool>, Option<Encoder>) {
    let Some(section) = value.section() else { return (None, None) };
    let of_type = section.required("type", "bert or csv");
    let known = of_type.and_then(|of_type| of_type.choice("encoder type", &ENCODERS));
    let known = known.or_else(|| section.guess(&[true, false], |section, bert| drop(of_kind(bert, section))));
    let Some(bert) = known else { return (None, None) };
    let encoder = of_kind(bert, &section);
    section.finish();
    (Some(bert), encoder)
}

fn of_kind(bert: bool, section: &Section<'_>) -> Option<Encoder> {
    let dim = section.required("dim", "the length of an embedding").and_then(|value| dim(&value));
    if bert {
        let handle = section.required("model", "a model handle").and_then(|value| handle(&value));
        let [model_file, tokenizer_file] = files(section);
        let model = handle.map(|handle| TextModel { handle, model_file, tokenizer_file });
        Some(Encoder::Bert { model: model?, dim: dim? })
    } else {
        let path = section.required("path", "a CSV file of embeddings").and_then(|value| value.text());
        Some(Encoder::Csv { dim: dim?, path: path? })
    }
}
