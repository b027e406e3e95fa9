//! Why a stream of Kinesis cannot be read, or no longer.

/// Why a stream cannot be read, or no longer. If the service is away, or throttles, the reader waits for it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such stream.
    #[error("stream {stream} does not exist at {service}: create it, or correct source.topic and source.region")]
    NoStream {
        /// Its name.
        stream: String,
        /// The service asked.
        service: String,
    },
    /// No credentials are configured.
    #[error(
        "no credentials for {service}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the pod or machine a role"
    )]
    NoCredentials {
        /// The service.
        service: String,
    },
    /// The service refuses the credentials.
    #[error("{service} refused the credentials: {reason}")]
    Credentials {
        /// The service asked.
        service: String,
        /// In the words of the service.
        reason: String,
    },
    /// No encrypted connection came about.
    #[error(
        "the certificate of {service} is not trusted ({reason}); add its authority to those of the system, or name the file \
         with it in SSL_CERT_FILE"
    )]
    Certificate {
        /// The service asked.
        service: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The service knows us, and does not let us read.
    #[error(
        "{service} does not allow reading stream {stream}, which takes kinesis:ListShards, kinesis:GetShardIterator and \
         kinesis:GetRecords: {reason}"
    )]
    Denied {
        /// The service asked.
        service: String,
        /// The stream.
        stream: String,
        /// In the words of the service.
        reason: String,
    },
    /// A stored position that the service does not know.
    #[error(
        "{position} is no position in stream {stream} (was it deleted and created again under the same name?): {reason}"
    )]
    Position {
        /// What was asked for.
        position: String,
        /// The stream.
        stream: String,
        /// What is wrong.
        reason: String,
    },
}
