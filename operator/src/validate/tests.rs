#![allow(clippy::unwrap_used)]

mod page;
mod sample;
mod schedules;
mod warnings;
mod workers;

use super::*;
use crate::resolve::{Kind, Rollout};
use crate::testing::{defaults, going, planned, resolved, service};
use rankwright_config::{Config, Model, State};
use serde_json::{Value, json};

fn refusal(over: Value) -> String {
    let refusal = planned(over).unwrap_err();
    format!("{}: {refusal}", refusal.reason())
}

fn configuration(over: Value) -> Config {
    Config::parse(&planned(over).unwrap().configuration.text, "test").unwrap().0
}

#[test]
fn the_state_is_that_of_the_resource_with_what_its_author_may_add() {
    let cache = json!({"configuration": {"inline": {"state": {"type": "redis", "cache": {"maxSize": 4096}}}}});
    let State::Redis(redis) = configuration(cache).state else { panic!("no Redis") };
    assert_eq!((redis.host.as_str(), redis.port, redis.cache.max_size), ("redis", 6379, 4096));
    assert_eq!((redis.db.state, redis.db.rankings, redis.db.models), (0, 2, 3));
}

#[test]
fn sentinels_clusters_and_encryption_are_said_as_the_engine_reads_them() {
    let tls = json!({"verify": "CertificateOnly", "ca": {"secretRef": {"name": "redis", "key": "user"}}});
    let sentinels = json!({"stateStore": {"redis": {"host": null, "mode": "Sentinel", "nodes": ["a:26379"], "masterName": "m", "tls": tls}}});
    let State::Redis(redis) = configuration(sentinels).state else { panic!("no Redis") };
    let rankwright_config::state::Topology::Sentinel(found) = redis.topology else { panic!("no sentinels") };
    assert_eq!((found.master.as_str(), found.nodes[0].port), ("m", 26379));
    assert!(redis.tls.enabled && redis.tls.ca.unwrap().ends_with("redis/ca.pem"));
    let cluster = json!({"stateStore": {"redis": {"host": null, "mode": "Cluster", "nodes": ["a:6379", "b:6379"]}}});
    let State::Redis(redis) = configuration(cluster).state else { panic!("no Redis") };
    assert!(matches!(redis.topology, rankwright_config::state::Topology::Cluster(nodes) if nodes.len() == 2));
}

#[test]
fn each_kind_of_stream_and_store_passes_the_engines_checks() {
    let kafka =
        json!({"kafka": {"brokers": ["k:9092"], "topic": "t", "groupId": "g", "options": {"fetch.min.bytes": "1"}}});
    let pulsar = json!({"pulsar": {"serviceUrl": "pulsar://p:6650", "adminUrl": "http://p:8080", "topic": "t", "subscriptionName": "s"}});
    let kinesis = json!({"offset": "last=1h", "kinesis": {"region": "r", "stream": "s", "endpoint": "http://k:4567"}});
    for source in [kafka, pulsar, kinesis] {
        assert!(configuration(json!({"ingest": {"source": source}})).source.is_some());
    }
    let s3 = json!({"s3": {"bucket": "events", "prefix": "p", "region": "r", "endpoint": "http://m:9000"}});
    for store in [s3, json!({"redis": {"ttl": "90d"}})] {
        assert!(configuration(json!({ "clickThroughStore": store })).train.is_some());
    }
}

#[test]
fn a_login_to_kafka_is_said_as_the_engine_reads_it_and_its_password_is_not_there() {
    let password = json!({"name": "redis", "key": "password"});
    let source = |auth: Value, options: Value| {
        let kafka = json!({"brokers": ["k:9092"], "topic": "t", "groupId": "g", "auth": auth, "options": options});
        json!({"ingest": {"source": {"kafka": kafka}}})
    };
    let options = |over: Value| match configuration(over).source.unwrap().kind {
        rankwright_config::SourceKind::Kafka { options, .. } => options,
        other => panic!("{other:?}"),
    };
    let named = options(source(json!({"username": "ann", "passwordSecretRef": password}), json!({})));
    let expected = [("sasl.mechanism", "SCRAM-SHA-512"), ("sasl.username", "ann"), ("security.protocol", "sasl_ssl")];
    assert_eq!(named, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    let plain = json!({"mechanism": "Plain", "usernameSecretRef": password, "passwordSecretRef": password});
    let plain = options(source(plain, json!({"security.protocol": "sasl_plaintext"})));
    assert_eq!((plain["sasl.mechanism"].as_str(), plain["security.protocol"].as_str()), ("PLAIN", "sasl_plaintext"));
    assert!(!plain.contains_key("sasl.username"), "the environment has it");
    let bare = source(
        json!({"mechanism": "Plain", "username": "ann", "passwordSecretRef": password}),
        json!({"security.protocol": "sasl_plaintext"}),
    );
    let warnings = planned(bare).unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("the password of ann goes over the network"), "{warnings:?}");
    let missing = json!({"username": "ann", "passwordSecretRef": {"name": "redis", "key": "kafka"}});
    assert!(refusal(source(missing, json!({}))).contains("spec.ingest.source.kafka.auth.passwordSecretRef"));
}

