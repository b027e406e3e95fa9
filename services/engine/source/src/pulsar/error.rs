//! Why a topic of Pulsar cannot be read, or no longer.

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
    /// An address that is none.
    #[error("source.serviceUrl: {0}")]
    Address(String),
    /// A name that no topic can have, or of a topic without positions.
    #[error("source.topic: {0}")]
    TopicName(String),
    /// There is no such topic.
    #[error("topic {topic} does not exist at {service}: create it, or correct source.topic")]
    NoTopic {
        /// Its name.
        topic: String,
        /// The address asked.
        service: String,
    },
    /// The broker refuses the credentials.
    #[error("{service} refused the credentials in source.options: {reason}")]
    Credentials {
        /// The address asked.
        service: String,
        /// In the words of the broker.
        reason: String,
    },
    /// No encrypted connection came about.
    #[error(
        "no TLS connection to {service}: {reason}; check source.serviceUrl, and name the file with the authority of its \
         certificate in source.options.tlsTrustCertsFilePath"
    )]
    Tls {
        /// The address asked.
        service: String,
        /// What was wrong.
        reason: String,
    },
    /// The broker knows us, and does not let us read.
    #[error(
        "{service} does not allow reading topic {topic} with subscription {subscription}: grant its role consume ({reason})"
    )]
    Denied {
        /// The address asked.
        service: String,
        /// The topic.
        topic: String,
        /// The subscription.
        subscription: String,
        /// In the words of the broker.
        reason: String,
    },
    /// Readers of a shared subscription have read further; it is not known which messages.
    #[error(
        "topic {topic} was read with source.subscriptionType: shared, so no position says what is left: events would count twice. \
         Keep the setting, or stop all readers and run 'rankwright import --rebuild', which reads the whole topic again"
    )]
    Dealt {
        /// The topic.
        topic: String,
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
