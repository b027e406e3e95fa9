//! What a rank server says of itself.

use crate::build::pod::PORT;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// A server that takes longer is not asked again in this round.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than any server says.
const LONGEST: usize = 4 << 20;

/// So long an address is not asked again that has not answered in time: twice as long each time, up to the last of these.
const SILENCES: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(120)];

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

/// Asks over HTTP. Whoever does not answer in time is spared for a while: many that are not reached would keep the others
/// waiting.
#[derive(Debug, Default)]
pub struct OverHttp {
    silent: Mutex<HashMap<String, Silence>>,
}

/// An address that has not answered in time.
#[derive(Debug, Clone, Copy)]
struct Silence {
    since: Instant,
    lasts: Duration,
}

impl OverHttp {
    fn is_spared(&self, address: &str, now: Instant) -> bool {
        self.silent().get(address).is_some_and(|silence| now < silence.since + silence.lasts)
    }

    /// Notes an address that did not answer in time, and forgets those of which nothing was heard since long ago.
    fn spare(&self, address: &str, now: Instant) {
        let [first, longest] = SILENCES;
        let mut silent = self.silent();
        let lasts = silent.get(address).map_or(first, |silence| longest.min(2 * silence.lasts));
        silent.insert(address.to_owned(), Silence { since: now, lasts });
        silent.retain(|_, silence| now < silence.since + 2 * longest);
    }

    fn silent(&self) -> MutexGuard<'_, HashMap<String, Silence>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ask for OverHttp {
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async move {
            if self.is_spared(address, Instant::now()) {
                return None;
            }
            let Ok(answered) = tokio::time::timeout(PATIENCE, get(address)).await else {
                self.spare(address, Instant::now());
                return None;
            };
            self.silent().remove(address);
            answered.inspect_err(|error| tracing::debug!(address, %error, "a rank server was not understood")).ok()
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

    #[test]
    fn an_address_that_does_not_answer_in_time_is_spared_longer_and_longer() {
        let (asks, began) = (OverHttp::default(), Instant::now());
        let after = |seconds: u64| began + Duration::from_secs(seconds);
        assert!(!asks.is_spared("10.0.0.1", began));
        asks.spare("10.0.0.1", began);
        assert!(asks.is_spared("10.0.0.1", after(14)) && !asks.is_spared("10.0.0.1", after(15)));
        assert!(!asks.is_spared("10.0.0.2", after(14)), "that is another one");
        asks.spare("10.0.0.1", after(60));
        assert!(asks.is_spared("10.0.0.1", after(89)) && !asks.is_spared("10.0.0.1", after(90)));
        (0..10).for_each(|_| asks.spare("10.0.0.1", after(90)));
        assert!(asks.is_spared("10.0.0.1", after(209)) && !asks.is_spared("10.0.0.1", after(210)), "not for ever");
    }

    #[test]
    fn an_address_that_nobody_asks_any_more_is_forgotten() {
        let (asks, began) = (OverHttp::default(), Instant::now());
        asks.spare("10.0.0.1", began);
        asks.spare("10.0.0.2", began + Duration::from_secs(3600));
        assert_eq!(asks.silent().keys().collect::<Vec<_>>(), ["10.0.0.2"]);
    }
}
