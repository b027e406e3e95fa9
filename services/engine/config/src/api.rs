//! `api`: where the HTTP interface listens, who may change things, and how much it takes at once.

use crate::secret::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// The HTTP interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Api {
    /// Address or name to bind; default 0.0.0.0.
    pub host: String,
    /// Default 8080; 0 lets the system choose.
    pub port: u16,
    /// Bearer token that admin calls need (training, model changes). Absent: they need none.
    pub token: Option<Secret>,
    /// What a request may cost.
    pub limits: Limits,
    /// `tls`: how the port is encrypted; absent: it is not.
    pub tls: Option<Tls>,
    /// `cors.allowedOrigins`: origins whose web pages may use the interface, such as `https://shop.example`, or `*`; default
    /// none but its own.
    pub allowed_origins: Vec<String>,
    /// `page`: the page for browsers.
    pub page: Page,
}

/// The page for browsers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Whether it is there; where nothing is said, the program decides.
    pub enabled: Option<bool>,
    /// Newest rank requests that are kept for it, of each model; default 100, 0 keeps none.
    pub sample: usize,
    /// `showIds`: whether those requests show their visitors; default no.
    pub show_ids: bool,
    /// Fields of items that it shows beside their ids.
    pub item: Option<PageItem>,
    /// `imageOrigins`: where pictures of items may come from, such as `https://cdn.shop.example`; default nowhere.
    pub image_origins: Vec<String>,
}

/// Names of item fields that the page shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageItem {
    /// What the item is called.
    pub title: Option<String>,
    /// What it costs.
    pub price: Option<String>,
    /// The address of its picture.
    pub image: Option<String>,
}

/// How the port is encrypted. Both files are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// `cert`: the certificate with those that vouch for it, as PEM.
    pub cert: PathBuf,
    /// `key`: its private key, as PEM.
    pub key: PathBuf,
}

/// What a request may cost; beyond it the answer is 413, 400 or 503 at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `maxBodyBytes`: largest body of a request, in bytes; default 32 MiB.
    pub max_body_bytes: usize,
    /// `maxItemsPerRequest`: items in a rank or recommend request; default 10,000.
    pub max_items_per_request: usize,
    /// `maxEventsPerBatch`: events in a feedback request; default 100,000.
    pub max_events_per_batch: usize,
    /// `maxConcurrentRequests`: requests worked on at once; default 256.
    pub max_concurrent_requests: usize,
    /// `maxConnections`: connections at once; default 10,000. Beyond it those that wait for their clients are closed.
    pub max_connections: usize,
    /// `requestTimeout`: time that a request may take, training excepted; default 30 seconds.
    pub request_timeout: Duration,
    /// `textTimeout`: time that text models have within a rank request before their values are missing; default 2 seconds.
    pub text_timeout: Duration,
    /// `drainTimeout`: time that running requests have to end once the process is told to stop; default 30 seconds.
    pub drain_timeout: Duration,
}

impl Default for Api {
    fn default() -> Self {
        let (host, limits) = ("0.0.0.0".to_owned(), Limits::default());
        Self { host, port: 8080, token: None, limits, tls: None, allowed_origins: Vec::new(), page: Page::default() }
    }
}

impl Page {
    /// What it shows of items, unless it is off: the state keeps that.
    pub fn shown(&self) -> Option<&PageItem> {
        self.item.as_ref().filter(|_| self.enabled != Some(false))
    }
}

impl PageItem {
    /// Names of the fields.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        [&self.title, &self.price, &self.image].into_iter().flatten().map(String::as_str)
    }
}

impl Default for Page {
    fn default() -> Self {
        Self { enabled: None, sample: 100, show_ids: false, item: None, image_origins: Vec::new() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 << 20,
            max_items_per_request: 10_000,
            max_events_per_batch: 100_000,
            max_concurrent_requests: 256,
            max_connections: 10_000,
            request_timeout: Duration::from_secs(30),
            text_timeout: Duration::from_secs(2),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