#[test]
fn who_reads_a_stream_is_no_reason_to_import_it_again() {
    let digest = |over: Value| {
        let mut kafka = json!({"brokers": ["k:9092"], "topic": "t", "groupId": "g"});
        kafka.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
        let spec = json!({"import": {"from": {"stream": {}}}, "ingest": {"source": {"kafka": kafka}}});
        planned(spec).unwrap().import_digest().unwrap()
    };
    let login = json!({"username": "ann", "passwordSecretRef": {"name": "redis", "key": "password"}});
    assert_eq!(digest(json!({})), digest(json!({ "auth": login })));
    assert_ne!(digest(json!({})), digest(json!({"topic": "other"})));
}

#[test]
fn what_the_resource_has_fields_for_is_refused_in_the_configuration() {
    let inline = |inline: Value| refusal(json!({"configuration": {"inline": inline}}));
    assert_eq!(
        inline(json!({"state": {"type": "file", "path": "/x"}})),
        "ConfigurationContradicts: configuration.state.path: set it in spec.stateStore.redis"
    );
    assert!(inline(json!({"state": {"auth": {"password": "x"}}})).contains("configuration.state.auth"));
    assert!(inline(json!({"source": {"type": "kafka"}})).contains("configuration.source: set spec.ingest.source"));
    assert!(inline(json!({"input": {"type": "kafka"}})).contains("configuration.input: set spec.ingest.source"));
    assert!(inline(json!({"train": {"type": "discard"}})).contains("configuration.train: set spec.clickThroughStore"));
    assert!(inline(json!({"api": {"port": 9090}})).contains("configuration.api.port"));
    let cors = json!({"cors": {"allowedOrigins": ["https://shop.example"]}});
    let page = json!({"page": {"enabled": true}});
    for api in
        [json!({"limits": {"maxItemsPerRequest": 10}}), json!({"timeout": "60s", "analytics": false}), cors, page]
    {
        assert!(planned(json!({"configuration": {"inline": {"api": api}}})).is_ok());
    }
}

#[test]
fn mistakes_of_a_configuration_are_told_with_their_paths() {
    let wrong = json!({"configuration": {"inline": {"features": [{"name": "price", "type": "number"}], "modles": {}}}});
    let told = refusal(wrong);
    assert!(
        told.starts_with("ConfigurationInvalid: ") && told.contains("features[0]") && told.contains("modles"),
        "{told}"
    );
    assert!(told.contains("; accepted: ") && told.contains(" | "), "what belongs to what is to be seen: {told}");
}

#[test]
fn a_pin_that_is_no_version_is_refused_with_what_to_do() {
    for word in ["latest", "Latest", "current"] {
        let told = refusal(json!({"modelVersion": {"shop": word}}));
        assert!(
            told.starts_with(&format!("SpecInvalid: spec.modelVersion.shop: {word} is no version: leave")),
            "{told}"
        );
        let written = refusal(json!({"configuration": {"inline": {"models": {"shop": {"version": word}}}}}));
        let expected =
            format!("SpecInvalid: spec.configuration.inline.models.shop.version: {word} is no version: leave");
        assert!(written.starts_with(&expected), "{written}");
    }
}

