//! `models`: the map, and every model but `lambdamart`.

use super::inference::{dim, files, handle};
use super::{Names, lambdamart, selector};
use crate::feature::{self, Entity};
use crate::model::{Encoder, Model, TrendingWeight};
use crate::section::Section;
use crate::value::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MILLISECOND: Duration = Duration::from_millis(1);

#[derive(Clone, Copy)]
enum Kind {
    LambdaMart,
    Shuffle,
    Noop,
    Als,
    Trending,
    Semantic,
}

/// In bytes, each of which takes three in the name of a file, at most.
const LONGEST_NAME: usize = 80;

/// All right models; `names` are those of the features there are.
pub(super) fn models(value: &Value<'_>, names: &Names) -> BTreeMap<String, Model> {
    let named = value.named("a mapping of names to models");
    named.into_iter().filter_map(|(name, value)| model(&name, &value, names).map(|model| (name, model))).collect()
}

fn model(name: &str, value: &Value<'_>, names: &Names) -> Option<Model> {
    let kinds = [
        ("lambdamart", Kind::LambdaMart),
        ("shuffle", Kind::Shuffle),
        ("noop", Kind::Noop),
        ("als", Kind::Als),
        ("trending", Kind::Trending),
        ("semantic", Kind::Semantic),
    ];
    if name.len() > LONGEST_NAME {
        value.wrong("the name of this model is too long for the files of its versions", "a name of at most 80 bytes");
    }
    if name.is_empty() || name.contains(['/', '?', '#']) {
        value.wrong("the name of this model cannot stand in a path", "a name without /, ? and #");
    }
    let section = value.section()?;
    let of_type = section.required("type", "lambdamart, shuffle, noop, als, trending or semantic");
    let kind = match of_type.and_then(|of_type| of_type.choice("model type", &kinds)) {
        Some(kind) => kind,
        None => section.guess(&kinds.map(|(_, kind)| kind), |section, kind| drop(of_kind(kind, section, names)))?,
    };
    let model = of_kind(kind, &section, names);
    section.finish();
    model
}

fn of_kind(kind: Kind, section: &Section<'_>, names: &Names) -> Option<Model> {
    match kind {
        Kind::LambdaMart => {}
        Kind::Shuffle | Kind::Noop => section.ignored(&[("split", UNTRAINED), ("selector", UNTRAINED)]),
        Kind::Als | Kind::Trending | Kind::Semantic => {
            selector::optional(section); // checked here; not used yet
            section.ignored(&[("split", "this type of model has no test split")]);
        }
    }
    match kind {
        Kind::LambdaMart => lambdamart::lambdamart(section, names).map(Model::LambdaMart),
        Kind::Shuffle => shuffle(section),
        Kind::Noop => Some(Model::Noop),
        Kind::Als => als(section),
        Kind::Trending => trending(section),
        Kind::Semantic => semantic(section),
    }
}

/// Why a baseline looks at no events.
const UNTRAINED: &str = "this type of model is not trained";

fn shuffle(section: &Section<'_>) -> Option<Model> {
    let change = section.required("maxPositionChange", "how far an item may drift from its position");
    let change = change.and_then(|value| value.whole(0..=1_000_000));
    Some(Model::Shuffle { max_position_change: change? })
}

fn als(section: &Section<'_>) -> Option<Model> {
    let what = "a list of types of interaction";
    let interactions = section.required("interactions", what).map(|value| value.texts(what));
    let factors = section.or("factors", 100, |value| value.whole(1..=10_000));
    let iterations = section.or("iterations", 100, |value| value.whole(1..=100_000));
    for key in ["userReg", "itemReg"] {
        let _checked = section.get(key).and_then(|value| value.number("a number, 0 or more", |number| number >= 0.0));
    }
    store(section);
    Some(Model::Als { interactions: interactions?, factors, iterations })
}

/// An index of nearest neighbours. Checked here; not built yet.
fn store(section: &Section<'_>) {
    const KINDS: [(&str, bool); 2] = [("hnsw", false), ("qdrant", true)];
    let Some(section) = section.section("store") else { return };
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

fn trending(section: &Section<'_>) -> Option<Model> {
    let what = "a list of {interaction, decay, weight, window}";
    let weights = section.required("weights", what)?.elements(what);
    Some(Model::Trending { weights: weights.iter().filter_map(trending_weight).collect() })
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

fn semantic(section: &Section<'_>) -> Option<Model> {
    let what = "a list of item fields";
    let encoder = section.required("encoder", "a mapping with a type").and_then(|value| encoder(&value));
    let fields = section.required("itemFields", what);
    let fields = fields.map(|value| value.one_or_more(what).iter().filter_map(semantic_field).collect());
    store(section);
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
