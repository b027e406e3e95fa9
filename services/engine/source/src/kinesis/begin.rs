//! Beginning to read a shard.

use super::fetch::Fetch;
use super::place::Place;
use super::{Kinesis, KinesisError};
use crate::stream::{Partition, Step};
use crate::{Error, Position};

impl Kinesis {
    /// Reads a shard from a position on, or where reading begins when none is known.
    pub(super) async fn begin(&mut self, partition: &Partition, from: Option<Position>) -> Result<Position, Error> {
        let stream = self.place.stream.clone();
        let none = |position: String| {
            let reason = "it is written otherwise".to_owned();
            KinesisError::Position { position, stream: stream.clone(), reason }
        };
        let shard = self.shard(partition).ok_or_else(|| none(partition.to_string()))?;
        let from = match from {
            Some(position) if position.file != partition.as_str() => return Err(none(position.to_string()).into()),
            Some(Position { at: Some(at), .. }) => {
                self.known.insert(shard.clone());
                Some(at.parse::<Place>().map_err(|_| none(at))?)
            }
            _ => None,
        };
        let has_parent = self.shards.parents(&shard).any(|parent| self.shards.has(parent) || self.was_read(parent));
        let latest = self.latest && from.is_none() && !has_parent;
        let place = from.unwrap_or_else(|| self.first(&shard));
        self.sessions += 1;
        let session = self.sessions;
        // what was read before is read again, or is behind already
        self.steps
            .retain(|step| !matches!(step, Step::Batch { partition: of, .. } | Step::CaughtUp { partition: of, .. } if of == partition));
        if self.ours.contains_key(&shard) {
            self.fetch(&shard, session, place.clone(), latest).await;
        } // otherwise another reader has it by now, as the next step says
        Ok(Position::at(partition, place.to_string()))
    }

    /// Where a shard begins of which no position is known: after a parent that was read before, at its start.
    pub(super) fn first(&mut self, shard: &str) -> Place {
        if self.shards.parents(shard).any(|parent| self.was_read(parent)) {
            self.known.insert(shard.to_owned());
            return Place::Start;
        }
        self.since.map_or(Place::Start, Place::Since)
    }

    /// Whether a parent was read before, or came and went while the stream had no reader.
    fn was_read(&self, parent: &str) -> bool {
        self.known.contains(parent) || self.resumes && !self.shards.has(parent)
    }

    /// Reads a shard from a place on, and not from where it was read before.
    pub(super) async fn fetch(&mut self, shard: &str, session: u64, place: Place, latest: bool) {
        let client = self.client().await;
        let Some(held) = self.ours.get_mut(shard) else { return };
        if let Some(task) = held.task.take() {
            task.abort();
        }
        if let Some(before) = held.session.replace(session) {
            self.building.take(before);
        }
        if place == Place::End {
            return if self.bounded_reading() {
                self.pass_bound(session, shard, &self.partition(shard))
            } else {
                self.finish(shard)
            };
        }
        let (stream, shard) = (self.place.stream.clone(), shard.to_owned());
        let (told, trouble) = (self.told.clone(), self.trouble.of(self.worked));
        let fetch = Fetch { client, stream, shard, session, place, latest, told, trouble };
        held.task = Some(tokio::spawn(fetch.run()).abort_handle());
    }
}
