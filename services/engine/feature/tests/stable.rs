//! What columns and stored values mean keeps its digest: a model and a state of an earlier version go on being read.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

use rankwright_config::Config;
use rankwright_config::schema::FEATURE_TYPES;
use rankwright_feature::{Plan, readers};
use rankwright_state::MemoryStore;

/// Definitions beside the examples, for what those leave out.
const MORE: &[&str] = &[
    "{name: user_age, type: number, field: user.age}",
    "{name: request_price, type: number, field: ranking.price}",
    "{name: of_click, type: number, field: 'interaction:click.x'}",
    "{name: of_any, type: boolean, field: '*.x'}",
    "{name: genre, type: string, field: item.genre, encode: index, values: ['a \"b\"', c]}",
    "{name: reduced, type: vector, field: user.v, reduce: [first, last, random, avg, sum, size, euclidean_distance]}",
    "{name: os, type: ua, source: user.ua, field: os}",
    "{name: seen, type: interacted_with, interaction: view, field: item.id, scope: user, count: 7, duration: 1h}",
    "{name: from_user, type: referer, source: user.ref}",
    "{name: from_click, type: referer, source: 'interaction:click.ref', scope: user}",
    "{name: from_any, type: referer, source: '*.ref'}",
    "{name: diverse, type: diversity, field: item.color}",
    "{name: by_user, type: interaction_count, interaction: click, scope: user}",
    "{name: by_all, type: interaction_count, interaction: click, scope: global}",
    "{name: by_brand, type: interaction_count, interaction: click, scope: item.brand}",
    "{name: by_query, type: interaction_count, interaction: click, scope: ranking.query}",
    "{name: visits, type: window_count, interaction: click, scope: session, bucket: 1h, windows: [1]}",
    "{name: brands, type: window_count, interaction: click, scope: item.brand, bucket: 1h, windows: [1]}",
    "{name: plain, type: rate, top: click, bottom: impression, bucket: 1h, periods: [7]}",
    "{name: brand_ctr, type: rate, top: buy, bottom: click, bucket: 1d, periods: [7], scope: item.brand}",
    "{name: query_ctr, type: rate, top: buy, bottom: click, bucket: 1d, periods: [7], scope: ranking.query}",
    "{name: utc, type: local_time, parse: year}",
    "{name: terms, type: field_match, rankingField: ranking.query, itemField: item.title, method: {type: term, language: en}}",
    "{name: bm25, type: field_match, rankingField: ranking.query, itemField: item.title, \
     method: {type: bm25, language: english, termFreq: samples/termfreq.json}}",
    "{name: embeddings, type: field_match, rankingField: ranking.query, itemField: item.title, distance: dot, \
     method: {type: bi-encoder, dim: 2, itemFieldCache: samples/items.csv, rankingFieldCache: samples/queries.csv}}",
    "{name: pairs, type: field_match, rankingField: ranking.query, itemField: item.title, \
     method: {type: cross-encoder, cache: samples/pairs.csv}}",
    "{name: since_update, type: item_age, source: item.timestamp}",
];

#[tokio::test]
async fn digests_of_columns_and_stored_values_stay_as_they_are() {
    let examples = FEATURE_TYPES.iter().map(|of| of.example);
    let listed: String = examples.chain(MORE.iter().copied()).map(|definition| format!("  - {definition}\n")).collect();
    let (config, _) = Config::parse(&format!("features:\n{listed}"), "test").expect("valid features");
    let plan = Plan::compile(&config.features, &MemoryStore::default()).await.expect("compiles");
    let columns = plan.columns().iter().map(|column| {
        format!("{} {:016x} {}", column.name, column.fingerprint, if column.categorical { "category" } else { "" })
    });
    let stored = readers(&config);
    let stored = stored.iter().map(|(fingerprint, readers)| format!("{:016x} {}", fingerprint.0, readers.join(" ")));
    let found: Vec<String> = columns.chain(stored).map(|line| line.trim_end().to_owned()).collect();
    let expected: Vec<&str> = include_str!("../samples/digests.txt").lines().collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}
