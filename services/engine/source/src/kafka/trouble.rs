//! What the client's errors mean: some end the reading, others are waited for and said once.
//!
//! What is wrong from the start is a mistake to correct: a topic that there is not, credentials that are refused. Once
//! it has worked, the same is a disturbance that passes, unless the topic stays away.

use super::error::Error;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use std::time::{Duration, Instant};

/// Judges errors, and remembers what was said.
#[derive(Debug)]
pub(super) struct Trouble {
    brokers: String,
    topic: String,
    group: String,
    /// It worked at some time.
    worked: bool,
    /// The topic is missing that was there.
    missing: Option<Missing>,
    /// The last warning, until it is over.
    said: Option<Code>,
    /// Why the last single connection failed: tells more than that all have.
    connection: String,
}

/// A topic that was there.
#[derive(Debug, Clone, Copy)]
struct Missing {
    since: Instant,
    /// When it was asked for last, and how often in a row the answer was that there is none.
    asked: Option<Instant>,
    denied: u8,
}

/// How often a broker has to say that there is no such topic: a broker that has just started may not know it yet.
const DENIED: u8 = 3;
/// Between two of these questions.
const AGAIN: Duration = Duration::from_secs(2);

impl Trouble {
    pub(super) fn new(brokers: String, topic: String, group: String) -> Self {
        Self { brokers, topic, group, worked: false, missing: None, said: None, connection: String::new() }
    }

    /// Whether an error ends the reading. One that does not is said, but once only.
    pub(super) fn judge(&mut self, error: &KafkaError, reason: String) -> Result<(), Error> {
        let Some(code) = error.rdkafka_error_code() else { return Ok(()) };
        let fatal = matches!(error, KafkaError::MessageConsumptionFatal(_)) || code == Code::Fatal;
        if let Some(error) = self.end(code, fatal, &reason) {
            return Err(error);
        }
        if is_missing(code) {
            self.missing.get_or_insert(Missing { since: Instant::now(), asked: None, denied: 0 });
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

    /// When to ask whether the topic that was there is lost.
    pub(super) fn asks_at(&self, gone_after: Duration) -> Option<Instant> {
        let next = |missing: Missing| missing.asked.map_or(missing.since + gone_after, |asked| asked + AGAIN);
        self.missing.map(next)
    }

    /// Where the topic is missing yet, again and again, it is lost.
    pub(super) fn asked(&mut self, found: &Result<usize, KafkaError>) -> Result<(), Error> {
        let Some(missing) = &mut self.missing else { return Ok(()) };
        missing.asked = Some(Instant::now());
        match found {
            Ok(partitions) if *partitions > 0 => self.missing = None,
            Err(error) if !error.rdkafka_error_code().is_some_and(is_missing) => missing.denied = 0,
            _ => missing.denied += 1,
        }
        let lost = self.missing.is_some_and(|missing| missing.denied >= DENIED);
        let error = || Error::NoTopic { topic: self.topic.clone(), brokers: self.brokers.clone() };
        if lost { Err(error()) } else { Ok(()) }
    }

    /// Something was read, or could have been.
    pub(super) fn over(&mut self) {
        self.worked = true;
        self.missing = None;
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
            code if is_missing(code) || code == Code::InvalidTopic => Some(Error::NoTopic { topic, brokers }),
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

fn is_missing(code: Code) -> bool {
    matches!(code, Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::UnknownPartition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_was_there_is_lost_when_it_is_asked_for_and_missing_yet() {
        let mut trouble = Trouble::new("broker".to_owned(), "events".to_owned(), "group".to_owned());
        trouble.over();
        let error = |code| KafkaError::MessageConsumption(code);
        assert!(trouble.asks_at(Duration::ZERO).is_none());
        trouble.judge(&error(Code::OperationTimedOut), String::new()).expect("passes");
        assert!(trouble.asks_at(Duration::ZERO).is_none());
        let missing = || error(Code::UnknownTopicOrPartition);
        trouble.judge(&missing(), String::new()).expect("may come back");
        let at = trouble.asks_at(Duration::ZERO);
        assert!(at.is_some() && trouble.asks_at(Duration::from_secs(9)) == at.map(|at| at + Duration::from_secs(9)));
        for answer in [Err(missing()), Err(missing()), Err(error(Code::AllBrokersDown)), Ok(0), Err(missing())] {
            trouble.asked(&answer).expect("it was not said three times in a row");
        }
        assert!(matches!(trouble.asked(&Err(missing())), Err(Error::NoTopic { .. })));
        trouble.asked(&Ok(3)).expect("is there");
        assert!(trouble.asks_at(Duration::ZERO).is_none());
        trouble.asked(&Err(missing())).expect("nobody has missed it");
    }
}
