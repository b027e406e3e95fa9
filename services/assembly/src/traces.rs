//! Traces on their way to a collector of OpenTelemetry, where the environment names one.
//!
//! What is recorded waits in a bounded queue, and a task posts it. A collector that is away is asked again, until which spans
//! wait, and are dropped and counted where too many do. Requests notice nothing of it.

use crate::client::Client;
use crate::engine::service;
use crate::serving::identity;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, StatusCode};
use parking_lot::Mutex;
use prometheus::Registry;
use rankwright_object::Bytes;
use rankwright_trace::{Dropped, Kind, MOST_WAITING, Metrics, Queue, Settings, Span, Tracer, otlp};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tracing::{info, warn};

/// Between two attempts to reach a collector, the first and the longest time.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// What waits at the end of a process is given as long as this.
const LAST: Duration = Duration::from_secs(2);
/// No more of an answer is read.
const MOST_OF_AN_ANSWER: usize = 64 << 10;

/// What this process records; nothing by default.
#[derive(Default)]
pub(crate) struct Traces {
    tracer: Tracer,
    metrics: Option<Metrics>,
    sending: Mutex<Option<Sending>>,
}

/// The task that sends.
struct Sending {
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Traces {
    /// Begins to send them, where the environment says so.
    pub(crate) fn begin(runtime: &Handle) -> Self {
        let (settings, warnings) = Settings::of(&|name| std::env::var(name).ok(), &program());
        warnings.iter().for_each(|warning| warn!("{warning}"));
        let (Some(settings), Ok(metrics)) = (settings, Metrics::new()) else { return Self::default() };
        let (tracer, queue) = Tracer::new(settings.sampler, &metrics);
        info!(collector = settings.endpoint.host(), "traces are recorded");
        let (stop, exporter) = (Arc::new(Notify::new()), Exporter::new(settings, metrics.clone()));
        let task = runtime.spawn(exporter.run(queue, stop.clone()));
        Self { tracer, metrics: Some(metrics), sending: Mutex::new(Some(Sending { stop, task })) }
    }

    /// Begins traces.
    pub(crate) fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Records the training of a model.
    pub(crate) fn training(&self, model: &str) -> Span {
        let span = self.tracer.begin(Kind::Internal, None, || "train".into());
        span.note("rankwright.model", model);
        span
    }

    /// Shows how many spans there are, where any are recorded.
    pub(crate) fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        self.metrics.as_ref().map_or(Ok(()), |metrics| metrics.register(registry))
    }

    /// Sends what waits, within two seconds, and records nothing that comes later.
    pub(crate) async fn finish(&self) {
        let Some(Sending { stop, task }) = self.sending.lock().take() else { return };
        stop.notify_one();
        if tokio::time::timeout(LAST, task).await.is_err() {
            warn!("the last traces were not sent in time");
        }
    }
}

/// What this program is called: the name that it was started by.
fn program() -> String {
    let name = std::env::args_os().next();
    let name = name.as_deref().and_then(|path| Path::new(path).file_name()).map(|name| name.to_string_lossy());
    name.map_or_else(|| "rankwright".to_owned(), |name| name.into_owned())
}

/// Posts spans.
struct Exporter {
    settings: Settings,
    client: Client,
    metrics: Metrics,
    /// It was said that the collector takes nothing.
    complained: bool,
}

/// Why spans were not taken.
enum Problem {
    /// The collector may take them later.
    Away(String),
    /// It never will.
    Refused(String),
}

impl Exporter {
    fn new(mut settings: Settings, metrics: Metrics) -> Self {
        let ours = [
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id", identity()),
            ("rankwright.service", service()),
        ];
        for (key, value) in ours {
            if settings.resource.iter().all(|(known, _)| known != key) {
                settings.resource.push((key.to_owned(), value));
            }
        }
        let client = Client::new(settings.timeout);
        Self { settings, client, metrics, complained: false }
    }

    /// Sends batch after batch until it is told to stop; then what waits, once.
    async fn run(mut self, mut queue: Queue, stop: Arc<Notify>) {
        loop {
            tokio::select! {
                () = queue.gather() => {}
                () = stop.notified() => break,
            }
            let spans = queue.take();
            if spans.is_empty() {
                return; // no tracer is left
            }
            let body: Bytes = otlp::body(&spans, &self.settings.resource).into();
            if !self.deliver(&body, spans.len() as u64, &stop).await {
                break;
            }
        }
        loop {
            let spans = queue.take();
            let body: Bytes = otlp::body(&spans, &self.settings.resource).into();
            if spans.is_empty() || self.send(&body, spans.len() as u64).await.is_err() {
                return;
            }
        }
    }

    /// Sends a batch until the collector has taken or refused it; false where it was told to stop before.
    async fn deliver(&mut self, body: &Bytes, count: u64, stop: &Notify) -> bool {
        let mut pause = PAUSE;
        loop {
            match self.send(body, count).await {
                Ok(()) => {
                    if std::mem::take(&mut self.complained) {
                        info!("the collector takes traces again");
                    }
                    return true;
                }
                Err(Problem::Refused(reason)) => {
                    self.metrics.dropped(count, Dropped::Refused);
                    self.complain(&reason, "they are dropped");
                    return true;
                }
                Err(Problem::Away(reason)) => {
                    self.complain(&reason, &format!("up to {MOST_WAITING} spans wait, further ones are dropped"));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.notified() => {
                    let _away = self.send(body, count).await;
                    return false;
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Says once that the collector takes nothing, until it does.
    fn complain(&mut self, reason: &str, then: &str) {
        if !std::mem::replace(&mut self.complained, true) {
            let collector = self.settings.endpoint.host().unwrap_or_default();
            warn!(collector, "traces are not sent: {reason}; {then} (service_trace_dropped_spans_total)");
        }
    }

    async fn send(&self, body: &Bytes, count: u64) -> Result<(), Problem> {
        let sent = tokio::time::timeout(self.settings.timeout, self.post(body.clone())).await;
        let (status, answer) =
            sent.unwrap_or_else(|_| Err("there is no answer in time".to_owned())).map_err(Problem::Away)?;
        if status.is_success() {
            let (rejected, reason) = otlp::rejected(&answer).unwrap_or_default();
            if rejected > 0 {
                self.metrics.dropped(rejected, Dropped::Refused);
                warn!(spans = rejected, reason, "the collector did not take some spans");
            }
            self.metrics.exported.inc_by(count.saturating_sub(rejected));
            return Ok(());
        }
        let reason = format!("the collector answers {status}");
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(Problem::Away(reason)),
            _ => Err(Problem::Refused(reason)),
        }
    }

    /// The status and body of an answer.
    async fn post(&self, body: Bytes) -> Result<(StatusCode, Bytes), String> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let given = self.settings.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        request.headers_mut().extend(given);
        let sent = self.client.send(&self.settings.endpoint, request).await;
        let answer = sent.map_err(|error| error.to_string())?;
        let status = answer.status();
        // what cannot be read of it says nothing
        let body = Limited::new(answer.into_body(), MOST_OF_AN_ANSWER).collect().await;
        Ok((status, body.map(|body| body.to_bytes()).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
