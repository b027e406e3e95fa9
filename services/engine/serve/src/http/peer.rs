//! Who may see ids, stored values and sampled requests, and change models: clients with the token. Where none is set, those on
//! the machine of the service, which includes `kubectl port-forward`.

use crate::app::App;
use crate::http::admin;
use crate::http::failure::{Code, Failure};
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use std::net::{IpAddr, SocketAddr};

/// The address that a request comes from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Proof that a call may see and change what the page does.
pub(super) struct Allowed;

impl FromRequestParts<App> for Allowed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        app.page().ok_or_else(off)?;
        match app.token() {
            Some(_) => admin::check(app, &parts.headers)?,
            None => local(parts)?,
        }
        Ok(Self)
    }
}

/// The answer where there is no page.
pub(super) fn off() -> Failure {
    Failure::new(Code::NotFound, "the page and what it asks for are off in this program: set api.page.enabled")
}

/// A web page may have its own name point to this machine. Its requests name it as their host.
fn local(parts: &Parts) -> Result<(), Failure> {
    let from_here = parts.extensions.get::<Peer>().is_some_and(|Peer(address)| address.to_canonical().is_loopback());
    if !from_here {
        let message = "this call is for clients on the service's own machine: set api.token to allow others";
        return Err(Failure::new(Code::NotLocal, message));
    }
    let named = parts.headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    let host = parts.uri.authority().map(|authority| authority.as_str()).or(named);
    if host.is_some_and(|host| !is_local(host)) {
        let message = "this call is for clients that name the service by its address or as localhost: set api.token";
        return Err(Failure::new(Code::NotLocal, message));
    }
    Ok(())
}

/// Whether a host, with or without a port, is an address or `localhost`.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok() || host.parse::<SocketAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn a_host_is_local_by_its_form() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8080", "10.0.0.7:1"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example:80"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
