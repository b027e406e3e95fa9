//! The client's settings: fixed ones, and those that the configuration adds.

use super::error::Error;
use super::java;
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use std::collections::BTreeMap;

/// How we read, whatever the configuration says: positions and rebalancing rest on it.
const FIXED: [(&str, &str); 6] = [
    ("auto.offset.reset", "earliest"), // after the broker has removed what comes next; where to begin is our own affair
    ("enable.auto.commit", "true"),    // of what was noted, for the broker's own tools
    ("enable.auto.offset.store", "false"),
    ("enable.partition.eof", "true"),
    ("isolation.level", "read_committed"),
    // partitions that stay with a reader are read on while others move; we hold the positions, so nothing has to be
    // committed to the broker between one reader and the next
    ("partition.assignment.strategy", "cooperative-sticky"),
];

/// Named elsewhere in the configuration.
const ELSEWHERE: [(&str, &str); 3] = [
    ("group.id", "source.groupId"),
    ("bootstrap.servers", "source.brokers"),
    ("metadata.broker.list", "source.brokers"),
];

/// Bounds of memory and waiting; the configuration may set others.
const DEFAULTS: [(&str, &str); 8] = [
    ("client.id", "rankwright"),
    ("fetch.max.bytes", "8388608"),
    ("fetch.queue.backoff.ms", "10"), // a second by default: reading would stutter at a full queue
    ("fetch.wait.max.ms", "200"),     // the end of a partition is known after this time
    ("max.partition.fetch.bytes", "1048576"),
    ("queued.max.messages.kbytes", "16384"),
    ("statistics.interval.ms", "1000"), // lag, and whether the broker still answers
    ("topic.metadata.refresh.interval.ms", "30000"), // new partitions are found after this time
];

/// Milliseconds without a heartbeat after which a reader is away: the default of librdkafka.
const SESSION_TIMEOUT: u64 = 45_000;

/// The settings of a reader, without what [`check_all`] warns of.
pub(super) fn client(brokers: &str, group: &str, options: &BTreeMap<String, String>) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::new();
    for (key, value) in DEFAULTS {
        config.set(key, value);
    }
    let values = settings(options)?.values;
    // it may not be above the time within which a reader has to poll
    if let Some(interval) = values.get("max.poll.interval.ms").and_then(|interval| interval.parse::<u64>().ok()) {
        config.set("session.timeout.ms", interval.min(SESSION_TIMEOUT).to_string());
    }
    for (key, value) in values {
        config.set(key, value);
    }
    // the newer group protocol has the broker assign partitions, likewise one by one
    let by_broker = options.get("group.protocol").is_some_and(|protocol| protocol == "consumer");
    for (key, value) in FIXED.into_iter().filter(|(key, _)| !(by_broker && *key == "partition.assignment.strategy")) {
        config.set(key, value);
    }
    config.set("bootstrap.servers", brokers).set("group.id", group);
    config.set_log_level(RDKafkaLogLevel::Info);
    Ok(config)
}

/// Looks at all options, whatever they are for; what to warn of.
pub(crate) fn check_all(options: &BTreeMap<String, String>) -> Result<Vec<String>, Error> {
    let moved = settings(options)?.moved.into_iter().map(|(key, from, to)| {
        format!("source.options.{key}: {from} is outside the range of librdkafka, {to} is used")
    });
    let unused = options.keys().filter_map(|key| Some((key, ignored(key, options)?)));
    Ok(moved.chain(unused.map(|(key, reason)| format!("source.options.{key}: ignored, {reason}"))).collect())
}

/// Options as librdkafka takes them.
#[derive(Default)]
struct Settings {
    values: BTreeMap<String, String>,
    /// Numbers outside the range that they have there: option, what it says, and what is used.
    moved: Vec<(String, String, String)>,
}

/// What the options are for librdkafka. What has no use is left out; one that is named as there goes before the same one of
/// the Java client.
fn settings(options: &BTreeMap<String, String>) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    for (key, value) in options.iter().filter(|(key, _)| ignored(key, options).is_none()) {
        let wrong = |reason| Error::Option { key: key.clone(), reason };
        for (name, value) in java::translated(key, value, options).map_err(wrong)? {
            let taken = within_range(&name, &value).map_err(wrong)?;
            if taken != value {
                settings.moved.push((key.clone(), value, taken.clone()));
            }
            match name == *key {
                true => drop(settings.values.insert(name, taken)),
                false => drop(settings.values.entry(name).or_insert(taken)),
            }
        }
    }
    Ok(settings)
}

/// Settings that are about the connection alone: for a client that reads nothing.
pub(crate) fn connection(brokers: &str, options: &BTreeMap<String, String>) -> Result<ClientConfig, Error> {
    const ABOUT: [&str; 7] = ["security.", "sasl.", "ssl.", "enable.ssl", "broker.", "socket.", "client."];
    let mut config = ClientConfig::new();
    config.set("client.id", "rankwright");
    for (key, value) in
        settings(options)?.values.iter().filter(|(key, _)| ABOUT.iter().any(|about| key.starts_with(about)))
    {
        config.set(key, value);
    }
    config.set("bootstrap.servers", brokers).set_log_level(RDKafkaLogLevel::Info);
    Ok(config)
}

