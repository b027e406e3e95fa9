//! Where a server listens.

use std::fmt;

/// Name or address of a server, and its port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl Address {
    /// An address from its parts.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// What `host:port` stands for; an IPv6 address may be in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.strip_prefix('[').map_or(Some(host), |host| host.strip_suffix(']'))?;
        let port = port.parse().ok().filter(|&port: &u16| port > 0)?;
        (!host.is_empty()).then(|| Self::new(host, port))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for (text, host, port) in [("cache:6379", "cache", 6379), ("10.0.0.1:1", "10.0.0.1", 1), ("[::1]:7", "::1", 7)]
        {
            let address = Address::parse(text).expect("is an address");
            assert_eq!((address.host.as_str(), address.port), (host, port));
            assert_eq!(address.to_string(), text);
        }
        for text in ["", "cache", ":1", "cache:", "cache:0", "cache:65536", "[::1:7"] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }
}
