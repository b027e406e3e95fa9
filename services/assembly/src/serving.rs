//! The HTTP interface over an engine.

use crate::cached;
use crate::emptied;
use crate::encoders::{Encoders, Wanted};
use crate::engine::{Engine, Told, is_set};
use crate::follow::{Tally, follow};
use crate::gauges::Gauges;
use crate::inlet::Inlet;
use crate::size::Watch;
use crate::waiting::{Begun, Stop};
use crate::writers::Writers;
use crate::{log, open, page, port, text_models};
use anyhow::Result;
use futures_util::future::BoxFuture;
use prometheus::Registry;
use rankwright_config::{SourceConfig, State};
use rankwright_model::Alone;
use rankwright_serve::{App, Evaluation, Published, Status, Training, tls};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tracing::{info, warn};

/// Time goes on once a second.
const TICK: Duration = Duration::from_secs(1);

/// Texts of a request that are computed together: the quickest number.
const TOGETHER: usize = 8;

/// Lets a server be ready that serves fewer models than others do, or not those that are pinned.
const WITHOUT_MODELS: &str = "RANKWRIGHT_READY_WITHOUT_MODELS";

/// For giving up the partitions of a stream.
const LEAVING: Duration = Duration::from_secs(5);

/// What a program offers at its port, beside telling how it is.
#[derive(Default)]
pub struct Service {
    /// Answers rank requests.
    pub ranks: bool,
    /// Has the page for browsers, unless the configuration says otherwise.
    pub page: bool,
    /// Takes events at `POST /feedback`.
    pub feedback: bool,
    /// Closes the rankings of a shared state.
    pub closes: bool,
    /// Trains models on request.
    pub training: Option<Arc<dyn Training>>,
    /// Compares models for the page.
    pub evaluation: Option<Arc<dyn Evaluation>>,
    /// A stream that is followed.
    pub follows: Option<SourceConfig>,
    /// Further entries of `GET /status`.
    pub status: Vec<(&'static str, Arc<dyn Status>)>,
    /// What the configuration says, for the page.
    pub told: Told,
    /// What began before the engine could answer.
    pub begun: Option<Begun>,
}

/// Who this process is among those that share a state: the machine's name, and something that no other process has.
pub(crate) fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "process".to_owned());
    format!("{host}-{:08x}", fastrand::u32(..))
}

