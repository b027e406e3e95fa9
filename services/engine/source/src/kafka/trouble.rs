//! What the client's errors mean: some end the reading, others are waited for and said once.
//!
//! What is wrong from the start is a mistake to correct: a topic that there is not, credentials that are refused. Once
//! it has worked, the same is a disturbance that passes.

use super::error::Error;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// Judges errors, and remembers what was said.
#[derive(Debug)]
pub(super) struct Trouble {
    brokers: String,
    topic: String,
    group: String,
    /// It worked at some time.
    worked: bool,
    /// The last warning, until it is over.
    said: Option<Code>,
    /// Why the last single connection failed: tells more than that all have.
    connection: String,
}

impl Trouble {
    pub(super) fn new(brokers: String, topic: String, group: String) -> Self {
        Self { brokers, topic, group, worked: false, said: None, connection: String::new() }
    }

    /// Whether an error ends the reading. One that does not is said, but once only.
    pub(super) fn judge(&mut self, error: &KafkaError, reason: String) -> Result<(), Error> {
        let Some(code) = error.rdkafka_error_code() else { return Ok(()) };
        let fatal = matches!(error, KafkaError::MessageConsumptionFatal(_)) || code == Code::Fatal;
        if let Some(error) = self.end(code, fatal, &reason) {
            return Err(error);
        }
        if code == Code::BrokerTransportFailure {
            self.connection = reason; // single connections come and go
        } else if self.said.replace(code) != Some(code) {
            self.say(code, &reason);
        }
        Ok(())
    }

    /// As [`Trouble::judge`], of a question that the broker was to answer.
    pub(super) fn no_answer(&mut self, error: &KafkaError) -> Result<(), Error> {
        self.judge(error, error.to_string())?;
        if self.said.is_none() {
            self.said = Some(Code::AllBrokersDown);
            self.say(Code::AllBrokersDown, &error.to_string());
        }
        Ok(())
    }

    /// Something was read, or could have been.
    pub(super) fn over(&mut self) {
        self.worked = true;
        if self.said.take().is_some() {
            tracing::info!(brokers = %self.brokers, topic = %self.topic, "reading goes on");
        }
    }

    fn end(&self, code: Code, fatal: bool, reason: &str) -> Option<Error> {
        let (brokers, topic, group) = (self.brokers.clone(), self.topic.clone(), self.group.clone());
        let reason = reason.to_owned();
        if fatal {
            return Some(Error::Failed { topic, reason });
        }
        match code {
            _ if self.worked => None,
            Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::UnknownPartition | Code::InvalidTopic => {
                Some(Error::NoTopic { topic, brokers })
            }
            Code::Authentication | Code::SaslAuthenticationFailed | Code::UnsupportedSASLMechanism => {
                Some(Error::Credentials { brokers, reason })
            }
            Code::SSL => Some(Error::Tls { brokers, reason }),
            Code::TopicAuthorizationFailed | Code::GroupAuthorizationFailed | Code::ClusterAuthorizationFailed => {
                Some(Error::Denied { brokers, topic, group, reason })
            }
            _ => None,
        }
    }

    fn say(&self, code: Code, reason: &str) {
        let (brokers, topic) = (&self.brokers, &self.topic);
        match code {
            Code::AllBrokersDown | Code::Resolve | Code::OperationTimedOut => {
                let reason = if self.connection.is_empty() { reason } else { &self.connection };
                tracing::warn!(%brokers, %topic, reason, "no broker answers; waiting for one");
            }
            Code::PollExceeded => {
                tracing::warn!(%topic, reason, "committing took so long that others were given our partitions");
            }
            _ => tracing::warn!(%brokers, %topic, reason, "reading is disturbed; going on"),
        }
    }
}
