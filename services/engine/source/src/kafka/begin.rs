//! Beginning to read: asking the broker for partitions and offsets until it answers.

use super::assignment::acquire;
use super::context::Context;
use super::error::Error as KafkaError;
use super::offset::{PATIENCE, Range, find};
use super::reading::Reading;
use super::{Kafka, number};
use crate::{Error, Partition, Position, Step};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::{KafkaError as RdError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait before a broker that cannot answer yet is asked again.
const PAUSE: Duration = Duration::from_millis(200);

impl Kafka {
    /// Begins to read an assigned partition, or begins again.
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
        // what was read before is read again, or is behind already
        self.steps
            .retain(|step| !matches!(step, Step::Batch { partition: of, .. } | Step::CaughtUp { partition: of, .. } if of == partition));
        let reading = Reading::new(partition.clone(), range, self.bounded);
        if reading.done {
            self.steps.push_back(Step::CaughtUp { partition: partition.clone(), at: Some(Instant::now()) }); // or others would wait for it
        } else {
            acquire(&*self.consumer, &self.topic, number, range.begin).map_err(|error| self.failed(&error))?;
        }
        self.readings.insert(number, reading);
        self.end_with_the_last();
        let line = u64::try_from(range.begin).unwrap_or(0);
        Ok(Position::new(partition.as_str(), line))
    }

    /// The numbers of all partitions, as the broker lists them.
    pub(super) async fn all_partitions(&mut self) -> Result<Vec<i32>, Error> {
        let topic = self.topic.clone();
        self.ask(move |consumer| listed(consumer, &topic)).await
    }

    /// Whether the topic that was missing is there again: once.
    pub(super) async fn look_for_the_topic(&mut self) -> Result<(), Error> {
        let (consumer, topic) = (Arc::clone(&self.consumer), self.topic.clone());
        let answer = tokio::task::spawn_blocking(move || listed(&consumer, &topic)).await;
        let found = answer.expect("asking the broker does not panic");
        Ok(self.trouble.asked(&found.map(|partitions| partitions.len()))?)
    }

    /// Whether a partition still has what was read of it. Where it was deleted and created again, or has lost messages, the
    /// client begins again by itself, at the place where a new reader would.
    pub(super) async fn look_again(&mut self, number: i32) -> Result<(), Error> {
        let Some(next) = self.readings.get(&number).map(|reading| reading.next) else { return Ok(()) };
        let range = self.range(number, Some(next)).await?;
        let Some(reading) = self.readings.get_mut(&number) else { return Ok(()) };
        if range.begin == next || reading.done {
            return Ok(()); // it came again
        }
        reading.reach(range.begin - 1);
        self.finish_batch(number);
        acquire(&*self.consumer, &self.topic, number, range.begin).map_err(|error| self.failed(&error))
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
        let end = tokio::time::Instant::now() + PAUSE;
        while let Ok(received) = tokio::time::timeout_at(end, consumer.recv()).await {
            self.receive(received)?;
        }
        self.trouble.no_answer(error)?;
        if self.trouble.asks_at(self.settings.gone_after).is_some_and(|asks| asks <= Instant::now()) {
            self.look_for_the_topic().await?;
        }
        Ok(())
    }

    fn failed(&self, error: &RdError) -> Error {
        KafkaError::Failed { topic: self.topic.clone(), reason: error.to_string() }.into()
    }
}

/// The partitions of a topic, as the broker lists them.
fn listed(consumer: &StreamConsumer<Context>, topic: &str) -> KafkaResult<Vec<i32>> {
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE)?;
    let found = metadata.topics().iter().find(|found| found.name() == topic);
    if let Some(error) = found.and_then(|found| found.error()) {
        return Err(RdError::MetadataFetch(error.into()));
    }
    let missing = RdError::MetadataFetch(RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.into());
    let partitions = found.ok_or(missing)?.partitions();
    Ok(partitions.iter().map(|partition| partition.id()).collect())
}
