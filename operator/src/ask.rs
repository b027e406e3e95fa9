//! What a rank server says of itself.

use crate::build::pod::PORT;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::net::TcpStream;

/// A server that takes longer is not asked again in this round.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than any server says.
const LONGEST: usize = 4 << 20;

/// What is used of `GET /status`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Said {
    /// The state store.
    pub store: Store,
    /// Models by name.
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
}

/// What a server says of the state store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Store {
    /// Whether it answers.
    pub answers: bool,
    /// Why it does not, where a server that has just begun knows that.
    #[serde(default)]
    pub problem: Option<String>,
}

/// What a server says of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// `loaded` or `missing`.
    pub state: String,
    /// Why it is missing.
    #[serde(default)]
    pub reason: Option<String>,
    /// The version that is served.
    #[serde(default)]
    pub version: Option<String>,
    /// When that was trained.
    #[serde(default)]
    pub trained_at: Option<String>,
}

/// Asks rank servers; tests answer themselves.
pub trait Ask: Send + Sync {
    /// What the server at this address says; nothing where it does not answer in time.
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Said>>;
}

/// Asks over HTTP.
#[derive(Debug, Default)]
pub struct OverHttp;

impl Ask for OverHttp {
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async move {
            match tokio::time::timeout(PATIENCE, get(address)).await {
                Ok(Ok(said)) => Some(said),
                Ok(Err(error)) => {
                    tracing::debug!(address, %error, "a rank server was not understood");
                    None
                }
                Err(_) => None,
            }
        })
    }
}

async fn get(address: &str) -> anyhow::Result<Said> {
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    let stream = TcpStream::connect(format!("{host}:{PORT}")).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let request = hyper::Request::get("/status").header("host", host).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    anyhow::ensure!(status.is_success(), "it answers {status}");
    let body = Limited::new(response.into_body(), LONGEST).collect().await.map_err(|error| anyhow::anyhow!(error))?;
    driver.abort();
    Ok(serde_json::from_slice(&body.to_bytes())?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_status_is_understood_with_all_that_it_says_beside() {
        let text = r#"{"version": "0.1.0", "phase": "ready", "size": {"bytes": 1},
            "store": {"type": "redis", "answers": true},
            "models": {"a": {"type": "lambdamart", "state": "loaded", "version": "v1", "trainedAt": "2026-11-22T10:00:00Z"},
                       "b": {"type": "lambdamart", "state": "missing", "reason": "no version yet"}}}"#;
        let said: Said = serde_json::from_str(text).unwrap();
        assert!(said.store.answers);
        assert_eq!(said.models["a"].version.as_deref(), Some("v1"));
        assert_eq!(said.models["b"].reason.as_deref(), Some("no version yet"));
    }
}
