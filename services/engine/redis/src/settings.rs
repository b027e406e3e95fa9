//! Where a server is, and how it is talked to.

use crate::Address;
use crate::dial::LIBRARY;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};
use redis::{RedisResult, TlsCertificates};
use std::fmt;
use std::time::Duration;

/// Where a server is, and how it is talked to.
#[derive(Clone)]
pub struct Settings {
    /// Name or address; without meaning where others than [`Topology::Standalone`] name their own.
    pub host: String,
    /// Port.
    pub port: u16,
    /// One server, one that sentinels name, or many that share the keys.
    pub topology: Topology,
    /// Number of the database.
    pub database: u16,
    /// Who we are, where the server has access lists.
    pub user: Option<String>,
    /// The password; not part of any message.
    pub password: Option<String>,
    /// Encryption, if there is any.
    pub tls: Option<Tls>,
    /// How long connecting may take.
    pub connect: Duration,
    /// How long an answer may take.
    pub command: Duration,
    /// After how long without a sign of life the connection counts as broken.
    pub socket: Duration,
}

/// How many servers there are, and how they are found.
#[derive(Clone, Default)]
pub enum Topology {
    /// One, at host and port.
    #[default]
    Standalone,
    /// One at a time, which sentinels name.
    Sentinel(Sentinels),
    /// A cluster: these are asked for the others. There is one database, number 0.
    Cluster(Vec<Address>),
}

/// Who is asked for the server that takes writes.
#[derive(Clone)]
pub struct Sentinels {
    /// Where they are; the first one that answers counts.
    pub nodes: Vec<Address>,
    /// What they call the server.
    pub master: String,
    /// Who we are to them.
    pub user: Option<String>,
    /// The password to them; not part of any message.
    pub password: Option<String>,
}

/// Between two probes of a connection that is quiet, systems take whole seconds that fit 15 bits (`tcp(7)`, `TCP_KEEPIDLE`).
const SHORTEST_PROBE: Duration = Duration::from_secs(1);
const LONGEST_PROBE: Duration = Duration::from_secs(i16::MAX as u64);
/// Until what was sent has to be acknowledged: milliseconds that fit 31 bits (`TCP_USER_TIMEOUT`).
const LONGEST_SILENCE: Duration = Duration::from_millis(i32::MAX as u64);

/// Encryption of the connection.
#[derive(Clone, Default)]
pub struct Tls {
    /// Certificates to trust in place of the system's, as PEM.
    pub ca: Option<Vec<u8>>,
    /// What is verified.
    pub verify: Verify,
}

/// What of a server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// Certificate and host name.
    #[default]
    Full,
    /// Certificate alone.
    Certificate,
    /// Nothing.
    Nothing,
}

/// Host, port and database, or how the servers are found.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.topology {
            Topology::Standalone => write!(f, "{}:{}/{}", self.host, self.port, self.database),
            Topology::Sentinel(sentinels) => {
                let Sentinels { master, nodes, .. } = sentinels;
                write!(f, "{master}/{} of the sentinels {}", self.database, Listed(nodes))
            }
            Topology::Cluster(nodes) => write!(f, "the cluster of {}", Listed(nodes)),
        }
    }
}

/// Addresses with commas.
struct Listed<'a>(&'a [Address]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, address) in self.0.iter().enumerate() {
            write!(f, "{}{address}", if place > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// Who we say we are.
struct Login<'a> {
    user: Option<&'a String>,
    password: Option<&'a String>,
    database: u16,
    protocol: ProtocolVersion,
}

impl Settings {
    /// A server without password or encryption.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        let second = Duration::from_secs(1);
        let (user, password, tls, topology) = (None, None, None, Topology::Standalone);
        Self {
            host: host.into(),
            port,
            topology,
            database: 0,
            user,
            password,
            tls,
            connect: second,
            command: second,
            socket: second,
        }
    }

    /// The server itself, where there is one.
    pub fn address(&self) -> Address {
        Address::new(self.host.clone(), self.port)
    }

    /// A client that speaks the newest protocol, which invalidations need.
    pub(crate) fn client(&self, address: &Address) -> RedisResult<Client> {
        let database = match self.topology {
            Topology::Cluster(_) => 0,
            _ => self.database,
        };
        let (user, password) = (self.user.as_ref(), self.password.as_ref());
        self.client_as(address, &Login { user, password, database, protocol: ProtocolVersion::RESP3 })
    }

    /// A client for a sentinel, which needs none of that.
    pub(crate) fn sentinel(&self, sentinels: &Sentinels, address: &Address) -> RedisResult<Client> {
        let (user, password) = (sentinels.user.as_ref(), sentinels.password.as_ref());
        self.client_as(address, &Login { user, password, database: 0, protocol: ProtocolVersion::RESP2 })
    }

    fn client_as(&self, address: &Address, login: &Login<'_>) -> RedisResult<Client> {
        let (host, port) = (address.host.clone(), address.port);
        let Some(tls) = &self.tls else {
            return Client::open(self.information(ConnectionAddr::Tcp(host, port), login)?);
        };
        install_crypto();
        let insecure = tls.verify == Verify::Nothing;
        let plain = ConnectionAddr::TcpTls { host, port, insecure, tls_params: None };
        let certificates = TlsCertificates { client_tls: None, root_cert: tls.ca.clone() };
        let client = Client::build_with_tls(self.information(plain, login)?, certificates)?;
        let mut address = client.get_connection_info().addr().clone();
        address.set_danger_accept_invalid_hostnames(tls.verify == Verify::Certificate);
        Client::open(self.information(address, login)?)
    }

    fn information(&self, address: ConnectionAddr, login: &Login<'_>) -> RedisResult<ConnectionInfo> {
        let mut said = RedisConnectionInfo::default()
            .set_db(i64::from(login.database))
            .set_protocol(login.protocol)
            .set_lib_name(LIBRARY, env!("CARGO_PKG_VERSION"));
        if let Some(user) = login.user {
            said = said.set_username(user);
        }
        if let Some(password) = login.password {
            said = said.set_password(password);
        }
        let pause = self.socket.clamp(SHORTEST_PROBE, LONGEST_PROBE);
        let alive = TcpKeepalive::new().with_time(pause).with_interval(pause).with_retries(2);
        let silence = self.socket.min(LONGEST_SILENCE);
        let tcp = TcpSettings::default().set_nodelay(true).set_user_timeout(silence).set_keepalive(alive);
        Ok(address.into_connection_info()?.set_redis_settings(said).set_tcp_settings(tcp))
    }
}

/// One provider of cryptography for the process, unless there is one already.
fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // It fails where another thread was faster, which is as good.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}
