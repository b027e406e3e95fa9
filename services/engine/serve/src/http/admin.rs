//! Checks the token of calls that change something.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use axum::http::{HeaderMap, header};

/// Lets a call pass that carries the configured bearer token; without a configured one, any.
pub(super) fn check(app: &App, headers: &HeaderMap) -> Result<(), Failure> {
    let Some(token) = app.token() else { return Ok(()) };
    let given = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
    let allowed = given.is_some_and(|given| same(given, token.expose().as_bytes().trim_ascii()));
    let refused = || Failure::new(Code::Unauthorized, "this call needs the bearer token of api.token");
    allowed.then_some(()).ok_or_else(refused)
}

/// The same where nothing may be changed without a configured token.
pub(super) fn check_configured(app: &App, headers: &HeaderMap) -> Result<(), Failure> {
    match app.token() {
        Some(_) => check(app, headers),
        None => Err(Failure::new(Code::Unauthorized, "this call needs a token, and there is none: set api.token")),
    }
}

/// What follows `Bearer `, whose letters may be of any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token.trim_ascii())
}

/// Compares in a time that depends on the length alone, so that a client cannot find out a token byte by byte.
fn same(given: &[u8], wanted: &[u8]) -> bool {
    let differing = given.iter().zip(wanted).fold(0, |differing, (a, b)| std::hint::black_box(differing | (a ^ b)));
    given.len() == wanted.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_is_the_same() {
        assert!(same(b"secret", b"secret"));
        for other in ["", "secre", "secret!", "Secret", "secreu"] {
            assert!(!same(other.as_bytes(), b"secret"), "{other}");
        }
    }

    #[test]
    fn a_bearer_token_follows_its_scheme() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
        assert_eq!(bearer(b"Basic abc"), None);
        assert_eq!(bearer(b"Bearer"), None);
    }
}
