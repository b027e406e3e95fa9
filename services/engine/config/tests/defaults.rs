//! Every key of the specification has its default, and every key is read.

#![allow(clippy::expect_used)]

use rankwright_config::feature::{
    Distance, Diversity, Encoding, InteractedWith, InteractionCount, Kind, MatchMethod, Rate, RateScope, Reducer,
    Scope, Text, Vector, Visitor,
};
use rankwright_config::inference::{Inference, InferenceKind, TextModel};
use rankwright_config::model::{Arm, Booster, Encoder, Metric, Selector, Split, SplitStrategy, Weighting};
use rankwright_config::source::{EventFormat, FileOrder, Offset, SourceKind, Subscription};
use rankwright_config::state::{Format, Node, Redis, Topology, Verify};
use rankwright_config::train::{Compression, S3};
use rankwright_config::{ClickthroughStore, Config, Feature, Model, State};
use std::path::PathBuf;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

fn parse(text: &str) -> Config {
    Config::parse(text, "test.yml").unwrap_or_else(|errors| panic!("{errors}")).0
}

fn feature(definition: &str) -> Feature {
    parse(&format!("features: [{definition}]")).features.remove(0)
}

fn model(definition: &str) -> Model {
    let text = format!("features: [{{name: f, type: relevancy}}]\nmodels: {{m: {definition}}}");
    parse(&text).models.remove("m").expect("the text defines it")
}

#[test]
fn an_empty_configuration_is_all_defaults() {
    for text in ["", "# nothing\n", "{}", "state:\nfeatures:\napi: ~\ncore: {clickthrough: null}"] {
        let config = parse(text);
        assert_eq!(config, Config::default(), "{text}");
    }
    let config = Config::default();
    assert_eq!(config.state, State::Memory);
    assert_eq!((config.train, config.source), (None, None));
    assert_eq!((config.api.host.as_str(), config.api.port, config.api.token), ("0.0.0.0", 8080, None));
    assert_eq!((config.api.limits.max_connections, config.api.allowed_origins), (10_000, vec![]));
    assert_eq!((config.api.page.enabled, config.api.page.sample, config.api.page.show_ids), (None, 100, false));
    assert_eq!((config.api.page.item, config.api.page.image_origins), (None, vec![]));
    let clickthrough = config.core.clickthrough;
    assert_eq!((clickthrough.max_parallel_sessions, clickthrough.max_session_length), (10_000, HOUR / 2));
    assert_eq!(clickthrough.max_open_bytes, 256 << 20);
    assert_eq!(clickthrough.ranking_wait, SECOND * 10);
    assert_eq!((config.core.ingest.event_id_window, config.core.ingest.max_ahead), (SECOND * 300, HOUR));
    assert!(config.core.tracking.analytics && config.core.tracking.errors);
}

