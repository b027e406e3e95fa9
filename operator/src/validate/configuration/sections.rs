//! The sections `state`, `train` and `source`, which follow from the resource; what its author may add to them.

use crate::build::pod::REDIS_AUTHORITY;
use crate::validate::Refusal;
use rankwright_crds::RankingServiceSpec;
use rankwright_crds::ranking_service::{
    Kafka, Kinesis, Mechanism, Page, Pulsar, Redis, RedisMode, S3Store, Source, Verify,
};
use serde_json::{Map, Value, json};

type Tree = Map<String, Value>;

/// Keys of `state` that are the author's.
const OF_STATE: [&str; 4] = ["format", "cache", "pipeline", "timeout"];
/// Keys of `train` that are the author's.
const OF_S3: [&str; 7] =
    ["format", "compress", "partSizeBytes", "batchSizeBytes", "partSizeEvents", "batchSizeEvents", "partInterval"];
const OF_REDIS: [&str; 2] = ["format", "timeout"];
/// Keys of `api` that are the author's.
const OF_API: [&str; 5] = ["limits", "timeout", "analytics", "cors", "page"];

/// Lays the sections over what the author wrote.
pub(super) fn overlay(tree: &mut Tree, spec: &RankingServiceSpec) -> Result<(), Refusal> {
    let redis = &spec.state_store.redis;
    let s3 = spec.click_through_store.as_ref().and_then(|store| store.s3.as_ref());
    let in_redis = spec.click_through_store.as_ref().and_then(|store| store.redis.as_ref());
    put(tree, "state", &OF_STATE, "set it in spec.stateStore.redis", of_redis(redis))?;
    match (s3, in_redis) {
        (Some(s3), _) => put(tree, "train", &OF_S3, "set it in spec.clickThroughStore.s3", of_s3(s3))?,
        (None, Some(kept)) => {
            let mut section = of_redis(redis);
            section.insert("ttl".to_owned(), json!(kept.ttl));
            put(tree, "train", &OF_REDIS, "set it in spec.clickThroughStore.redis", section)?;
        }
        (None, None) => refuse(
            tree,
            "train",
            "set spec.clickThroughStore, or leave it out to keep click-throughs in the state store",
        )?,
    }
    for name in ["source", "input"] {
        refuse(tree, name, "set spec.ingest.source")?;
    }
    if let Some(source) = &spec.ingest.source {
        tree.insert("source".to_owned(), Value::Object(of_source(source)));
    }
    let page = spec.rank.page.as_ref();
    if page.is_some() && tree.get("api").is_some_and(|api| api.get("page").is_some()) {
        let instead = "spec.rank.page says it: leave one of them out".to_owned();
        return Err(Refusal::Contradiction { path: "api.page".to_owned(), instead });
    }
    // the port is what probes and Services know
    put(
        tree,
        "api",
        &OF_API,
        "the operator sets it: spec.rank.tls is for a certificate, spec.rank.tokenSecretRef for a token",
        of_api(page),
    )
}

/// Puts a section into its place, beside what its author may say there.
fn put(tree: &mut Tree, name: &str, free: &[&str], instead: &str, section: Tree) -> Result<(), Refusal> {
    let refusal = |path: String| Refusal::Contradiction { path, instead: instead.to_owned() };
    let written = tree.entry(name).or_insert_with(|| json!({}));
    let Value::Object(written) = written else { return Err(refusal(name.to_owned())) };
    if written.get("type").is_some_and(|kind| Some(kind) == section.get("type")) {
        written.remove("type"); // it says the same
    }
    if let Some(key) = written.keys().find(|key| !free.contains(&key.as_str())) {
        return Err(refusal(format!("{name}.{key}")));
    }
    written.extend(section);
    Ok(())
}

fn refuse(tree: &Tree, name: &str, instead: &str) -> Result<(), Refusal> {
    match tree.contains_key(name) {
        true => Err(Refusal::Contradiction { path: name.to_owned(), instead: instead.to_owned() }),
        false => Ok(()),
    }
}

