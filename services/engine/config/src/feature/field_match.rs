//! `field_match`: a ranking's field compared with an item's.

use super::scope::ignored_scope;
use super::source::item_field;
use super::{Definition, Entity, Source, reference};
use crate::error::shown;
use crate::inference::TextModel;
use crate::nearest::nearest;
use crate::read::inference::{BI_ENCODER, CROSS_DIM, dim, files, handle};
use crate::schema::{Key, key};
use crate::section::Section;
use crate::value::Value;

/// How a ranking's field is compared with an item's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMatch {
    /// Ranking field (without `ranking.`).
    pub ranking_field: String,
    /// Item field (without `item.`).
    pub item_field: String,
    /// The comparison.
    pub method: MatchMethod,
    /// Of embeddings; default cosine.
    pub distance: Distance,
}

impl FieldMatch {
    /// The model of texts that it computes with.
    pub fn model(&self) -> Option<&TextModel> {
        match &self.method {
            MatchMethod::BiEncoder { model, .. } | MatchMethod::CrossEncoder { model, .. } => model.as_ref(),
            _ => None,
        }
    }

    /// Whether it computes with what the configuration only names: a model of texts, a dictionary, or a file of embeddings or scores.
    pub fn is_of_files(&self) -> bool {
        !matches!(self.method, MatchMethod::Ngram { .. } | MatchMethod::Term { .. })
    }
}

/// A comparison of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchMethod {
    /// BM25 with a term dictionary.
    Bm25 {
        /// Language of both texts: a code of the specification.
        language: &'static str,
        /// Path of the dictionary.
        term_freq: String,
    },
    /// Intersection over union of n-grams.
    Ngram {
        /// Language of both texts: a code of the specification.
        language: &'static str,
        /// Length of an n-gram.
        n: usize,
    },
    /// Intersection over union of terms.
    Term {
        /// Language of both texts: a code of the specification.
        language: &'static str,
    },
    /// Distance of two embeddings.
    BiEncoder {
        /// What computes embeddings that the caches lack; absent means caches alone.
        model: Option<TextModel>,
        /// Length of an embedding.
        dim: usize,
        /// CSV of item embeddings.
        item_field_cache: Option<String>,
        /// CSV of query embeddings.
        ranking_field_cache: Option<String>,
    },
    /// Score of a cross-encoder.
    CrossEncoder {
        /// What computes scores that the cache lacks; absent means the cache alone.
        model: Option<TextModel>,
        /// CSV of query, document, score.
        cache: Option<String>,
    },
}

/// How embeddings are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Distance {
    /// Cosine similarity.
    Cos,
    /// Dot product.
    Dot,
}

/// Codes of the specification, each with the other names that stand for it: English ones, other codes.
pub const LANGUAGES: [(&str, &[&str]); 20] = [
    ("generic", &[]),
    ("en", &["english"]),
    ("cz", &["cs", "czech"]),
    ("da", &["danish"]),
    ("nl", &["dutch"]),
    ("et", &["estonian"]),
    ("fi", &["finnish"]),
    ("fr", &["french"]),
    ("de", &["german"]),
    ("gr", &["el", "greek"]),
    ("it", &["italian"]),
    ("no", &["nb", "norwegian"]),
    ("pl", &["polish"]),
    ("pt", &["portuguese"]),
    ("es", &["spanish"]),
    ("sv", &["swedish"]),
    ("tr", &["turkish"]),
    ("ar", &["arabic"]),
    ("zh", &["cn", "chinese"]),
    ("ja", &["jp", "japanese"]),
];

impl Definition for FieldMatch {
    const NAME: &str = "field_match";
    const EXAMPLE: &str = "{name: title_match, type: field_match, rankingField: ranking.query, itemField: item.title, method: {type: ngram, language: en, n: 3}}";
    const DOC: &str = "how well a text of the ranking matches one of the item: by terms, n-grams, BM25 or an encoder";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("rankingField", "", "a field of the ranking, such as `ranking.query`"),
        key("itemField", "", "a field of the item, such as `item.title`"),
        key("distance", "", "how embeddings are compared: `cos` (also `cosine`) or `dot`"),
        key("method", "", "how both texts are compared"),
        key("method.type", "", "`term`, `ngram`, `bm25`, `bi-encoder` (also `bert`, `transformer`) or `cross-encoder`"),
        key("method.language", "", "language of both texts, with `term`, `ngram` and `bm25`: `generic`, a code such as `en`, or its English name"),
        key("method.n", "", "with `ngram`: characters of an n-gram"),
        key("method.termFreq", "", "with `bm25`: a term dictionary of `rankwright termfreq`: its path, or `s3://<bucket>/<key>`"),
        key("method.model", "none", "a text model: `<namespace>/<model>`, `file:///<folder>` or `s3://<bucket>/<prefix>/`"),
        key("method.modelFile", "`model.onnx`, else `onnx/model.onnx`", "the graph's file in the model's folder"),
        key("method.tokenizerFile", "`tokenizer.json`", "the tokenizer's file in the model's folder"),
        key("method.dim", "", "with `bi-encoder`: numbers in an embedding"),
        key("method.itemFieldCache", "none", "with `bi-encoder`: a CSV file of embeddings by item id"),
        key("method.rankingFieldCache", "none", "with `bi-encoder`: a CSV file of embeddings by text of the ranking"),
        key("method.cache", "none", "with `cross-encoder`: a CSV file of scores by query and item's text"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        ignored_scope(section, None);
        let distances = [("cos", Distance::Cos), ("dot", Distance::Dot), ("cosine", Distance::Cos)];
        let ranking = section.required("rankingField", "ranking.<field>");
        let ranking = ranking.and_then(|value| reference(&value, &[Entity::Ranking]));
        let item = section.required("itemField", "item.<field>").and_then(|value| item_field(&value));
        let distance = section.or("distance", Distance::Cos, |value| value.choice("distance", &distances));
        let method = section.required("method", "a mapping with a type").and_then(|value| method(&value));
        let (ranking_field, item_field, method) = (ranking?.field, item?, method?);
        Some(Self { ranking_field, item_field, method, distance })
    }

