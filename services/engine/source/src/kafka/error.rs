//! Why a topic cannot be read, or no longer.

/// Why a topic cannot be read, or no longer. If a broker is away, the reader waits for it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option that there is not, or with a value that cannot be.
    #[error("source.options.{key}: {reason}")]
    Option {
        /// Name of the option.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Options that do not go together, or that this build cannot do.
    #[error("source.options: {0}")]
    Options(String),
    /// There is no such topic.
    #[error("topic {topic} does not exist at {brokers}: create it, or correct source.topic")]
    NoTopic {
        /// Its name.
        topic: String,
        /// Addresses asked.
        brokers: String,
    },
    /// The broker refuses the credentials.
    #[error("{brokers} refused the credentials of source.options, or of the environment: {reason}")]
    Credentials {
        /// Addresses asked.
        brokers: String,
        /// In the words of the client.
        reason: String,
    },
    /// No encrypted connection came about.
    #[error("no TLS connection to {brokers}: {reason}")]
    Tls {
        /// Addresses asked.
        brokers: String,
        /// In the words of the client.
        reason: String,
    },
    /// The broker knows us, and does not let us read.
    #[error(
        "{brokers} does not allow reading topic {topic} as group {group}: grant the user of source.options Read and \
         Describe of the topic, and Read of the group ({reason})"
    )]
    Denied {
        /// Addresses asked.
        brokers: String,
        /// The topic.
        topic: String,
        /// The consumer group.
        group: String,
        /// In the words of the client.
        reason: String,
    },
    /// The client gave up for good.
    #[error("can no longer read topic {topic}: {reason}")]
    Failed {
        /// The topic.
        topic: String,
        /// In the words of the client.
        reason: String,
    },
    /// A partition that this reader has not, or a position that is none in it.
    #[error("{position} is no position in a partition of topic {topic} that is assigned to us")]
    Position {
        /// What was asked for.
        position: String,
        /// The topic.
        topic: String,
    },
}
