//! Where a server is, and how it is talked to.

use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};
use redis::{RedisResult, TlsCertificates};
use std::fmt;
use std::time::Duration;

/// Where a server is, and how it is talked to.
#[derive(Clone)]
pub struct Settings {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
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

/// Host, port and database.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.database)
    }
}

impl Settings {
    /// A server without password or encryption.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        let second = Duration::from_secs(1);
        let (user, password, tls) = (None, None, None);
        Self {
            host: host.into(),
            port,
            database: 0,
            user,
            password,
            tls,
            connect: second,
            command: second,
            socket: second,
        }
    }

    /// A client that speaks the newest protocol, which invalidations need.
    pub(crate) fn client(&self) -> RedisResult<Client> {
        let Some(tls) = &self.tls else {
            return Client::open(self.information(ConnectionAddr::Tcp(self.host.clone(), self.port))?);
        };
        install_crypto();
        let (host, insecure) = (self.host.clone(), tls.verify == Verify::Nothing);
        let plain = ConnectionAddr::TcpTls { host, port: self.port, insecure, tls_params: None };
        let certificates = TlsCertificates { client_tls: None, root_cert: tls.ca.clone() };
        let client = Client::build_with_tls(self.information(plain)?, certificates)?;
        let mut address = client.get_connection_info().addr().clone();
        address.set_danger_accept_invalid_hostnames(tls.verify == Verify::Certificate);
        Client::open(self.information(address)?)
    }

    fn information(&self, address: ConnectionAddr) -> RedisResult<ConnectionInfo> {
        let mut login = RedisConnectionInfo::default()
            .set_db(i64::from(self.database))
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("rankwright", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &self.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password);
        }
        let alive = TcpKeepalive::new().with_time(self.socket).with_interval(self.socket).with_retries(2);
        let tcp = TcpSettings::default().set_nodelay(true).set_user_timeout(self.socket).set_keepalive(alive);
        Ok(address.into_connection_info()?.set_redis_settings(login).set_tcp_settings(tcp))
    }
}

/// One provider of cryptography for the process, unless there is one already.
fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may have been faster, which is as good.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}
