//! The commands that we send, and what we look for in the answers.

use pulsar::message::proto::base_command::Type;
use pulsar::message::proto::command_ack::AckType;
use pulsar::message::proto::command_subscribe::SubType;
use pulsar::message::proto::{
    BaseCommand, CommandAck, CommandCloseConsumer, CommandConsumerStats, CommandConsumerStatsResponse, CommandFlow,
    CommandGetLastMessageId, CommandGetLastMessageIdResponse, CommandLookupTopic, CommandLookupTopicResponse,
    CommandPartitionedTopicMetadata, CommandPartitionedTopicMetadataResponse, CommandRedeliverUnacknowledgedMessages,
    CommandSubscribe, MessageIdData,
};

pub(super) fn partitions(topic: &str) -> impl FnOnce(u64) -> BaseCommand {
    let topic = topic.to_owned();
    move |request_id| BaseCommand {
        r#type: Type::PartitionedMetadata.into(),
        partition_metadata: Some(CommandPartitionedTopicMetadata { topic, request_id, ..Default::default() }),
        ..BaseCommand::default()
    }
}

pub(super) fn partitioned(answer: BaseCommand) -> Option<(u64, CommandPartitionedTopicMetadataResponse)> {
    answer.partition_metadata_response.map(|answer| (answer.request_id, answer))
}

pub(super) fn lookup(topic: &str, authoritative: bool) -> impl FnOnce(u64) -> BaseCommand {
    let (topic, authoritative) = (topic.to_owned(), Some(authoritative));
    move |request_id| BaseCommand {
        r#type: Type::Lookup.into(),
        lookup_topic: Some(CommandLookupTopic { topic, request_id, authoritative, ..Default::default() }),
        ..BaseCommand::default()
    }
}

pub(super) fn looked_up(answer: BaseCommand) -> Option<(u64, CommandLookupTopicResponse)> {
    answer.lookup_topic_response.map(|answer| (answer.request_id, answer))
}

/// A topic that there is not is not made.
pub(super) fn subscribe(subscribe: CommandSubscribe) -> impl FnOnce(u64) -> BaseCommand {
    move |request_id| BaseCommand {
        r#type: Type::Subscribe.into(),
        subscribe: Some(CommandSubscribe { request_id, force_topic_creation: Some(false), ..subscribe }),
        ..BaseCommand::default()
    }
}

pub(super) fn done(answer: BaseCommand) -> Option<(u64, ())> {
    answer.success.map(|answer| (answer.request_id, ()))
}

/// A reader with a place of its own, which the broker forgets when it leaves.
pub(super) fn reader(topic: &str, name: String, consumer_id: u64, after: MessageIdData) -> CommandSubscribe {
    CommandSubscribe {
        topic: topic.to_owned(),
        subscription: name,
        sub_type: SubType::Exclusive.into(),
        consumer_id,
        durable: Some(false),
        start_message_id: Some(after),
        ..CommandSubscribe::default()
    }
}

pub(super) fn close(consumer_id: u64) -> impl FnOnce(u64) -> BaseCommand {
    move |request_id| BaseCommand {
        r#type: Type::CloseConsumer.into(),
        close_consumer: Some(CommandCloseConsumer { consumer_id, request_id }),
        ..BaseCommand::default()
    }
}

pub(super) fn last(consumer_id: u64) -> impl FnOnce(u64) -> BaseCommand {
    move |request_id| BaseCommand {
        r#type: Type::GetLastMessageId.into(),
        get_last_message_id: Some(CommandGetLastMessageId { consumer_id, request_id }),
        ..BaseCommand::default()
    }
}

pub(super) fn last_found(answer: BaseCommand) -> Option<(u64, CommandGetLastMessageIdResponse)> {
    answer.get_last_message_id_response.map(|answer| (answer.request_id, answer))
}

pub(super) fn stats(consumer_id: u64) -> impl FnOnce(u64) -> BaseCommand {
    move |request_id| BaseCommand {
        r#type: Type::ConsumerStats.into(),
        consumer_stats: Some(CommandConsumerStats { request_id, consumer_id }),
        ..BaseCommand::default()
    }
}

/// How many entries of a consumer's subscription are not acknowledged, nothing where the broker does not tell; and whether that
/// keeps it from sending more.
pub(super) fn backlog(answer: BaseCommand) -> Option<(u64, (Option<u64>, bool))> {
    let blocked = |answer: &CommandConsumerStatsResponse| answer.blocked_consumer_on_unacked_msgs == Some(true);
    answer.consumer_stats_response.map(|answer| (answer.request_id, (answer.msg_backlog, blocked(&answer))))
}

/// Allows the broker to send this number of further messages.
pub(super) fn flow(consumer_id: u64, message_permits: u32) -> BaseCommand {
    let flow = Some(CommandFlow { consumer_id, message_permits });
    BaseCommand { r#type: Type::Flow.into(), flow, ..BaseCommand::default() }
}

/// Acknowledges messages, or everything up to the one.
pub(super) fn acknowledge(consumer_id: u64, message_id: Vec<MessageIdData>, up_to: bool) -> BaseCommand {
    let ack_type = if up_to { AckType::Cumulative } else { AckType::Individual };
    let ack = Some(CommandAck { consumer_id, ack_type: ack_type.into(), message_id, ..CommandAck::default() });
    BaseCommand { r#type: Type::Ack.into(), ack, ..BaseCommand::default() }
}

/// Asks for everything that was sent and not acknowledged.
pub(super) fn again(consumer_id: u64) -> BaseCommand {
    let again = CommandRedeliverUnacknowledgedMessages { consumer_id, ..Default::default() };
    BaseCommand {
        r#type: Type::RedeliverUnacknowledgedMessages.into(),
        redeliver_unacknowledged_messages: Some(again),
        ..BaseCommand::default()
    }
}
