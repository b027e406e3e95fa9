//! Where reading begins in a partition.

use super::assignment::acquire;
use super::context::Context;
use super::error::Error as KafkaError;
use super::reading::Reading;
use super::{Kafka, number};
use crate::{Error, Partition, Position};
use futures_util::FutureExt;
use rankwright_config::Offset;
use rankwright_event::Timestamp;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::{KafkaError as RdError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;
use std::sync::Arc;
use std::time::Duration;

/// A broker that does not answer for so long is asked again.
const PATIENCE: Duration = Duration::from_secs(5);

/// A broker that cannot answer yet is asked again after so long.
const PAUSE: Duration = Duration::from_millis(200);

/// Where reading begins, and where the partition ends now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// The time from which on an offset reads; `None` is from the first message stored.
///
/// The latest is a time as well: a partition that is added later has only messages that arrived since.
pub(super) fn since(offset: Offset, now: Timestamp) -> Option<Timestamp> {
    match offset {
        Offset::Earliest => None,
        Offset::Latest => Some(now),
        Offset::At(time) => Some(time),
        Offset::Last(length) => Some(now.minus(length)),
    }
}

impl Kafka {
    /// Begins to read an assigned partition, or begins anew.
    pub(super) async fn begin(&mut self, partition: &Partition, from: Option<Position>) -> Result<Position, Error> {
        let none = |position: String| KafkaError::Position { position, topic: self.topic.clone() };
        let number = number(&self.topic, partition).filter(|number| self.assigned.contains(number));
        let number = number.ok_or_else(|| none(partition.to_string()))?;
        if let Some(position) = from.as_ref().filter(|position| position.file != partition.as_str()) {
            return Err(none(position.to_string()).into());
        }
        let stored = from.map(|position| i64::try_from(position.line).unwrap_or(i64::MAX));
        let range = self.range(number, stored).await?;
        self.building.take(number);
        let reading = Reading::new(partition.clone(), range, self.bounded);
        if !reading.done {
            acquire(&*self.consumer, &self.topic, number, range.begin).map_err(|error| self.failed(&error))?;
        }
        self.readings.insert(number, reading);
        self.end_with_the_last();
        let line = u64::try_from(range.begin).unwrap_or(0);
        Ok(Position { file: partition.as_str().to_owned(), line })
    }

    /// The numbers of all partitions, as the broker lists them.
    pub(super) async fn all_partitions(&mut self) -> Result<Vec<i32>, Error> {
        let topic = self.topic.clone();
        self.ask(move |consumer| {
            let metadata = consumer.fetch_metadata(Some(&topic), PATIENCE)?;
            let found = metadata.topics().iter().find(|found| found.name() == topic);
            if let Some(error) = found.and_then(|found| found.error()) {
                return Err(RdError::MetadataFetch(error.into()));
            }
            let missing = RdError::MetadataFetch(RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.into());
            let partitions = found.ok_or(missing)?.partitions();
            Ok(partitions.iter().map(|partition| partition.id()).collect())
        })
        .await
    }

    async fn range(&mut self, number: i32, stored: Option<i64>) -> Result<Range, Error> {
        let (topic, since) = (self.topic.clone(), self.since);
        self.ask(move |consumer| find(consumer, (&topic, number), stored, since)).await
    }

    /// Asks the broker on a thread that may wait, until there is an answer.
    async fn ask<T: Send + 'static>(
        &mut self,
        question: impl Fn(&StreamConsumer<Context>) -> KafkaResult<T> + Clone + Send + 'static,
    ) -> Result<T, Error> {
        loop {
            let (consumer, question) = (Arc::clone(&self.consumer), question.clone());
            let answer = tokio::task::spawn_blocking(move || question(&consumer)).await;
            match answer.expect("asking the broker does not panic") {
                Ok(answer) => return Ok(answer),
                Err(error) => self.wait_after(&error).await?,
            }
        }
    }

    /// Learns why the broker does not answer, which comes along with messages, and waits a little.
    async fn wait_after(&mut self, error: &RdError) -> Result<(), Error> {
        let consumer = Arc::clone(&self.consumer);
        while let Some(received) = consumer.recv().now_or_never() {
            self.receive(received)?;
        }
        self.trouble.judge(error, error.to_string())?;
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }

    fn failed(&self, error: &RdError) -> Error {
        KafkaError::Failed { topic: self.topic.clone(), reason: error.to_string() }.into()
    }
}

/// Asks the broker where to begin: at a stored offset, or at the first message of a time. Waits for the answer.
pub(super) fn find(
    consumer: &StreamConsumer<Context>,
    (topic, number): (&str, i32),
    stored: Option<i64>,
    since: Option<Timestamp>,
) -> KafkaResult<Range> {
    let (low, end) = consumer.fetch_watermarks(topic, number, PATIENCE)?;
    let begin = match (stored, since) {
        (Some(stored), _) => within(stored, low, end, &format!("kafka:{topic}/{number}")),
        (None, None) => low,
        (None, Some(time)) => first_since(consumer, (topic, number), time)?.map_or(end, |offset| offset.max(low)),
    };
    Ok(Range { begin, end })
}

/// A stored offset, or the nearest one that there is, after a warning.
fn within(stored: i64, low: i64, end: i64, partition: &str) -> i64 {
    if stored < low {
        let lost = low - stored;
        tracing::warn!(
            partition,
            lost,
            "the broker has removed messages before they were read; going on at the oldest one there is"
        );
    } else if stored > end {
        // from the start, everything would count twice where the broker has merely lost the newest messages
        tracing::warn!(
            partition,
            stored,
            end,
            "the partition ends before what was read: it was made anew or has lost messages; going on at its end"
        );
    }
    stored.clamp(low, end.max(low))
}

/// The first message with a time of the broker's log that is not earlier; `None` where there is none.
fn first_since(
    consumer: &StreamConsumer<Context>,
    (topic, number): (&str, i32),
    time: Timestamp,
) -> KafkaResult<Option<i64>> {
    let mut asked = TopicPartitionList::new();
    // a negative time would be one of the protocol's signs
    asked.add_partition_offset(topic, number, rdkafka::Offset::Offset(time.millis().max(0)))?;
    let found = consumer.offsets_for_times(asked, PATIENCE)?;
    let found = found.find_partition(topic, number);
    let Some(found) = found else { return Ok(None) };
    found.error()?;
    Ok(match found.offset() {
        rdkafka::Offset::Offset(offset) => Some(offset),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn a_stored_offset_holds_where_the_partition_still_has_it() {
        assert_eq!(within(5, 0, 10, "p"), 5);
        assert_eq!(within(10, 0, 10, "p"), 10);
    }

    #[test]
    fn an_offset_outside_gives_way_to_the_nearest_one() {
        assert_eq!(within(5, 7, 10, "p"), 7);
        assert_eq!(within(12, 7, 10, "p"), 10);
    }
}
