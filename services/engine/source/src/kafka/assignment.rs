//! Instructions for the client about partitions: which to read from where, and which no longer.

use super::context::Context;
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};

/// Reads a partition from an offset on; one that is read already is stopped before.
pub(super) fn acquire<C: Consumer<Context>>(consumer: &C, topic: &str, number: i32, offset: i64) -> KafkaResult<()> {
    release(consumer, &[number])?;
    consumer.incremental_assign(&at(topic, number, offset)?)
}

/// Tells the client that an assignment was heard of; what is read of it comes later.
pub(super) fn acknowledge<C: Consumer<Context>>(consumer: &C) -> KafkaResult<()> {
    consumer.incremental_assign(&TopicPartitionList::new())
}

/// Gives partitions up, as far as they are read; others may have them then.
pub(super) fn release<C: Consumer<Context>>(consumer: &C, numbers: &[i32]) -> KafkaResult<()> {
    let read = consumer.assignment().unwrap_or_default(); // a client that is closed waits for our answer all the same
    let mut list = TopicPartitionList::new();
    for element in read.elements().iter().filter(|element| numbers.contains(&element.partition())) {
        list.add_partition(element.topic(), element.partition());
    }
    consumer.incremental_unassign(&list)
}

/// Lets the client tell the broker, some time, how far a partition is committed.
pub(super) fn note<C: Consumer<Context>>(consumer: &C, topic: &str, number: i32, offset: u64) -> KafkaResult<()> {
    consumer.store_offsets(&at(topic, number, i64::try_from(offset).unwrap_or(i64::MAX))?)
}

/// Leaves a failure to the client, which begins again by itself.
pub(super) fn logged(action: &str, result: KafkaResult<()>) {
    if let Err(error) = result {
        tracing::debug!(%error, "failed to {action}");
    }
}

fn at(topic: &str, number: i32, offset: i64) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, number, Offset::Offset(offset))?;
    Ok(list)
}
