//! `source`: where events come from.

use crate::secret::without_line_breaks;
use crate::section::Section;
use crate::source::{DeadLetter, EventFormat, FileOrder, Offset, SourceConfig, SourceKind, Subscription};
use crate::trace::ANY_NAME;
use crate::value::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Copy)]
enum Kind {
    File,
    Kafka,
    Pulsar,
    Kinesis,
}

pub(super) fn source(value: &Value<'_>) -> Option<SourceConfig> {
    let section = value.section()?;
    let kinds = [("file", Kind::File), ("kafka", Kind::Kafka), ("pulsar", Kind::Pulsar), ("kinesis", Kind::Kinesis)];
    let of_type = section.required("type", "file, kafka, pulsar or kinesis");
    let offset = section.or("offset", Offset::default(), |value| value.spelled("an offset"));
    let format = section.or("format", EventFormat::default(), |value| value.spelled("an event format"));
    let kind = match of_type.and_then(|of_type| of_type.choice("source type", &kinds)) {
        Some(kind) => kind,
        None => section.guess(&kinds.map(|(_, kind)| kind), |section, kind| drop(of_kind(kind, section)))?,
    };
    let read = of_kind(kind, &section);
    let dead_letter = section.get("deadLetter").and_then(|value| dead_letter(&value, kind, read.as_ref()));
    section.finish();
    Some(SourceConfig { offset, format, kind: read?, dead_letter })
}

fn of_kind(kind: Kind, section: &Section<'_>) -> Option<SourceKind> {
    match kind {
        Kind::File => file(section),
        Kind::Kafka => kafka(section),
        Kind::Pulsar => pulsar(section),
        Kind::Kinesis => kinesis(section),
    }
}

fn dead_letter(value: &Value<'_>, kind: Kind, read: Option<&SourceKind>) -> Option<DeadLetter> {
    let section = value.section()?;
    let (path, topic) = (section.get("path"), section.get("topic"));
    section.finish();
    match (path, topic, kind) {
        (_, _, Kind::File) => {
            value.wrong("files keep what cannot be read themselves", "this key with a stream");
            None
        }
        (Some(path), None, _) => path.text().map(|path| DeadLetter::File(PathBuf::from(path))),
        (None, Some(topic), Kind::Kafka) => match topic.text()? {
            name if matches!(read, Some(SourceKind::Kafka { topic, .. }) if *topic == name) => {
                topic.other("another topic than `source.topic`, or what cannot be read would come again and again")
            }
            name => Some(DeadLetter::Topic(name)),
        },
        (None, Some(topic), _) => topic.other("the path of a file: topics are for a source of type kafka"),
        _ => value.other("either `path` or `topic`"),
    }
}

fn file(section: &Section<'_>) -> Option<SourceKind> {
    let path = section.get("path").and_then(|value| value.text()).map(PathBuf::from);
    let sort = section.or("sort", FileOrder::default(), |value| value.spelled("a file order"));
    Some(SourceKind::File { path, sort })
}

fn kafka(section: &Section<'_>) -> Option<SourceKind> {
    let brokers = section.required("brokers", "a list of host:port").map(|value| value.texts("a list of host:port"));
    let (topic, group_id) = (topic(section), text(section, "groupId", "the consumer group"));
    let options = options(section, &[]);
    Some(SourceKind::Kafka { brokers: brokers?, topic: topic?, group_id: group_id?, options })
}

fn pulsar(section: &Section<'_>) -> Option<SourceKind> {
    let types = [
        ("exclusive", Subscription::Exclusive),
        ("shared", Subscription::Shared),
        ("failover", Subscription::Failover),
    ];
    let service_url = section.required("serviceUrl", "pulsar://host:6650");
    let service_url = service_url.and_then(|value| value.url(&["pulsar://", "pulsar+ssl://"]));
    let admin_url = section.required("adminUrl", "http://host:8080");
    let admin_url = admin_url.and_then(|value| value.url(&["http://", "https://"]));
    let topic = topic(section);
    let subscription_name = text(section, "subscriptionName", "the subscription");
    let subscription_type =
        section.or("subscriptionType", Subscription::default(), |value| value.choice("subscription type", &types));
    let options = options(section, &OBJECTS);
    Some(SourceKind::Pulsar {
        service_url: service_url?,
        admin_url: admin_url?,
        topic: topic?,
        subscription_name: subscription_name?,
        subscription_type,
        options,
    })
}

fn kinesis(section: &Section<'_>) -> Option<SourceKind> {
    let (region, topic) = (text(section, "region", "the stream's region, such as us-east-1"), topic(section));
    let endpoint = section.get("endpoint").and_then(|value| value.url(&["http://", "https://"]));
    section.ignored(&[
        ("skipCertVerification", "certificates are always verified"),
        ("getRecordsPeriod", "a shard is read as often as its limits allow"),
        ("sleepOnEmptyPeriod", "a shard is read as often as its limits allow"),
    ]);
    Some(SourceKind::Kinesis { region: region?, topic: topic?, endpoint })
}

fn topic(section: &Section<'_>) -> Option<String> {
    text(section, "topic", "what events are read from")
}

fn text(section: &Section<'_>, key: &'static str, what: &str) -> Option<String> {
    section.required(key, what).and_then(|value| value.text())
}

/// Options of the Java client of Pulsar that are objects or lists there. None has a use here, whatever it holds.
const OBJECTS: [&str; 13] = [
    "ackTimeoutRedeliveryBackoff",
    "batchReceivePolicy",
    "consumerEventListener",
    "cryptoKeyReader",
    "deadLetterPolicy",
    "keySharedPolicy",
    "messageCrypto",
    "messagePayloadProcessor",
    "negativeAckRedeliveryBackoff",
    "properties",
    "socks5ProxyAddress",
    "subscriptionProperties",
    "topicNames",
];

/// An option may be empty: the Java client of Kafka takes a few as switched off then.
fn options(section: &Section<'_>, objects: &[&str]) -> BTreeMap<String, String> {
    let given = section.get("options").map(|value| value.named("a mapping of texts")).unwrap_or_default();
    // some are passwords, out of files that end with a line break
    let text = |name: &str, value: &Value<'_>| match value.scalar() {
        Some(text) => Some(text.to_owned()),
        None if name == ANY_NAME && !objects.is_empty() => {
            value.takes_anything();
            None
        }
        None if objects.contains(&name) => Some(String::new()),
        None => value.text(),
    };
    let option = |(name, value): (String, Value<'_>)| Some((name.clone(), without_line_breaks(text(&name, &value)?)));
    given.into_iter().filter_map(option).collect()
}