    fn sources(&self) -> Vec<Source> {
        let query = Source::ranking(&self.ranking_field);
        match self.method {
            MatchMethod::BiEncoder { model: None, .. } => vec![query], // items are found by their ids
            _ => vec![query, Source::item(&self.item_field)],
        }
    }
}

/// What kubectl and Helm make of an unquoted `n` and `no`: they read YAML 1.1, where both are booleans.
const YAML_1_1_NO: &str = "false";

#[derive(Clone, Copy)]
enum Method {
    Bm25,
    Ngram,
    Term,
    BiEncoder,
    CrossEncoder,
}

fn method(value: &Value<'_>) -> Option<MatchMethod> {
    let methods = [
        ("bm25", Method::Bm25),
        ("ngram", Method::Ngram),
        ("term", Method::Term),
        ("bi-encoder", Method::BiEncoder),
        ("cross-encoder", Method::CrossEncoder),
    ];
    let names = methods.into_iter().chain(BI_ENCODER.map(|name| (name, Method::BiEncoder))).collect::<Vec<_>>();
    let section = value.section()?;
    let method = match section
        .required("type", "bm25, ngram, term, bi-encoder or cross-encoder")
        .and_then(|of_type| of_type.choice("method", &names))
    {
        Some(known) => known,
        None => section.guess(&methods.map(|(_, method)| method), |section, method| drop(by(method, section)))?,
    };
    let method = by(method, &section);
    section.finish();
    method
}

fn by(method: Method, section: &Section<'_>) -> Option<MatchMethod> {
    match method {
        Method::Bm25 => bm25(section),
        Method::Ngram => ngram(section),
        Method::Term => language(section).map(|language| MatchMethod::Term { language }),
        Method::BiEncoder => bi_encoder(section),
        Method::CrossEncoder => cross_encoder(section),
    }
}

fn bm25(section: &Section<'_>) -> Option<MatchMethod> {
    let language = language(section);
    let what = "path of a term dictionary, or s3://<bucket>/<key>";
    let term_freq = section.required("termFreq", what).and_then(|value| value.text());
    Some(MatchMethod::Bm25 { language: language?, term_freq: term_freq? })
}

fn ngram(section: &Section<'_>) -> Option<MatchMethod> {
    let language = language(section);
    let n = section.either("n", YAML_1_1_NO);
    let n = n.or_else(|| section.missing("n", "the length of an n-gram")).and_then(|value| value.whole(1..=100));
    Some(MatchMethod::Ngram { language: language?, n: n? })
}

/// A model of texts, with the names of its files.
fn model(section: &Section<'_>) -> Option<TextModel> {
    let handle = section.get("model").and_then(|value| handle(&value));
    let [model_file, tokenizer_file] = files(section);
    Some(TextModel { handle: handle?, model_file, tokenizer_file })
}

fn bi_encoder(section: &Section<'_>) -> Option<MatchMethod> {
    let model = model(section);
    let dim = section.required("dim", "the length of an embedding").and_then(|value| dim(&value));
    let item_field_cache = section.get("itemFieldCache").and_then(|value| value.text());
    let ranking_field_cache = section.get("rankingFieldCache").and_then(|value| value.text());
    if section.get("model").is_none() && (item_field_cache.is_none() || ranking_field_cache.is_none()) {
        section
            .wrong("a bi-encoder without a model needs both caches", "model, or itemFieldCache and rankingFieldCache");
    }
    Some(MatchMethod::BiEncoder { model, dim: dim?, item_field_cache, ranking_field_cache })
}

fn cross_encoder(section: &Section<'_>) -> Option<MatchMethod> {
    let model = model(section);
    let cache = section.get("cache").and_then(|value| value.text());
    section.ignored(&[CROSS_DIM]);
    if section.get("model").is_none() && cache.is_none() {
        section.wrong("a cross-encoder without a model needs a cache", "model or cache");
    }
    Some(MatchMethod::CrossEncoder { model, cache })
}

/// A language's code, also where another name of it is given, in any case.
fn language(section: &Section<'_>) -> Option<&'static str> {
    let value = section.required("language", "a language such as en, or generic")?;
    value.traced(LANGUAGES.iter().flat_map(|(code, names)| std::iter::once(*code).chain(names.iter().copied())));
    let text = value.text().map(|text| if text == YAML_1_1_NO { "no".to_owned() } else { text })?;
    let means = |name: &&str| text.eq_ignore_ascii_case(name);
    let found = LANGUAGES.iter().find(|(code, names)| means(code) || names.iter().any(&means));
    if found.is_none() {
        let names = LANGUAGES.iter().flat_map(|(code, names)| names.last().or(Some(code)));
        let near = nearest(&text, names.copied()).map(|name| format!("`{name}`"));
        let codes = LANGUAGES.map(|(code, _)| code).join(", ");
        value.wrong_near(format!("unknown language `{}`", shown(&text)), codes, near);
    }
    found.map(|&(code, _)| code)
}
