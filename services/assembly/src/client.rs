//! Requests to servers of the web: a connection for each, in the clear or encrypted. Proxies are not asked.

use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rankwright_object::Bytes;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

const AGENT: &str = concat!("rankwright/", env!("CARGO_PKG_VERSION"));

/// Sends requests; whom it trusts is read when it first needs to know.
pub(crate) struct Client {
    /// For a connection, and for the head of an answer.
    patience: Duration,
    trusted: OnceLock<Arc<ClientConfig>>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// No connection; the reason.
    Unreachable(String),
    /// No answer in time.
    Late,
    /// Anything else.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(reason) => write!(f, "it cannot be reached ({reason})"),
            Self::Late => f.write_str("there is no answer in time"),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Client {
    /// One that waits as long as this.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, trusted: OnceLock::new() }
    }

    /// Sends a request to an address, which names host and path; the request has the rest.
    pub(crate) async fn send(&self, address: &Uri, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Error> {
        let host = address.host().ok_or_else(|| Error::Unreachable("the address has no host".to_owned()))?;
        let encrypted = address.scheme_str() == Some("https");
        let port = address.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let late = |_| Error::Unreachable("no answer in time".to_owned());
        let refused = |error: std::io::Error| Error::Unreachable(error.to_string());
        let connecting = TcpStream::connect((host.trim_matches(['[', ']']), port));
        let stream = timeout(self.patience, connecting).await.map_err(late)?.map_err(refused)?;
        if !encrypted {
            return self.answer(stream, address, request).await;
        }
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let encrypting = TlsConnector::from(self.trusted()?).connect(name, stream);
        let stream = timeout(self.patience, encrypting).await.map_err(late)?.map_err(refused)?;
        self.answer(stream, address, request).await
    }

    /// Trusts the authorities of the system.
    fn trusted(&self) -> Result<Arc<ClientConfig>, Error> {
        if let Some(known) = self.trusted.get() {
            return Ok(known.clone());
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        Ok(self.trusted.get_or_init(|| config).clone())
    }

    async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        address: &Uri,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Error> {
        let (mut connection, driven) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driven); // it ends with the answer
        *request.uri_mut() = address.path_and_query().map_or("/", |path| path.as_str()).parse()?;
        let host = address.authority().map_or("", |authority| authority.as_str());
        request.headers_mut().insert(HOST, HeaderValue::from_str(host)?);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let answer = timeout(self.patience, connection.send_request(request)).await;
        Ok(answer.map_err(|_| Error::Late)??)
    }
}