/// Opens the port of an engine, and serves until told to stop.
///
/// # Errors
/// When the port cannot be opened, or a state of this process cannot be read.
pub fn listen(engine: Arc<Engine>, service: Service) -> BoxFuture<'static, Result<()>> {
    Box::pin(async move {
        let Begun { stop, port: waiting } = service.begun.unwrap_or_default();
        let told = stop.unwrap_or_else(Stop::on_signal);
        let wanted = if service.ranks { Wanted::of_inference(&engine.config) } else { Vec::new() };
        let encoders = tokio::select! {
            opened = Encoders::open(wanted, TOGETHER) => opened?,
            () = told.clone().told() => return Ok(()),
        };
        let registry = Registry::new();
        let takes_part = service.feedback || service.closes;
        let tally = Arc::new(Tally::registered(&registry, engine.settings().session_length)?);
        let inlet = match takes_part {
            true => {
                let gauges = Gauges::registered(&registry)?;
                Some(Arc::new(Inlet::open(engine.clone(), service.closes, gauges, tally.clone()).await?))
            }
            false => None,
        };
        let watch = Arc::new(Watch::registered(engine.clone(), &registry)?);
        engine.traces().register(&registry)?;
        let texts = text_models::Opened::of(&[&engine.encoders, &encoders]);
        texts.iter().try_for_each(|texts| texts.register(&registry))?;
        log::register(&registry)?;
        cached::register(&engine.state, &registry)?;
        emptied::register(&engine.state, &registry)?;
        let fleet = if service.ranks { open::fleet(&engine.config, &identity())? } else { Arc::new(Alone::default()) };
        let loader = Published::new(&engine.config.features, engine.state.clone(), engine.versions.clone());
        let loader = Arc::new(loader.with_encoders(engine.encoders.clone()).with_fleet(fleet));
        let mut config = engine.config.clone();
        if !service.ranks {
            config.models.clear();
        }
        let mut app =
            App::builder(&config, engine.state.clone(), loader).registry(registry).log(crate::log::set_log_filter);
        app = app.tracer(engine.tracer().clone());
        if service.ranks && config.api.page.enabled.unwrap_or(service.page) {
            app = app.page(page::front(&engine, service.told, service.evaluation));
        }
        if let State::Redis(redis) = &config.state {
            app = app.store_timeout(redis.timeout.command);
        }
        app = app.gated(engine.state.shared() && !is_set(WITHOUT_MODELS)).status("size", watch.clone());
        app = app.status("work", engine.work.clone());
        let writers = engine.state.shared().then(|| Arc::new(Writers::of(engine.state.clone())));
        if let Some(writers) = &writers {
            app = app.status("writers", writers.clone());
        }
        if let Some(inlet) = &inlet {
            app = app.status("ingest", inlet.clone());
        }
        if let Some(texts) = texts {
            app = app.status("textModels", Arc::new(texts));
        }
        if let Some(inlet) = inlet.clone().filter(|_| service.feedback) {
            app = app.feedback(inlet);
        }
        if service.follows.is_some() {
            app = app.status("stream", tally.clone());
        }
        if let Some(training) = service.training {
            app = app.training(training);
        }
        for (name, status) in service.status {
            app = app.status(name, status);
        }
        for (name, model) in &config.models {
            if let Some(slot) = engine.plan.seen(model) {
                app = app.seen(name, slot);
            }
        }
        for (name, inference) in &config.inference {
            if let Some(encoder) = encoders.get(&inference.model) {
                app = app.inference(name, encoder);
            }
        }
        let app = app.build()?;
        let tls = engine.config.api.tls.as_ref().map(|tls| tls::acceptor(&tls.cert, &tls.key)).transpose()?;
        let (host, port) = (engine.config.api.host.as_str(), engine.config.api.port);
        tokio::select! {
            _ready_or_says_why_not = app.begin() => {}
            () = told.clone().told() => {
                if let Some(inlet) = inlet {
                    inlet.close().await;
                }
                return Ok(());
            }
        }
        if let Some(waiting) = waiting {
            waiting.close().await;
        }
        let listener = port::bind(host, port).await?;
        info!(address = %listener.local_addr()?, "serving");
        let ticking = inlet.clone().map(|inlet| tokio::spawn(tick(inlet)));
        let watching = tokio::spawn(watch.run());
        let asking = writers.map(|writers| tokio::spawn(writers.run()));
        let stop = Notify::new();
        let following = async {
            match &service.follows {
                Some(source) => follow(engine.clone(), source, tally, stop.notified()).await,
                None => std::future::pending().await,
            }
        };
        let mut following = std::pin::pin!(following);
        let served = tokio::select! {
            served = rankwright_serve::run(app, listener, tls, told.told()) => {
                stop.notify_one();
                // partitions are given up, so that others can have them at once
                if service.follows.is_some() && tokio::time::timeout(LEAVING, following.as_mut()).await.is_err() {
                    warn!("the source was not closed in time");
                }
                served.map_err(anyhow::Error::from)
            }
            lost = following.as_mut() => lost.and_then(|()| anyhow::bail!("the source has ended")),
        };
        ticking.inspect(tokio::task::JoinHandle::abort);
        watching.abort();
        asking.inspect(tokio::task::JoinHandle::abort);
        if let Some(inlet) = inlet {
            inlet.close().await;
        }
        engine.finish_traces().await;
        if let Err(error) = &served {
            warn!(%error, "stopped serving");
        }
        info!("stopped");
        served
    })
}

async fn tick(inlet: Arc<Inlet>) {
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        inlet.tick().await;
    }
}
