//! Serving an app on a listener, from the first connection to the last answer.
//!
//! Connections are bounded: those that wait for their clients make room for new ones ([`Connections`]). So are the size of
//! a request's head and the time that a client may take to send it; that time is also how long an idle connection is kept.
//! A client that closes its side behind its request gets its answer.
//!
//! When told to stop, the server says so at `/ready`, and for [`Timing::linger`] it ends each connection with its next
//! answer: a client that keeps connections, and uses them within that time, sends nothing into one that is closed under it.
//! Then it accepts nothing more, lets running requests finish and ends idle connections; what is not done after
//! [`Timing::drain`] is cut off.

mod connection;
mod connections;
mod refusal;
mod wire;

pub use connections::Connections;

use crate::app::{App, Phase};
use crate::http::{self, Peer};
use crate::seldom;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use connection::Connection;
use connections::Place;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use wire::Wire;

/// The head of a request, its path and headers, is no larger.
const MOST_HEAD_BYTES: usize = 64 << 10;

/// For a client to agree on encryption.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// For telling other servers that this one ends.
const LEAVING: Duration = Duration::from_secs(1);

/// How often it is looked whether connections are left.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// How long a server waits, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// For a request's head; an idle connection is closed after this time.
    pub head: Duration,
    /// For a client that takes nothing of its answer. A system tells of progress after a good part of its buffers alone.
    pub answer: Duration,
    /// For clients to give up the connections that they keep, after being told to stop; no longer than there are any, and at
    /// most half of the time to drain.
    pub linger: Duration,
    /// For running requests to finish, after being told to stop.
    pub drain: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        // idle connections outlive those of common load balancers (60 seconds), which would otherwise send into a closing one
        let (head, linger) = (Duration::from_secs(75), Duration::from_secs(2));
        Self { head, answer: Duration::from_secs(300), linger, drain: Duration::from_secs(30) }
    }
}

/// Serves an app until `stop` is ready, then finishes what runs.
///
/// Models and state are prepared beside the first requests ([`App::prepare`]), unless they are already.
pub async fn run(
    app: App,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let preparing = tokio::spawn({
        let app = app.clone();
        async move {
            if app.phase() == Phase::Starting {
                let starting = app.clone();
                // a panic is reported where it happened; the service then stays alive and never becomes ready
                let _ = app.pool().run(async move { starting.prepare().await }).await;
            }
            app.follow().await;
        }
    });
    let told = async {
        stop.await;
        app.enter(Phase::Draining);
    };
    let timing = Timing { drain: app.limits().api.drain_timeout, ..Timing::default() };
    let connections = app.connections().clone();
    let served = serve(http::router(app.clone()), listener, tls, told, timing, connections).await;
    preparing.abort();
    // servers that wait for others should not wait for this one
    let _ = tokio::time::timeout(LEAVING, app.loader().leave()).await;
    served
}

/// Ready when the process is told to stop: by an interrupt from the terminal, by SIGTERM, or by SIGHUP, which a terminal sends
/// when it closes. A process that was started to ignore SIGHUP, as by `nohup`, ignores it. From the call on, within a runtime, no
/// signal is missed.
pub fn stop_signal() -> impl Future<Output = ()> + Send + 'static {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let heard = kinds.into_iter().filter(|&kind| kind != SignalKind::hangup() || !ignores_hangup());
    let mut signals: Vec<_> = heard.filter_map(|kind| signal(kind).ok()).collect();
    std::future::poll_fn(move |context| match signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

/// Whether the process was started to ignore SIGHUP; where the system does not say, it was not.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Serves any paths until `stop` is ready, then finishes what runs.
pub async fn serve(
    router: Router,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stop: impl Future<Output = ()>,
    timing: Timing,
    connections: Arc<Connections>,
) -> std::io::Result<()> {
    let server = Arc::new(Server { router, tls, timing, leaves: AtomicBool::new(false), connections });
    let watched = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    let mut accepting = Box::pin(server.accept(&listener)); // what is accepted and waits for a place is kept
    let mut minutes = tokio::time::interval(seldom::PAUSE);
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = minutes.tick() => {
                server.connections.say_rest(false);
                continue;
            }
            (stream, peer, place) = &mut accepting => server.connect(stream, peer, place, watched.watcher()),
        }
        accepting.set(server.accept(&listener));
    }
    server.leaves.store(true, Ordering::Relaxed);
    let end = Instant::now() + timing.drain;
    let mut over = std::pin::pin!(tokio::time::sleep(timing.linger.min(timing.drain / 2)));
    while watched.count() > 0 {
        tokio::select! {
            () = &mut over => break,
            () = tokio::time::sleep(LOOKS_EVERY) => continue,
            (stream, peer, place) = &mut accepting => server.connect(stream, peer, place, watched.watcher()),
        }
        accepting.set(server.accept(&listener));
    }
    drop(accepting);
    drop(listener);
    if tokio::time::timeout_at(end, watched.shutdown()).await.is_err() {
        tracing::warn!(seconds = timing.drain.as_secs(), "requests were cut off that did not finish in time");
    }
    server.connections.say_rest(true);
    Ok(())
}

/// What all connections of a port share.
struct Server {
    router: Router,
    tls: Option<TlsAcceptor>,
    timing: Timing,
    /// Connections end with their next answer.
    leaves: AtomicBool,
    connections: Arc<Connections>,
}

impl Server {
    async fn accept(&self, listener: &TcpListener) -> (TcpStream, Peer, Place) {
        loop {
            match listener.accept().await {
                Ok((stream, from)) => return (stream, Peer(from.ip()), self.connections.enter().await),
                Err(error) => tokio::time::sleep(self.connections.not_accepted(&error)).await,
            }
        }
    }

    fn connect(self: &Arc<Self>, stream: TcpStream, peer: Peer, place: Place, watcher: Watcher) {
        // answers are written whole, nothing is gained by waiting for more; a failure means that the client is gone
        let _ = stream.set_nodelay(true);
        let (server, connection) = (self.clone(), place.clone());
        let task = tokio::spawn(async move {
            match &server.tls {
                None => server.clone().answer(stream, peer, &place, watcher).await,
                Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                    Ok(Ok(stream)) => server.clone().answer(stream, peer, &place, watcher).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a connection was not encrypted"),
                    Err(_) => tracing::debug!("a connection was not encrypted in time"),
                },
            }
        });
        connection.served_by(task.abort_handle());
    }

    /// Answers the requests of one connection.
    async fn answer<S>(self: Arc<Self>, stream: S, peer: Peer, connection: &Arc<Connection>, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = TokioIo::new(Wire::new(stream, connection.clone(), self.timing.answer));
        let timing = self.timing;
        let connection = connection.clone();
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let begins = connection.begin();
            self.clone().respond(connection.clone(), begins, request)
        });
        let answering = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timing.head)
            .max_header_size(MOST_HEAD_BYTES)
            .half_close(true)
            .serve_connection(stream, service);
        if let Err(error) = watcher.watch(answering).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    /// Answers one request. Its connection ends with it once the server leaves.
    async fn respond(
        self: Arc<Self>,
        connection: Arc<Connection>,
        begins: bool,
        request: hyper::Request<Incoming>,
    ) -> Result<Response, Infallible> {
        if !begins {
            return std::future::pending().await; // the connection is closed
        }
        let mut answer = self.router.clone().oneshot(request).await?;
        if answer.headers().contains_key(header::CONNECTION) {
            connection.leave_unread();
        }
        connection.answered(usize::try_from(answer.body().size_hint().lower()).unwrap_or(usize::MAX));
        if self.leaves.load(Ordering::Relaxed) {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(answer)
    }
}
