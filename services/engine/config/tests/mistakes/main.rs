//! What authors see of their mistakes.

#![allow(clippy::expect_used)]

mod keys;
mod text;

use rankwright_config::{Config, Errors};

fn errors(text: &str) -> Errors {
    Config::parse(text, "config.yml").expect_err("the text has mistakes")
}

/// The problem and hint of the only mistake of a text.
fn only(text: &str) -> (String, String, Option<String>) {
    let errors = errors(text);
    let [mistake] = errors.mistakes() else { panic!("{errors}") };
    (mistake.path.clone(), mistake.problem.clone(), mistake.nearest.clone())
}

fn feature(keys: &str) -> (String, String, Option<String>) {
    only(&format!("features: [{{name: f, {keys}}}]"))
}

fn lambdamart(keys: &str) -> (String, String, Option<String>) {
    only(&format!(
        "features: [{{name: price, type: position, position: 1}}]\nmodels: {{m: {{type: lambdamart, {keys}}}}}"
    ))
}

#[test]
fn a_feature_whose_columns_are_wrong_is_one_mistake_of_its_own_and_none_of_its_model() {
    let of = |definition: &str| {
        let model = "models: {m: {type: lambdamart, weights: {click: 1}, features: [f]}}";
        errors(&format!("features: [{{name: f, {definition}}}]\n{model}")).mistakes().len()
    };
    assert_eq!(of("type: interacted_with, interaction: click, field: [interaction:click.foo]"), 1);
    assert_eq!(of("type: rate, top: a, bottom: b, bucket: 1d, periods: {a: b}"), 1);
    assert_eq!(of("type: vector, field: item.sizes, reduce: [smallest]"), 1);
}

#[test]
fn all_mistakes_come_at_once_each_with_its_place() {
    let text = "\
modls: {}
state: {type: reddis}
features:
  - name: price
    type: numbr
  - name: ctr
    type: rate
    top: click
    bottom: impression
    bucket: 1 fortnight
    perods: [7, 30]
  - name: price
    type: number
    field: price
models:
  m:
    type: lambdamart
    weights: {click: high}
    features: [prce, ctr]
";
    let expected = "\
config.yml: 12 mistakes

config.yml:1:1  modls
    unknown key `modls`
    accepted: features, state, train, models, inference, api, source, input, core
    did you mean `models`?

config.yml:2:8  state
    `host` is missing
    accepted: the server's name or address

config.yml:2:8  state
    `port` is missing
    accepted: the server's port, usually 6379

config.yml:2:15  state.type
    unknown state type `reddis`
    accepted: memory, redis, file
    did you mean `redis`?

config.yml:4:5  features[0]
    `field` is missing
    accepted: item.<field>, user.<field>, ranking.<field>

config.yml:5:11  features[0].type
    unknown feature type `numbr`
    accepted: number, boolean, vector, string, word_count, list_size, time_diff, field_match, ua,
              interacted_with, referer, relevancy, position, diversity, interaction_count, window_count,
              rate, local_time, item_age, random
    did you mean `number`?

config.yml:10:13  features[1].bucket
    found `1 fortnight`
    accepted: a duration such as 500ms, 30s, 1h30m, 24h, 90d or 60 days

config.yml:11:5  features[1].perods
    unknown key `perods`
    accepted: name, refresh, ttl, type, top, bottom, bucket, bucket_size, periods, windows, scope,
              normalize
    did you mean `periods`?

config.yml:12:11  features[2].name
    the name `price` is taken by the feature in line 4
    accepted: a unique name

config.yml:14:12  features[2].field
    `price` does not say whose field it is
    accepted: item.<field>, user.<field>, ranking.<field>
    did you mean `item.price`?

config.yml:18:22  models.m.weights.click
    found `high`
    accepted: a number

config.yml:19:16  models.m.features[0]
    the feature `prce` is not defined
    accepted: ctr, price
    did you mean `price`?";
    assert_eq!(errors(text).to_string(), expected);
}

#[test]
fn columns_of_one_name_are_told_all_at_once() {
    let text = "features:
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 24h, periods: [7, 7]}
  - {name: ctr_7, type: number, field: item.a}
  - {name: v, type: vector, field: item.v, reduce: [min, vector2, vector2]}
  - {name: i, type: interacted_with, interaction: click, scope: session, field: [item.a, item.a]}
  - {name: fine, type: string, field: item.s, encode: index, values: [a, b]}
models: {n: {type: noop}}
";
    let errors = errors(text);
    let told: Vec<_> = errors
        .mistakes()
        .iter()
        .map(|mistake| (mistake.line, mistake.path.as_str(), mistake.problem.as_str()))
        .collect();
    let twice = |column: &str| format!("the column `{column}` comes twice: a value is listed twice");
    assert_eq!(
        told,
        [
            (2, "features[0]", twice("ctr_7").as_str()),
            (3, "features[1]", "the feature has a column `ctr_7`, as `ctr` has"),
            (4, "features[2]", twice("v_vector2_0").as_str()),
            (5, "features[3]", twice("i_a").as_str()),
        ]
    );
}

