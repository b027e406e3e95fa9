//! Commits what was read: what several partitions have brought in one step, where the store can do that.

use super::Reader;
use crate::clock::now;
use crate::follow::writer::{PAUSE, Writer};
use crate::program::chain;
use anyhow::Result;
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::Error;
use rankwright_ingest::shared::{Intake, Share};
use rankwright_source::{Batch, Partition};
use rankwright_state::Position;
use tracing::{error, warn};

/// What became of batches that were to be committed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    All,
    Nothing,
    /// The store did not say.
    Unknown,
}

impl Reader {
    /// Commits what has come, in the order of event time, as far as no earlier event may still come.
    pub(super) async fn drain(&mut self) -> Result<()> {
        loop {
            let batches = match self.commits_together() {
                true => self.merged.pop_some(self.together),
                false => self.merged.pop().into_iter().collect(),
            };
            if batches.is_empty() {
                return Ok(());
            }
            self.take(batches).await?;
        }
    }

    /// Commits batches of several partitions; in one step, where the store can do that.
    async fn take(&mut self, batches: Vec<(Partition, Batch)>) -> Result<()> {
        let mut seen = Vec::with_capacity(batches.len());
        for (partition, batch) in &batches {
            self.tally.bad(partition, &batch.bad);
            if let Err(error) = self.letters.put(&batch.bad).await {
                self.tally.lost(&error);
            }
            seen.push(self.tally.batch(partition, batch));
        }
        let newest = batches.iter().flat_map(|(_, batch)| &batch.events).map(Event::timestamp).max();
        let committed = if batches.len() > 1 && self.commits_together() {
            self.commit_together(&batches).await?
        } else {
            Together::Nothing
        };
        for ((partition, batch), seen) in batches.iter().zip(seen) {
            let unknown = committed == Together::Unknown;
            if committed == Together::All || self.commit_alone(partition, batch, unknown).await? {
                self.tally.committed(seen, now());
            }
        }
        self.close_due().await;
        self.sweep(newest).await;
        Ok(())
    }

    /// Whether batches of several partitions can be one commit. Where not, they are committed one by one, in order of time.
    fn commits_together(&self) -> bool {
        self.stream.ordered() && self.engine.state.moves_together()
    }

    /// Commits all of the batches at once, or none of them.
    async fn commit_together(&mut self, batches: &[(Partition, Batch)]) -> Result<Together> {
        let mut shares = Vec::with_capacity(batches.len());
        for (partition, writer) in &mut self.writers {
            let batch = batches.iter().find(|(of, _)| of == partition);
            if let (Writer::Ordered(intake), Some((_, batch))) = (writer, batch) {
                shares.push(Share { intake, events: &batch.events, to: behind(batch)? });
            }
        }
        match Intake::apply_together(&mut shares, now()).await {
            Ok(()) => {
                batches.iter().for_each(|(partition, batch)| self.stream.note(partition, &batch.position));
                Ok(Together::All)
            }
            Err(Error::LostLease { .. }) => Ok(Together::Nothing), // whose it is shows when each goes alone
            Err(error) => {
                error!("waiting for the state store: {}", chain(&error.into()));
                tokio::time::sleep(PAUSE).await;
                Ok(Together::Unknown)
            }
        }
    }

    /// Commits a batch, which may be there already where that is `unknown`; waits for a store that is away, as nothing of the
    /// stream may be left out. Whether it is there; somebody else has the partition otherwise.
    async fn commit_alone(&mut self, partition: &Partition, batch: &Batch, mut unknown: bool) -> Result<bool> {
        let to = behind(batch)?;
        loop {
            let Some(writer) = self.writers.get_mut(partition) else { return Ok(false) }; // somebody else's by now
            if unknown {
                let before = writer.position();
                let again = self.open(partition).await;
                let (is_there, is_next) = (again.position() == to, again.position() == before);
                if !is_there && !is_next {
                    return self.begin_again(partition).await.map(|()| false); // somebody has read on meanwhile
                }
                self.writers.insert(partition.clone(), again);
                if is_there {
                    self.stream.note(partition, &batch.position); // only the answer was lost
                    return Ok(true);
                }
                unknown = false;
                continue;
            }
            match writer.apply(&batch.events, to.clone()).await {
                Ok(()) => {
                    self.stream.note(partition, &batch.position);
                    return Ok(true);
                }
                Err(Error::LostLease { .. }) => return self.begin_again(partition).await.map(|()| false),
                Err(error) => error!(%partition, "waiting for the state store: {}", chain(&error.into())),
            }
            tokio::time::sleep(PAUSE).await;
            unknown = true;
        }
    }

    /// Time has come as far as the newest event.
    async fn sweep(&mut self, newest: Option<Timestamp>) {
        let Some(newest) = newest else { return };
        if let Err(error) = self.sweep.reach(newest, &self.engine.plan, &*self.engine.state).await {
            warn!("outdated values are removed later: {}", chain(&error.into()));
        }
    }

    /// Rankings of what is read once close while it is read, as rates change when they do.
    async fn close_due(&mut self) {
        if let Some(closing) = &mut self.alone
            && let Err(error) = closing.tick().await
        {
            tracing::debug!(%error, "rankings are closed later");
        }
    }
}

/// The position behind a batch, as its writer keeps it.
fn behind(batch: &Batch) -> Result<Position> {
    Ok(Position(serde_json::to_string(&batch.position)?))
}
