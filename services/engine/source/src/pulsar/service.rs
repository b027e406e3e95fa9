//! The addresses of a cluster: which of its brokers has a topic.

use super::commands;
use super::connection::{Connection, Fault, refused};
use super::error::Error;
use super::options::Options;
use pulsar::message::proto::CommandLookupTopicResponse;
use pulsar::message::proto::command_lookup_topic_response::LookupType;

/// How often at most a broker may name another one.
const HOPS: usize = 20;

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) tls: bool,
    pub(super) host: String,
    pub(super) port: u16,
}

/// A cluster, by the addresses of the configuration.
#[derive(Debug, Clone)]
pub(super) struct Service {
    /// As configured, for messages.
    pub(super) url: String,
    addresses: Vec<Address>,
    options: Options,
}

impl Service {
    pub(super) fn new(url: &str, options: Options) -> Result<Self, Error> {
        let none = || {
            Error::Address(format!(
                "{url} is no address of a broker: write pulsar://host:6650 or pulsar+ssl://host:6651"
            ))
        };
        let (scheme, hosts) = url.split_once("://").ok_or_else(none)?;
        let tls = match scheme {
            "pulsar" => false,
            "pulsar+ssl" => true,
            _ => return Err(none()),
        };
        let hosts = hosts.trim_end_matches('/').split(',');
        let addresses = hosts.map(|host| address(host, tls)).collect::<Option<Vec<_>>>().ok_or_else(none)?;
        Ok(Self { url: url.to_owned(), addresses, options })
    }

    /// Connects to any of the addresses.
    pub(super) async fn connect(&self) -> Result<Connection, Fault> {
        self.through(None).await
    }

    async fn through(&self, behind: Option<String>) -> Result<Connection, Fault> {
        let mut last = Fault::Away("no address is known".to_owned());
        for address in &self.addresses {
            match Connection::open(address, behind.clone(), &self.options).await {
                Ok(connection) => return Ok(connection),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    /// Connects to the broker that has a topic.
    pub(super) async fn broker_of(&self, topic: &str) -> Result<Connection, Fault> {
        let mut connection = self.connect().await?;
        let mut authoritative = false;
        for _ in 0..HOPS {
            let answer = connection.ask(commands::lookup(topic, authoritative), commands::looked_up).await?;
            match answer.response.and_then(|kind| LookupType::try_from(kind).ok()) {
                Some(LookupType::Connect) => return self.reach(&answer).await,
                Some(LookupType::Redirect) => {
                    authoritative = answer.authoritative();
                    connection = self.reach(&answer).await?;
                }
                Some(LookupType::Failed) | None => return Err(refused(answer.error.unwrap_or(0), answer.message)),
            }
        }
        Err(Fault::Away("the brokers do not know which of them has the topic".to_owned()))
    }

    async fn reach(&self, answer: &CommandLookupTopicResponse) -> Result<Connection, Fault> {
        let tls = self.addresses.first().is_some_and(|address| address.tls);
        let url = if tls { &answer.broker_service_url_tls } else { &answer.broker_service_url };
        let found = url.as_deref().and_then(|url| url.split_once("://"));
        let host = found.map(|(_, host)| host.trim_end_matches('/'));
        let host =
            host.ok_or_else(|| Fault::Away("the broker that has the topic has no address of this kind".to_owned()))?;
        if answer.proxy_through_service_url() {
            return self.through(Some(host.to_owned())).await;
        }
        let unreadable = || Fault::Away(format!("the broker that has the topic has the address {host}"));
        Connection::open(&address(host, tls).ok_or_else(unreadable)?, None, &self.options).await
    }
}

fn address(text: &str, tls: bool) -> Option<Address> {
    let default = if tls { 6651 } else { 6650 };
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| Address { tls, host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::{Address, address};

    #[test]
    fn a_port_may_be_left_out() {
        let of = |text: &str, tls| address(text, tls).map(|Address { host, port, .. }| (host, port));
        assert_eq!(of("a:1", false), Some(("a".to_owned(), 1)));
        assert_eq!(of("a", false), Some(("a".to_owned(), 6650)));
        assert_eq!(of("a", true), Some(("a".to_owned(), 6651)));
        assert_eq!(of("[::1]:2", false), Some(("::1".to_owned(), 2)));
        assert_eq!(of("[::1]", false), Some(("::1".to_owned(), 6650)));
        assert_eq!(of("a:b", false), None);
        assert_eq!(of("", false), None);
    }
}