#[test]
fn servers_of_redis_go_together() {
    for (text, path, problem) in [
        ("{mode: sharded, host: h, port: 1}", "state.mode", "unknown mode `sharded`"),
        ("{nodes: [h:1]}", "state.nodes", "a standalone server has no nodes"),
        ("{mode: cluster}", "state", "`host` is missing"),
        ("{mode: cluster, nodes: []}", "state.nodes", "found an empty list"),
        ("{mode: cluster, nodes: [h]}", "state.nodes[0]", "found `h`"),
        ("{mode: cluster, nodes: [h:1, 'h:0']}", "state.nodes[1]", "found `h:0`"),
        ("{mode: cluster, nodes: [h:1], host: h}", "state.host", "`nodes` takes the place of `host` and `port`"),
        ("{mode: sentinel, nodes: [h:1]}", "state", "`sentinel` is missing"),
        ("{mode: sentinel, nodes: [h:1], sentinel: {user: u}}", "state.sentinel", "`master` is missing"),
        (
            "{mode: sentinel, nodes: [h:1], sentinel: {master: m, pasword: p}}",
            "state.sentinel.pasword",
            "unknown key `pasword`",
        ),
        (
            "{mode: cluster, nodes: [h:1], sentinel: {master: m}}",
            "state.sentinel",
            "there are sentinels in the mode sentinel alone",
        ),
    ] {
        let found = errors(&format!("state: {}", text.replacen('{', "{type: redis, ", 1)));
        let first = &found.mistakes()[0];
        assert_eq!((first.path.as_str(), first.problem.as_str()), (path, problem), "{text}: {found}");
    }
    let all = errors("state: {type: redis, mode: sentinel, nodes: [h, 'i:x'], host: h, sentinel: {}}");
    assert_eq!(all.mistakes().len(), 4, "{all}");
}

#[test]
fn databases_of_a_cluster_are_answered_with_a_warning() {
    let text = "state: {type: redis, mode: cluster, nodes: [h:1], db: {state: 1}}";
    let (_, warnings) = Config::parse(text, "config.yml").expect("is no mistake");
    let said = warnings.iter().find(|warning| warning.path == "state.db").expect("is worth a word");
    assert!(said.message.contains("a cluster has one database"), "{}", said.message);
}

#[test]
fn values_are_of_their_type_and_range() {
    for (text, problem) in [
        ("api: {port: 65536}", "found `65536`"),
        ("api: {port: eighty}", "found `eighty`"),
        ("api: {port: 8080.5}", "found `8080.5`"),
        ("api: {host: [a]}", "found a list"),
        ("api: {host: ''}", "found an empty text"),
        ("api: {token: ' '}", "found ` `"),
        ("api: {limits: {maxConnections: 0}}", "found `0`"),
        ("api: {cors: {allowedOrigins: [shop.example]}}", "found `shop.example`"),
        ("api: {cors: {allowedOrigins: ['https://shop.example/path']}}", "found `https://shop.example/path`"),
        ("api: {cors: {allowedOrigins: ['https://']}}", "found `https://`"),
        ("api: {page: {sample: 1001}}", "found `1001`"),
        ("api: {page: {imageOrigins: ['https://a;b']}}", "found `https://a;b`"),
        ("core: {tracking: {analytics: 'maybe'}}", "found `maybe`"),
        ("core: {clickthrough: {maxSessionLength: 0s}}", "found `0s`"),
        ("core: {clickthrough: {maxSessionLength: 30}}", "found `30`"),
        ("state: {type: redis, host: h, port: 1, tls: {verify: no}}", "unknown verification `no`"),
        ("source: {type: file, path: /in, offset: yesterday}", "found `yesterday`"),
        ("source: {type: pulsar, serviceUrl: p, adminUrl: 'http://a', topic: t, subscriptionName: s}", "found `p`"),
        ("inference: {e: {type: bi-encoder, model: bert}}", "found `bert`"),
        ("models: {a/b: {type: noop}}", "the name of this model cannot stand in a path"),
        ("models: {m: {type: trending, weights: [{interaction: c}], selector: {ratio: 1.5}}}", "found `1.5`"),
        ("models: {m: {type: als, interactions: [c], selector: {}}}", "found a selector without keys"),
        (
            "models: {m: {type: als, interactions: [c], selector: {ratio: 1, accept: true}}}",
            "this is more than one selector",
        ),
        (
            "models: {m: {type: als, interactions: [c], selector: {minItems: 5, maxItems: 2}}}",
            "2 is less than `minItems`, which is 5",
        ),
        ("models: {m: {type: als, interactions: []}}", "found an empty list"),
    ] {
        assert_eq!(only(text).1, problem, "{text}");
    }
}

