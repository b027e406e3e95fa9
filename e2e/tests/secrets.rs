//! Whatever goes wrong, no password, key or token is told: not in logs, errors, `/status` or `/metrics`.

use rankwright_e2e::redis::Redis;
use rankwright_e2e::said::Said;
use rankwright_e2e::server::Server;
use rankwright_e2e::{kafka, ports};

/// Words that do not occur by chance.
const REDIS: &str = "xyzzy-redis-password";
const S3_KEY: &str = "XYZZYS3KEYID";
const S3: &str = "xyzzy-s3-secret";
const TOKEN: &str = "xyzzy-api-token";
const KAFKA: &str = "xyzzy-kafka-password";
const PULSAR: &str = "xyzzy-pulsar-token";
const KINESIS: &str = "xyzzy-kinesis-secret";
const SENTINEL: &str = "xyzzy-sentinel-password";
/// Of the server; it has the right one in it.
const WRONG: &str = "xyzzy-redis-password-too";
const WRONG_S3: &str = "xyzzy-s3-secret-too";
const NOT_LET_IN: &str = "user or password refused";

/// Where a service is told to find its stores.
#[derive(Clone)]
struct Places {
    redis: u16,
    password: &'static str,
    s3: String,
    bucket: String,
    kafka: String,
}

impl Places {
    fn config(&self) -> String {
        let Self { redis, password, s3, bucket, kafka } = self;
        format!(
            "state: {{type: redis, host: 127.0.0.1, port: {redis}, auth: {{password: {password}}}}}
train: {{type: s3, bucket: {bucket}, prefix: p, region: us-east-1, endpoint: '{s3}', cloudKey: {S3_KEY}, cloudKeySecret: {S3}}}
source: {{type: kafka, brokers: ['{kafka}'], topic: t, groupId: g, options: {{security.protocol: SASL_PLAINTEXT, \
             sasl.mechanism: SCRAM-SHA-256, sasl.username: test, sasl.password: {KAFKA}}}}}
api: {{host: 127.0.0.1, port: 0, token: {TOKEN}}}
features: [{{name: clicks, type: interaction_count, interaction: click, scope: item}}]
models: {{m: {{type: lambdamart, backend: lightgbm, weights: {{click: 1}}, features: [clicks]}}}}
"
        )
    }
}

/// All that a program says, and what its port tells.
fn said(program: &str, config: &str, environment: &[(&str, &str)], words: &[&str]) -> String {
    let said = Said::by(program, config, environment, words);
    said.text + &said.answers
}

/// Asserts that it came to what is to be seen, and that no secret was told.
fn assert_kept(what: &str, word: &str, said: &str) {
    assert!(said.contains(word), "{what}: not {word} in {said}");
    let told = told(said);
    assert!(told.is_empty(), "{what}: {told:?}");
}

/// Lines that have a secret. The id of a key is none: the client of S3 logs it at level debug.
fn told(said: &str) -> Vec<&str> {
    let all = [REDIS, S3, TOKEN, KAFKA, PULSAR, KINESIS, SENTINEL];
    let has = |line: &&str| all.iter().any(|secret| line.contains(secret));
    said.lines().filter(has).collect()
}

/// A Redis with a password and an S3 service with keys, and a broker that is not there.
fn servers() -> Option<(Redis, Server, Places)> {
    let (redis, s3) = (Redis::of_its_own()?, Server::s3_with_keys("bucket", S3_KEY, S3)?);
    let client = redis::Client::open((redis.host(), redis.port())).expect("an address");
    let mut connection = client.get_connection().expect("the server answers");
    redis::cmd("CONFIG").arg(&["SET", "requirepass", REDIS]).exec(&mut connection).expect("takes a password");
    let (bucket, kafka) = ("bucket".to_owned(), nowhere());
    let s3_at = format!("http://{}", s3.address());
    let places = Places { redis: redis.port(), password: REDIS, s3: s3_at, bucket, kafka };
    Some((redis, s3, places))
}

/// A port at which no server listens.
fn nowhere() -> String {
    format!("127.0.0.1:{}", ports::free(1))
}

