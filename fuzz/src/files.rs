//! Configurations, dictionaries, files of embeddings and scores, texts.

use rankwright_config::Config;
use rankwright_encoder::{Scores, Vectors};
use rankwright_text::{Analyzer, Bag, Dictionary, Language};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Numbers of an embedding.
const WIDTH: usize = 3;

const CONFIGURATION: &str = r#"
core: {clickthrough: {maxSessionLength: 30m}}
api: {port: 8080, token: "x", timeout: 1s}
state: {type: redis, host: localhost, port: 6379, db: {state: 1}, tls: {enabled: true}}
train: {type: s3, bucket: b, prefix: p, region: eu-central-1}
source: {type: kafka, brokers: [a:9092], topic: t, groupId: g, offset: earliest}
features:
  - {name: price, type: number, field: item.price, scope: item, ttl: 90d}
  - {name: color, type: string, field: item.color, encode: onehot, values: [red, green]}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7, 30], normalize: {weight: 10}}
  - {name: title, type: field_match, rankingField: ranking.query, itemField: item.title, method: {type: ngram, language: en, n: 3}}
models:
  shop: {type: lambdamart, backend: {type: xgboost, iterations: 50}, weights: {click: 1}, features: [price, color]}
  popular: {type: trending, weights: [{interaction: click, decay: 0.8, window: 7d}]}
inference: {words: {type: bi-encoder, model: a/b, dim: 384}}
"#;

const DICTIONARY: &str =
    r#"{"language":"english","fields":["title"],"docs":30,"avgdl":2.5,"termfreq":{"red":7,"shoe":12}}"#;

/// A configuration: every mistake has a message.
pub(crate) fn configuration(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let parsed = Config::parse(text, "config.yml");
    assert!(parsed.as_ref().err().is_none_or(|mistakes| !mistakes.to_string().is_empty()));
    parsed.is_ok()
}

pub(crate) fn configurations() -> Vec<Vec<u8>> {
    // each key by itself as well: changes of short texts reach more
    let alone = CONFIGURATION.lines().filter_map(|line| match line.strip_prefix("  - ") {
        Some(feature) => Some(format!("features:\n  - {feature}\nmodels: {{none: {{type: noop}}}}\n")),
        None => (line.contains('{') && !line.starts_with(' ')).then(|| format!("{line}\n")),
    });
    alone.chain([CONFIGURATION.to_owned()]).map(String::into_bytes).collect()
}

/// A dictionary of BM25. It is read from a file.
pub(crate) fn dictionary(bytes: &[u8]) -> bool {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::temp_dir().join(format!("rankwright-fuzz-{}.json", std::process::id())));
    std::fs::write(file, bytes).expect("the folder for temporary files can be written to");
    let read = Dictionary::open(file);
    let _ = std::fs::remove_file(file);
    let Ok(dictionary) = read else { return false };
    let _ = dictionary.query(&Bag::of(&Analyzer::new(dictionary.language()), ["red shoes"]));
    assert!(dictionary.average_length().is_finite());
    true
}

pub(crate) fn dictionaries() -> Vec<Vec<u8>> {
    vec![DICTIONARY.into()]
}

/// A file of embeddings that were computed before.
pub(crate) fn embeddings(bytes: &[u8]) -> bool {
    Vectors::read(bytes, WIDTH).is_ok()
}

pub(crate) fn embedding_files() -> Vec<Vec<u8>> {
    vec![b"red shoe,0.1,0.2,-0.3\n\"a \"\"b\"\", c\",1,2e-3,3\n".to_vec()]
}

/// A file of scores of pairs.
pub(crate) fn scores(bytes: &[u8]) -> bool {
    Scores::read(bytes).is_ok()
}

pub(crate) fn score_files() -> Vec<Vec<u8>> {
    vec![b"red,red shoe,0.5\n\"a,b\",c,-1e3\n".to_vec()]
}

/// A text, by the rules of the language that the first byte chooses.
pub(crate) fn text(bytes: &[u8]) -> bool {
    let Some((first, rest)) = bytes.split_first() else { return false };
    let languages: Vec<Language> = Language::all().collect();
    let text = String::from_utf8_lossy(rest);
    let analyzer = Analyzer::new(languages[usize::from(*first) % languages.len()]);
    let terms = analyzer.terms(&text);
    assert!(terms.iter().all(|term| !term.is_empty()), "{text:?}");
    !terms.is_empty()
}

pub(crate) fn texts() -> Vec<Vec<u8>> {
    let texts =
        ["The cats' running shoes", "Schöne Grüße", "İstanbul'da ılık", "مرحبا بالعالم", "我喜欢跑步鞋", "東京の靴"];
    let of = |(place, text): (usize, &&str)| [&[place as u8][..], text.as_bytes()].concat();
    (0..20).flat_map(|language| texts.iter().map(move |text| (language, text))).map(of).collect()
}