#[test]
fn features_are_checked_key_by_key() {
    for (keys, path, problem, nearest) in [
        (
            "type: relative_number, field: item.a",
            "type",
            "the feature type `relative_number` no longer exists",
            Some("`number`"),
        ),
        (
            "type: window_events, interaction: c, bucket_size: 1d, windows: [1]",
            "type",
            "unknown feature type `window_events`",
            Some("`window_count`"),
        ),
        (
            "type: item_rate, top: a, bottom: b, bucket: 1d, periods: [7]",
            "type",
            "unknown feature type `item_rate`",
            Some("`item_age`"),
        ),
        ("type: number", "", "`field` is missing", None),
        ("type: number, field: items.price", "field", "unknown owner `items` of field `price`", Some("`item.price`")),
        ("type: number, field: item.", "field", "`item.` does not say whose field it is", None),
        ("type: number, field: interaction.x", "field", "fields of interactions cannot be used here", None),
        ("type: diversity, field: user.x", "field", "fields of users cannot be used here", None),
        (
            "type: number, field: item.a, source: item.b",
            "source",
            "`field` and `source` are the same setting, and differ",
            None,
        ),
        ("type: number, field: item.a, scope: itm", "scope", "unknown scope `itm`", Some("`item`")),
        ("type: referer, source: user.r, scope: item", "scope", "unknown scope `item`", None),
        (
            "type: rate, top: a, bottom: b, bucket: 1d, periods: [1], scope: user",
            "scope",
            "unsupported scope `user` of a rate",
            None,
        ),
        ("type: rate, top: a, bottom: b, bucket: 1d, periods: [1, 0]", "periods[1]", "found `0`", None),
        (
            "type: rate, top: a, bottom: b, bucket: 1d, bucket_size: 2d, periods: [1]",
            "bucket_size",
            "`bucket` and `bucket_size` are the same setting, given twice",
            None,
        ),
        ("type: string, field: item.a, values: []", "values", "found an empty list", None),
        (
            "type: string, field: item.a, values: [a], encode: one_hot",
            "encode",
            "unknown encoding `one_hot`",
            Some("`onehot`"),
        ),
        ("type: vector, field: item.a, reduce: [vector0]", "reduce[0]", "unknown reducer `vector0`", None),
        ("type: vector, field: item.a, reduce: [maximum]", "reduce[0]", "unknown reducer `maximum`", None),
        (
            "type: local_time, parse: day_of_weak",
            "parse",
            "unknown part of a date and time `day_of_weak`",
            Some("`day_of_week`"),
        ),
        ("type: position, position: -1", "position", "found `-1`", None),
        ("type: number, field: item.a, ttl: 10", "ttl", "found `10`", Some("`10s`")),
        ("type: ua, source: item.ua, field: os", "source", "fields of items cannot be used here", None),
    ] {
        let path = if path.is_empty() { "features[0]".to_owned() } else { format!("features[0].{path}") };
        assert_eq!(feature(keys), (path, problem.to_owned(), nearest.map(str::to_owned)), "{keys}");
    }
}

#[test]
fn models_are_checked_key_by_key() {
    for (keys, path, problem, nearest) in [
        ("weights: {c: 1}", "", "`features` is missing", None),
        ("weights: [c], features: [price]", "weights", "found a list", None),
        ("weights: {c: 1}, features: []", "features", "found an empty list", None),
        ("weights: {c: 1}, features: [prise]", "features[0]", "the feature `prise` is not defined", Some("`price`")),
        ("weights: {c: 1}, features: [price, price]", "features[1]", "the feature `price` is listed twice", None),
        ("weights: {c: 1}, features: [price], split: tiem", "split", "found `tiem`", None),
        ("weights: {c: 1}, features: [price], eval: [NDGC]", "eval[0]", "found `NDGC`", None),
        (
            "weights: {c: 1}, features: [price], backend: xgbost",
            "backend",
            "unknown backend `xgbost`",
            Some("`xgboost`"),
        ),
        (
            "weights: {c: 1}, features: [price], backend: {type: xgboost, sampling: 0}",
            "backend.sampling",
            "found `0`",
            None,
        ),
        ("wieghts: {c: 1}, features: [price]", "wieghts", "unknown key `wieghts`", Some("`weights`")),
    ] {
        let path = if path.is_empty() { "models.m".to_owned() } else { format!("models.m.{path}") };
        assert_eq!(lambdamart(keys), (path, problem.to_owned(), nearest.map(str::to_owned)), "{keys}");
    }
}

