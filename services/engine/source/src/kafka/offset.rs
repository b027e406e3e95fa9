//! At which offset reading begins: a stored one, or the first one of a time.

use super::context::Context;
use rankwright_config::Offset;
use rankwright_event::Timestamp;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::KafkaResult;
use std::time::Duration;

/// After this time a broker that does not answer is asked again.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

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
            "the broker has removed messages before they were read; continuing at the oldest one that is left"
        );
    } else if stored > end {
        // from the start, everything would count twice where the broker has merely lost the newest messages
        tracing::warn!(
            partition,
            stored,
            end,
            "the partition ends before what was read: it was created again or has lost messages; continuing at its end"
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
