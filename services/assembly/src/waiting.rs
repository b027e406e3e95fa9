//! A program whose state store is not there yet waits for it, and says so at its port. So does one that imports and trains first.

use crate::engine::Engine;
use crate::port;
use crate::program::{chain, passes};
use crate::said::Said;
use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use rankwright_config::{ClickthroughStore, Config, State};
use rankwright_serve::metrics::ConnectionMetrics;
use rankwright_serve::server::{self, Connections, Timing};
use rankwright_serve::{STATE, STORES, Waiting, tls};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tracing::warn;

/// Between two attempts to reach a server.
const PAUSE: Duration = Duration::from_secs(1);

/// A store that says nothing for this time is one that lets a program wait: longer than it takes to be refused, several times.
const SILENT: Duration = Duration::from_secs(10);

/// For requests that run when the store is there at last.
const DRAIN: Duration = Duration::from_secs(1);

/// Tells that the process was told to end, from its making on.
#[derive(Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens to the signals of the system.
    pub(crate) fn on_signal() -> Self {
        let (told, heard) = watch::channel(false);
        tokio::spawn(async move {
            server::stop_signal().await;
            let _ = told.send(true); // it fails where the receiver is gone
        });
        Self(heard)
    }

    /// Ends when the process was told to.
    pub(crate) async fn told(mut self) {
        if self.0.wait_for(|told| *told).await.is_err() {
            std::future::pending().await // the runtime ends before a signal came
        }
    }
}

/// What began before a program could answer, for [`crate::listen`] to go on with.
#[derive(Default)]
pub struct Begun {
    /// Until there is one, a signal ends the process at once.
    pub(crate) stop: Option<Stop>,
    pub(crate) port: Option<Port>,
}

impl Begun {
    /// Opens the port of a program that has the page and imports and trains before it answers: what it does is said there.
    ///
    /// # Errors
    /// When the port cannot be opened.
    pub fn at_work(engine: &Engine) -> BoxFuture<'_, Result<Self>> {
        Box::pin(async move {
            let waiting = with_page(Waiting::at_work(engine.work.clone()), &engine.config, Some(true));
            Ok(Self { stop: None, port: Some(Port::open(&engine.config, waiting).await?) })
        })
    }
}

/// As [`Engine::open`]; waits for a server of the state, or of click-throughs, that is not there yet, and answers `/health`, `/ready` and
/// `/status` meanwhile, until the port is opened for requests. Nothing, when told to stop before; an attempt may be under way then.
///
/// # Errors
/// When a store cannot be opened for another reason than that its server is away, or the port cannot be opened.
fn await_open(config: Config, page: Option<bool>) -> BoxFuture<'static, Result<Option<(Engine, Begun)>>> {
    Box::pin(async move {
        let stop = Stop::on_signal();
        tokio::select! {
            opened = open(config, page) => {
                let (engine, port) = opened?;
                Ok(Some((engine, Begun { stop: Some(stop), port })))
            }
            () = stop.clone().told() => Ok(None),
        }
    })
}

/// As [`await_open`], on a runtime that comes back with the engine. Otherwise an attempt that lasts is not waited for. `page` says
/// whether the program has the page for browsers, unless the configuration says otherwise; nothing, where it has none at all.
///
/// # Errors
/// As there.
pub fn open_on(runtime: Runtime, config: Config, page: Option<bool>) -> Result<Option<(Runtime, Engine, Begun)>> {
    match runtime.block_on(await_open(config, page)) {
        Ok(Some((engine, begun))) => Ok(Some((runtime, engine, begun))),
        ended => {
            runtime.shutdown_background();
            ended.map(|_stopped| None)
        }
    }
}

async fn open(config: Config, page: Option<bool>) -> Result<(Engine, Option<Port>)> {
    let mut port: Option<Port> = None;
    let waits = |store, problem| Port::waits(&config, store, problem, page);
    loop {
        // on a thread of its own: it hears nothing while a store is silent, and there may be one for all else
        let (runtime, attempted) = (tokio::runtime::Handle::current(), config.clone());
        let mut attempt = tokio::task::spawn_blocking(move || runtime.block_on(Engine::open(attempted)));
        let opened = loop {
            match tokio::time::timeout(SILENT, &mut attempt).await {
                Ok(opened) => break opened.context("opening the stores was interrupted")?,
                Err(_) if port.is_none() && is_elsewhere(&config) => {
                    port = Some(waits(STORES, "there is no answer yet".to_owned()).await?);
                }
                Err(_) => {}
            }
        };
        let error = match opened {
            Ok(engine) => return Ok((engine, port)),
            Err(error) => error,
        };
        if !passes(&error) {
            return Err(error);
        }
        match &mut port {
            Some(port) => port.tell(store_of(&error), chain(&error)),
            None => port = Some(waits(store_of(&error), chain(&error)).await?),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether another machine may let it wait.
fn is_elsewhere(config: &Config) -> bool {
    matches!(config.state, State::Redis(_))
        || matches!(config.train, Some(ClickthroughStore::S3(..) | ClickthroughStore::Redis { .. }))
}

/// Which store does not answer.
fn store_of(error: &anyhow::Error) -> &'static str {
    match error.chain().any(|cause| cause.is::<rankwright_clickthrough::Error>()) {
        true => "the store of click-throughs",
        false => STATE,
    }
}

/// What waits, with the page for browsers where a program has it.
fn with_page(waiting: Waiting, config: &Config, page: Option<bool>) -> Waiting {
    match page.is_some_and(|usual| config.api.page.enabled.unwrap_or(usual)) {
        true => waiting.with_page(rankwright_console::router(&config.api.page.image_origins), &config.api),
        false => waiting,
    }
}

/// The port of a program that waits.
pub(crate) struct Port {
    waiting: Waiting,
    said: Said,
    stop: Arc<Notify>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Port {
    /// Of a program that waits for a store.
    async fn waits(config: &Config, store: &'static str, problem: String, page: Option<bool>) -> Result<Self> {
        let said = Said::default();
        say(&said, store, &problem);
        let mut port = Self::open(config, with_page(Waiting::new(store, problem), config, page)).await?;
        port.said = said;
        Ok(port)
    }

    async fn open(config: &Config, waiting: Waiting) -> Result<Self> {
        let (host, port) = (config.api.host.as_str(), config.api.port);
        let tls = config.api.tls.as_ref().map(|tls| tls::acceptor(&tls.cert, &tls.key)).transpose()?;
        let listener = port::bind(host, port).await?;
        let (router, stop) = (waiting.router(&config.api.allowed_origins), Arc::new(Notify::new()));
        let (said, told) = (Said::default(), stop.clone());
        let timing = Timing { linger: Duration::ZERO, drain: DRAIN, ..Timing::default() };
        let connections = Connections::new(config.api.limits.max_connections, ConnectionMetrics::new()?);
        let serving =
            tokio::spawn(
                async move { server::serve(router, listener, tls, told.notified(), timing, connections).await },
            );
        Ok(Self { waiting, said, stop, serving })
    }

    fn tell(&mut self, store: &'static str, problem: String) {
        say(&self.said, store, &problem);
        self.waiting.tell(store, problem);
    }

    /// Gives the port back.
    pub(crate) async fn close(mut self) {
        self.stop.notify_one();
        if let Ok(Err(error)) = (&mut self.serving).await {
            warn!(%error, "the port that answered while stores were away ended with an error");
        }
    }
}

fn say(said: &Said, store: &str, problem: &str) {
    if said.is_news(problem) {
        warn!("waiting for {store}: {problem}");
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
