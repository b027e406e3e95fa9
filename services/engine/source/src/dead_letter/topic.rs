//! Letters as messages of a Kafka topic: the bytes as they were, and where and why in headers.

use super::LettersLost;
use crate::kafka::connection;
use crate::{BadLine, Error, KafkaError};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rdkafka::error::{KafkaError as RdError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::util::Timeout;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// A letter that the broker has not taken by then is lost, in milliseconds.
const TIME: &str = "10000";

/// What waits for the broker, in KiB: no more is kept of what it may never take.
const ROOM: &str = "65536";

/// After one that was lost, others are waited for no longer than this until one is taken: the stream goes on.
const BRIEF: Duration = Duration::from_millis(200);

pub(super) struct Topic {
    producer: FutureProducer,
    topic: String,
    /// The last letters were lost; whichever one arrives after all, however late, takes that back.
    failing: Arc<AtomicBool>,
}

impl Topic {
    /// A producer with the settings of the reader, as far as they are about the connection.
    pub(super) fn open(brokers: &str, topic: &str, options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let mut config = connection(brokers, options)?;
        config
            .set("message.timeout.ms", TIME)
            .set("enable.idempotence", "true")
            .set("queue.buffering.max.kbytes", ROOM);
        let producer = config.create().map_err(|error| KafkaError::Options(error.to_string()))?;
        Ok(Self { producer, topic: topic.to_owned(), failing: Arc::default() })
    }

    pub(super) async fn put(&self, letters: &[BadLine]) -> Result<(), LettersLost> {
        let failing = self.failing.load(Ordering::SeqCst);
        let patience = if failing { BRIEF } else { Duration::MAX };
        let mut sending: FuturesUnordered<_> = letters.iter().map(|letter| self.send(letter, failing)).collect();
        let (end, mut kept, mut reason) = (tokio::time::sleep(patience), 0, None);
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                sent = sending.next() => match sent {
                    Some(Ok(Ok(()))) => kept += 1,
                    Some(Ok(Err(error))) => reason = Some(error),
                    Some(Err(error)) => reason = Some(error.to_string()),
                    None => break,
                },
                () = &mut end => {
                    reason = Some("it took none before, and does not take these at once".to_owned());
                    break;
                }
            }
        }
        let lost = |reason| LettersLost { count: letters.len() - kept, place: format!("topic {}", self.topic), reason };
        reason.map_or(Ok(()), |reason| Err(lost(reason)))
    }

    /// Goes on sending when the caller no longer waits for it.
    fn send(&self, letter: &BadLine, failing: bool) -> JoinHandle<Result<(), String>> {
        let position = letter.line.to_string();
        let headers = [("source", &*letter.file), ("position", &position), ("reason", &letter.reason)];
        let headers = headers
            .into_iter()
            .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(value) }));
        let (producer, topic, content) = (self.producer.clone(), self.topic.clone(), letter.content.clone());
        let state = self.failing.clone();
        let room = if failing { Timeout::After(Duration::ZERO) } else { Timeout::After(Duration::from_secs(10)) };
        tokio::spawn(async move {
            let record = FutureRecord::<(), _>::to(&topic).payload(&*content).headers(headers);
            match producer.send(record, room).await {
                Ok(_) => {
                    state.store(false, Ordering::SeqCst);
                    Ok(())
                }
                Err((error, _)) => {
                    if !is_of_the_letter(&error) {
                        state.store(true, Ordering::SeqCst);
                    }
                    Err(error.to_string())
                }
            }
        })
    }
}

/// Says nothing of others.
fn is_of_the_letter(error: &RdError) -> bool {
    use RDKafkaErrorCode::{InvalidMessage, InvalidMessageSize, InvalidRecord, MessageSizeTooLarge};
    let code = error.rdkafka_error_code();
    code.is_some_and(|code| matches!(code, InvalidMessage | InvalidMessageSize | InvalidRecord | MessageSizeTooLarge))
}