/// Why an option is ignored, if it is.
fn ignored(key: &str, options: &BTreeMap<String, String>) -> Option<String> {
    reserved(key).or_else(|| java::unused(key, options).map(str::to_owned))
}

fn reserved(key: &str) -> Option<String> {
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == key).map(|(_, place)| format!("it is set by {place}"));
    let fixed = FIXED.iter().find(|(name, _)| *name == key);
    elsewhere.or_else(|| fixed.map(|(_, value)| format!("it is always {value}: positions are kept with the state")))
}

/// The value of an option, or the nearest in the range that it has: those of the Java client are wider.
fn within_range(key: &str, value: &str) -> Result<String, String> {
    let Err(reason) = check(key, value) else { return Ok(value.to_owned()) };
    nearest(&reason, value).filter(|nearest| check(key, nearest).is_ok()).ok_or(reason)
}

/// The number nearest to a value in the range that a refusal of librdkafka names, such as `outside allowed range 1..86400000`.
fn nearest(reason: &str, value: &str) -> Option<String> {
    let (_, range) = reason.split_once("outside allowed range ")?;
    let (least, most) = range.trim().split_once("..")?;
    let (least, most) = (least.parse::<i64>().ok()?, most.parse::<i64>().ok()?);
    let value = value.parse::<i64>().ok()?;
    // -1 stands for none, or for what the system chooses
    (value > most || value == -1).then_some(value.clamp(least, most).to_string())
}

