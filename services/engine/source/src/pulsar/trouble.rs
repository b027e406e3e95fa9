//! What a broken connection means: some end the reading, others are waited for and said once.
//!
//! What is wrong from the start is a mistake to correct: a topic that there is not, credentials that are refused. Once
//! it has worked, the same is a disturbance that passes, unless the topic stays away.

use super::connection::Fault;
use super::error::Error;
use pulsar::message::proto::ServerError;
use std::time::{Duration, Instant};

/// Judges faults, and remembers what was said.
#[derive(Debug)]
pub(super) struct Trouble {
    service: String,
    topic: String,
    subscription: String,
    /// It worked at some time.
    worked: bool,
    /// Since when the topic is missing that was there; after `gone_after` it is lost.
    missing: Option<Instant>,
    gone_after: Duration,
    /// The last warning, until it is over.
    said: Option<String>,
}

impl Trouble {
    pub(super) fn new(service: &str, topic: &str, subscription: &str, gone_after: Duration) -> Self {
        let (service, topic, subscription) = (service.to_owned(), topic.to_owned(), subscription.to_owned());
        Self { service, topic, subscription, worked: false, missing: None, gone_after, said: None }
    }

    /// Whether a fault ends the reading. One that does not is said, but once only.
    pub(super) fn judge(&mut self, fault: Fault) -> Result<(), Error> {
        if !matches!(fault, Fault::Refused(ServerError::TopicNotFound, _)) {
            self.missing = None; // no broker says that it is
        }
        match fault {
            Fault::Setting(error) if !self.worked => return Err(error),
            Fault::Tls(reason) if !self.worked => return Err(Error::Tls { service: self.service.clone(), reason }),
            Fault::Refused(code, reason) if !self.worked => self.refused(code, reason)?,
            Fault::Refused(ServerError::TopicNotFound, reason) => {
                let since = *self.missing.get_or_insert_with(Instant::now);
                if since.elapsed() >= self.gone_after {
                    return Err(Error::NoTopic { topic: self.topic.clone(), service: self.service.clone() });
                }
                self.say("reading is disturbed; going on", &reason);
            }
            Fault::Setting(error) => self.say("reading is disturbed; going on", &error.to_string()),
            Fault::Refused(_, reason) => self.say("reading is disturbed; going on", &reason),
            Fault::Away(reason) | Fault::Tls(reason) => self.say("no broker answers; waiting for one", &reason),
        }
        Ok(())
    }

    fn refused(&mut self, code: ServerError, reason: String) -> Result<(), Error> {
        let (service, topic, subscription) = (self.service.clone(), self.topic.clone(), self.subscription.clone());
        let reason = reason.lines().collect::<Vec<_>>().join(" "); // a line of its own would look like one of our log
        match code {
            ServerError::TopicNotFound | ServerError::InvalidTopicName => Err(Error::NoTopic { topic, service }),
            ServerError::AuthenticationError => Err(Error::Credentials { service, reason }),
            ServerError::AuthorizationError => Err(Error::Denied { service, topic, subscription, reason }),
            ServerError::ConsumerBusy => {
                self.say("another consumer reads with this subscription; waiting", &reason);
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
        self.missing = None;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_was_there_and_stays_away_is_lost() {
        let missing = || Fault::Refused(ServerError::TopicNotFound, "no such topic".to_owned());
        let trouble = |gone_after| Trouble::new("service", "events", "subscription", gone_after);
        let judged = |mut trouble: Trouble, worked: bool| {
            if worked {
                trouble.over();
            }
            trouble.judge(missing())
        };
        assert!(judged(trouble(Duration::from_secs(60)), true).is_ok(), "it may come back");
        let lost = judged(trouble(Duration::ZERO), true);
        assert!(matches!(lost, Err(Error::NoTopic { .. })), "{lost:?}");
        assert!(judged(trouble(Duration::from_secs(60)), false).is_err(), "it never was there");
    }
}
