//! Fetching the records of one shard, at the pace that the service allows.

use super::client::{Fault, Trouble, fault};
use super::error::Error;
use super::place::Place;
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::operation::get_records::GetRecordsOutput;
use aws_sdk_kinesis::primitives::DateTime;
use aws_sdk_kinesis::types::{Record, ShardIteratorType};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};

/// The service allows five requests a second for a shard, of all its readers together.
const PACE: Duration = Duration::from_millis(250);
/// Most records in an answer, which may have 10 MB.
const MOST: i32 = 2000;
/// Pauses of a shard that throttles grow from here to there.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// What came of a shard.
pub(super) struct Fetched {
    /// Of which start.
    pub(super) session: u64,
    pub(super) shard: String,
    pub(super) news: News,
}

/// What is new of a shard.
pub(super) enum News {
    /// With the age of what follows them, in milliseconds.
    Records(Vec<Record>, Option<i64>),
    /// Nothing, and nothing is behind: everything there was then is read.
    CaughtUp(std::time::Instant),
    /// The shard is closed, and everything in it was told.
    End,
    /// It cannot be read.
    Lost(Error),
}

/// Reads one shard.
pub(super) struct Fetch {
    pub(super) client: Client,
    pub(super) stream: String,
    pub(super) shard: String,
    pub(super) session: u64,
    pub(super) place: Place,
    /// The first time, only what arrives from now on is read.
    pub(super) latest: bool,
    pub(super) told: Sender<Fetched>,
    pub(super) trouble: Trouble,
}

impl Fetch {
    /// Reads until the reader is gone, or the shard ends.
    pub(super) async fn run(mut self) {
        if let Err(error) = self.read().await {
            self.tell(News::Lost(error)).await;
        }
    }

    async fn read(&mut self) -> Result<(), Error> {
        let (mut iterator, mut failures) = (None, 0);
        loop {
            let (next, asked) = (Instant::now() + PACE, std::time::Instant::now());
            match self.step(iterator.take()).await {
                Ok(Some(answer)) => {
                    (iterator, failures) = (answer.next_shard_iterator.clone(), 0);
                    self.trouble.over();
                    let more = self.hand_on(answer, asked).await;
                    if !more || iterator.is_none() {
                        return Ok(());
                    }
                    sleep_until(next).await;
                }
                Ok(None) => {} // the iterator was too old: another one follows at once
                Err((kept, fault)) => {
                    iterator = kept;
                    self.judge(fault)?;
                    sleep(pause(failures)).await;
                    failures += 1;
                }
            }
            if self.told.is_closed() {
                return Ok(());
            }
        }
    }

    /// Asks once; the iterator is kept where the same request may be repeated.
    async fn step(&mut self, iterator: Option<String>) -> Result<Option<GetRecordsOutput>, (Option<String>, Fault)> {
        let iterator = match iterator {
            Some(iterator) => iterator,
            None => self.iterator().await.map_err(|fault| (None, fault))?,
        };
        let answer = self.client.get_records().shard_iterator(&iterator).limit(MOST).send().await;
        match answer.map_err(|error| fault(&error)) {
            Ok(answer) => Ok(Some(answer)),
            Err(Fault::Expired) => Ok(None),
            Err(fault) => Err((Some(iterator), fault)),
        }
    }

    async fn iterator(&mut self) -> Result<String, Fault> {
        let request = self.client.get_shard_iterator().stream_name(&self.stream).shard_id(&self.shard);
        let request = match &self.place {
            Place::Since(_) if self.latest => request.shard_iterator_type(ShardIteratorType::Latest),
            Place::Since(time) => request
                .shard_iterator_type(ShardIteratorType::AtTimestamp)
                .timestamp(DateTime::from_millis(time.millis().max(0))),
            Place::After(number) => {
                request.shard_iterator_type(ShardIteratorType::AfterSequenceNumber).starting_sequence_number(number)
            }
            Place::Start | Place::End => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
        };
        let answer = request.send().await.map_err(|error| fault(&error))?;
        self.latest = false; // another iterator has to begin where this one does
        answer.shard_iterator.ok_or_else(|| Fault::Away("an answer without an iterator".to_owned()))
    }

    /// Tells what is in an answer to what was asked then; whether anybody listens.
    async fn hand_on(&mut self, answer: GetRecordsOutput, asked: std::time::Instant) -> bool {
        let GetRecordsOutput { records, next_shard_iterator, millis_behind_latest, .. } = answer;
        if let Some(last) = records.last() {
            self.place = Place::After(last.sequence_number.clone());
        }
        let caught_up = records.is_empty() && millis_behind_latest.unwrap_or(0) == 0;
        let told = records.is_empty() || self.tell(News::Records(records, millis_behind_latest)).await;
        match next_shard_iterator {
            None => told && self.tell(News::End).await,
            Some(_) if caught_up => told && self.tell(News::CaughtUp(asked)).await,
            Some(_) => told,
        }
    }

    fn judge(&mut self, fault: Fault) -> Result<(), Error> {
        match (fault, &self.place) {
            (Fault::Invalid(reason), Place::After(number)) => {
                let (position, stream) = (format!("{}:{number}", self.shard), self.stream.clone());
                Err(Error::Position { position, stream, reason })
            }
            // a time that lies ahead of the service's clock is invalid for a moment
            (fault, _) => self.trouble.judge(fault),
        }
    }

    async fn tell(&self, news: News) -> bool {
        let (session, shard) = (self.session, self.shard.clone());
        self.told.send(Fetched { session, shard, news }).await.is_ok()
    }
}

/// Twice as long with every failure, by chance between half of it and all, so that readers do not come back together.
fn pause(failures: u32) -> Duration {
    let (first, longest) = PAUSES;
    let length = first.saturating_mul(1 << failures.min(16)).min(longest);
    length.mul_f64(0.5 + 0.5 * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::{PAUSES, pause};

    #[test]
    fn pauses_grow_up_to_a_limit() {
        for (failures, longest) in [(0, 250), (1, 500), (3, 2000), (100, 10_000)] {
            let pause = pause(failures).as_millis();
            assert!((longest / 2..=longest).contains(&pause), "{pause}");
        }
        assert!(pause(u32::MAX) <= PAUSES.1);
    }
}