/// Looks at one option by itself, so that a message names it.
fn check(key: &str, value: &str) -> Result<(), String> {
    let Err(error) = ClientConfig::new().set(key, value).create_native_config() else { return Ok(()) };
    Err(match error {
        KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..) => {
            "no option of librdkafka; its CONFIGURATION.md lists those there are".to_owned()
        }
        KafkaError::ClientConfig(_, reason, ..) => reason,
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::{check_all, client, connection, ignored};
    use std::collections::BTreeMap;

    fn options(options: &[(&str, &str)]) -> BTreeMap<String, String> {
        options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn set(given: &[(&str, &str)], key: &str) -> Option<String> {
        let config = client("broker:9092", "readers", &options(given)).ok()?;
        config.get(key).map(str::to_owned)
    }

    #[test]
    fn options_of_the_java_client_are_translated() {
        let jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"u\" password=\"p\";";
        let given = [
            ("security.protocol", "SASL_SSL"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.jaas.config", jaas),
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.location", "/etc/ca.pem"),
            ("ssl.endpoint.identification.algorithm", ""),
            ("fetch.max.wait.ms", "300"),
            ("receive.buffer.bytes", "-1"),
            ("request.timeout.ms", "20000"),
            ("max.poll.records", "500"),
            ("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer"),
        ];
        for (key, value) in [
            ("sasl.username", "u"),
            ("sasl.password", "p"),
            ("ssl.ca.location", "/etc/ca.pem"),
            ("ssl.endpoint.identification.algorithm", "none"),
            ("fetch.wait.max.ms", "300"),
            ("socket.receive.buffer.bytes", "0"),
            ("socket.timeout.ms", "20000"),
        ] {
            assert_eq!(set(&given, key).as_deref(), Some(value), "{key}");
        }
        for key in ["sasl.jaas.config", "ssl.truststore.location", "max.poll.records", "key.deserializer"] {
            assert_eq!(set(&given, key), None, "{key}");
        }
        let connection = connection("broker:9092", &options(&given)).expect("has a connection");
        assert_eq!(connection.get("sasl.username"), Some("u"));
        assert_eq!(connection.get("fetch.wait.max.ms"), None, "of a reader alone");
    }

    #[test]
    fn a_number_outside_the_range_of_librdkafka_is_brought_into_it() {
        for (key, value, name, taken) in [
            ("max.poll.interval.ms", "2147483647", "max.poll.interval.ms", "86400000"),
            ("request.timeout.ms", "600000", "socket.timeout.ms", "300000"),
            ("fetch.max.bytes", "2147483647", "fetch.max.bytes", "2147483135"),
            ("connections.max.idle.ms", "-1", "connections.max.idle.ms", "0"),
            ("client.dns.lookup", "default", "client.dns.lookup", "use_all_dns_ips"),
        ] {
            assert_eq!(set(&[(key, value)], name).as_deref(), Some(taken), "{key}");
        }
        let short = [("max.poll.interval.ms", "30000")];
        assert_eq!(set(&short, "session.timeout.ms").as_deref(), Some("30000"));
        client("broker:9092", "readers", &options(&short)).expect("it is set").create_native_config().expect("it fits");
        for (key, wrong) in [("max.poll.interval.ms", "soon"), ("session.timeout.ms", "0")] {
            assert!(check_all(&options(&[(key, wrong)])).is_err(), "{key}");
        }
    }

    #[test]
    fn an_option_of_librdkafka_goes_before_the_same_one_of_the_java_client() {
        let given = [
            ("sasl.jaas.config", "a.PlainLoginModule required username=\"u\" password=\"p\";"),
            ("sasl.password", "of the environment"),
            ("ssl.ca.location", "/own.pem"),
            ("ssl.truststore.location", "/java.pem"),
            ("ssl.truststore.type", "pem"),
        ];
        let found = ["sasl.username", "sasl.password", "ssl.ca.location"].map(|key| set(&given, key));
        assert_eq!(found, ["u", "of the environment", "/own.pem"].map(|value| Some(value.to_owned())));
    }

    #[test]
    fn a_java_key_store_is_refused_with_the_way_to_pem() {
        let refused = |given: &[(&str, &str)]| check_all(&options(given)).expect_err("refused").to_string();
        let trust = refused(&[("ssl.truststore.location", "/trust.jks"), ("ssl.truststore.password", "hunter2")]);
        assert!(trust.starts_with("source.options.ssl.truststore.location: a Java key store"), "{trust}");
        assert!(trust.contains("keytool -list -rfc") && trust.contains("ssl.ca.location"), "{trust}");
        for (path, of_type) in [("/key.jks", "jks"), ("/certs/kafka.keystore", ""), ("/certs/kafka.keystore", "JKS")] {
            let of_type = [("ssl.keystore.type", of_type)].into_iter().filter(|(_, of_type)| !of_type.is_empty());
            let key = refused(&of_type.chain([("ssl.keystore.location", path)]).collect::<Vec<_>>());
            assert!(key.contains("-deststoretype PKCS12") && key.contains("ssl.certificate.location"), "{key}");
        }
        let pem = [("ssl.keystore.location", "/key.pem"), ("ssl.keystore.type", "PEM")];
        let found = ["ssl.certificate.location", "ssl.key.location", "ssl.keystore.location"].map(|key| set(&pem, key));
        assert_eq!(found, [Some("/key.pem".to_owned()), Some("/key.pem".to_owned()), None]);
        let p12 = [("ssl.keystore.location", "/key"), ("ssl.keystore.type", "PKCS12")];
        assert_eq!(set(&p12, "ssl.keystore.location").as_deref(), Some("/key"));
        assert_eq!(set(&[("ssl.keystore.location", "/key.p12")], "ssl.keystore.location").as_deref(), Some("/key.p12"));
    }

    #[test]
    fn what_is_ignored_or_changed_is_warned_of() {
        let given = [("fetch.max.bytes", "2147483647"), ("group.id", "other"), ("max.poll.records", "500")];
        let expected = [
            "source.options.fetch.max.bytes: 2147483647 is outside the range of librdkafka, 2147483135 is used",
            "source.options.group.id: ignored, it is set by source.groupId",
            "source.options.max.poll.records: ignored, state.pipeline says how large batches are",
        ];
        assert_eq!(check_all(&options(&given)).expect("is right"), expected);
        assert_eq!(check_all(&options(&[("client.id", "shop")])).expect("is right"), [""; 0]);
    }

    #[test]
    fn what_is_said_of_a_store_that_no_option_names_is_ignored() {
        for key in ["ssl.truststore.password", "ssl.truststore.type", "ssl.keystore.type"] {
            assert!(ignored(key, &options(&[(key, "x")])).is_some(), "{key}");
        }
        let of_a_store = options(&[("ssl.truststore.location", "/ca.pem"), ("ssl.truststore.type", "PEM")]);
        assert_eq!(ignored("ssl.truststore.type", &of_a_store), None);
    }

    #[test]
    fn an_option_of_neither_client_is_refused() {
        let error = check_all(&options(&[("max.pol.records", "5")])).expect_err("refused").to_string();
        assert!(error.starts_with("source.options.max.pol.records: no option of librdkafka"), "{error}");
        let error = check_all(&options(&[("request.timeout.ms", "soon")])).expect_err("refused").to_string();
        assert!(error.starts_with("source.options.request.timeout.ms: "), "{error}");
    }

    #[test]
    fn options_take_the_place_of_defaults() {
        assert_eq!(set(&[], "client.id").as_deref(), Some("rankwright"));
        assert_eq!(set(&[("client.id", "shop")], "client.id").as_deref(), Some("shop"));
    }

    #[test]
    fn what_positions_rest_on_cannot_be_set() {
        let options =
            [("isolation.level", "read_uncommitted"), ("group.id", "other"), ("metadata.broker.list", "other:9092")];
        assert_eq!(set(&options, "isolation.level").as_deref(), Some("read_committed"));
        assert_eq!(set(&options, "group.id").as_deref(), Some("readers"));
        assert_eq!(set(&options, "bootstrap.servers").as_deref(), Some("broker:9092"));
        assert_eq!(set(&options, "metadata.broker.list"), None);
    }

    #[test]
    fn the_newer_group_protocol_has_no_strategy_of_members() {
        let strategy = "partition.assignment.strategy";
        assert_eq!(set(&[], strategy).as_deref(), Some("cooperative-sticky"));
        assert_eq!(set(&[("group.protocol", "consumer")], strategy), None);
    }
}
