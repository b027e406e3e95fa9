//! What the broker sends, and whether it has more.

use super::{LOOK, Line, News, OWNER, Role};
use crate::pulsar::commands;
use crate::pulsar::connection::{Connection, Fault};
use pulsar::message::proto::CommandMessage;
use pulsar::message::{Message, Payload};
use tokio::time::Instant;

impl Line {
    /// Takes what the broker sent by itself.
    pub(super) async fn take(&mut self, connection: &mut Connection, mut message: Box<Message>) -> Result<(), Fault> {
        let command = &mut message.command;
        if let (Some(sent), Some(payload)) = (command.message.take(), message.payload.take()) {
            return self.receive(connection, sent, payload).await;
        }
        if command.close_consumer.is_some() {
            return Err(Fault::Away("the broker has given the topic away".to_owned()));
        }
        if let Some(change) = command.active_consumer_change.filter(|_| self.plan.role == Role::Failover) {
            self.own(change.is_active());
            if let Some(reading) = self.reading.take_if(|_| !change.is_active()) {
                connection.ask(commands::close(reading.consumer), commands::done).await?;
            }
        }
        Ok(())
    }

    async fn receive(
        &mut self,
        connection: &mut Connection,
        message: CommandMessage,
        payload: Payload,
    ) -> Result<(), Fault> {
        let ordered = self.plan.role != Role::Together;
        let Some(reading) = self.reading.as_mut().filter(|reading| reading.consumer == message.consumer_id) else {
            return Ok(()); // of a reader that is closed
        };
        let session = reading.session;
        let until = (self.plan.role == Role::Bounded).then_some(reading.last);
        match reading.receive(&message.message_id, &payload, ordered, until) {
            Ok(entry) => self.tell(News::Entry(session, entry)),
            Err(dropped) => {
                if self.plan.role == Role::Together {
                    // its effects are there: an import has read it
                    connection.send(commands::acknowledge(OWNER, vec![message.message_id], false)).await?;
                }
                if let Some(flow) = reading.taken(dropped) {
                    connection.send(flow).await?;
                }
            }
        }
        Ok(())
    }

    /// Asks whether something was added, and whether the broker is there.
    pub(super) async fn look(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        connection.lives()?;
        let Some(session) = self.reading.as_ref().map(|reading| reading.session) else { return Ok(()) };
        let consumer = if self.plan.role == Role::Bounded { session } else { OWNER };
        let asked = std::time::Instant::now();
        let (last, _) = self.ask_last(connection, consumer).await?;
        // as long as when it was decided whether to ask for the backlog
        let heard = self.reading.as_ref().map(|reading| reading.heard.elapsed()).unwrap_or_default();
        let backlog = self.count(connection).await?;
        let has_sent = connection.has_sent();
        let Some(reading) = &mut self.reading else { return Ok(()) };
        reading.looked = Instant::now();
        let at_end = match self.plan.role {
            Role::Bounded => reading.after >= reading.last,
            Role::Together => !has_sent && reading.is_at_end(backlog, heard),
            Role::Alone | Role::Failover => {
                reading.last = last;
                reading.after >= last
            }
        };
        if at_end {
            self.tell(News::AtEnd(session, asked));
        }
        Ok(())
    }

    /// Asks now and then how much of the subscription is not acknowledged. A bounded reading has none.
    async fn count(&mut self, connection: &mut Connection) -> Result<Option<u64>, Fault> {
        // the end of what is dealt out goes by this
        let together =
            self.reading.as_ref().is_some_and(|of| self.plan.role == Role::Together && of.heard.elapsed() >= LOOK);
        if self.plan.role == Role::Bounded || (!together && self.counted.elapsed() < LOOK) {
            return Ok(None);
        }
        self.counted = Instant::now();
        let (backlog, blocked) = connection.ask(commands::stats(OWNER), commands::backlog).await?;
        if let Some(reading) = &mut self.reading {
            reading.blocked = blocked;
        }
        if let Some(backlog) = backlog {
            self.tell(News::Backlog(backlog));
        }
        Ok(backlog)
    }
}
