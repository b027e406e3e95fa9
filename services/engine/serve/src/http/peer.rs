//! Checks calls that see ids, stored values and sampled requests, or change models. They need the token. Without a configured
//! token, they must come from the machine of the service, which includes `kubectl port-forward`; of web pages, only the
//! service's own may make them.

use crate::app::App;
use crate::http::admin;
use crate::http::failure::{Code, Failure};
use crate::http::origin;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use std::net::IpAddr;

/// Headers by which a proxy shows itself. Its clients may be anywhere.
const OF_PROXIES: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/// The address that a request comes from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Proof that a call may see and change what the page does.
pub(super) struct Allowed;

impl FromRequestParts<App> for Allowed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        app.page().ok_or_else(off)?;
        check(app, parts).map(|()| Self)
    }
}

/// Lets calls pass that may see ids and stored values, also where there is no page.
pub(super) fn check(app: &App, parts: &Parts) -> Result<(), Failure> {
    match app.token() {
        Some(_) => admin::check(app, &parts.headers),
        None => local(parts),
    }
}

/// The answer where there is no page.
pub(super) fn off() -> Failure {
    Failure::new(Code::NotFound, "the page and what it asks for are off in this program: set api.page.enabled")
}

/// A web page may have its own name point to this machine: its requests name it as their host. One of `api.cors.allowedOrigins`
/// may use the service, and not what is for its operators.
fn local(parts: &Parts) -> Result<(), Failure> {
    let from_here = parts.extensions.get::<Peer>().is_some_and(|Peer(address)| address.to_canonical().is_loopback());
    let refuse = |message| Err(Failure::new(Code::NotLocal, message));
    if !from_here {
        return refuse("this call is for clients on the service's own machine: set api.token to allow others");
    }
    if OF_PROXIES.iter().any(|name| parts.headers.contains_key(*name)) {
        return refuse("this call came through a proxy: set api.token");
    }
    let host = origin::host(&parts.uri, &parts.headers);
    if host.is_some_and(|host| !is_local(host)) {
        return refuse("this call is for clients that name the service localhost or 127.0.0.1: set api.token");
    }
    if parts.headers.get(header::ORIGIN).is_some_and(|origin| !origin::is_own(origin, host)) {
        return refuse("this call is for the service's own page, not for others: set api.token");
    }
    Ok(())
}

/// Whether a host, with or without a port, is `localhost`, a loopback address, or the one that stands for all addresses.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_here = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    name.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: IpAddr| is_here(address.to_canonical()))
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn a_host_is_local_by_its_form() {
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8080", "0.0.0.0:1", "[::]:1"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example:80"] {
            assert!(!is_local(host), "{host}");
        }
        for host in ["10.0.0.7", "10.0.0.7:8080", "[2001:db8::1]:8080"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
