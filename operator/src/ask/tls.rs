//! A connection to a rank server whose port is encrypted.
//!
//! The certificate is not verified, as a node does not for a probe: it is made for the names of the Service, by an authority that the
//! operator need not know, and servers are asked by their addresses. The operator sends no secret, and what servers say is theirs.

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

static CONFIG: LazyLock<Result<Arc<ClientConfig>, Error>> = LazyLock::new(|| {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let verifier = Arc::new(AnyCertificate(provider));
    Ok(Arc::new(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
});

/// Encrypts a connection to a server with this address.
pub(super) async fn encrypted(stream: TcpStream, address: &str) -> anyhow::Result<TlsStream<TcpStream>> {
    let name = ServerName::IpAddress(address.parse::<IpAddr>()?.into());
    let connector = TlsConnector::from(CONFIG.clone()?);
    Ok(connector.connect(name, stream).await?)
}

/// Takes any certificate; the peer has to have its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::said;
    use super::*;
    use std::process::Command;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;

    /// A port with a certificate of its own for a name, by the system's openssl.
    fn acceptor() -> TlsAcceptor {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=shop-rank.search.svc", "-keyout", "/dev/stdout", "-out", "/dev/stdout"])
            .output()
            .unwrap();
        let chain = CertificateDer::pem_slice_iter(&made.stdout).collect::<Result<Vec<_>, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_slice(&made.stdout).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap()))
    }

    #[tokio::test]
    async fn a_server_whose_certificate_is_for_its_service_is_heard() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            let mut stream = acceptor().accept(listener.accept().await.unwrap().0).await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let body = r#"{"store": {"answers": true}}"#;
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            String::from_utf8(request[..length].to_vec()).unwrap()
        });
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let heard = said(encrypted(stream, "127.0.0.1").await.unwrap(), "127.0.0.1").await.unwrap();
        assert!(heard.store.answers);
        assert!(serving.await.unwrap().starts_with("GET /status HTTP/1.1\r\n"));
    }

    #[tokio::test]
    async fn a_server_that_speaks_http_alone_is_not_heard_over_tls() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            let mut stream = listener.accept().await.unwrap().0;
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await
        });
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        assert!(encrypted(stream, "127.0.0.1").await.is_err());
        serving.await.unwrap().unwrap();
    }
}
