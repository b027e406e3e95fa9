//! What went wrong, in words that say what to change.

use crate::{Settings, Topology};
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The server did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[error("redis at {place}: {problem}")]
pub struct Error {
    /// Host, port and database, or how the servers are found.
    pub place: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a server, or with how it is talked to.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// No server answers there.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// It is there, and is slow.
    #[error("no answer in time")]
    Slow,
    /// It wants a password, or another one.
    #[error("user or password refused: set auth.user and auth.password ({0})")]
    Login(String),
    /// The user may not do this.
    #[error("this user lacks a right ({0}); give it ~rw:<service>:* and +@all -@dangerous +info")]
    Rights(String),
    /// Encryption does not come about.
    #[error("no encrypted connection: {0}; check tls.ca, tls.verify and that this is a port for TLS")]
    Tls(String),
    /// It may not be written to: a replica, or one without memory.
    #[error("it takes no writes: {0}")]
    Refuses(String),
    /// It is too old.
    #[error("its version ({found}) is too old, 6.0 or newer is needed")]
    Old {
        /// What it calls itself.
        found: String,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Problem {
    /// Whether trying again later may help without anybody changing a setting.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Slow | Self::Refuses(_))
    }

    /// Whether the error stays until a person changes a setting or a right. Of other errors it is not known whether they pass.
    pub fn stays(&self) -> bool {
        matches!(self, Self::Login(_) | Self::Rights(_) | Self::Tls(_) | Self::Old { .. })
    }

    /// What is wrong with a server that ended the first exchange on a connection.
    pub(crate) fn of_connecting(error: &RedisError, settings: &Settings) -> Self {
        match Self::of(error, settings) {
            Self::Unreachable(text) if settings.tls.is_none() && has_hung_up(&text) => Self::Unreachable(format!(
                "{text}; the server hangs up at once: its port is one for TLS (set tls), or it refuses connections from other \
                 hosts (set protected-mode or a password there)"
            )),
            Self::Slow if settings.tls.is_some() => Self::Unreachable(
                "no answer in time to the beginning of an encrypted one: its port may be one without TLS (set tls.enabled: \
                 false), or check the network"
                    .to_owned(),
            ),
            problem => problem,
        }
    }

    pub(crate) fn of(error: &RedisError, settings: &Settings) -> Self {
        let (text, tls) = (text(error), settings.tls.is_some());
        let is = |code: &str| error.code() == Some(code);
        match error.kind() {
            ErrorKind::AuthenticationFailed => Self::Login(text),
            _ if is("WRONGPASS") || is("NOAUTH") => Self::Login(text),
            ErrorKind::Server(ServerErrorKind::NoPerm) => Self::Rights(text),
            ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::BusyLoading) => Self::Refuses(text),
            ErrorKind::Server(ServerErrorKind::ClusterDown) => Self::Refuses(format!("the cluster is down: {text}")),
            ErrorKind::Server(ServerErrorKind::TryAgain | ServerErrorKind::Ask) => {
                Self::Refuses(format!("the keys are being moved to another node: {text}"))
            }
            ErrorKind::Server(ServerErrorKind::Moved) if matches!(settings.topology, Topology::Cluster(_)) => {
                Self::Refuses(format!(
                    "its nodes disagree on which node has the keys ({text}): ask redis-cli --cluster check"
                ))
            }
            ErrorKind::Server(ServerErrorKind::Moved) => {
                Self::Refuses(format!("the keys are on another node ({text}); for a cluster set state.mode to cluster"))
            }
            _ if ["OOM", "MISCONF", "MASTERDOWN", "NOREPLICAS"].into_iter().any(is) => Self::Refuses(text),
            _ if text.contains("max number of clients") => Self::Unreachable(text),
            _ if error.is_timeout() => Self::Slow,
            ErrorKind::Io if tls && is_about_tls(&text) => Self::Tls(text),
            ErrorKind::Io => Self::Unreachable(text),
            ErrorKind::RESP3NotSupported => Self::Old { found: "it knows no HELLO".to_owned() },
            ErrorKind::Parse => Self::Other(format!("this is no answer of a Redis server ({text})")),
            _ => Self::Other(text),
        }
    }
}

fn has_hung_up(text: &str) -> bool {
    ["reset by peer", "broken pipe", "Broken pipe", "end of file", "unexpected EOF"]
        .iter()
        .any(|word| text.contains(word))
}

fn is_about_tls(text: &str) -> bool {
    ["certificate", "InvalidCertificate", "InvalidContentType", "corrupt message", "tls", "TLS", "handshake"]
        .iter()
        .any(|word| text.contains(word))
}

/// The server's words where there are any, in one line.
fn text(error: &RedisError) -> String {
    let text = error.detail().map_or_else(|| error.to_string(), str::to_owned);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_of_a_redis_server_is_told_in_one_line() {
        let error = redis::parse_redis_value(b"HTTP/1.1 400 Bad Request\r\n").expect_err("it is none");
        assert!(error.to_string().contains('\n'), "the library tells it in several: {error}");
        let told = Problem::of(&error, &Settings::new("127.0.0.1", 80)).to_string();
        assert!(told.starts_with("this is no answer of a Redis server (") && !told.contains('\n'), "{told}");
    }

    #[test]
    fn what_goes_by_without_anybody_changing_a_setting_is_told_from_what_does_not() {
        let of = |answer: &[u8]| {
            let error =
                redis::parse_redis_value(answer).expect("it is one").extract_error().expect_err("it is an error");
            Problem::of(&error, &Settings::new("127.0.0.1", 6379))
        };
        for answer in [
            &b"-NOREPLICAS Not enough good replicas to write.\r\n"[..],
            b"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
            b"-MISCONF Redis is configured to save RDB snapshots\r\n",
        ] {
            assert!(matches!(of(answer), Problem::Refuses(_)) && of(answer).passes(), "{}", of(answer));
        }
        let full = of(b"-ERR max number of clients reached\r\n");
        assert!(full.passes() && full.to_string() == "no connection: max number of clients reached", "{full}");
        assert!(!of(b"-ERR unknown command\r\n").passes());
    }

    #[test]
    fn keys_that_are_elsewhere_are_another_fault_in_a_cluster_than_at_a_single_server() {
        let answer = redis::parse_redis_value(b"-MOVED 5573 127.0.0.1:7001\r\n").expect("it is one");
        let error = answer.extract_error().expect_err("the answer is an error");
        let alone = Settings::new("127.0.0.1", 7000);
        let cluster = Settings { topology: Topology::Cluster(vec![alone.address()]), ..alone.clone() };
        let said = |settings: &Settings| Problem::of(&error, settings).to_string();
        assert!(said(&alone).ends_with("for a cluster set state.mode to cluster"), "{}", said(&alone));
        assert!(said(&cluster).contains("its nodes disagree on which node has the keys (5573"), "{}", said(&cluster));
    }
}
