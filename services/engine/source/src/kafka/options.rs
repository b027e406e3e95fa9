//! The client's settings: ours, and those that the configuration adds.

use super::error::Error;
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
    ("fetch.wait.max.ms", "200"),     // the end of a partition is known after so long
    ("max.partition.fetch.bytes", "1048576"),
    ("queued.max.messages.kbytes", "16384"),
    ("statistics.interval.ms", "1000"), // lag, and whether the broker still answers
    ("topic.metadata.refresh.interval.ms", "30000"), // new partitions are found after so long
];

/// Settings of the Java client that librdkafka does not know of; it explains those on its own that need another one here.
const JAVA: [(&str, &str); 4] = [
    ("fetch.max.wait.ms", "here it is fetch.wait.max.ms"),
    ("key.deserializer", "leave it out, keys are not read"),
    ("max.poll.records", "leave it out, batches are bounded"),
    ("value.deserializer", "leave it out, events are JSON"),
];

/// The settings of a reader; what cannot be set is left out with a warning.
pub(super) fn client(brokers: &str, group: &str, options: &BTreeMap<String, String>) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::new();
    for (key, value) in DEFAULTS {
        config.set(key, value);
    }
    for (key, value) in options {
        if let Some(reason) = reserved(key) {
            tracing::warn!(option = %key, "source.options: ignored, {reason}");
        } else {
            check(key, value)?;
            config.set(key, value);
        }
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

/// Looks at all options, whatever they are for.
pub(crate) fn check_all(options: &BTreeMap<String, String>) -> Result<(), Error> {
    options.iter().filter(|(key, _)| reserved(key).is_none()).try_for_each(|(key, value)| check(key, value))
}

/// Settings that are about the connection alone: for a client that reads nothing.
pub(crate) fn connection(brokers: &str, options: &BTreeMap<String, String>) -> Result<ClientConfig, Error> {
    const ABOUT: [&str; 7] = ["security.", "sasl.", "ssl.", "enable.ssl", "broker.", "socket.", "client."];
    let mut config = ClientConfig::new();
    config.set("client.id", "rankwright");
    for (key, value) in options.iter().filter(|(key, _)| ABOUT.iter().any(|about| key.starts_with(about))) {
        check(key, value)?;
        config.set(key, value);
    }
    config.set("bootstrap.servers", brokers).set_log_level(RDKafkaLogLevel::Info);
    Ok(config)
}

fn reserved(key: &str) -> Option<String> {
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == key).map(|(_, place)| format!("it is set by {place}"));
    let fixed = FIXED.iter().find(|(name, _)| *name == key);
    elsewhere.or_else(|| fixed.map(|(_, value)| format!("it is always {value}: positions are kept with the state")))
}

/// Looks at one option by itself, so that a message names it.
fn check(key: &str, value: &str) -> Result<(), Error> {
    let Err(error) = ClientConfig::new().set(key, value).create_native_config() else { return Ok(()) };
    let reason = match error {
        KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..) => unknown(key),
        KafkaError::ClientConfig(_, reason, ..) => reason,
        other => other.to_string(),
    };
    Err(Error::Option { key: key.to_owned(), reason })
}

fn unknown(key: &str) -> String {
    let hint = JAVA.iter().find(|(name, _)| *name == key).map(|(_, hint)| *hint);
    format!("no option of librdkafka; {}", hint.unwrap_or("its CONFIGURATION.md lists those there are"))
}

#[cfg(test)]
mod tests {
    use super::client;
    use std::collections::BTreeMap;

    fn set(options: &[(&str, &str)], key: &str) -> Option<String> {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let config = client("broker:9092", "readers", &options.collect::<BTreeMap<_, _>>()).ok()?;
        config.get(key).map(str::to_owned)
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
