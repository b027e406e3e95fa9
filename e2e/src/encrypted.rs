//! Ports with a certificate.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// Makes `cert.pem` and `key.pem` in a folder, for 127.0.0.1.
///
/// # Panics
/// When `openssl` does not.
pub fn make_certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder)
        .output();
    assert!(made.expect("openssl can be started").status.success());
}

/// Asserts that a port answers to those who trust the certificate, and nothing in the clear.
///
/// # Panics
/// When it is otherwise.
pub fn assert_encrypted(address: SocketAddr, folder: &Path) {
    let ask = |scheme: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-sSf", "--cacert", "cert.pem", &format!("{scheme}://{address}/health")]);
        curl.current_dir(folder).output().expect("curl can be started")
    };
    let answer = ask("https");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    assert!(!ask("http").status.success(), "nothing is answered in the clear");
}
