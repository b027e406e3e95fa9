//! `POST /feedback`: one batch after the other.

use crate::closing::Closing;
use crate::engine::Engine;
use crate::follow::Tally;
use crate::gauges::Gauges;
use crate::program::{chain, is_refused};
use crate::said::Said;
use crate::serving::identity;
use crate::units::Units;
use rankwright_event::{Event, RankingId};
use rankwright_ingest::shared::Replica;
use rankwright_ingest::{self as ingest, Applied, Counters};
use rankwright_serve::clock::{believed, latest};
use rankwright_serve::{Fed, FeedError, Feedback, Status};
use rankwright_state::BoxFuture;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use tokio::sync::Mutex;
use tracing::{debug, error, info, warn};

/// Name of the writer that takes in `POST /feedback` of the only process.
const WRITER: &str = "feedback";

/// `POST /feedback`: one batch after the other.
pub struct Inlet {
    engine: Arc<Engine>,
    /// Of a shared state: this process among the others.
    identity: String,
    /// `None` after an error of the state store: the next batch opens it again, from what was committed.
    feedback: Mutex<Option<Way>>,
    /// Closes rankings of a shared state, where this process may.
    closing: Option<Mutex<Closing>>,
    /// Of taking in, and of the closing.
    counters: SyncMutex<(Counters, Counters)>,
    /// Some rankings that interactions waited for in vain.
    unknown: SyncMutex<Vec<RankingId>>,
    units: SyncMutex<Units>,
    gauges: Gauges,
    /// What this process follows of a stream.
    tally: Arc<Tally>,
    /// What waits for a store, and why.
    said: Said,
    /// Why a store refuses what is brought to it.
    refused: SyncMutex<Option<String>>,
}

/// How events come into the state.
enum Way {
    Own(Box<ingest::Feedback>),
    Shared(Box<Replica>),
}

impl Way {
    async fn open(engine: &Engine, identity: &str) -> Result<Self, ingest::Error> {
        if engine.has_many_writers() {
            let (plan, state) = (engine.plan.clone(), engine.state.clone());
            let replica = Replica::open(identity, plan, state, engine.settings(), latest()).await?;
            return Ok(Self::Shared(Box::new(replica)));
        }
        let ingest = engine.ingest(WRITER).await?;
        let feedback = ingest::Feedback::open(ingest, engine.config.core.ingest.event_id_window).await?;
        Ok(Self::Own(Box::new(feedback)))
    }

    /// A lease is lost with the generation of the state that it was for: what is live now is another one.
    async fn feed(
        &mut self,
        events: Vec<Event>,
        (engine, identity): (&Engine, &str),
    ) -> Result<Applied, ingest::Error> {
        let replica = match self {
            Self::Own(feedback) => return feedback.feed(events, believed()).await,
            Self::Shared(replica) => replica,
        };
        match replica.feed(&events, latest()).await {
            Err(ingest::Error::LostLease { .. }) => {
                *self = Self::open(engine, identity).await?;
                let Self::Shared(replica) = self else { unreachable!("the state is shared as before") };
                replica.feed(&events, latest()).await
            }
            outcome => outcome,
        }
    }

    async fn tick(&mut self) -> Result<(), ingest::Error> {
        match self {
            Self::Own(feedback) => feedback.tick(believed()).await,
            Self::Shared(replica) => replica.tick(latest()).await,
        }
    }

    fn counters(&self) -> Counters {
        match self {
            Self::Own(feedback) => feedback.counters(),
            Self::Shared(replica) => replica.counters(),
        }
    }

    /// Some rankings that interactions waited for in vain; in a shared state it is the one who closes that knows them.
    fn unknown_rankings(&self) -> &[RankingId] {
        match self {
            Self::Own(feedback) => feedback.ingest().unknown_rankings(),
            Self::Shared(_) => &[],
        }
    }
}

impl Inlet {
    /// Opens the inlet of a service; with a shared state, `closes` says whether this process also closes rankings.
    ///
    /// # Errors
    /// When a state of this process cannot be read. One that is shared may answer later.
    pub async fn open(
        engine: Arc<Engine>,
        closes: bool,
        gauges: Gauges,
        tally: Arc<Tally>,
    ) -> Result<Self, ingest::Error> {
        let identity = if engine.state.shared() { identity() } else { "local".to_owned() };
        let way = match Way::open(&engine, &identity).await {
            Ok(way) => Some(way),
            Err(error) if engine.state.shared() => {
                warn!(%error, "events cannot be taken in yet");
                None
            }
            Err(error) => return Err(error),
        };
        let closing =
            (closes && engine.has_many_writers()).then(|| Mutex::new(Closing::new(engine.clone(), &*identity)));
        let (said, refused) = (Said::default(), SyncMutex::default());
        Ok(Self {
            engine,
            identity,
            feedback: Mutex::new(way),
            closing,
            counters: SyncMutex::default(),
            unknown: SyncMutex::default(),
            units: SyncMutex::default(),
            gauges,
            tally,
            said,
            refused,
        })
    }