#[test]
fn a_pin_on_a_version_that_no_server_knows_is_refused_with_those_that_there_are() {
    let pinned = service(json!({"modelVersion": {"shop": "v7"}}));
    let plan_of = |service: &RankingService, versions: &[&str]| {
        let versions = versions.iter().map(|version| (*version).to_owned()).collect();
        let resolved = Resolved { versions: [("shop".to_owned(), versions)].into(), ..resolved() };
        plan(service, &resolved, &defaults()).map(drop)
    };
    let plan_with = |versions: &[&str]| plan_of(&pinned, versions);
    assert_eq!(plan_with(&["v6", "v7"]), Ok(()));
    let refusal = plan_with(&["v5", "v6"]).unwrap_err();
    assert_eq!(refusal.reason(), "NoSuchVersion");
    let text = "spec.modelVersion.shop: there is no version v7; there are: v5, v6; nothing of the resource is changed";
    assert_eq!(refusal.to_string(), text);
    assert!(plan_with(&[]).unwrap_err().to_string().contains("there are: none yet"));
    assert_eq!(plan(&pinned, &resolved(), &defaults()).map(drop), Ok(()), "no server was asked");
    let written = service(json!({"configuration": {"inline": {"models": {"shop": {"version": "v7"}}}}}));
    assert_eq!(plan_of(&written, &["v6", "v7"]), Ok(()));
    let refusal = plan_of(&written, &["v5"]).unwrap_err().to_string();
    assert!(
        refusal.starts_with("spec.configuration.inline.models.shop.version: there is no version v7; there are: v5;"),
        "{refusal}"
    );
}

#[test]
fn pins_and_defaults_reach_the_models_that_learn_alone() {
    let asked = json!({
        "modelVersion": {"shop": "v1"},
        "training": {"schedule": "@daily", "qualityGate": {"metric": "NDCG@10", "margin": "0.5"}, "keepVersions": 4},
    });
    let config = configuration(asked);
    let Model::LambdaMart(shop) = &config.models["shop"] else { panic!("it learns") };
    assert_eq!(
        (shop.learning.version.as_deref(), shop.learning.keep_versions, shop.learning.gate.margin),
        (Some("v1"), 4, 0.5)
    );
    let warmup = shop.warmup.unwrap();
    assert_eq!((warmup.sampled_requests, warmup.duration.as_secs()), (100, 10), "no version serves untried");
    let similar = json!({"type": "als", "interactions": ["click"]});
    let alike = json!({"type": "semantic", "encoder": {"type": "csv", "dim": 2, "path": "/e.csv"}});
    let asked = json!({
        "configuration": {"inline": {"models": {"similar": similar, "alike": alike}}},
        "modelVersion": {"similar": "v7", "alike": "v8"},
        "training": {"schedule": "@daily", "qualityGate": {"metric": "NDCG@10", "margin": "0.5"}, "keepVersions": 4},
    });
    let models = configuration(asked).models;
    assert_eq!(models["alike"].learning().unwrap().version.as_deref(), Some("v8"));
    let learning = models["similar"].learning().cloned().unwrap();
    assert_eq!((learning.version.as_deref(), learning.keep_versions), (Some("v7"), 4));
    assert_eq!((learning.gate.margin, learning.gate.metric), (0.5, None), "its only metric is another one");
    let own = json!({"keepVersions": 2, "warmup": {"sampledRequests": 0, "duration": "0s"}});
    let spared = json!({"training": {"schedule": "@daily"}, "configuration": {"inline": {"models": {"shop": own}}}});
    let Model::LambdaMart(shop) = &configuration(spared).models["shop"] else { panic!("it learns") };
    let said = (shop.learning.keep_versions, shop.warmup.unwrap().sampled_requests);
    assert_eq!(said, (2, 0), "what the configuration says counts");
    assert!(refusal(json!({"modelVersion": {"as-is": "v1"}})).contains("no model as-is that is trained; it has: shop"));
    assert!(
        refusal(json!({"training": {"schedule": "@daily", "models": ["nobody"]}})).contains("spec.training.models")
    );
    let twice =
        json!({"modelVersion": {"shop": "v1"}, "configuration": {"inline": {"models": {"shop": {"version": "v2"}}}}});
    assert!(refusal(twice).contains("configuration.models.shop.version: spec.modelVersion pins another version"));
}

/// The types of models that the schema of configurations knows.
fn types_of_models(schema: &Value) -> Option<Vec<&str>> {
    let words: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if ["lambdamart", "noop"].iter().all(|name| words.contains(name)) {
        return Some(words);
    }
    let within = schema.as_object().into_iter().flat_map(|object| object.values());
    within.chain(schema.as_array().into_iter().flatten()).find_map(types_of_models)
}

