//! Models that recommend: `als`, `trending`, `semantic`.

use super::inference::{dim, files, handle};
use super::lambdamart::seed;
use super::learning::learning;
use crate::feature::{self, Entity};
use crate::model::{Als, Encoder, Model, Trending, TrendingWeight};
use crate::section::Section;
use crate::value::Value;
use std::time::Duration;

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MILLISECOND: Duration = Duration::from_millis(1);
const REGULARIZATION: f64 = 0.01;

pub(super) fn als(section: &Section<'_>) -> Option<Model> {
    let what = "a list of types of interaction";
    let interactions = section.required("interactions", what).map(|value| value.texts(what));
    let factors = section.or("factors", 100, |value| value.whole(1..=10_000));
    let iterations = section.or("iterations", 100, |value| value.whole(1..=100_000));
    let regularization = |value: Value<'_>| value.number("a number, 0 or more", |number| number >= 0.0);
    let user_reg = section.or("userReg", REGULARIZATION, regularization);
    let item_reg = section.or("itemReg", REGULARIZATION, regularization);
    let seed = section.get("seed").and_then(|value| seed(&value)).unwrap_or(0);
    store(section);
    let learning = learning(section, &[]);
    Some(Model::Als(Als { interactions: interactions?, factors, iterations, user_reg, item_reg, seed, learning }))
}

/// An index of nearest neighbours: checked, and of no use. Neighbours are found in the process.
fn store(section: &Section<'_>) {
    const KINDS: [(&str, bool); 2] = [("hnsw", false), ("qdrant", true)];
    let Some(value) = section.get("store") else { return };
    value.warn("store is ignored: neighbours are found in the process");
    let Some(section) = value.section() else { return };
    let remote = section.required("type", "hnsw or qdrant").and_then(|value| value.choice("index", &KINDS));
    let Some(remote) = remote else { return };
    if remote {
        section.required("endpoint", "the index's URL").and_then(|value| value.url(&["http://", "https://"]));
        section.required("collection", "a name").and_then(|value| value.text());
        section.required("size", "the length of an embedding").and_then(|value| value.whole::<usize>(1..=65_536));
        section.required("distance", "such as Cosine").and_then(|value| value.text());
    } else {
        let checked = |key| section.get(key).and_then(|value| value.whole::<usize>(1..=1_000_000));
        let (_, _) = (checked("m"), checked("ef"));
    }
    section.finish();
}

pub(super) fn trending(section: &Section<'_>) -> Option<Model> {
    let what = "a list of {interaction, decay, weight, window}";
    let weights = section.required("weights", what).map(|value| value.elements(what));
    let learning = learning(section, &[]);
    let weights = weights?.iter().filter_map(trending_weight).collect();
    Some(Model::Trending(Trending { weights, learning }))
}

fn trending_weight(value: &Value<'_>) -> Option<TrendingWeight> {
    let section = value.section()?;
    let decay = |value: Value<'_>| value.number("a number over 0, and 1 at most", |decay| decay > 0.0 && decay <= 1.0);
    let interaction = section.required("interaction", "a type of interaction, such as click");
    let interaction = interaction.and_then(|value| value.text());
    let decay = section.or("decay", 1.0, decay);
    let weight = section.or("weight", 1.0, |value| value.number("a number", |_| true));
    let window = section.or("window", MONTH, |value| value.duration(MILLISECOND));
    section.finish();
    Some(TrendingWeight { interaction: interaction?, decay, weight, window })
}

pub(super) fn semantic(section: &Section<'_>) -> Option<Model> {
    let what = "a list of item fields";
    let encoder = section.required("encoder", "a mapping with a type").and_then(|value| encoder(&value));
    let fields = section.required("itemFields", what);
    let fields = fields.map(|value| value.one_or_more(what).iter().filter_map(semantic_field).collect());
    store(section);
    learning(section, &[]); // checked here; not used yet
    Some(Model::Semantic { encoder: encoder?, item_fields: fields? })
}

/// `title`, or `item.title`.
fn semantic_field(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    if text.contains('.') { feature::reference(value, &[Entity::Item]).map(|source| source.field) } else { Some(text) }
}

/// Whether a model embeds, or a file holds embeddings.
const ENCODERS: [(&str, bool); 4] = [("bert", true), ("csv", false), ("transformer", true), ("bi-encoder", true)];

fn encoder(value: &Value<'_>) -> Option<Encoder> {
    let section = value.section()?;
    let of_type = section.required("type", "bert or csv");
    let dim = section.required("dim", "the length of an embedding").and_then(|value| dim(&value));
    let bert = match of_type {
        Some(of_type) => of_type.choice("encoder type", &ENCODERS)?,
        None => section.guess(&[true, false], |section, bert| drop(encoder_of(bert, section, dim)))?,
    };
    let encoder = encoder_of(bert, &section, dim);
    files(&section);
    section.finish();
    encoder
}

fn encoder_of(bert: bool, section: &Section<'_>, dim: Option<usize>) -> Option<Encoder> {
    if bert {
        let model = section.required("model", "a model handle").and_then(|value| handle(&value));
        model.zip(dim).map(|(model, dim)| Encoder::Bert { model, dim })
    } else {
        let path = section.required("path", "a CSV file of embeddings").and_then(|value| value.text());
        path.zip(dim).map(|(path, dim)| Encoder::Csv { dim, path })
    }
}