    /// Lets time pass: what is due closes.
    pub async fn tick(&self) {
        let mut waits = None;
        let mut held = self.feedback.lock().await;
        if let Some(feedback) = held.as_mut() {
            let outcome = feedback.tick().await;
            let counters = feedback.counters();
            self.name(feedback.unknown_rankings());
            match outcome {
                Ok(()) => {}
                Err(error @ ingest::Error::Clickthroughs(_)) => waits = Some(("click-throughs wait", error)),
                // a rebuild has put another state in the place of this one
                Err(error @ ingest::Error::LostLease { .. }) if self.engine.state.shared() => {
                    info!(%error, "the next batch of feedback starts again");
                    *held = None;
                }
                Err(error) => {
                    error!(
                        error = chain(&error.into()),
                        "feedback stopped; the next batch takes up what was committed"
                    );
                    *held = None;
                }
            }
            self.note(|(taken, _)| *taken = counters);
        }
        drop(held);
        if let Some(closing) = &self.closing {
            let mut closing = closing.lock().await;
            let outcome = closing.tick().await;
            self.note(|(_, closed)| *closed = closing.counters());
            self.name(closing.unknown_rankings());
            match outcome {
                Ok(()) => {}
                // nothing waits for a store: another process closes, needs the state for itself for a while, or a writer has begun
                Err(ingest::Error::LostLease { .. }) if self.engine.state.shared() => {
                    return info!(
                        "rankings are closed later: a writer has begun, or another process closes rankings or needs the state for itself"
                    );
                }
                Err(ingest::Error::LostLease { .. }) => {
                    return debug!("a writer has begun: closing begins again");
                }
                Err(error) => waits = Some(("rankings are closed later", error)),
            }
        }
        self.tell(waits.map(|(what, error)| (what, error.into())));
    }

    /// What is open stays in a durable state; with a state in memory, nothing of it can be used any more.
    pub async fn close(&self) {
        if let Some(feedback) = self.feedback.lock().await.as_mut()
            && let Err(error) = feedback.tick().await
        {
            warn!(%error, "failed to write click-throughs at the end");
        }
        if let Some(closing) = &self.closing {
            closing.lock().await.leave().await;
        }
    }

    /// Says what waits and why, as far as that is news.
    fn tell(&self, waits: Option<(&'static str, anyhow::Error)>) {
        let refused = match waits {
            Some((what, error)) => {
                let text = chain(&error);
                if self.said.is_news(&text) {
                    warn!(error = text, "{what}");
                }
                is_refused(&error).then_some(text)
            }
            None if self.engine.clickthroughs.retries() => return, // it is not known yet how that ends
            None => {
                if self.said.over() {
                    info!("nothing waits for a store now");
                }
                None
            }
        };
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    fn note(&self, change: impl FnOnce(&mut (Counters, Counters))) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut counters);
        self.gauges.note(&counters.0.and(counters.1));
    }

    /// Keeps the names of rankings that interactions waited for in vain.
    fn name(&self, rankings: &[RankingId]) {
        let mut named = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if !rankings.is_empty() && *named != rankings {
            *named = rankings.to_vec();
        }
    }

    async fn take(&self, events: Vec<Event>) -> Result<Fed, FeedError> {
        let late = self.gauges.late(&events, self.engine.settings().session_length, believed());
        let news = self.units.lock().unwrap_or_else(PoisonError::into_inner).news(&events);
        news.iter().for_each(|news| warn!("{news}"));
        if self.engine.full.load(Ordering::Relaxed) {
            return Err(FeedError::Busy); // what is open cannot close meanwhile
        }
        let mut held = self.feedback.lock().await;
        let failed = |error: ingest::Error| FeedError::Failed(chain(&anyhow::Error::new(error)));
        if held.is_none() {
            *held = Some(Way::open(&self.engine, &self.identity).await.map_err(failed)?);
        }
        let Some(feedback) = held.as_mut() else { return Err(FeedError::Busy) };
        let outcome = feedback.feed(events, (&self.engine, &self.identity)).await;
        let counters = feedback.counters();
        self.name(feedback.unknown_rankings());
        if outcome.as_ref().is_err_and(|error| !matches!(error, ingest::Error::Clickthroughs(_))) {
            *held = None; // where too many click-throughs wait, nothing is lost
        }
        self.note(|(taken, _)| *taken = counters);
        if outcome.is_ok() {
            self.gauges.took(late);
        }
        drop(held);
        outcome.map(|applied| Fed { accepted: applied.accepted, updated: applied.updated }).map_err(failed)
    }
}

/// A part of all interactions; none where there are none.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| (part as f64 / all as f64).min(1.0))
}

impl Feedback for Inlet {
    fn feed(&self, events: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>> {
        Box::pin(self.take(events))
    }

    fn refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Status for Inlet {
    fn status(&self) -> Value {
        let (taken, closed) = *self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counters = taken.and(closed).and(self.tally.taken());
        let unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let imported = self.engine.imported.get();
        let imported_unknown = imported.map_or(&[][..], |imported| &imported.unknown);
        let examples: Vec<&str> = unknown.iter().chain(imported_unknown).take(2).map(RankingId::as_str).collect();
        let imported = imported.map_or_else(Counters::default, |imported| imported.counters);
        let unknown = counters.unknown + imported.unknown;
        // of a shared state, the one who closes counts what all have taken in, of which this process knows its own part
        let all = (!self.engine.state.shared()).then_some(counters.interactions + imported.interactions);
        json!({
            "events": {
                "item": counters.items,
                "user": counters.users,
                "ranking": counters.rankings,
                "interaction": counters.interactions,
            },
            "updated": counters.updated,
            "clickthroughs": counters.clickthroughs,
            "unrankedInteractions": counters.unranked,
            "unknownRankings": {
                "interactions": unknown,
                "share": all.and_then(|all| share(unknown, all)),
                "examples": examples,
            },
            "repeatedRankings": counters.repeated,
            "evictedRankings": counters.evicted,
            "openRankings": counters.open,
            "openRankingBytes": counters.open_bytes,
            "awaitedRankings": counters.awaited,
            "outbox": counters.outbox,
            "outboxBytes": counters.outbox_bytes,
            "problem": self.refused(),
        })
    }

    fn without_ids(&self) -> Value {
        let mut status = self.status();
        status["unknownRankings"].as_object_mut().map(|unknown| unknown.remove("examples"));
        status
    }
}