#[test]
fn secrets_are_kept_while_all_is_well_and_when_it_is_not() {
    let (Some(broker), Some((_redis, _s3, right))) = (kafka::broker(), servers()) else { return };
    let (host, port) = broker.rsplit_once(':').expect("host:port");
    let scram = format!("{host}:{}", port.parse::<u16>().expect("a port") + 2);
    let (all, of_a_stream) =
        (&["rank-server", "ingest-worker", "serve", "training-job"][..], &["ingest-worker", "serve"][..]);
    let of_a_bucket = &all[1..];
    let (no_broker, refused, no_bucket) = ("no broker answers", "refused the credentials", "no such bucket");
    let cases = [
        ("no broker", right.clone(), of_a_stream, no_broker),
        ("a wrong password for kafka", Places { kafka: scram, ..right.clone() }, of_a_stream, refused),
        ("a wrong password for redis", Places { password: WRONG, ..right.clone() }, all, NOT_LET_IN),
        ("no redis", Places { redis: ports::free(1), ..right.clone() }, all, "no connection"),
        ("no bucket", Places { bucket: "missing".into(), ..right.clone() }, of_a_bucket, no_bucket),
        ("no s3", Places { s3: format!("http://{}", nowhere()), ..right.clone() }, of_a_bucket, "cannot be reached"),
    ];
    for (what, places, concerned, word) in cases {
        for program in all {
            let word = if concerned.contains(program) { word } else { well(program) };
            let said = said(program, &places.config(), &[("RUST_LOG", "debug")], &[word]);
            assert_kept(&format!("{program}, {what}"), word, &said);
            assert!(
                (*program, what) != ("rank-server", "no broker") || said.contains("service_rank"),
                "{what}: {said}"
            );
        }
    }
}

#[test]
fn secrets_are_kept_by_those_who_work_on_stores_as_well() {
    let Some((_redis, _s3, right)) = servers() else { return };
    let programs = ["import", "forget --user u", "purge --yes", "models list"];
    let of_a_bucket = &programs[1..3];
    let (no_broker, no_bucket) = ("no broker answers", "no such bucket");
    let cases = [
        ("all is well", right.clone(), &[][..], ""),
        ("no broker", right.clone(), &programs[..1], no_broker),
        ("a wrong password for redis", Places { password: WRONG, ..right.clone() }, &programs[..], NOT_LET_IN),
        ("no redis", Places { redis: ports::free(1), ..right.clone() }, &programs[..], "no connection"),
        ("no bucket", Places { bucket: "missing".into(), ..right.clone() }, of_a_bucket, no_bucket),
        ("no s3", Places { s3: format!("http://{}", nowhere()), ..right }, of_a_bucket, "cannot be reached"),
    ];
    for (what, places, concerned, word) in cases {
        for program in programs.iter().filter(|program| **program != "import" || concerned.contains(program)) {
            let ended = Said::by(program, &places.config(), &[("RUST_LOG", "debug")], &[no_broker]);
            let word = if concerned.contains(program) { word } else { "" };
            assert_kept(&format!("{program}, {what}"), word, &ended.text);
            assert!(!word.is_empty() || ended.code == Some(0), "{program}, {what}: {}", ended.text);
        }
    }
}

/// What a program says that nothing is wrong for, over a state without events.
fn well(program: &str) -> &'static str {
    if program.contains("train") { "nothing to learn from" } else { "serving address=" }
}

#[test]
fn secrets_of_the_environment_are_kept_as_well() {
    let Some((_redis, _s3, right)) = servers() else { return };
    let config = right.config().replace(&format!("auth: {{password: {REDIS}}}"), "auth: {user: default}");
    let config = config
        .replace(&format!(", cloudKey: {S3_KEY}, cloudKeySecret: {S3}"), "")
        .replace(&format!(", sasl.password: {KAFKA}"), "")
        .replace(&format!(", token: {TOKEN}"), "");
    for (redis, s3, word) in [
        (REDIS, S3, None),
        (WRONG, S3, Some(NOT_LET_IN)),
        (REDIS, WRONG_S3, Some("the secret is not that of the access key")),
    ] {
        let environment = [
            ("SERVICE_REDIS_PASSWORD", redis),
            ("SERVICE_KAFKA_PASSWORD", KAFKA),
            ("AWS_ACCESS_KEY_ID", S3_KEY),
            ("AWS_SECRET_ACCESS_KEY", s3),
            ("RANKWRIGHT_API_TOKEN", TOKEN),
        ];
        for program in ["rank-server", "ingest-worker", "train"] {
            let concerned = program != "rank-server" || s3 == S3;
            let word = word.filter(|_| concerned).unwrap_or(well(program));
            let said = said(program, &config, &environment, &[word]);
            assert_kept(&format!("{program} with {redis} and {s3}"), word, &said);
            assert!(!said.contains(S3_KEY), "{said}");
        }
    }
}

#[test]
fn the_login_to_kafka_may_come_by_the_environment() {
    let (Some(broker), Some((_redis, _s3, right))) = (kafka::broker(), servers()) else { return };
    let topic = format!("login-{}", std::process::id());
    kafka::make_topic(&broker, &topic, 1);
    let (host, port) = broker.rsplit_once(':').expect("host:port");
    let scram = format!("{host}:{}", port.parse::<u16>().expect("a port") + 2);
    let config = Places { kafka: scram, ..right }.config().replace("topic: t,", &format!("topic: {topic},"));
    let config = config.replace(&format!(", sasl.username: test, sasl.password: {KAFKA}"), "");
    for (password, word) in [("secret", "reading partition="), (KAFKA, "refused the credentials")] {
        let environment = [("SERVICE_KAFKA_USER", "test"), ("SERVICE_KAFKA_PASSWORD", password)];
        let said = said("ingest-worker", &config, &environment, &[word]);
        assert_kept("the login to kafka", word, &said);
    }
}