#[test]
fn every_type_of_model_that_learns_gets_its_pin() {
    let schema = rankwright_config::schema::document();
    let types = types_of_models(&schema).expect("the schema lists them");
    let pinned = types.into_iter().filter(|name| {
        let mut model = match *name {
            "lambdamart" => json!({"weights": {"click": 1}, "features": ["price"]}),
            "als" => json!({"interactions": ["click"]}),
            "trending" => json!({"weights": [{"interaction": "click"}]}),
            "semantic" => json!({"encoder": {"type": "csv", "dim": 2, "path": "/e.csv"}}),
            "shuffle" => json!({"maxPositionChange": 1}),
            _ => json!({}),
        };
        model["type"] = json!(name);
        let models = json!({"inline": {"models": {"m": model}}});
        let learns = configuration(json!({ "configuration": models })).models["m"].learning().is_some();
        let pin = json!({"configuration": models, "modelVersion": {"m": "v7"}});
        if learns {
            assert_eq!(configuration(pin).models["m"].learning().unwrap().version.as_deref(), Some("v7"), "{name}");
        } else {
            assert!(refusal(pin).contains("no model m that is trained"), "{name}");
        }
        learns
    });
    assert!(pinned.count() >= 4);
}

#[test]
fn a_pod_has_one_access_key_and_one_address_of_s3() {
    let store =
        json!({"s3": {"bucket": "events", "prefix": "p", "region": "r", "credentialsSecretRef": {"name": "s3"}}});
    let other = json!({"name": "redis", "accessKeyIdKey": "user", "secretAccessKeyKey": "password"});
    let import = |s3: Value| json!({"clickThroughStore": store, "import": {"from": {"s3": s3}}});
    assert!(planned(import(json!({"bucket": "b", "prefix": "p"}))).is_ok());
    let told = refusal(import(json!({"bucket": "b", "prefix": "p", "credentialsSecretRef": other})));
    assert!(told.contains("a pod has one access key") && told.contains("Secret s3"), "{told}");
    let told = refusal(import(json!({"bucket": "b", "prefix": "p", "endpoint": "http://m:9000"})));
    assert!(told.contains("a pod has one address of S3"), "{told}");
}

#[test]
fn an_autoscaler_by_processor_time_needs_a_request_of_it() {
    let scaled = |resources: Value| {
        let autoscaling = json!({"maxReplicas": 4, "cpuUtilization": 70});
        json!({"rank": {"autoscaling": autoscaling, "pod": {"resources": resources}}})
    };
    assert!(refusal(scaled(json!({"limits": {"memory": "1Gi"}}))).contains("give requests.cpu"));
    assert!(planned(scaled(json!({"requests": {"cpu": "1"}}))).is_ok());
}

#[test]
fn variables_of_the_operator_are_refused() {
    let told = refusal(json!({"rank": {"pod": {"env": [{"name": "SERVICE_CONFIG", "value": "/x"}]}}}));
    assert!(told.contains("spec.rank.pod.env[SERVICE_CONFIG]"), "{told}");
}

#[test]
fn a_new_certificate_makes_no_new_pods_and_a_new_token_does() {
    let rank = json!({"tls": {"secretName": "port-tls"}, "tokenSecretRef": {"name": "admin", "key": "token"}});
    let asked = service(json!({ "rank": rank }));
    let with = |name: &str, content| {
        let mut resolved = resolved();
        resolved.objects.insert((Kind::Secret, name.to_owned()), content);
        plan(&asked, &resolved, &defaults())
    };
    let texts = crate::resolve::Content::of_texts::<2>;
    let before = plan(&asked, &resolved(), &defaults()).unwrap().references;
    let renewed = with("port-tls", texts([("tls.crt", "new"), ("tls.key", "new")])).unwrap().references;
    assert_eq!(renewed, before, "servers take it up by themselves");
    let changed = with("admin", crate::resolve::Content::of_texts([("token", "new")])).unwrap().references;
    assert_ne!(changed.rank, before.rank);
    assert_eq!(changed.ingest, before.ingest);
    let incomplete = with("port-tls", texts([("tls.crt", "c"), ("ca.crt", "a")])).unwrap_err().to_string();
    assert_eq!(incomplete, "Secret port-tls has no key tls.key: spec.rank.tls.secretName names it");
    let blank = with("admin", crate::resolve::Content::of_texts([("token", " \n")])).unwrap_err().to_string();
    assert_eq!(blank, "spec.rank.tokenSecretRef: key token of Secret admin holds no text: put a token there");
}

