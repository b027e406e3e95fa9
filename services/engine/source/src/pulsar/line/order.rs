//! What a partition's connection is told, and what it tells.

use crate::pulsar::error::Error;
use crate::pulsar::place::{Begin, Place};
use crate::pulsar::reading::Entry;
use pulsar::message::proto::MessageIdData;
use tokio::sync::oneshot;

/// What a partition's connection is told.
pub(in crate::pulsar) enum Order {
    /// Read from here on, or where reading begins when nothing is known; what is read carries this number.
    Start(Start),
    /// This number of messages was taken; as many more may come.
    Taken(u32),
    /// Everything up to this place is committed.
    Passed(Place),
    /// These entries are committed.
    Done(Vec<MessageIdData>),
}

/// What is to be read.
pub(in crate::pulsar) struct Start {
    pub(in crate::pulsar) session: u64,
    pub(in crate::pulsar) from: Option<Begin>,
    pub(in crate::pulsar) begun: oneshot::Sender<Begun>,
}

/// Where reading has begun.
#[derive(Debug)]
pub(in crate::pulsar) struct Begun {
    pub(in crate::pulsar) begin: Begin,
    /// The last message that there was.
    pub(in crate::pulsar) last: Place,
}

/// What a partition's connection tells.
pub(in crate::pulsar) enum News {
    Ours,
    NotOurs,
    Entry(u64, Entry),
    /// Entries of the subscription that are not acknowledged.
    Backlog(u64),
    /// Nothing is left to read of what there was then.
    AtEnd(u64, std::time::Instant),
    /// It cannot be read.
    Lost(Error),
}