/// The configuration with another line for a section.
fn with(config: &str, section: &str) -> String {
    let (name, _) = section.split_once(' ').expect("a name, and what it is");
    assert!(config.lines().any(|line| line.starts_with(name)), "{name}");
    let lines = config.lines().map(|line| if line.starts_with(name) { section } else { line });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn tokens_and_keys_of_other_streams_are_kept_as_well() {
    let Some((_redis, _s3, right)) = servers() else { return };
    let (config, debug) = (right.config(), ("RUST_LOG", "debug"));
    let at = format!("serviceUrl: 'pulsar://{}', adminUrl: 'http://127.0.0.1:1', topic: t", nowhere());
    let pulsar =
        format!("source: {{type: pulsar, {at}, subscriptionName: s, options: {{authParams: 'token:{PULSAR}'}}}}");
    for program in ["ingest-worker", "serve"] {
        let said = said(program, &with(&config, &pulsar), &[debug], &["no broker answers"]);
        assert_kept(program, "no broker answers", &said);
    }

    let kinesis = format!("source: {{type: kinesis, region: us-east-1, topic: t, endpoint: 'http://{}'}}", nowhere());
    let keys = [debug, ("AWS_ACCESS_KEY_ID", S3_KEY), ("AWS_SECRET_ACCESS_KEY", KINESIS)];
    // of the environment, they go before those of the bucket
    let config = with(&with(&config, &kinesis), "train: {type: file, path: ./parts}");
    for program in ["ingest-worker", "serve"] {
        let said = said(program, &config, &keys, &["does not answer"]);
        assert_kept(program, "does not answer", &said);
    }
}

#[test]
fn the_password_for_sentinels_is_kept_as_well() {
    let (Some(sentinels), Some((_redis, _s3, right))) = (Server::sentinels(), servers()) else { return };
    let state = |nodes: &str| {
        let who = format!("sentinel: {{master: rw, user: me, password: {SENTINEL}}}");
        format!("state: {{type: redis, mode: sentinel, nodes: {nodes}, {who}}}")
    };
    let nobody = format!("[\"{}\"]", nowhere());
    for (nodes, word) in [(nobody, "no connection"), (sentinels.sentinel_addresses(), "sentinel")] {
        for program in ["rank-server", "ingest-worker", "training-job"] {
            let config = with(&right.config(), &state(&nodes));
            let said = said(program, &config, &[("RUST_LOG", "debug")], &[word]);
            assert_kept(program, word, &said);
        }
    }
}

/// A configuration that is only read.
fn example() -> String {
    let (s3, bucket) = ("http://127.0.0.1:1".into(), "b".into());
    Places { redis: 1, password: REDIS, s3, bucket, kafka: nowhere() }.config()
}

#[test]
fn a_mistake_beside_a_secret_does_not_tell_it() {
    let mistakes = [
        (format!("password: {REDIS}"), format!("pasword: {REDIS}")),
        (format!("password: {REDIS}"), format!("password: [{REDIS}]")),
        (format!("password: {REDIS}"), format!("password: {{is: {REDIS}}}")),
        (format!("password: {REDIS}"), format!("password: {REDIS}: {REDIS}")),
        (format!("cloudKeySecret: {S3}"), format!("cloudKeySecret: [{S3}]")),
        (format!("cloudKeySecret: {S3}"), format!("cloudKeySecrets: {S3}")),
        (format!("token: {TOKEN}"), format!("token: [{TOKEN}]")),
        (format!("token: {TOKEN}"), format!("tokens: {TOKEN}")),
        (format!("sasl.password: {KAFKA}"), format!("sasl.password: [{KAFKA}]")),
        (format!("sasl.password: {KAFKA}"), format!("sasl.pasword: {KAFKA}")),
    ];
    mistakes.iter().for_each(|(right, wrong)| assert_not_told(right, wrong));
}

#[test]
fn a_secret_in_the_place_of_its_section_is_not_told() {
    assert_not_told(&format!("auth: {{password: {REDIS}}}"), &format!("auth: {REDIS}"));
    assert_not_told(&format!("api: {{host: 127.0.0.1, port: 0, token: {TOKEN}}}"), &format!("api: {TOKEN}"));
}

/// Asserts that a configuration with a mistake is refused without the secret in it.
fn assert_not_told(right: &str, wrong: &str) {
    let config = example();
    assert!(config.contains(right), "{right}");
    let said = said("ingest-worker", &config.replace(right, wrong), &[], &["serving address=", "waiting for the"]);
    assert_kept(wrong, "config.yml:", &said);
}
