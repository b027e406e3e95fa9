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
use tokio::time::timeout;

/// A letter that the broker has not taken by then is lost, in milliseconds.
const TIME: &str = "10000";

/// After one that was lost, others are waited for no longer than this until one is taken: the stream goes on.
const BRIEF: Duration = Duration::from_millis(200);

pub(super) struct Topic {
    producer: FutureProducer,
    topic: String,
    /// The last letters were lost.
    failing: bool,
}

impl Topic {
    /// A producer with the settings of the reader, as far as they are about the connection.
    pub(super) fn open(brokers: &str, topic: &str, options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let mut config = connection(brokers, options)?;
        config.set("message.timeout.ms", TIME).set("enable.idempotence", "true");
        let producer = config.create().map_err(|error| KafkaError::Options(error.to_string()))?;
        Ok(Self { producer, topic: topic.to_owned(), failing: false })
    }

    pub(super) async fn put(&mut self, letters: &[BadLine]) -> Result<(), LettersLost> {
        let sending = join_all(letters.iter().map(|letter| self.send(letter)));
        let sent = match self.failing {
            true => timeout(BRIEF, sending).await,
            false => Ok(sending.await),
        };
        let (count, reason) = match sent {
            Ok(sent) => {
                let lost: Vec<String> = sent.into_iter().filter_map(Result::err).collect();
                (lost.len(), lost.into_iter().next())
            }
            Err(_) => (letters.len(), Some("it took none before, and does not take these at once".to_owned())),
        };
        self.failing = reason.is_some();
        let lost = |reason| LettersLost { count, place: format!("topic {}", self.topic), reason };
        reason.map_or(Ok(()), |reason| Err(lost(reason)))
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