#[test]
fn of_many_unknown_names_the_first_hundred_get_a_hint() {
    let listed: Vec<String> = (0..150).map(|number| format!("a_name_of_some_length_{number}")).collect();
    let errors = errors(&format!(
        "features: [{{name: a_name_of_some_length, type: position, position: 1}}]\n\
         models: {{m: {{type: lambdamart, weights: {{c: 1}}, features: [{}]}}}}",
        listed.join(", ")
    ));
    let hints: Vec<bool> = errors.mistakes().iter().map(|mistake| mistake.nearest.is_some()).collect();
    assert_eq!(hints, (0..150).map(|place| place < 100).collect::<Vec<_>>());
}

#[test]
fn a_feature_that_is_wrong_itself_is_not_reported_as_undefined() {
    let (path, _, _) = only(
        "features: [{name: f, type: number, field: price}]\n\
         models: {m: {type: lambdamart, weights: {c: 1}, features: [f]}}",
    );
    assert_eq!(path, "features[0].field");
}

#[test]
fn a_secret_never_shows_in_a_message() {
    let text = "state: {type: redis, host: h, port: 1, auth: {password: hunter2, passwort: hunter2}}\n\
                api: {token: [hunter2], tokn: hunter2}";
    let shown = errors(text).to_string();
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_quality_gate_counts_a_metric_that_the_model_reports() {
    let (path, problem, _) = lambdamart("weights: {click: 1}, features: [price], qualityGate: {metric: MRR}");
    assert_eq!((path.as_str(), problem.as_str()), ("models.m.qualityGate.metric", "found `MRR`"));
    let (path, ..) = lambdamart("weights: {click: 1}, features: [price], qualityGate: {margin: -1}");
    assert_eq!(path, "models.m.qualityGate.margin");
}

#[test]
fn a_quality_gate_that_weighs_clicks_says_so_and_belongs_to_a_model_that_ranks() {
    let gate = |gate: &str| lambdamart(&format!("weights: {{click: 1}}, features: [price], qualityGate: {{{gate}}}"));
    let (path, problem, _) = gate("arm: ranker");
    assert_eq!(path, "models.m.qualityGate.arm");
    assert_eq!(problem, "`arm` does nothing without `weighted: true`");
    assert_eq!(gate("weighted: false, context: query").0, "models.m.qualityGate.context");
    assert_eq!(gate("weighted: maybe").0, "models.m.qualityGate.weighted");
    assert_eq!(gate("weighted: true, arm: 'ranker='").0, "models.m.qualityGate.arm");
    let (path, problem, _) = only("models: {m: {type: als, interactions: [click], qualityGate: {weighted: true}}}");
    assert_eq!(path, "models.m.qualityGate.weighted");
    assert!(problem.contains("no positions"), "{problem}");
}

#[test]
fn dead_letters_go_to_a_file_or_to_a_topic_of_kafka() {
    let source = |keys: &str| only(&format!("source: {{{keys}}}")).0;
    let kafka = "type: kafka, brokers: [b], topic: t, groupId: g";
    assert_eq!(source(&format!("{kafka}, deadLetter: {{}}")), "source.deadLetter");
    assert_eq!(source(&format!("{kafka}, deadLetter: {{path: p, topic: t}}")), "source.deadLetter");
    assert_eq!(source(&format!("{kafka}, deadLetter: {{topic: t}}")), "source.deadLetter.topic");
    assert_eq!(source("type: kinesis, region: r, topic: t, deadLetter: {topic: d}"), "source.deadLetter.topic");
    assert_eq!(source("type: file, path: p, deadLetter: {path: d}"), "source.deadLetter");
}

#[test]
fn an_encrypted_port_needs_certificate_and_key() {
    assert_eq!(only("api: {tls: {cert: c.pem}}").0, "api.tls");
    assert!(Config::parse("api: {tls: {cert: c.pem, key: k.pem}}", "test").is_ok());
}

#[test]
fn a_name_of_a_model_is_one_that_a_file_can_have() {
    let (path, problem, _) = only(&format!("models: {{{}: {{type: noop}}}}", "m".repeat(81)));
    assert!(path.starts_with("models.mmm") && problem.contains("too long"), "{path}: {problem}");
    assert!(Config::parse(&format!("models: {{{}: {{type: noop}}}}", "m".repeat(80)), "test").is_ok());
}

#[test]
fn credentials_in_a_url_are_refused_and_not_told() {
    let bucket = "type: s3, bucket: b, prefix: p, region: r, endpoint: 'http://key:hunter2/3@minio:9000'";
    let told = errors(&format!("train: {{{bucket}}}\nmodels: {{m: {{type: noop}}}}")).to_string();
    assert!(told.contains("train.endpoint") && told.contains("a URL with user or password in it"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    let bucket = bucket.replace("key:hunter2/3@minio:9000", "minio:9000/path");
    Config::parse(&format!("train: {{{bucket}}}\nmodels: {{m: {{type: noop}}}}"), "config.yml").expect("is none");
}
