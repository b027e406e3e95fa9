//! Letters as messages of a Kafka topic: the bytes as they were, and where and why in headers.

use super::LettersLost;
use crate::kafka::connection;
use crate::{BadLine, Error, KafkaError};
use futures_util::future::join_all;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::util::Timeout;
use std::collections::BTreeMap;
use std::time::Duration;

/// A letter that the broker has not taken by then is lost.
const TIME: &str = "10000";

pub(super) struct Topic {
    producer: FutureProducer,
    topic: String,
}

impl Topic {
    /// A producer with the settings of the reader, as far as they are about the connection.
    pub(super) fn open(brokers: &str, topic: &str, options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let mut config = connection(brokers, options)?;
        config.set("message.timeout.ms", TIME).set("enable.idempotence", "true");
        let producer = config.create().map_err(|error| KafkaError::Options(error.to_string()))?;
        Ok(Self { producer, topic: topic.to_owned() })
    }

    pub(super) async fn put(&self, letters: &[BadLine]) -> Result<(), LettersLost> {
        let sent = join_all(letters.iter().map(|letter| self.send(letter))).await;
        let lost: Vec<String> = sent.into_iter().filter_map(Result::err).collect();
        let Some(reason) = lost.first() else { return Ok(()) };
        Err(LettersLost { count: lost.len(), place: format!("topic {}", self.topic), reason: reason.clone() })
    }

    async fn send(&self, letter: &BadLine) -> Result<(), String> {
        let position = letter.line.to_string();
        let headers = [("source", &*letter.file), ("position", &position), ("reason", &letter.reason)];
        let headers = headers
            .into_iter()
            .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(value) }));
        let record = FutureRecord::<(), _>::to(&self.topic).payload(&*letter.content).headers(headers);
        let sent = self.producer.send(record, Timeout::After(Duration::from_secs(10))).await;
        sent.map(|_| ()).map_err(|(error, _)| error.to_string())
    }
}
