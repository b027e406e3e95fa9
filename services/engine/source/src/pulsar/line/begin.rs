//! Placing a reader in a partition: behind a position, or where reading begins when none is known.

use super::{Begun, First, Line, OWNER, Role};
use crate::pulsar::commands;
use crate::pulsar::connection::{Connection, Fault};
use crate::pulsar::place::{Begin, Place};
use crate::pulsar::reading::Reading;
use rankwright_event::Timestamp;
use std::time::Duration;

impl Line {
    /// Begins what is asked for.
    pub(super) async fn begin(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        let Some(asked) = &self.asked else { return Ok(()) };
        let answer = self.start(connection, asked.session, asked.from).await?;
        if let Some(asked) = self.asked.take() {
            asked.begun.send(answer).unwrap_or_default(); // the caller may have gone
        }
        Ok(())
    }

    async fn start(&mut self, connection: &mut Connection, session: u64, from: Option<Begin>) -> Result<Begun, Fault> {
        let before = self.reading.take();
        let queue = self.plan.options.queue;
        if self.plan.role == Role::Together {
            if let Some(before) = before {
                connection.send(commands::again(OWNER)).await?;
                if let Some(flow) = before.once_more() {
                    connection.send(flow).await?;
                }
            } else {
                connection.send(commands::flow(OWNER, queue)).await?;
            }
            // it is kept with the state, so that it is the same for all readers, and at each start
            let since = match self.first {
                First::Since(time) => Some(time),
                First::Earliest | First::Latest => None,
            };
            let begin = from.unwrap_or(Begin { since, ..Begin::after(Place::START) });
            let begin = Begin { dealt: true, ..begin };
            self.reading = Some(Reading::new(session, OWNER, begin, Place::START, queue));
            return Ok(Begun { begin, last: Place::START });
        }
        if let Some(before) = before {
            connection.ask(commands::close(before.consumer), commands::done).await?;
        }
        let begun = self.subscribe(connection, session, from).await?;
        if self.plan.role != Role::Bounded && begun.begin.after.entry >= 0 {
            // what lies before is not ahead, wherever the subscription stood
            connection.send(commands::acknowledge(OWNER, vec![begun.begin.after.id()], true)).await?;
        }
        connection.send(commands::flow(session, queue)).await?;
        Ok(begun)
    }

    /// Places a reader.
    async fn subscribe(
        &mut self,
        connection: &mut Connection,
        session: u64,
        from: Option<Begin>,
    ) -> Result<Begun, Fault> {
        let known = match (from, self.first) {
            (Some(begin), _) => Some(begin),
            (None, First::Latest) if self.plan.role != Role::Bounded => {
                Some(Begin::after(self.ask_last(connection, OWNER).await?.0))
            }
            (None, _) => None,
        };
        let after = known.map_or(Place::START, |begin| begin.after);
        let name = format!("{}-reader-{:016x}", self.plan.subscription, fastrand::u64(..));
        let mut reader = commands::reader(&self.topic, name, session, after.id());
        let since = match (known, self.first) {
            (None, First::Since(time)) => Some(time),
            _ => known.and_then(|begin| begin.since),
        };
        if let (None, Some(since)) = (known, since) {
            reader.start_message_rollback_duration_sec = Some(seconds_since(since));
        }
        connection.ask(commands::subscribe(reader), commands::done).await?;
        self.trouble.over();
        let (last, placed) = self.ask_last(connection, session).await?;
        let begin = match (known, self.first) {
            (Some(begin), _) => begin,
            (None, First::Latest) => Begin::after(last),
            (None, _) => Begin { since, ..Begin::after(placed.unwrap_or(Place::START)) },
        };
        self.reading = Some(Reading::new(session, session, begin, last, self.plan.options.queue));
        Ok(Begun { begin, last })
    }

    /// Goes on with a bounded reading over a new connection.
    pub(super) async fn go_on(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        if self.asked.is_some() {
            self.reading = None; // of an earlier connection
            return self.begin(connection).await;
        }
        let Some(reading) = &self.reading else { return Ok(()) };
        let (session, last, begin) = (reading.session, reading.last, reading.begin());
        self.subscribe(connection, session, Some(begin)).await?;
        if let Some(reading) = &mut self.reading {
            reading.last = last;
        }
        connection.send(commands::flow(session, self.plan.options.queue)).await
    }

    /// The last message that there is, and behind which one a reader was placed.
    pub(super) async fn ask_last(
        &self,
        connection: &mut Connection,
        consumer: u64,
    ) -> Result<(Place, Option<Place>), Fault> {
        let answer = connection.ask(commands::last(consumer), commands::last_found).await?;
        let last = Place::behind(&answer.last_message_id);
        let last = if last.entry < 0 { Place::START } else { last };
        Ok((last, answer.consumer_mark_delete_position.as_ref().map(Place::behind)))
    }
}

/// Seconds since a time, and some more for clocks that differ: what is too old is left out here.
fn seconds_since(time: Timestamp) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let since = Duration::from_millis(u64::try_from(time.millis()).unwrap_or(0));
    now.saturating_sub(since).as_secs() + 60
}
