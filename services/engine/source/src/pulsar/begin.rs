//! Beginning to read a partition.

use super::line::{Begun, Order, Start};
use super::place::Begin;
use super::{Pulsar, PulsarError, topic};
use crate::stream::{Partition, Step};
use crate::{Error, Position};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

impl Pulsar {
    /// Where reading goes on from a position.
    pub(super) fn place_of(&self, position: &Position) -> Result<Option<Begin>, Error> {
        let topic = || topic::short(&self.topic).to_owned();
        let Some(at) = &position.at else { return Ok(None) };
        let from: Begin = at.parse().map_err(|_| PulsarError::Position { position: at.clone(), topic: topic() })?;
        if self.ordered && from.dealt {
            return Err(PulsarError::Dealt { topic: topic() }.into());
        }
        Ok(Some(from))
    }

    /// Reads a partition from a position on, or where reading begins when none is known.
    pub(super) async fn begin(&mut self, partition: &Partition, from: Option<Position>) -> Result<Position, Error> {
        let none = |position: String| PulsarError::Position { position, topic: topic::short(&self.topic).to_owned() };
        let number = self.parts.iter().position(|part| part.partition == *partition);
        let number = number.ok_or_else(|| none(partition.to_string()))?;
        let from = match from {
            Some(position) if position.file != partition.as_str() => return Err(none(position.to_string()).into()),
            Some(position) => self.place_of(&position)?,
            None => None,
        };
        self.building.take(number);
        // what was read before is read again, or is behind already
        self.steps
            .retain(|step| !matches!(step, Step::Batch { partition: of, .. } | Step::CaughtUp { partition: of, .. } if of == partition));
        self.sessions += 1;
        let (begun, answer) = oneshot::channel();
        let part = &mut self.parts[number];
        part.session = Some(self.sessions);
        (part.done, part.read, part.pending) = (false, Vec::new(), BTreeMap::new());
        part.order(Order::Start(Start { session: self.sessions, from, begun }));
        let begin = self.await_start(number, answer).await?;
        let at = begin.or(from).map(|begin: Begin| begin.to_string());
        Ok(Position { at, ..Position::new(partition.as_str(), 0) })
    }

    /// Where reading begins; `None` when the partition is given up meanwhile.
    pub(super) async fn await_start(
        &mut self,
        number: usize,
        mut answer: oneshot::Receiver<Begun>,
    ) -> Result<Option<Begin>, Error> {
        loop {
            tokio::select! {
                biased;
                Some((of, news)) = self.news.recv() => self.hear(of, news)?,
                begun = &mut answer => {
                    let Ok(begun) = begun else { return Ok(None) };
                    if self.bounded && begun.begin.after >= begun.last {
                        self.reach_end(number, std::time::Instant::now());
                    }
                    return Ok(Some(begun.begin));
                }
            }
            if !self.parts[number].ours {
                return Ok(None);
            }
        }
    }
}
