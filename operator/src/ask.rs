//! What a rank server says of itself.

mod tls;

use crate::build::pod::PORT;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// A server that takes longer is not asked again in this round.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than any server says.
const LONGEST: usize = 4 << 20;

/// How long an address that has not answered in time is not asked again: twice as long each time, up to the last of these.
const SILENCES: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(120)];

/// Stands before the address of a server whose port is encrypted.
pub const HTTPS: &str = "https://";

/// What is used of `GET /status`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Said {
    /// The state store.
    pub store: Store,
    /// Models by name.
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
    /// Why it is not ready, though models and state are there.
    #[serde(default)]
    pub unready: Option<String>,
}

/// What a server says of the state store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Store {
    /// Whether it answers.
    pub answers: bool,
    /// Why it does not, where a server that has just begun knows that.
    #[serde(default)]
    pub problem: Option<String>,
    /// Which state lies there.
    #[serde(default)]
    pub id: Option<String>,
    /// Its generation: each import makes one.
    #[serde(default)]
    pub generation: u32,
    /// Whether the server has worked on another state in the same place.
    #[serde(default)]
    pub emptied: bool,
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
    /// Versions that there are, where it learns.
    #[serde(default)]
    pub versions: Option<Vec<String>>,
    /// A version that did not work when it was tried.
    #[serde(default)]
    pub refused: Option<Refused>,
}

/// A version that does not answer, because it did not work when a server tried it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Refused {
    /// Which one.
    pub version: String,
    /// Why.
    pub reason: String,
}

/// Asks rank servers; tests answer themselves.
pub trait Ask: Send + Sync {
    /// What the server at this address says, with [`HTTPS`] before it where its port is encrypted; nothing where it does not answer in time.
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Said>>;
}

/// Asks over HTTP. A server that does not answer in time is left alone for a while: many such servers would keep the others
/// waiting.
#[derive(Debug)]
pub struct OverHttp {
    silent: Mutex<HashMap<String, Silence>>,
    /// Each question has a connection, of which a process may have about a thousand.
    connections: Semaphore,
}

/// Rank servers that are asked at the same time.
const CONNECTIONS: usize = 768;

impl Default for OverHttp {
    fn default() -> Self {
        Self { silent: Mutex::default(), connections: Semaphore::new(CONNECTIONS) }
    }
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
            let _turn = self.connections.acquire().await; // it is never closed
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
    match address.strip_prefix(HTTPS) {
        Some(address) => {
            let stream = TcpStream::connect(place(address)).await?;
            said(tls::encrypted(stream, address).await?, address).await
        }
        None => said(TcpStream::connect(place(address)).await?, address).await,
    }
}

fn place(address: &str) -> String {
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    format!("{host}:{PORT}")
}

async fn said<S>(stream: S, address: &str) -> anyhow::Result<Said>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let request = hyper::Request::get("/status").header("host", place(address)).body(Empty::<Bytes>::new())?;
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
            "store": {"type": "redis", "answers": true, "id": "s1", "generation": 2, "emptied": false},
            "models": {"a": {"type": "lambdamart", "state": "loaded", "version": "v1", "trainedAt": "2026-11-22T10:00:00Z",
                             "versions": ["v1", "v2"], "refused": {"version": "v2", "reason": "no numbers"}},
                       "b": {"type": "lambdamart", "state": "missing", "reason": "no version yet"}}}"#;
        let said: Said = serde_json::from_str(text).unwrap();
        assert!(said.store.answers);
        assert_eq!(said.models["a"].version.as_deref(), Some("v1"));
        assert_eq!(said.models["a"].versions.as_ref().map(Vec::len), Some(2));
        assert_eq!((said.store.id.as_deref(), said.store.generation), (Some("s1"), 2));
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
