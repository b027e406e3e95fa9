//! Serving an app on a listener, from the first connection to the last answer.
//!
//! Connections are bounded, and so is the time a client may take to send a request's head; that time is also how long
//! an idle connection is kept. When told to stop, the server says so at `/ready`, and for [`Timing::linger`] it ends each
//! connection with its next answer: a client that keeps connections, and uses them within that time, sends nothing into one
//! that is closed under it. Then it accepts nothing more, lets running requests finish and ends idle connections; what is not done after
//! [`Timing::drain`] is cut off.

use crate::app::{App, Phase};
use crate::http;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tower::util::MapResponse;

/// Connections at once; further ones wait in the system's queue.
const MOST_CONNECTIONS: usize = 10_000;

/// For a client to agree on encryption.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How often it is looked whether connections are left.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// How long a server waits, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// For a request's head; an idle connection is closed after this time.
    pub head: Duration,
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
        Self { head, linger, drain: Duration::from_secs(30) }
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
    let served = serve(http::router(app.clone()), listener, tls, told, timing).await;
    preparing.abort();
    served
}

/// Ready when the process is told to stop: by an interrupt from the terminal, or by SIGTERM.
pub async fn stop_signal() {
    let interrupt = tokio::signal::ctrl_c();
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = interrupt => {}
        () = terminated => {}
    }
}

/// Serves any paths until `stop` is ready, then finishes what runs.
pub async fn serve(
    router: Router,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stop: impl Future<Output = ()>,
    timing: Timing,
) -> std::io::Result<()> {
    let connections = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let leaves = Arc::new(AtomicBool::new(false));
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            (stream, place) = accept(&listener, &places) => {
                connect(stream, tls.clone(), place, (&router, &leaves), timing, connections.watcher());
            }
        }
    }
    leaves.store(true, Ordering::Relaxed);
    let end = Instant::now() + timing.drain;
    let mut over = std::pin::pin!(tokio::time::sleep(timing.linger.min(timing.drain / 2)));
    while connections.count() > 0 {
        tokio::select! {
            () = &mut over => break,
            () = tokio::time::sleep(LOOKS_EVERY) => {}
            (stream, place) = accept(&listener, &places) => {
                connect(stream, tls.clone(), place, (&router, &leaves), timing, connections.watcher());
            }
        }
    }
    drop(listener);
    if tokio::time::timeout_at(end, connections.shutdown()).await.is_err() {
        tracing::warn!(seconds = timing.drain.as_secs(), "requests were cut off that did not finish in time");
    }
    Ok(())
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // the semaphore is never closed, so there is always a place in the end
    let place = places.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            // connections that broke before they were taken, or no file descriptors: others may close meanwhile
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn connect(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    place: Option<OwnedSemaphorePermit>,
    (router, leaves): (&Router, &Arc<AtomicBool>),
    timing: Timing,
    watcher: Watcher,
) {
    // answers are written whole, nothing is gained by waiting for more; a failure means that the client is gone
    let _ = stream.set_nodelay(true);
    let (router, leaves) = (router.clone(), leaves.clone());
    tokio::spawn(async move {
        match tls {
            None => answer(stream, (router, leaves), timing, watcher).await,
            Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                Ok(Ok(stream)) => answer(stream, (router, leaves), timing, watcher).await,
                Ok(Err(error)) => tracing::debug!(%error, "a connection was not encrypted"),
                Err(_) => tracing::debug!("a connection was not encrypted in time"),
            },
        }
        drop(place);
    });
}

/// Answers the requests of one connection, which ends with the first answer after the server `leaves`.
async fn answer<S>(stream: S, (router, leaves): (Router, Arc<AtomicBool>), timing: Timing, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = MapResponse::new(router, move |mut answer: Response| {
        if leaves.load(Ordering::Relaxed) {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timing.head)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
