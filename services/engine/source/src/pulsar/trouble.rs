//! What a broken connection means: some end the reading, others are waited for and said once.
//!
//! What is wrong from the start is a mistake to correct: a topic that there is not, credentials that are refused. Once
//! it has worked, the same is a disturbance that passes.

use super::connection::Fault;
use super::error::Error;
use pulsar::message::proto::ServerError;

/// Judges faults, and remembers what was said.
#[derive(Debug)]
pub(super) struct Trouble {
    service: String,
    topic: String,
    subscription: String,
    /// It worked at some time.
    worked: bool,
    /// The last warning, until it is over.
    said: Option<String>,
}

impl Trouble {
    pub(super) fn new(service: &str, topic: &str, subscription: &str) -> Self {
        let (service, topic, subscription) = (service.to_owned(), topic.to_owned(), subscription.to_owned());
        Self { service, topic, subscription, worked: false, said: None }
    }

    /// Whether a fault ends the reading. One that does not is said, but once only.
    pub(super) fn judge(&mut self, fault: Fault) -> Result<(), Error> {
        match fault {
            Fault::Setting(error) if !self.worked => return Err(error),
            Fault::Tls(reason) if !self.worked => return Err(Error::Tls { service: self.service.clone(), reason }),
            Fault::Refused(code, reason) if !self.worked => self.refused(code, reason)?,
            Fault::Setting(error) => self.say("reading is disturbed; going on", &error.to_string()),
            Fault::Refused(_, reason) => self.say("reading is disturbed; going on", &reason),
            Fault::Away(reason) | Fault::Tls(reason) => self.say("no broker answers; waiting for one", &reason),
        }
        Ok(())
    }

    fn refused(&mut self, code: ServerError, reason: String) -> Result<(), Error> {
        let (service, topic, subscription) = (self.service.clone(), self.topic.clone(), self.subscription.clone());
        match code {
            ServerError::TopicNotFound | ServerError::InvalidTopicName => Err(Error::NoTopic { topic, service }),
            ServerError::AuthenticationError => Err(Error::Credentials { service, reason }),
            ServerError::AuthorizationError => Err(Error::Denied { service, topic, subscription, reason }),
            ServerError::ConsumerBusy => {
                self.say("somebody else reads with this subscription; waiting", &reason);
                Ok(())
            }
            _ => {
                self.say("the broker refuses; trying again", &reason);
                Ok(())
            }
        }
    }

    /// Something was read, or could have been.
    pub(super) fn over(&mut self) {
        self.worked = true;
        if self.said.take().is_some() {
            tracing::info!(service = %self.service, topic = %self.topic, "reading goes on");
        }
    }

    fn say(&mut self, what: &str, reason: &str) {
        if self.said.as_deref() != Some(what) {
            tracing::warn!(service = %self.service, topic = %self.topic, reason, "{what}");
            self.said = Some(what.to_owned());
        }
    }
}