fn of_redis(redis: &Redis) -> Tree {
    let mut section = Tree::new();
    section.insert("type".to_owned(), json!("redis"));
    match redis.mode {
        RedisMode::Standalone => {
            section.insert("host".to_owned(), json!(redis.host));
            section.insert("port".to_owned(), json!(redis.port));
        }
        RedisMode::Sentinel => {
            section.insert("mode".to_owned(), json!("sentinel"));
            section.insert("nodes".to_owned(), json!(redis.nodes));
            section.insert("sentinel".to_owned(), json!({ "master": redis.master_name }));
        }
        RedisMode::Cluster => {
            section.insert("mode".to_owned(), json!("cluster"));
            section.insert("nodes".to_owned(), json!(redis.nodes));
        }
    }
    if let Some(user) = redis.auth.as_ref().and_then(|login| login.username.as_ref()) {
        section.insert("auth".to_owned(), json!({ "user": user }));
    }
    if let Some(tls) = &redis.tls {
        let verify = match tls.verify {
            Verify::Full => "full",
            Verify::CertificateOnly => "ca",
            Verify::Nothing => "off",
        };
        let mut settings = json!({ "enabled": true, "verify": verify });
        if tls.ca.is_some() {
            settings["ca"] = json!(REDIS_AUTHORITY);
        }
        section.insert("tls".to_owned(), settings);
    }
    if redis.mode != RedisMode::Cluster {
        let numbers = &redis.databases;
        let databases = json!({ "state": numbers.state, "rankings": numbers.click_throughs, "models": numbers.models });
        section.insert("db".to_owned(), databases);
    }
    section
}

fn of_s3(s3: &S3Store) -> Tree {
    let mut section = object(json!({ "type": "s3", "bucket": s3.bucket, "prefix": s3.prefix, "region": s3.region }));
    section.extend(s3.endpoint.as_ref().map(|endpoint| ("endpoint".to_owned(), json!(endpoint))));
    section
}

fn of_source(source: &Source) -> Tree {
    let mut section = match source {
        Source { kafka: Some(kafka), .. } => of_kafka(kafka),
        Source { pulsar: Some(pulsar), .. } => of_pulsar(pulsar),
        Source { kinesis: Some(kinesis), .. } => of_kinesis(kinesis),
        _ => Tree::new(),
    };
    section.insert("offset".to_owned(), json!(source.offset));
    section.extend(source.dead_letter.as_ref().map(|place| ("deadLetter".to_owned(), json!(place))));
    section
}

fn of_kafka(kafka: &Kafka) -> Tree {
    let Kafka { brokers, topic, group_id, auth, options } = kafka;
    let mut options = options.clone();
    if let Some(login) = auth {
        let mechanism = match login.mechanism {
            Mechanism::ScramSha512 => "SCRAM-SHA-512",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::Plain => "PLAIN",
        };
        options.insert("sasl.mechanism".to_owned(), mechanism.to_owned());
        options.extend(login.username.iter().map(|user| ("sasl.username".to_owned(), user.clone())));
        options.entry("security.protocol".to_owned()).or_insert_with(|| "sasl_ssl".to_owned());
    }
    object(json!({ "type": "kafka", "brokers": brokers, "topic": topic, "groupId": group_id, "options": options }))
}

fn of_pulsar(pulsar: &Pulsar) -> Tree {
    object(json!({
        "type": "pulsar",
        "serviceUrl": pulsar.service_url,
        "adminUrl": pulsar.admin_url,
        "topic": pulsar.topic,
        "subscriptionName": pulsar.subscription_name,
        "subscriptionType": "failover", // several workers share it, each partition in order
        "options": pulsar.options,
    }))
}

fn of_kinesis(kinesis: &Kinesis) -> Tree {
    let mut section = object(json!({ "type": "kinesis", "region": kinesis.region, "topic": kinesis.stream }));
    section.extend(kinesis.endpoint.as_ref().map(|endpoint| ("endpoint".to_owned(), json!(endpoint))));
    section
}

fn of_api(page: Option<&Page>) -> Tree {
    let mut section = object(json!({ "host": "0.0.0.0", "port": crate::build::pod::PORT }));
    section.extend(page.map(|page| ("page".to_owned(), json!(of_page(page)))));
    section
}

fn of_page(page: &Page) -> Tree {
    let Page { enabled, sample, show_ids, item, image_origins, ingress: _ } = page;
    let mut section = object(json!({ "enabled": enabled, "sample": sample, "showIds": show_ids }));
    section.extend(item.as_ref().map(|item| ("item".to_owned(), json!(item))));
    section.extend((!image_origins.is_empty()).then(|| ("imageOrigins".to_owned(), json!(image_origins))));
    section
}

fn object(value: Value) -> Tree {
    match value {
        Value::Object(tree) => tree,
        _ => Tree::new(),
    }
}
