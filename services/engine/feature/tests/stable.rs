//! What columns and stored values mean keeps its digest: a model and a state of an earlier version go on being read.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

use rankwright_config::Config;
use rankwright_config::schema::FEATURE_TYPES;
use rankwright_feature::{NoEncoders, Plan, readers, seen};
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

/// What models leave out of recommendations.
const RECOMMENDERS: &str = "models:
  one: {type: als, interactions: [click], excludeSeen: true}
  two: {type: trending, weights: [{interaction: view}, {interaction: click}], excludeSeen: true}
  same: {type: als, interactions: [purchase], excludeSeen: [view, click]}
  any: {type: semantic, encoder: {type: csv, dim: 2, path: /e.csv}, itemFields: [title], excludeSeen: true}
  none: {type: als, interactions: [click]}";

#[tokio::test]
async fn what_recommenders_leave_out_is_stored_beside_what_features_store() {
    let features = "features: [{name: clicks, type: interaction_count, interaction: click, scope: user}]";
    let (with, _) = Config::parse(&format!("{features}\n{RECOMMENDERS}"), "test").expect("valid");
    let (without, _) = Config::parse(features, "test").expect("valid");
    let store = MemoryStore::default();
    let plain = Plan::of(&without, &store, &NoEncoders).await.expect("compiles");
    assert!(with.models.values().all(|model| plain.seen(model).is_none()), "nobody asks for them");
    assert_eq!(plain.retention().len(), 1);
    let plan = Plan::of(&with, &store, &NoEncoders).await.expect("compiles");
    let slots: Vec<_> = ["one", "two", "same", "any", "none"].map(|name| plan.seen(&with.models[name])).into();
    assert_eq!(slots[1], slots[2], "the same types of interaction");
    assert_eq!(slots[4], None);
    assert!(slots[0] != slots[1] && slots[0] != slots[3] && slots[..4].iter().all(Option::is_some), "{slots:?}");
    assert_eq!(plan.retention().len(), 4);
    assert!(plan.retention().contains(&(slots[0].expect("one"), seen::KEPT_FOR)));
    assert_eq!((plan.columns(), plan.tags()), (plain.columns(), plain.tags()), "models see no difference");
}

#[tokio::test]
async fn digests_of_columns_and_stored_values_stay_as_they_are() {
    let examples = FEATURE_TYPES.iter().map(|of| of.example);
    let listed: String = examples.chain(MORE.iter().copied()).map(|definition| format!("  - {definition}\n")).collect();
    let (config, _) = Config::parse(&format!("features:\n{listed}"), "test").expect("valid features");
    let plan = Plan::compile(&config.features, &MemoryStore::default()).await.expect("compiles");
    let columns = plan.columns().iter().map(|column| {
        format!("{} {:016x} {}", column.name, column.fingerprint, if column.categorical { "category" } else { "" })
    });
    let stored = readers(&config, &NoEncoders).expect("it needs no file");
    let stored = stored.iter().map(|(fingerprint, readers)| format!("{:016x} {}", fingerprint.0, readers.join(" ")));
    let (recommenders, _) = Config::parse(RECOMMENDERS, "test").expect("valid models");
    let seen = recommenders.seen();
    let seen =
        seen.iter().map(|of| format!("{:016x} excludeSeen {}", seen::fingerprint(of).0, of.interactions.join(" ")));
    let found: Vec<String> = columns.chain(stored).chain(seen).map(|line| line.trim_end().to_owned()).collect();
    let expected: Vec<&str> = include_str!("../samples/digests.txt").lines().collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}
