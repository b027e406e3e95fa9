//! What can go wrong when events are taken in.

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state store failed; nothing of the batch took place.
    #[error("failed to keep the effects of events")]
    State(#[from] rankwright_state::Error),
    /// The click-through store failed; effects are kept, click-throughs wait.
    #[error("failed to keep click-throughs")]
    Clickthroughs(#[from] rankwright_clickthrough::Error),
    /// Another process writes in this one's place.
    #[error("another process writes as '{writer}'; this one stops")]
    LostLease {
        /// The writer.
        writer: String,
    },
    /// A stored join record cannot be read.
    #[error("damaged join record of ranking '{ranking}' in the state: {reason}")]
    Damaged {
        /// The ranking.
        ranking: String,
        /// What is wrong with it.
        reason: String,
    },
}
