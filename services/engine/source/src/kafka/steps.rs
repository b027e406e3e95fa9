//! Turns what the client delivers, message by message, into steps of the stream.

use super::assignment::{acknowledge, logged, release};
use super::context::{End, Event};
use super::error::Error as KafkaError;
use super::reading::Reading;
use super::{Kafka, number, partition};
use crate::building::Message as Text;
use crate::{Error, Partition, Position, Progress, Step};
use futures_util::FutureExt;
use rdkafka::Message;
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError as RdError;
use rdkafka::message::BorrowedMessage;
use std::sync::Arc;
use std::time::Instant;

impl Kafka {
    /// What happened next.
    pub(super) async fn step(&mut self) -> Result<Step, Error> {
        self.answer().await?;
        let consumer = Arc::clone(&self.consumer);
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Ok(self.hand_out(step));
            }
            if let Some(&number) = self.doubted.first() {
                self.look_again(number).await?; // where this call is dropped, the next one begins with it
                self.doubted.remove(&number);
                continue;
            }
            let due = self.building.due();
            let asks = self.trouble.asks_at(self.settings.gone_after);
            if asks.is_some_and(|asks| asks <= Instant::now()) {
                self.look_for_the_topic().await?;
            } else if due.is_some_and(|due| due <= Instant::now()) {
                self.finish_batches();
            } else if let Some(received) = consumer.recv().now_or_never() {
                self.receive(received)?; // the common case, without the cost of waiting
            } else {
                tokio::select! {
                    biased;
                    Some(event) = self.events.recv() => self.hear(event),
                    () = sleep_until(due) => {}
                    () = sleep_until(asks) => {}
                    received = consumer.recv() => self.receive(received)?,
                }
            }
        }
    }

    /// Does what the step before has left to do, and connects at first.
    async fn answer(&mut self) -> Result<(), Error> {
        if !self.begun {
            self.connect().await?;
        }
        if std::mem::take(&mut self.owed) && !self.bounded {
            logged("take partitions", acknowledge(&*self.consumer));
        }
        let revoked = std::mem::take(&mut self.revoked);
        if !revoked.is_empty() {
            logged("give up partitions", release(&*self.consumer, &revoked));
        }
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), Error> {
        if self.bounded {
            let numbers = self.all_partitions().await?;
            self.hear(Event::Assigned(numbers));
        } else {
            let subscribed = self.consumer.subscribe(&[&self.topic]);
            subscribed.map_err(|error| KafkaError::Options(error.to_string()))?;
        }
        self.begun = true;
        Ok(())
    }

    fn hand_out(&mut self, mut step: Step) -> Step {
        match &mut step {
            Step::Assigned(_) => self.owed = true,
            Step::Revoked(partitions) => {
                self.revoked = partitions.iter().filter_map(|partition| number(&self.topic, partition)).collect();
            }
            Step::Batch { batch, .. } => batch.progress = self.progress(),
            Step::CaughtUp { .. } | Step::Finished(_) | Step::Ended => {}
        }
        step
    }

    fn progress(&self) -> Progress {
        let parts = self.readings.values().map(Reading::progress);
        let (read, total) = parts.fold((0, 0), |(read, total), part| (read + part.0, total + part.1));
        Progress { read, total }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Assigned(numbers) if numbers.is_empty() => {
                logged("take partitions", acknowledge(&*self.consumer));
            }
            Event::Assigned(numbers) => {
                self.trouble.over();
                self.steps.push_back(Step::Assigned(self.partitions(&numbers)));
                self.assigned.extend(numbers);
            }
            Event::Revoked(numbers) => {
                for number in &numbers {
                    self.assigned.remove(number);
                    self.readings.remove(number);
                    self.building.take(*number); // for the partition's next reader
                }
                self.steps.push_back(Step::Revoked(self.partitions(&numbers)));
            }
            Event::Ends(ends) => ends.into_iter().for_each(|end| self.confirm(end)),
        }
    }

    pub(super) fn partitions(&self, numbers: &[i32]) -> Vec<Partition> {
        numbers.iter().map(|number| partition(&self.topic, *number)).collect()
    }

    fn confirm(&mut self, end: End) {
        let Some(reading) = self.readings.get_mut(&end.number) else { return };
        if reading.confirm(end) && !reading.done {
            self.steps.push_back(Step::CaughtUp { partition: reading.partition.clone(), at: Some(end.at) });
            self.trouble.over();
        }
    }

    pub(super) fn receive(&mut self, received: Result<BorrowedMessage<'_>, RdError>) -> Result<(), Error> {
        match received {
            Ok(message) => self.take(&message),
            Err(RdError::PartitionEOF(number)) => self.reach_end(number),
            Err(error) => self.trouble.judge(&error, self.consumer.context().reason())?,
        }
        Ok(())
    }

    fn take(&mut self, message: &BorrowedMessage<'_>) {
        let (number, offset) = (message.partition(), message.offset());
        let Some(reading) = self.readings.get_mut(&number) else { return };
        if reading.wants(offset) {
            let until = (self.settings.clock)().plus(self.settings.max_ahead);
            let line = u64::try_from(offset).unwrap_or(0);
            let place = || (reading.partition.shared(), line);
            let pass = |position: &mut Position| position.line = line + 1;
            let text = Text { payload: message.payload().unwrap_or_default(), place: &place, pass: &pass };
            let full = self.building.push(number, &reading.partition, &text, until);
            reading.reach(offset);
            self.trouble.over();
            if full {
                self.finish_batch(number);
            }
        } else if reading.doubts(offset) {
            self.doubted.insert(number);
        }
        if self.readings.get(&number).is_some_and(|reading| reading.passes(offset)) {
            self.finish_reading(number);
        }
    }

    pub(super) fn finish_batch(&mut self, number: i32) {
        let Some(reading) = self.readings.get(&number) else { return };
        if let Some(batch) = self.building.take(number) {
            self.steps.push_back(Step::Batch { partition: reading.partition.clone(), batch });
        }
    }

    fn finish_batches(&mut self) {
        self.building.keys().into_iter().for_each(|number| self.finish_batch(number));
    }

    /// The last message was read that a partition held when it was fetched, which may be long ago.
    fn reach_end(&mut self, number: i32) {
        self.finish_batch(number);
        let Some(reading) = self.readings.get_mut(&number).filter(|reading| !reading.done) else { return };
        reading.reach_end();
        self.steps.push_back(Step::CaughtUp { partition: reading.partition.clone(), at: None });
        self.trouble.over();
        if self.bounded {
            self.finish_reading(number);
        }
    }

    /// The bound of a partition was reached.
    fn finish_reading(&mut self, number: i32) {
        self.finish_batch(number);
        let Some(reading) = self.readings.get_mut(&number).filter(|reading| !reading.done) else { return };
        reading.done = true;
        self.steps.push_back(Step::CaughtUp { partition: reading.partition.clone(), at: Some(Instant::now()) });
        logged("stop reading a partition", release(&*self.consumer, &[number]));
        self.end_with_the_last();
    }

    /// Ends a bounded reading when every partition was read.
    pub(super) fn end_with_the_last(&mut self) {
        let done = |number| self.readings.get(number).is_some_and(|reading: &Reading| reading.done);
        if self.bounded && self.assigned.iter().all(done) {
            self.steps.push_back(Step::Ended);
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
