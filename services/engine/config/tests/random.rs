//! Whatever the text, reading it ends with a configuration or with mistakes, and never in a panic.

use proptest::prelude::*;
use rankwright_config::schema::FEATURE_TYPES;
use rankwright_config::{Config, duration};
use std::fmt::Write;

/// A configuration that names most keys.
fn rich() -> String {
    let mut text = "\
api: {host: 127.0.0.1, port: 8080, token: t, limits: {maxBodyBytes: 2048, requestTimeout: 1s}}
core: {tracking: {analytics: false}, clickthrough: {maxSessionLength: 1h30m}}
state: {type: redis, host: h, port: 1, cache: {ttl: 1h}, auth: {user: u, password: p}, tls: {verify: ca}}
train: {type: s3, bucket: b, prefix: p, region: r, compress: zst}
source: {type: file, path: /in, offset: ts=1636907100, sort: time}
inference: {e: {type: cross-encoder, model: a/b}}
x-a: &a {accept: true}
models:
  m: {type: lambdamart, weights: {click: 1}, features: [price, ctr], split: time=80%, eval: [NDCG@10], selector: *a}
  n: {type: als, interactions: [click], selector: {or: [{ratio: 0.5}, {not: {<<: *a}}]}, store: {type: hnsw, m: 8}}
  t: {type: trending, weights: [{interaction: click, decay: 0.9, window: 30d}]}
  s: {type: semantic, encoder: {type: bert, model: a/b, dim: 3}, itemFields: [title, item.text], ttl: 365d}
  c: {type: semantic, encoder: {type: csv, path: /e.csv, dim: 3}}
features:
"
    .to_owned();
    for of in FEATURE_TYPES {
        writeln!(text, "  - {}", of.example).expect("a string takes all");
    }
    text
}

/// Pieces that change the meaning of what stands around them.
fn piece() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        ":",
        "- ",
        "\n",
        "\t",
        "  ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "? ",
        "| ",
        "'",
        "\"",
        "#",
        "---\n",
        "...",
        "~",
        "null",
        "no",
        "-1",
        "1e999",
        "0",
        "NaN",
        "99999999999999999999",
        "é",
        "\u{0}",
        "\u{feff}",
        "item.",
        ".x",
        "%",
        "=",
    ]);
    prop_oneof![special.prop_map(str::to_owned), any::<String>()]
}

fn read(text: &str) {
    match Config::parse(text, "random") {
        Ok((config, _)) => drop(config),
        Err(errors) => {
            assert!(!errors.mistakes().is_empty());
            assert!(errors.mistakes().iter().all(|mistake| mistake.line > 0 && mistake.column > 0));
            drop(errors.to_string());
        }
    }
}

#[test]
fn the_rich_configuration_is_right() {
    let parsed = Config::parse(&rich(), "rich");
    assert!(parsed.is_ok(), "{parsed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_text_never_panics(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn random_pieces_never_panic(pieces in prop::collection::vec(piece(), 0..40)) {
        read(&pieces.concat());
    }

    #[test]
    fn random_durations_never_panic(text in "[0-9.]{0,25} ?[a-zA-Z]{0,7}[0-9]{0,3}[a-z]{0,2}") {
        drop(duration::parse(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn mutated_configurations_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, piece()), 1..6)
    ) {
        let mut text: Vec<char> = rich().chars().collect();
        for (place, cut, piece) in changes {
            let from = place.index(text.len().max(1)).min(text.len());
            let to = (from + cut).min(text.len());
            text.splice(from..to, piece.chars());
        }
        read(&text.into_iter().collect::<String>());
    }
}
