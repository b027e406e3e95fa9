//! What configurations of the upstream service say: it is done, or ignored with a warning that names it.

use rankwright_config::model::{LambdaMart, SplitField};
use rankwright_config::state::Databases;
use rankwright_config::train::{Compression, S3};
use rankwright_config::{ClickthroughStore, Config, Model, SourceKind};
use std::time::Duration;

fn parse(text: &str) -> (Config, Vec<String>) {
    let (config, warnings) = Config::parse(text, "test.yml").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    (config, warnings.iter().filter(|warning| !warning.path.is_empty()).map(ToString::to_string).collect())
}

fn lambdamart(keys: &str) -> (LambdaMart, Vec<String>) {
    let text = format!(
        "features: [{{name: f, type: position, position: 1}}]\nmodels: {{m: {{type: lambdamart, features: [f], {keys}}}}}"
    );
    let (mut config, warnings) = parse(&text);
    match config.models.remove("m") {
        Some(Model::LambdaMart(model)) => (model, warnings),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_has_no_meaning_here_is_ignored_with_one_warning_that_names_it() {
    let (s3, kinesis) = ("type: s3, bucket: b, prefix: p, region: r", "type: kinesis, region: r, topic: t");
    for (text, path) in [
        ("items: [{name: price, type: number}]", "items"),
        ("interactions: [{name: click}]", "interactions"),
        ("api: {analytics: true}", "api.analytics"),
        ("core: {import: {cache: {enabled: true, size: 65536}}}", "core.import.cache"),
        ("core: {tracking: {anonymous: true}}", "core.tracking.anonymous"),
        ("state: {type: memory, cache: {maxSize: 10}}", "state.cache"),
        ("state: {type: file, path: /s, whenExists: overwrite}", "state.whenExists"),
        ("train: {type: file, path: /t, whenExists: append}", "train.whenExists"),
        ("state: {type: file, path: /s, backend: {type: rocksdb, lruCacheSize: 1}}", "state.backend"),
        ("state: {type: file, path: /s, backend: mapdb}", "state.backend"),
        (&format!("source: {{{kinesis}, skipCertVerification: true}}"), "source.skipCertVerification"),
        (&format!("source: {{{kinesis}, getRecordsPeriod: 200ms}}"), "source.getRecordsPeriod"),
        (&format!("input: {{{kinesis}, sleepOnEmptyPeriod: 1s}}"), "input.sleepOnEmptyPeriod"),
        ("models: {m: {type: noop, split: time=80%}}", "models.m.split"),
        ("models: {m: {type: noop, selector: {accept: true}}}", "models.m.selector"),
        ("models: {m: {type: shuffle, maxPositionChange: 1, split: random}}", "models.m.split"),
        ("models: {m: {type: als, interactions: [c], split: random}}", "models.m.split"),
        ("models: {m: {type: shuffle, maxPositionChange: 1, selector: {accept: true}}}", "models.m.selector"),
        ("models: {m: {type: trending, weights: [{interaction: c}], split: random}}", "models.m.split"),
        (
            "models: {m: {type: semantic, encoder: {type: csv, dim: 2, path: /e}, itemFields: [t]}}",
            "models.m.itemFields",
        ),
        ("models: {m: {type: semantic, encoder: {type: csv, dim: 2, path: /e}, ttl: 1d}}", "models.m.ttl"),
        (
            "models: {m: {type: semantic, encoder: {type: bert, dim: 2, model: a/b, vocabFile: v.txt}, itemFields: [t]}}",
            "models.m.encoder.vocabFile",
        ),
        ("inference: {c: {type: cross-encoder, model: a/b, dim: 384}}", "inference.c.dim"),
        (
            "features: [{name: m, type: field_match, rankingField: ranking.q, itemField: item.t, \
             method: {type: cross-encoder, model: a/b, dim: 384}}]",
            "features[0].method.dim",
        ),
    ] {
        let (key, (_, warnings)) = (path.rsplit('.').next().unwrap_or(path), parse(text));
        let [warning] = warnings.as_slice() else { panic!("{text}: {warnings:?}") };
        assert!(warning.starts_with(&format!("line 1: {path}: {key} is ignored: ")), "{warning}");
    }
    assert_eq!(parse(&format!("train: {{{s3}}}\nstate: {{type: memory}}")).1, Vec::<String>::new());
}

#[test]
fn an_ignored_key_is_never_suggested_and_known_in_its_own_section_alone() {
    for (text, nearest) in [("itemss: []", None), ("state: {type: memory, whenExists: x}", None), ("itmes: 1", None)] {
        let errors = Config::parse(text, "test.yml").expect_err("has a mistake");
        let [mistake] = errors.mistakes() else { panic!("{errors}") };
        assert!(mistake.problem.starts_with("unknown key"), "{errors}");
        assert_eq!(mistake.nearest.as_deref(), nearest, "{errors}");
        assert!(!errors.to_string().contains("interactions"), "{errors}");
    }
}

#[test]
fn input_is_the_former_name_of_source() {
    let kafka = "{type: kafka, brokers: [b], topic: t, groupId: g}";
    assert_eq!(parse(&format!("input: {kafka}")), parse(&format!("source: {kafka}")));
    let errors = Config::parse(&format!("input: {kafka}\nsource: {kafka}"), "test.yml").expect_err("is given twice");
    assert!(errors.to_string().contains("`source` and `input` are the same setting, given twice"), "{errors}");
}

#[test]
fn a_source_of_files_needs_no_path_as_an_argument_may_name_it() {
    let source = parse("source: {type: file, offset: earliest}").0.source.expect("is given");
    assert!(matches!(source.kind, SourceKind::File { path: None, .. }), "{source:?}");
}

#[test]
fn the_time_of_a_request_has_two_names() {
    let timeout = |text: &str| parse(text).0.api.limits.request_timeout;
    assert_eq!(timeout("api: {timeout: 60s}"), Duration::from_secs(60));
    assert_eq!(timeout("api: {timeout: 60s, limits: {maxBodyBytes: 2048}}"), Duration::from_secs(60));
    assert_eq!(timeout("api: {timeout: 60s, limits: {requestTimeout: 5s}}"), Duration::from_secs(5));
    assert_eq!(timeout("api: {}"), Duration::from_secs(30));
}

#[test]
fn click_throughs_in_redis_take_one_database() {
    let db = |db: &str| match parse(&format!("train: {{type: redis, host: h, port: 1, db: {db}}}")).0.train {
        Some(ClickthroughStore::Redis { redis, .. }) => redis.db,
        other => panic!("{other:?}"),
    };
    assert_eq!(db("7"), Databases { rankings: 7, ..Databases::default() });
    assert_eq!(db("{rankings: 7, models: 9}"), Databases { rankings: 7, models: 9, ..Databases::default() });
    let errors = Config::parse("state: {type: redis, host: h, port: 1, db: 2}", "test.yml").expect_err("has several");
    assert_eq!(errors.mistakes()[0].path, "state.db");
}

#[test]
fn keys_of_buckets_have_their_former_names() {
    let s3 = |keys: &str| match parse(&format!("train: {{type: s3, bucket: b, prefix: p, region: r, {keys}}}")).0.train
    {
        Some(ClickthroughStore::S3(s3)) => *s3,
        other => panic!("{other:?}"),
    };
    let expected = S3 {
        part_size_bytes: 2000,
        part_size_events: 3,
        cloud_key: Some("k".into()),
        cloud_key_secret: Some("s".into()),
        compress: Compression::Zstd,
        ..s3("compress: gzip")
    };
    for (sizes, key, secret, compress) in [
        ("partSize", "cloudKey", "cloudKeySecret", "zst"),
        ("batchSize", "awsKey", "awsKeySecret", "zstd"),
        ("batchSize", "key", "secret", "zstd"),
    ] {
        let sizes = format!("{sizes}Bytes: 2000, {sizes}Events: 3");
        assert_eq!(s3(&format!("{sizes}, {key}: k, {secret}: s, compress: {compress}")), expected);
    }
    assert_eq!(s3("compress: gz").compress, Compression::Gzip);
    let twice = "train: {type: s3, bucket: b, prefix: p, region: r, awsKey: hunter2, key: hunter2}";
    let errors = Config::parse(twice, "test.yml").expect_err("is given twice").to_string();
    assert!(errors.contains("`awsKey` and `key` are the same setting") && !errors.contains("hunter2"), "{errors}");
}

#[test]
fn a_model_without_weights_learns_from_labels_alone_and_says_so() {
    for (keys, path) in [("weights: {}", "models.m.weights"), ("eval: [MRR]", "models.m")] {
        let (model, warnings) = lambdamart(keys);
        assert!(model.weights.is_empty());
        let expected = format!("line 2: {path}: no weights are given: the model learns from labels");
        assert!(matches!(warnings.as_slice(), [warning] if warning.starts_with(&expected)), "{warnings:?}");
    }
}

#[test]
fn a_ranking_field_may_split() {
    let (model, warnings) = lambdamart("weights: {c: 1}, split: 'field=split:train:test'");
    let [name, train, test] = ["split", "train", "test"].map(str::to_owned);
    assert_eq!((model.split.field(), warnings.len()), (Some(&SplitField { name, train, test }), 0));
}

#[test]
fn boosters_take_fast_rates_and_trees_of_any_depth() {
    let backend = |keys: &str| lambdamart(&format!("weights: {{c: 50}}, backend: {{{keys}}}")).0.backend;
    for booster in ["xgboost", "lightgbm"] {
        assert_eq!(backend(&format!("type: {booster}, learningRate: 1.5")).learning_rate, 1.5);
    }
    for unlimited in ["lightgbm, maxDepth: -1", "lightgbm, maxDepth: 0", "xgboost, maxDepth: 0"] {
        assert_eq!(backend(&format!("type: {unlimited}")).max_depth, 0);
    }
    let text = "models: {m: {type: lambdamart, features: [f], weights: {c: 1}, backend: {type: xgboost, maxDepth: -1}}}\nfeatures: [{name: f, type: relevancy}]";
    let errors = Config::parse(text, "test.yml").expect_err("XGBoost takes none below 0").to_string();
    assert!(errors.contains("maxDepth"), "{errors}");
}

#[test]
fn a_value_may_be_one_that_is_never_kept() {
    let (config, warnings) = parse("features: [{name: f, type: number, field: item.a, ttl: 0s}]");
    assert_eq!(config.features[0].ttl, Duration::ZERO);
    assert!(
        matches!(warnings.as_slice(), [warning] if warning.contains("features[0].ttl: nothing is kept")),
        "{warnings:?}"
    );
}

#[test]
fn keys_of_what_comes_later_are_checked_and_accepted() {
    let text = "
features:
  - {name: t, type: field_match, rankingField: ranking.q, itemField: item.t, distance: cosine,
     method: {type: bi-encoder, model: a/b, dim: 384, modelFile: m.onnx, vocabFile: vocab.txt}}
models:
  similar: {type: als, interactions: [c], userReg: 0.01, itemReg: 0.02, store: {type: hnsw, m: 32, ef: 200}, selector: {accept: true}}
  trend: {type: trending, weights: [{interaction: c}], selector: {minItems: 2}}
  alike:
    type: semantic
    encoder: {type: transformer, model: a/b, dim: 384, tokenizerFile: t.json}
    itemFields: [title]
    store: {type: qdrant, endpoint: 'http://localhost:6333', collection: c, size: 384, distance: Cosine}
inference:
  words: {type: bi-encoder, model: a/b, dim: 384, vocabFile: vocab.txt, cache: /c.csv}";
    let (config, warnings) = parse(text);
    assert_eq!(config.features, parse(&text.replace("cosine", "cos")).0.features);
    let ignored = [
        "features[0].method.vocabFile: vocabFile is ignored",
        "similar.store: store is ignored",
        "alike.store: store is ignored",
        "words.cache: cache is ignored",
        "words.vocabFile: vocabFile is ignored",
    ];
    assert_eq!(warnings.len(), ignored.len(), "{warnings:?}");
    assert!(ignored.iter().zip(&warnings).all(|(ignored, warning)| warning.contains(ignored)), "{warnings:?}");
    for (right, wrong, path) in [
        ("userReg: 0.01", "userReg: low", "models.similar.userReg"),
        ("type: hnsw, m: 32", "type: hnsw, n: 32", "models.similar.store.n"),
        ("collection: c, ", "", "models.alike.store"),
        ("minItems: 2", "minItems: x", "models.trend.selector.minItems"),
        ("dim: 384, vocabFile: vocab.txt, cache", "dim: x, vocabFile: vocab.txt, cache", "inference.words.dim"),
    ] {
        let errors = Config::parse(&text.replacen(right, wrong, 1), "test.yml").expect_err("is wrong");
        assert_eq!(errors.mistakes()[0].path, path, "{errors}");
    }
}

#[test]
fn a_bi_encoder_goes_by_its_other_names_wherever_it_is_named() {
    for name in ["bi-encoder", "transformer", "bert"] {
        let text = format!(
            "
inference: {{words: {{type: {name}, model: a/b}}}}
features:
  - {{name: t, type: field_match, rankingField: ranking.q, itemField: item.t, method: {{type: {name}, model: a/b, dim: 384}}}}
models:
  alike: {{type: semantic, encoder: {{type: {name}, model: a/b, dim: 384}}, itemFields: [title]}}"
        );
        let (config, warnings) = parse(&text);
        assert_eq!(config.inference["words"].kind, rankwright_config::InferenceKind::BiEncoder);
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

#[test]
fn options_of_pulsar_that_are_mappings_for_the_java_client_are_taken() {
    let text = "source:
  type: pulsar
  serviceUrl: pulsar://p:6650
  adminUrl: http://p:8080
  topic: t
  subscriptionName: s
  options:
    batchReceivePolicy: {maxNumMessages: 10}
    topicNames: [a, b]
    socks5ProxyAddress: proxy:1080
    receiverQueueSize: 5";
    let Some(SourceKind::Pulsar { options, .. }) = parse(text).0.source.map(|source| source.kind) else {
        panic!("a source of type pulsar")
    };
    let options: Vec<(&str, &str)> = options.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(
        options,
        [
            ("batchReceivePolicy", ""),
            ("receiverQueueSize", "5"),
            ("socks5ProxyAddress", "proxy:1080"),
            ("topicNames", "")
        ]
    );
    let wrong = text.replace("receiverQueueSize: 5", "receiverQueueSize: {a: 5}");
    let errors = Config::parse(&wrong, "test.yml").expect_err("a number is no mapping");
    assert_eq!(errors.mistakes()[0].path, "source.options.receiverQueueSize", "{errors}");
}
