//! Encryption of our own port.
//!
//! Certificates are short-lived today and are replaced under the same names: both files are looked at once a minute, and
//! new connections get what lies there. Files that do not fit each other are logged, and the last ones stay in use.

use parking_lot::RwLock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};

/// Between two looks at the files.
const LOOK: Duration = Duration::from_secs(60);

/// Why a port cannot be encrypted.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read, or holds no PEM.
    #[error("api.tls: cannot read {}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The key is not that of the certificate, or of a kind that is not supported.
    #[error("api.tls: the key in {} does not fit the certificate in {}: {reason}", key.display(), cert.display())]
    Unfit {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why.
        reason: String,
    },
    /// The provider of cryptography refuses.
    #[error("api.tls: {0}")]
    Provider(#[from] rustls::Error),
}

/// A certificate with its key, as the files hold them now.
#[derive(Debug)]
struct Pair {
    cert: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
}

/// Encrypts accepted connections with what the two files hold, and follows their changes for as long as it is used.
///
/// # Errors
/// When the files cannot be used.
///
/// # Panics
/// Outside a tokio runtime.
pub fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let provider = provider();
    let current = RwLock::new(Arc::new(certified(cert, key, &provider)?));
    let pair = Arc::new(Pair { cert: cert.to_owned(), key: key.to_owned(), current });
    tokio::spawn(follow(Arc::downgrade(&pair)));
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = config.with_no_client_auth().with_cert_resolver(pair);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()))
}

fn certified(cert: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let unreadable = |path: &Path, reason: String| TlsError::File { path: path.to_owned(), reason };
    let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| unreadable(cert, error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable(cert, "there is no certificate in it".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error.to_string()))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| TlsError::Unfit {
        cert: cert.to_owned(),
        key: key.to_owned(),
        reason: error.to_string(),
    })
}

async fn follow(pair: std::sync::Weak<Pair>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(pair) = pair.upgrade() else { return };
        let looked = tokio::task::spawn_blocking(move || pair.look()).await;
        looked.unwrap_or_default();
    }
}

impl Pair {
    /// Takes up what the files hold, if that is something new.
    fn look(&self) {
        match certified(&self.cert, &self.key, &provider()) {
            Ok(found) if found.cert != self.current.read().cert => {
                *self.current.write() = Arc::new(found);
                tracing::info!(cert = %self.cert.display(), "the port has a new certificate");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the port keeps its certificate"),
        }
    }
}

impl ResolvesServerCert for Pair {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    /// A key and a certificate for it, by the system's openssl.
    fn make(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (cert, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=localhost", "-out"])
            .arg(&cert)
            .arg("-keyout")
            .arg(&key)
            .output();
        assert!(made.unwrap().status.success(), "openssl makes a certificate");
        (cert, key)
    }

    #[tokio::test]
    async fn a_certificate_that_is_replaced_is_taken_up_and_one_that_does_not_fit_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let ((cert, key), (other, other_key)) = (make(folder.path(), "a"), make(folder.path(), "b"));
        let first = certified(&cert, &key, &provider()).unwrap();
        let pair = Pair { cert: cert.clone(), key: key.clone(), current: RwLock::new(Arc::new(first)) };
        let before = pair.current.read().cert.clone();
        std::fs::copy(&other, &cert).unwrap();
        pair.look();
        assert_eq!(pair.current.read().cert, before, "its key has not come yet");
        std::fs::copy(&other_key, &key).unwrap();
        pair.look();
        assert_ne!(pair.current.read().cert, before);
    }

    #[tokio::test]
    async fn files_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let ((cert, key), (_, other_key)) = (make(folder.path(), "a"), make(folder.path(), "b"));
        let refusal = |cert: &Path, key: &Path| acceptor(cert, key).err().unwrap().to_string();
        assert!(refusal(Path::new("/nowhere.pem"), &key).contains("/nowhere.pem"));
        assert!(refusal(&key, &key).contains("no certificate in it"));
        assert!(refusal(&cert, &cert).contains("a.pem"), "{}", refusal(&cert, &cert));
        assert!(refusal(&cert, &other_key).contains("does not fit"), "{}", refusal(&cert, &other_key));
    }
}
