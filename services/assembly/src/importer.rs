//! Taking in the events of files, into a state of this process or one that it shares.

use crate::closing::Closing;
use crate::engine::Engine;
use futures_util::future::BoxFuture;
use rankwright_event::{Event, RankingId};
use rankwright_ingest::shared::{Intake, Origin};
use rankwright_ingest::{Counters, Error, Ingest};
use rankwright_serve::clock::now;
use rankwright_state::{Key, Position};
use std::sync::Arc;

/// Takes in the events of files.
pub enum Importer {
    /// Into a state that no other process writes to.
    Own(Box<Ingest>),
    /// Into a state that others may write to as well.
    Shared {
        /// Takes them in.
        intake: Box<Intake>,
        /// Closes rankings, where no other process does.
        closing: Box<Closing>,
        /// Events that are taken in with the next commit.
        taken: Vec<Event>,
    },
}

impl Importer {
    /// Becomes a writer, and goes on where it stopped.
    ///
    /// # Errors
    /// When a store fails.
    pub fn open<'a>(engine: &'a Arc<Engine>, writer: &'a str) -> BoxFuture<'a, Result<Self, Error>> {
        Box::pin(async move {
            if !engine.has_many_writers() {
                return Ok(Self::Own(Box::new(engine.ingest(writer).await?)));
            }
            let (plan, state) = (engine.plan.clone(), engine.state.clone());
            let intake = Intake::open(writer, Origin::Partition, plan, state, engine.settings(), now()).await?;
            let closing = Closing::new(engine.clone(), crate::serving::identity());
            Ok(Self::Shared { intake: Box::new(intake), closing: Box::new(closing), taken: Vec::new() })
        })
    }

    /// Where the last batch of this writer ended, be it in an earlier process.
    pub fn position(&self) -> &Position {
        match self {
            Self::Own(ingest) => ingest.position(),
            Self::Shared { intake, .. } => intake.position(),
        }
    }

    /// Takes in events, which [`Importer::commit`] makes durable.
    ///
    /// # Errors
    /// When a store fails.
    pub fn take<'a>(&'a mut self, mut events: Vec<Event>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match self {
                Self::Own(ingest) => ingest.take(events).await,
                Self::Shared { taken, .. } => {
                    taken.append(&mut events);
                    Ok(())
                }
            }
        })
    }

    /// Commits what was taken, with the position behind it.
    ///
    /// # Errors
    /// When a store fails.
    pub fn commit<'a>(&'a mut self, to: Position) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match self {
                Self::Own(ingest) => ingest.commit_taken(to).await,
                Self::Shared { intake, closing, taken } => {
                    intake.apply(&std::mem::take(taken), &[], to, now()).await?;
                    if let Err(error) = closing.tick_through().await {
                        tracing::debug!(%error, "rankings are closed later");
                    }
                    Ok(())
                }
            }
        })
    }

    /// Notes events that were taken in, so that they are known when they come again at `/feedback`.
    ///
    /// # Errors
    /// When a store fails.
    pub fn remember<'a>(&'a mut self, ids: &'a [Key]) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match self {
                Self::Own(ingest) => ingest.remember(ids, now()).await,
                Self::Shared { intake, .. } => intake.remember(ids, now()).await,
            }
        })
    }

    /// Some rankings that interactions waited for in vain.
    pub fn unknown_rankings(&self) -> &[RankingId] {
        match self {
            Self::Own(ingest) => ingest.unknown_rankings(),
            Self::Shared { closing, .. } => closing.unknown_rankings(),
        }
    }

    /// Closes what no more events will come for; false where another process keeps that to itself, see [`Closing::finish`].
    ///
    /// # Errors
    /// When a store fails.
    pub fn finish<'a>(&'a mut self) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            match self {
                Self::Own(ingest) => ingest.finish().await.map(|()| true),
                Self::Shared { intake, closing, .. } => {
                    intake.leave().await?;
                    let finished = closing.finish().await;
                    closing.leave().await;
                    finished
                }
            }
        })
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        match self {
            Self::Own(ingest) => ingest.counters(),
            Self::Shared { intake, closing, .. } => intake.counters().and(closing.counters()),
        }
    }
}
