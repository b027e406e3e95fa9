//! What the server says of keys that this connection has read.

use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind, Value};
use std::sync::Arc;

/// What became of keys that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Another client has written or removed these.
    Keys(Vec<Vec<u8>>),
    /// Anything may have changed: the database was emptied, or the connection is gone.
    All,
}

/// Called with changes, on the thread that reads from the connection: it has to be quick.
pub type Watcher = Arc<dyn Fn(Change) + Send + Sync>;

/// Hands what the server pushes to a [`Watcher`].
pub(crate) struct Pushes(pub(crate) Watcher);

impl AsyncPushSender for Pushes {
    fn send(&self, info: PushInfo) -> Result<(), SendError> {
        match info.kind {
            PushKind::Invalidate => (self.0)(changed(info.data)),
            PushKind::Disconnection => (self.0)(Change::All),
            _ => {}
        }
        Ok(())
    }
}

/// One list of keys, or nothing at all where the database was emptied.
fn changed(data: Vec<Value>) -> Change {
    let Some(Value::Array(keys)) = data.into_iter().next() else { return Change::All };
    let key = |value| match value {
        Value::BulkString(key) => Some(key),
        _ => None,
    };
    Change::Keys(keys.into_iter().filter_map(key).collect())
}