#[test]
fn certificate_and_token_have_fields_of_their_own() {
    let inline = |api: Value| refusal(json!({"configuration": {"inline": {"api": api}}}));
    for api in [json!({"tls": {"cert": "/c", "key": "/k"}}), json!({"token": "t"})] {
        assert!(inline(api).contains("spec.rank.tls is for a certificate, spec.rank.tokenSecretRef for a token"));
    }
    let env = json!([{"name": "RANKWRIGHT_API_TOKEN", "value": "t"}]);
    assert!(planned(json!({"rank": {"pod": {"env": env}}})).is_ok());
    let twice = json!({"rank": {"tokenSecretRef": {"name": "admin", "key": "token"}, "pod": {"env": env}}});
    assert!(refusal(twice).contains("spec.rank.tokenSecretRef gives the token: leave one of them out"));
    let merged = json!({"spec": {"containers": [{"name": "rank", "env": env}]}});
    let twice = json!({"tokenSecretRef": {"name": "admin", "key": "token"}, "pod": {"template": merged}});
    assert!(refusal(json!({ "rank": twice })).contains("spec.rank.pod.template.spec.containers"));
}

#[test]
fn a_variable_from_a_secret_that_may_be_missing_waits_for_nobody() {
    let variable = |optional: bool| {
        let key = json!({"name": "nobody", "key": "a", "optional": optional});
        json!({"rank": {"pod": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": key}}]}}})
    };
    assert!(planned(variable(true)).is_ok());
    assert!(refusal(variable(false)).starts_with("SecretMissing: Secret nobody does not exist in namespace search"));
}

#[test]
fn a_digest_changes_with_what_is_used_and_with_nothing_else() {
    let asked = service(
        json!({"stateStore": {"redis": {"auth": {"passwordSecretRef": {"name": "redis", "key": "password"}}}}}),
    );
    let with = |texts: [(&str, &str); 2]| {
        let mut resolved = resolved();
        resolved.objects.insert((Kind::Secret, "redis".to_owned()), crate::resolve::Content::of_texts(texts));
        plan(&asked, &resolved, &defaults()).unwrap().references
    };
    let before = with([("user", "u"), ("password", "p")]);
    assert_eq!(before, with([("user", "another"), ("password", "p")]));
    assert_ne!(before, with([("user", "u"), ("password", "another")]));
    assert!(!format!("{before:?}").contains("\"p\""));
}

#[test]
fn an_import_is_another_one_when_its_events_are() {
    let digest = |import: Value| planned(json!({ "import": import })).unwrap().import_digest().unwrap();
    let events = json!({"bucket": "b", "prefix": "p"});
    let first = digest(json!({"from": {"s3": events}}));
    assert_eq!(first, digest(json!({"from": {"s3": events}, "pod": {"labels": {"a": "b"}}, "backoffLimit": 7})));
    let moved = json!({"region": "eu-west-1", "endpoint": "http://s3:9000", "credentialsSecretRef": {"name": "s3"}});
    let mut elsewhere = events.clone();
    elsewhere.as_object_mut().unwrap().extend(moved.as_object().unwrap().clone());
    let moved = json!({"from": {"s3": elsewhere}});
    assert_eq!(first, digest(moved.clone()), "the bucket has moved, or another key");
    // the digest of a status from before such a change was none
    let import = service(json!({ "import": moved })).spec.import.unwrap();
    let told = digest_of(&format!("{} null", json!([import.from, import.offset, import.attempt])));
    let known = Plan { known_import: Some(told.clone()), ..planned(json!({ "import": moved })).unwrap() };
    assert_eq!(known.import_digest(), Some(told), "nothing is imported again for it");
    assert_ne!(first, digest(json!({"from": {"s3": events}, "attempt": 1})));
    assert_ne!(first, digest(json!({"from": {"s3": events}, "offset": "last=7d"})));
}

#[test]
fn an_offset_that_nobody_can_read_is_refused_before_a_pod_is_made() {
    let with =
        |offset: &str| planned(json!({"import": {"from": {"s3": {"bucket": "b", "prefix": "p"}}, "offset": offset}}));
    assert!(with("ts=2026-01-01T00:00:00Z").is_ok());
    for offset in ["ts=yesterday", "last=a week"] {
        let refused = with(offset).unwrap_err().to_string();
        assert!(refused.starts_with("spec.import.offset: ") && refused.contains(offset), "{refused}");
    }
}

#[test]
fn yaml_of_a_config_map_may_use_anchors() {
    let text = "x-common: &common {type: number}\nfeatures:\n- {<<: *common, name: price, field: item.price}\nmodels:\n  as-is: {type: noop}\n";
    let mut resolved = resolved();
    let key = (Kind::ConfigMap, "mine".to_owned());
    resolved.objects.insert(key, crate::resolve::Content::of_texts([("config.yml", text)]));
    let asked = service(json!({"configuration": {"inline": null, "configMapRef": {"name": "mine"}}}));
    let plan = plan(&asked, &resolved, &defaults()).unwrap();
    assert_eq!(
        Config::parse(&plan.configuration.text, "test").unwrap().0.features.len(),
        1,
        "{}",
        plan.configuration.text
    );
}

#[test]
fn a_resource_that_goes_needs_what_the_removal_of_its_data_uses_and_nothing_else() {
    let key = json!({"name": "gone", "key": "password"});
    let variable = json!([{"name": "A", "valueFrom": {"secretKeyRef": key}}]);
    let kafka = json!({"brokers": ["k:9092"], "topic": "t", "groupId": "g", "auth": {"username": "ann", "passwordSecretRef": key}});
    let bucket = json!({"bucket": "b", "prefix": "p", "region": "r", "credentialsSecretRef": {"name": "gone"}});
    let unused = [
        json!({"ingest": {"source": {"kafka": kafka}}}),
        json!({"training": {"schedule": "@daily", "pod": {"env": variable}}}),
        json!({"import": {"from": {"s3": {"bucket": "b", "prefix": "p", "credentialsSecretRef": {"name": "gone"}}}}}),
        json!({"import": {"from": {"s3": {"bucket": "b", "prefix": "p"}}, "offset": "ts=yesterday"}}),
    ];
    let removed = |over: &Value| plan(&going(over.clone()), &resolved(), &defaults()).map(drop);
    for over in unused {
        assert!(planned(over.clone()).is_err() && removed(&over).is_ok(), "{over}");
    }
    for (over, field) in [
        (
            json!({"stateStore": {"redis": {"auth": {"passwordSecretRef": key}}}}),
            "spec.stateStore.redis.auth.passwordSecretRef",
        ),
        (json!({"clickThroughStore": {"s3": bucket}}), "spec.clickThroughStore.s3.credentialsSecretRef"),
        (json!({"rank": {"pod": {"env": variable}}}), "spec.rank.pod.env[A]"),
        (
            json!({"rank": {"pod": {"env": [{"name": "RANKWRIGHT_SERVICE", "value": "x"}]}}}),
            "spec.rank.pod.env[RANKWRIGHT_SERVICE]",
        ),
    ] {
        let refused = removed(&over).unwrap_err().to_string();
        assert!(refused.contains(field), "{refused}");
    }
}

#[test]
fn a_resource_that_goes_is_removed_by_the_configuration_of_before_where_it_has_none_any_more() {
    let before = planned(json!({})).unwrap().configuration;
    let gone = json!({"configuration": {"inline": null, "configMapRef": {"name": "gone"}}});
    let wrong = json!({"configuration": {"inline": {"features": "none"}}});
    let removed = |over: &Value, kept: Option<&str>| {
        let resolved = Resolved { kept: kept.map(str::to_owned), ..resolved() };
        plan(&going(over.clone()), &resolved, &defaults())
    };
    for (over, reason) in [(gone, "ConfigMapMissing"), (wrong, "ConfigurationInvalid")] {
        assert_eq!(removed(&over, None).unwrap_err().reason(), reason, "nothing is known of it");
        let plan = removed(&over, Some(&before.text)).unwrap();
        assert_eq!(plan.outdated.unwrap().reason(), reason);
        assert_eq!((&plan.configuration.text, &plan.configuration.models), (&before.text, &before.models));
    }
    let right = removed(&json!({}), Some("features: []")).unwrap();
    assert!(right.outdated.is_none() && right.configuration == before, "it is the one that counts");
    let unreadable = removed(&json!({"configuration": {"inline": {"features": "none"}}}), Some("of a newer version"));
    assert_eq!(unreadable.unwrap().configuration.text, "of a newer version", "who removes data may know it");
}

#[test]
fn the_variables_of_the_operator_are_those_on_the_page_about_trouble() {
    let page = std::fs::read_to_string("../docs/kubernetes-troubleshooting.md").unwrap();
    let (_, list) = page.split_once("Reserved are ").unwrap();
    let told: Vec<&str> = list.lines().next().unwrap().split('`').skip(1).step_by(2).collect();
    assert_eq!(told, RESERVED);
}