#[test]
fn every_key_of_api_and_core_is_read() {
    let config = parse(
        "
api:
  host: 127.0.0.1
  port: '9090'
  token: secret
  limits: {maxBodyBytes: 2048, maxItemsPerRequest: 5, maxEventsPerBatch: 6, maxConcurrentRequests: 7, maxConnections: 10, requestTimeout: 8s, textTimeout: 3s, drainTimeout: 9s}
  cors: {allowedOrigins: [HTTPS://Shop.example:443/, 'http://localhost:3000']}
  page: {enabled: false, sample: 7, showIds: true, item: {title: name, image: picture}, imageOrigins: 'https://CDN.example/'}
core:
  clickthrough: {maxParallelSessions: 1, maxOpenBytes: 1048577, maxSessionLength: 60s, rankingWait: 2s}
  ingest: {eventIdWindow: 3m, maxAhead: 4h}
  tracking: {analytics: false, errors: off}",
    );
    assert_eq!((config.api.host.as_str(), config.api.port), ("127.0.0.1", 9090));
    assert_eq!(config.api.token.expect("it was given").expose(), "secret");
    let limits = config.api.limits;
    assert_eq!((limits.max_body_bytes, limits.max_items_per_request, limits.max_events_per_batch), (2048, 5, 6));
    assert_eq!((limits.max_concurrent_requests, limits.request_timeout), (7, SECOND * 8));
    assert_eq!((limits.drain_timeout, limits.max_connections), (SECOND * 9, 10));
    assert_eq!(limits.text_timeout, SECOND * 3);
    assert_eq!(config.api.allowed_origins, ["https://shop.example", "http://localhost:3000"]);
    let page = config.api.page;
    assert_eq!((page.enabled, page.sample, page.show_ids), (Some(false), 7, true));
    let item = page.item.expect("it was given");
    assert_eq!((item.title.as_deref(), item.price, item.image.as_deref()), (Some("name"), None, Some("picture")));
    assert_eq!(page.image_origins, ["https://cdn.example"]);
    let core = config.core;
    assert_eq!((core.clickthrough.max_parallel_sessions, core.clickthrough.max_session_length), (1, SECOND * 60));
    assert_eq!((core.clickthrough.ranking_wait, core.clickthrough.max_open_bytes), (SECOND * 2, 1_048_577));
    assert_eq!((core.ingest.event_id_window, core.ingest.max_ahead), (SECOND * 180, HOUR * 4));
    assert!(!core.tracking.analytics && !core.tracking.errors);
}

fn redis(text: &str) -> Redis {
    let State::Redis(redis) = parse(text).state else { panic!("{text}") };
    *redis
}

#[test]
fn redis_has_the_defaults_of_the_specification() {
    let redis = redis("state: {type: redis, host: cache, port: 6379}");
    assert_eq!((redis.host.as_str(), redis.port, redis.format), ("cache", 6379, Format::Binary));
    assert_eq!((redis.cache.max_size, redis.cache.ttl, redis.cache.ttl_given), (1024, HOUR, false));
    assert!(redis.cache.client_tracking);
    assert_eq!((redis.pipeline.max_size, redis.pipeline.flush_period, redis.pipeline.enabled), (128, SECOND, true));
    assert_eq!((redis.user, redis.password), (None, None));
    assert_eq!((redis.tls.enabled, redis.tls.ca, redis.tls.verify), (false, None, Verify::Full));
    assert_eq!((redis.timeout.connect, redis.timeout.socket, redis.timeout.command), (SECOND, SECOND, SECOND));
    assert_eq!((redis.db.state, redis.db.values, redis.db.rankings, redis.db.models), (0, 1, 2, 3));
}

#[test]
fn redis_may_be_one_server_or_named_by_sentinels_or_a_cluster() {
    let node = |host: &str, port| Node { host: host.into(), port };
    assert_eq!(redis("state: {type: redis, host: a, port: 1, mode: standalone}").topology, Topology::Standalone);
    let cluster = redis("state: {type: redis, mode: cluster, nodes: ['a:1', '[::1]:2']}");
    assert_eq!((cluster.host.as_str(), cluster.port), ("a", 1));
    assert_eq!(cluster.topology, Topology::Cluster(vec![node("a", 1), node("::1", 2)]));
    let seed = redis("state: {type: redis, mode: cluster, host: a, port: 1}");
    assert_eq!(seed.topology, Topology::Cluster(vec![node("a", 1)]));
    let text = "{type: redis, mode: sentinel, nodes: [s:26379], sentinel: {master: m, user: u, password: p}}";
    let Topology::Sentinel(sentinels) = redis(&format!("state: {text}")).topology else { panic!("{text}") };
    assert_eq!((sentinels.nodes, sentinels.master.as_str()), (vec![node("s", 26_379)], "m"));
    assert_eq!((sentinels.user.as_deref(), sentinels.password.expect("was given").expose()), (Some("u"), "p"));
}

#[test]
fn every_key_of_redis_is_read() {
    let redis = redis(
        "
state:
  type: redis
  host: cache
  port: 6380
  format: json
  cache: {maxSize: 4096, ttl: 1h, clientTracking: false}
  pipeline: {maxSize: 1, flushPeriod: 2s, enabled: no}
  auth: {user: on, password: 1234}
  tls: {enabled: true, ca: /ca.crt, verify: off}
  timeout: {connect: 1s, socket: 2s, command: 3s}
  db: {state: 4, values: 5, rankings: 6, models: 7}",
    );
    assert_eq!((redis.port, redis.format), (6380, Format::Json));
    assert_eq!((redis.cache.max_size, redis.cache.ttl_given, redis.cache.client_tracking), (4096, true, false));
    assert_eq!((redis.pipeline.max_size, redis.pipeline.flush_period), (1, SECOND * 2));
    assert!(!redis.pipeline.enabled);
    assert_eq!(redis.user.as_deref(), Some("on"));
    assert_eq!(redis.password.expect("it was given").expose(), "1234");
    assert_eq!((redis.tls.enabled, redis.tls.ca, redis.tls.verify), (true, Some("/ca.crt".into()), Verify::Off));
    assert_eq!((redis.timeout.socket, redis.timeout.command), (SECOND * 2, SECOND * 3));
    assert_eq!((redis.db.state, redis.db.values, redis.db.rankings, redis.db.models), (4, 5, 6, 7));
}

#[test]
fn file_state_accepts_the_backends_of_upstream() {
    for keys in ["", ", backend: {type: mapdb}", ", backend: rocksdb", ", backend: {type: rocksdb, blockSize: 4096}"] {
        let State::File(file) = parse(&format!("state: {{type: file, path: /data{keys}}}")).state else { panic!() };
        assert_eq!((file.path, file.format), (PathBuf::from("/data"), Format::Binary), "{keys}");
    }
}

#[test]
fn click_through_stores_have_the_defaults_of_the_specification() {
    let train = |keys: &str| parse(&format!("train: {{{keys}}}")).train.expect("it was given");
    assert_eq!(train("type: discard"), ClickthroughStore::Discard);
    let file = ClickthroughStore::File { path: "/ct".into(), format: Format::Binary };
    assert_eq!(train("type: file, path: /ct"), file);
    let ClickthroughStore::Redis { redis, ttl } = train("type: redis, host: h, port: 1") else { panic!() };
    assert_eq!((redis.cache.max_size, ttl), (1024, DAY * 365));
    let expected = S3 {
        bucket: "b".into(),
        prefix: "p".into(),
        region: "r".into(),
        compress: Compression::Gzip,
        part_size_bytes: 10_485_760,
        part_size_events: 1024,
        part_interval: HOUR,
        endpoint: None,
        format: Format::Binary,
        cloud_key: None,
        cloud_key_secret: None,
    };
    assert_eq!(train("type: s3, bucket: b, prefix: p, region: r"), ClickthroughStore::S3(Box::new(expected.clone())));
    let full = "type: s3, bucket: b, prefix: p, region: r, compress: zst, partSizeBytes: 2000, partSizeEvents: 3, \
                partInterval: 4s, endpoint: 'http://minio:9000', format: json, cloudKey: k, cloudKeySecret: s";
    let given = S3 {
        compress: Compression::Zstd,
        part_size_bytes: 2000,
        part_size_events: 3,
        part_interval: SECOND * 4,
        endpoint: Some("http://minio:9000".into()),
        format: Format::Json,
        cloud_key: Some("k".into()),
        cloud_key_secret: Some("s".into()),
        ..expected
    };
    assert_eq!(train(full), ClickthroughStore::S3(Box::new(given)));
}

#[test]
fn sources_have_the_defaults_of_the_specification() {
    let source = |keys: &str| parse(&format!("source: {{{keys}}}")).source.expect("it was given");
    let file = source("type: file, path: /in");
    assert_eq!((file.offset, file.format), (Offset::Earliest, EventFormat::Json));
    assert_eq!(file.kind, SourceKind::File { path: Some("/in".into()), sort: FileOrder::Name });
    let sorted = source("type: file, path: /in, sort: time, offset: last=1d, format: 'snowplow:tsv'");
    assert_eq!((sorted.offset, sorted.format), (Offset::Last(DAY), EventFormat::SnowplowTsv));
    let SourceKind::Kafka { brokers, topic, group_id, options } =
        source("type: kafka, brokers: [a, b], topic: t, groupId: g, offset: latest, options: {x: 1}").kind
    else {
        panic!()
    };
    assert_eq!((brokers, topic.as_str(), group_id.as_str()), (vec!["a".to_owned(), "b".to_owned()], "t", "g"));
    assert_eq!(options.get("x").map(String::as_str), Some("1"));
    let pulsar =
        "type: pulsar, serviceUrl: 'pulsar://p:6650', adminUrl: 'http://p:8080', topic: t, subscriptionName: s";
    let SourceKind::Pulsar { subscription_type, .. } = source(pulsar).kind else { panic!() };
    assert_eq!(subscription_type, Subscription::Exclusive);
    let kinesis = SourceKind::Kinesis { region: "r".into(), topic: "t".into(), endpoint: None };
    assert_eq!(source("type: kinesis, region: r, topic: t").kind, kinesis);
    let endpoint = Some("http://localhost:4567".to_owned());
    let kinesis = SourceKind::Kinesis { region: "r".into(), topic: "t".into(), endpoint };
    assert_eq!(source("type: kinesis, region: r, topic: t, endpoint: 'http://localhost:4567'").kind, kinesis);
}

#[test]
fn features_have_the_defaults_of_the_specification() {
    let number = feature("{name: n, type: number, field: item.n}");
    assert_eq!((number.refresh, number.ttl), (Some(Duration::ZERO), DAY * 90));
    let given = feature("{name: n, type: number, field: item.n, refresh: 5s, ttl: 60 days}");
    assert_eq!((given.refresh, given.ttl), (Some(SECOND * 5), DAY * 60));
    let rate = feature("{name: r, type: rate, top: a, bottom: b, bucket: 1d, periods: [7]}");
    assert_eq!(rate.refresh, Some(HOUR));
    let Kind::Rate(Rate { scope, normalize, .. }) = rate.kind else { panic!() };
    assert_eq!((scope, normalize), (RateScope::Item, None));
    let rate = feature("{name: r, type: rate, top: a, bottom: b, bucket: 1d, periods: [7], normalize: {}}");
    let Kind::Rate(Rate { normalize: Some(10.0), .. }) = rate.kind else { panic!("{rate:?}") };
    let Kind::Vector(Vector { reduce, .. }) = feature("{name: v, type: vector, field: item.v}").kind else { panic!() };
    assert_eq!(reduce, [Reducer::Min, Reducer::Max, Reducer::Size, Reducer::Avg]);
    let Kind::Text(Text { encode, .. }) = feature("{name: s, type: string, field: item.s, values: [a]}").kind else {
        panic!()
    };
    assert_eq!(encode, Encoding::Index);
    let Kind::InteractedWith(InteractedWith { scope, count, duration, .. }) =
        feature("{name: i, type: interacted_with, interaction: click, field: item.x}").kind
    else {
        panic!()
    };
    assert_eq!((scope, count, duration), (Visitor::Session, 100, DAY));
    let Kind::InteractionCount(InteractionCount { scope, .. }) =
        feature("{name: i, type: interaction_count, interaction: c}").kind
    else {
        panic!()
    };
    assert_eq!(scope, Scope::Item);
    let Kind::Diversity(Diversity { top, .. }) = feature("{name: d, type: diversity, field: item.x}").kind else {
        panic!()
    };
    assert_eq!(top, None);
}

#[test]
fn field_matches_know_every_method() {
    let method = |keys: &str| {
        let definition =
            format!("{{name: f, type: field_match, rankingField: ranking.q, itemField: item.t, method: {{{keys}}}}}");
        let Kind::FieldMatch(found) = feature(&definition).kind else { panic!() };
        assert_eq!(found.distance, Distance::Cos);
        found.method
    };
    let text = str::to_owned;
    assert_eq!(
        method("type: bm25, language: english, termFreq: /tf.json"),
        MatchMethod::Bm25 { language: "en", term_freq: text("/tf.json") }
    );
    assert_eq!(
        method("type: ngram, language: no, n: 3"),
        MatchMethod::Ngram { language: "no", n: 3 },
        "a language, not false"
    );
    assert_eq!(
        method("type: ngram, language: false, \"false\": 3"),
        MatchMethod::Ngram { language: "no", n: 3 },
        "what kubectl makes of `n` and `no`"
    );
    assert_eq!(method("type: term, language: generic"), MatchMethod::Term { language: "generic" });
    assert_eq!(
        method("type: bi-encoder, dim: 384, model: a/b"),
        MatchMethod::BiEncoder {
            model: Some(TextModel { handle: text("a/b"), model_file: None, tokenizer_file: None }),
            dim: 384,
            item_field_cache: None,
            ranking_field_cache: None
        }
    );
    assert_eq!(
        method("type: cross-encoder, cache: /c.csv"),
        MatchMethod::CrossEncoder { model: None, cache: Some(text("/c.csv")) }
    );
}

#[test]
fn lambdamart_has_the_defaults_of_the_specification() {
    let Model::LambdaMart(model) = model("{type: lambdamart, weights: {click: 1}, features: [f]}") else { panic!() };
    let backend = &model.backend;
    assert_eq!((backend.booster, backend.iterations, backend.learning_rate), (Booster::XgBoost, 100, 0.1));
    assert_eq!((backend.ndcg_cutoff, backend.max_depth, backend.seed), (10, 8, None));
    assert_eq!((backend.sampling, backend.debias, backend.num_leaves), (0.8, false, 16));
    assert!(!backend.over_memory);
    assert_eq!(model.learning.selector, Selector::Accept(true));
    assert_eq!(model.split, Split { strategy: SplitStrategy::Time, ratio: 0.8 });
    assert_eq!(model.eval, [Metric::Ndcg(Some(10))]);
    assert_eq!((model.warmup, model.learning.version), (None, None));
    assert_eq!(
        (model.learning.gate.metric, model.learning.gate.margin, model.learning.keep_versions),
        (None, 0.01, 10)
    );
}

#[test]
fn every_key_of_lambdamart_is_read() {
    let definition = "{type: lambdamart, weights: {click: 1, on: 2.5}, features: [f], split: random=70%, \
                      eval: [MRR, MAP@5], version: v7, selector: {accept: false}, keepVersions: 3, \
                      qualityGate: {metric: MAP@5, margin: 0.2, weighted: true, arm: ranker=random, context: ranking.query}, \
                      warmup: {sampledRequests: 5, duration: 1s}, \
                      backend: {type: lightgbm, iterations: 1, learningRate: 0.2, ndcgCutoff: 3, maxDepth: 4, \
                      seed: 42, sampling: 1, debias: true, numLeaves: 32, overMemory: true}}";
    let Model::LambdaMart(model) = model(definition) else { panic!() };
    let backend = &model.backend;
    assert_eq!((backend.booster, backend.iterations, backend.learning_rate), (Booster::LightGbm, 1, 0.2));
    assert_eq!((backend.ndcg_cutoff, backend.max_depth, backend.seed), (3, 4, Some(42)));
    assert_eq!((backend.sampling, backend.debias, backend.num_leaves), (1.0, true, 32));
    assert!(backend.over_memory);
    assert_eq!(model.weights.get("on"), Some(&2.5));
    assert_eq!(model.split, Split { strategy: SplitStrategy::Random, ratio: 0.7 });
    assert_eq!(model.eval, [Metric::Mrr, Metric::Map(Some(5))]);
    let warmup = model.warmup.expect("it was given");
    assert_eq!((warmup.sampled_requests, warmup.duration), (5, SECOND));
    assert_eq!(model.learning.version.as_deref(), Some("v7"));
    assert_eq!(
        (model.learning.gate.metric, model.learning.gate.margin, model.learning.keep_versions),
        (Some(Metric::Map(Some(5))), 0.2, 3)
    );
    let arm = Arm { field: "ranker".to_owned(), randomized: Some("random".to_owned()) };
    let weighting = Weighting { arm: Some(arm), context: Some("query".to_owned()) };
    assert_eq!(model.learning.gate.weighting, Some(weighting));
    assert_eq!(model.learning.selector, Selector::Accept(false));
}

#[test]
fn the_other_models_have_the_defaults_of_the_specification() {
    assert_eq!(model("{type: noop}"), Model::Noop);
    assert_eq!(model("{type: shuffle, maxPositionChange: 5}"), Model::Shuffle { max_position_change: 5 });
    let Model::Als(als) = model("{type: als, interactions: [click]}") else { panic!() };
    assert_eq!((als.interactions, als.factors, als.iterations), (vec!["click".to_owned()], 100, 100));
    assert_eq!((als.user_reg, als.item_reg, als.seed, als.learning.keep_versions), (0.01, 0.01, 0, 10));
    assert!(!als.over_memory);
    let Model::Trending(trending) = model("{type: trending, weights: [{interaction: click}]}") else { panic!() };
    let weights = trending.weights;
    assert_eq!((weights[0].decay, weights[0].weight, weights[0].window), (1.0, 1.0, DAY * 30));
    let alone = Config::parse("inference: {c: {type: cross-encoder, model: a/b}}", "test").expect("is right").1;
    assert!(alone.is_empty(), "text models are enough: {alone:?}");
    let inference = parse("inference: {c: {type: cross-encoder, model: a/b}}").inference;
    let model = TextModel { handle: "a/b".to_owned(), model_file: None, tokenizer_file: None };
    assert_eq!(inference["c"], Inference { kind: InferenceKind::CrossEncoder, model, dim: None });
    let named = "{type: bi-encoder, model: 's3://b/p/', dim: 384, modelFile: m.onnx, tokenizerFile: t.json}";
    let inference = parse(&format!("inference: {{e: {named}}}")).inference;
    let (model_file, tokenizer_file) = (Some("m.onnx".to_owned()), Some("t.json".to_owned()));
    let model = TextModel { handle: "s3://b/p/".to_owned(), model_file, tokenizer_file };
    assert_eq!(inference["e"], Inference { kind: InferenceKind::BiEncoder, model, dim: Some(384) });
}

#[test]
fn a_semantic_model_has_texts_of_item_fields_or_a_file_of_embeddings() {
    let handle = |handle: &str| TextModel { handle: handle.to_owned(), model_file: None, tokenizer_file: None };
    let Model::Semantic(texts) =
        model("{type: semantic, encoder: {type: bert, model: a/b, dim: 3}, itemFields: [title, item.text]}")
    else {
        panic!()
    };
    assert_eq!(texts.encoder, Encoder::Bert { model: handle("a/b"), dim: 3 });
    assert_eq!((texts.item_fields.as_slice(), texts.ttl), (&["title".to_owned(), "text".to_owned()][..], DAY * 90));
    assert_eq!(texts.learning.keep_versions, 10);
    let Model::Semantic(csv) = model("{type: semantic, encoder: {type: csv, dim: 3, path: /e.csv}}") else { panic!() };
    assert_eq!(csv.encoder, Encoder::Csv { dim: 3, path: "/e.csv".to_owned() });
    assert!(csv.item_fields.is_empty());
    for name in ["transformer", "bi-encoder"] {
        let named = "encoder: {type: NAME, model: 'file:///m', modelFile: m.onnx, tokenizerFile: t.json, dim: 3}";
        let learning = "selector: {accept: false}, version: v7, keepVersions: 3, qualityGate: {margin: 0.2}";
        let named = named.replace("NAME", name);
        let Model::Semantic(all) =
            model(&format!("{{type: semantic, {named}, itemFields: title, ttl: 365d, {learning}}}"))
        else {
            panic!()
        };
        let (model_file, tokenizer_file) = (Some("m.onnx".to_owned()), Some("t.json".to_owned()));
        let model = TextModel { handle: "file:///m".to_owned(), model_file, tokenizer_file };
        assert_eq!(all.encoder, Encoder::Bert { model, dim: 3 });
        assert_eq!((all.item_fields, all.ttl), (vec!["title".to_owned()], DAY * 365));
        assert_eq!((all.learning.version.as_deref(), all.learning.keep_versions), (Some("v7"), 3));
        assert_eq!((all.learning.selector, all.learning.gate.margin), (Selector::Accept(false), 0.2));
    }
}

#[test]
fn every_key_of_the_recommenders_is_read() {
    let learning =
        "selector: {accept: false}, excludeSeen: true, version: v7, keepVersions: 3, qualityGate: {margin: 0.2}";
    let als = format!(
        "{{type: als, interactions: [click, buy], factors: 8, iterations: 5, userReg: 1, itemReg: 2, seed: 7, \
         overMemory: true, {learning}}}"
    );
    let Model::Als(als) = model(&als) else { panic!() };
    assert_eq!((als.factors, als.iterations, als.user_reg, als.item_reg, als.seed), (8, 5, 1.0, 2.0, 7));
    assert!(als.over_memory);
    let parts = "[{interaction: click, decay: 0.5, weight: 2, window: 7d}]";
    let Model::Trending(trending) = model(&format!("{{type: trending, weights: {parts}, {learning}}}")) else {
        panic!()
    };
    let part = &trending.weights[0];
    assert_eq!((part.decay, part.weight, part.window), (0.5, 2.0, DAY * 7));
    for learning in [als.learning, trending.learning] {
        assert_eq!((learning.selector, learning.version.as_deref()), (Selector::Accept(false), Some("v7")));
        assert_eq!((learning.gate.margin, learning.keep_versions), (0.2, 3));
        assert!(learning.exclude_seen.is_some());
    }
}

#[test]
fn recommenders_leave_out_what_a_visitor_took_where_they_are_asked_to() {
    let als = "type: als, interactions: [view, click, view]";
    let trending =
        "type: trending, weights: [{interaction: like}, {interaction: buy}, {interaction: like, window: 1d}]";
    let semantic = "type: semantic, encoder: {type: csv, dim: 3, path: /e.csv}, itemFields: [title]";
    let seen = |model: &str, value: &str| {
        let text = format!("models: {{m: {{{model}, excludeSeen: {value}}}}}");
        Config::parse(&text, "test")
            .map(|(config, _)| config.models["m"].exclude_seen().map(|seen| seen.interactions.join(" ")))
    };
    let cases: [(&str, &str, Option<&str>); 8] = [
        (als, "true", Some("click view")),
        (als, "false", None),
        (als, "", None),
        (als, "buy", Some("buy")),
        (als, "[like, buy, like]", Some("buy like")),
        (trending, "true", Some("buy like")),
        (trending, "[purchase]", Some("purchase")),
        (trending, "no", None),
    ];
    for (model, value, expected) in cases {
        assert_eq!(seen(model, value).expect("is right").as_deref(), expected, "{model} {value}");
    }
    for wrong in ["[]", "{click: 1}", "[[a]]"] {
        assert!(seen(als, wrong).is_err(), "{wrong}");
    }
    let ranks = "type: lambdamart, weights: {click: 1}, features: [p]";
    let text =
        format!("features: [{{name: p, type: position, position: 1}}]\nmodels: {{m: {{{ranks}, excludeSeen: true}}}}");
    assert!(Config::parse(&text, "test").expect_err("it ranks").to_string().contains("unknown key `excludeSeen`"));
    assert!(seen(semantic, "true").is_ok());
    let two =
        format!("models: {{a: {{{als}, excludeSeen: true}}, b: {{{als}, excludeSeen: [view, click]}}, c: {{{als}}}}}");
    let config = parse(&two);
    let seen: Vec<_> = config.seen().into_iter().map(|seen| seen.interactions.join(" ")).collect();
    assert_eq!(seen, ["click view"], "both leave out the same");
}

#[test]
fn selectors_nest() {
    let definition = "{and: [{rankingField: ranking.source, value: search}, {ratio: 0.5}, \
                      {or: [{minInteractionPosition: 1, maxInteractionPosition: 9}, {minItems: 2}]}, \
                      {not: {accept: no}}]}";
    let expected = Selector::And(vec![
        Selector::Field { ranking_field: "source".to_owned(), values: vec!["search".to_owned()] },
        Selector::Sampling(0.5),
        Selector::Or(vec![
            Selector::InteractionPosition { min: Some(1), max: Some(9) },
            Selector::Length { min: Some(2), max: None },
        ]),
        Selector::Not(Box::new(Selector::Accept(false))),
    ]);
    let selector = |text: &str| {
        let definition = format!("{{type: lambdamart, weights: {{click: 1}}, features: [f], selector: {text}}}");
        let Model::LambdaMart(model) = model(&definition) else { panic!("{definition}") };
        model.learning.selector
    };
    assert_eq!(selector(definition), expected);
    let values = ["search", "mail"].map(str::to_owned).to_vec();
    let either = Selector::Field { ranking_field: "source".to_owned(), values };
    assert_eq!(selector("{rankingField: source, value: [search, mail]}"), either);
}

#[test]
fn numbers_and_booleans_may_stand_in_quotes() {
    let (config, _) =
        Config::parse("api: {port: '81'}\ncore: {tracking: {analytics: \"off\", errors: 'true'}}", "test")
            .expect("a valid configuration");
    assert_eq!((config.api.port, config.core.tracking.analytics, config.core.tracking.errors), (81, false, true));
}
