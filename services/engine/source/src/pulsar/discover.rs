//! Finding the partitions of a topic, at first and when some are added.

use super::connection::{Connection, Fault, refused};
use super::line::{First, Line, Plan};
use super::trouble::Trouble;
use super::{Part, Pulsar, commands, place, topic};
use crate::Error;
use crate::stream::{Partition, Step};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::Instant;

/// Between two attempts to ask a broker that is away.
const PAUSE: Duration = Duration::from_millis(500);
/// How often to look for new partitions.
const GROWTH: Duration = Duration::from_secs(30);

impl Pulsar {
    /// Finds the partitions, and connects to each.
    pub(super) async fn connect(&mut self) -> Result<(), Error> {
        if !self.parts.is_empty() {
            return Ok(());
        }
        let partitions = self.partitions().await?;
        for name in topic::parts(&self.topic, partitions) {
            self.add(name, self.first);
        }
        if self.bounded {
            self.steps.push_back(Step::Assigned(self.parts.iter().map(|part| part.partition.clone()).collect()));
        } else if partitions > 0 {
            self.tasks.spawn(watch(self.plan.clone(), self.topic.clone(), self.count.clone()));
        }
        Ok(())
    }

    pub(super) fn add(&mut self, name: String, first: First) {
        let (orders, heard) = mpsc::unbounded_channel();
        let partition = self.partition(&name);
        let line = Line {
            trouble: self.trouble(),
            topic: name,
            number: self.parts.len(),
            plan: self.plan.clone(),
            first,
            orders: heard,
            news: self.tell.clone(),
            ours: false,
            asked: None,
            counted: Instant::now(),
            reading: None,
        };
        self.tasks.spawn(line.run());
        let (read, pending) = (Vec::new(), BTreeMap::new());
        let (ours, done) = (self.bounded, false);
        self.parts.push(Part {
            partition,
            orders,
            ours,
            session: None,
            done,
            read,
            pending,
            backlog: None,
            batches: 0,
        });
    }

    /// Partitions that were added to the topic have only messages that arrived since.
    pub(super) fn grow(&mut self, partitions: u32) {
        let first = if self.first == First::Latest { First::Earliest } else { self.first };
        for name in topic::parts(&self.topic, partitions).into_iter().skip(self.parts.len()) {
            self.add(name, first);
        }
    }

    pub(super) fn partition(&self, name: &str) -> Partition {
        Partition::new(format!("pulsar:{}", topic::short(name)))
    }

    pub(super) fn trouble(&self) -> Trouble {
        Trouble::new(
            &self.plan.service.url,
            topic::short(&self.topic),
            &self.plan.subscription,
            self.settings.gone_after,
        )
    }

    /// How many partitions the topic has, 0 of a plain one; asks until there is an answer.
    pub(super) async fn partitions(&self) -> Result<u32, Error> {
        let mut trouble = self.trouble();
        loop {
            match count(&self.plan, &self.topic).await {
                Ok(partitions) => return Ok(partitions),
                Err(fault) => trouble.judge(fault)?,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Asks how many partitions a topic has, and sees whether a plain one is there.
async fn count(plan: &Plan, topic: &str) -> Result<u32, Fault> {
    let mut connection = plan.service.connect().await?;
    let answer = connection.ask(commands::partitions(topic), commands::partitioned).await?;
    match answer.partitions {
        Some(0) => probe(plan, topic).await.map(|()| 0),
        Some(partitions) => Ok(partitions),
        None => Err(refused(answer.error.unwrap_or(0), answer.message)),
    }
}

/// Nothing but a reader finds out whether a plain topic is there.
async fn probe(plan: &Plan, topic: &str) -> Result<(), Fault> {
    let mut connection: Connection = plan.service.broker_of(topic).await?;
    let name = format!("{}-probe-{:016x}", plan.subscription, fastrand::u64(..));
    let reader = commands::reader(topic, name, 0, place::Place::START.id());
    connection.ask(commands::subscribe(reader), commands::done).await?;
    connection.ask(commands::close(0), commands::done).await
}

/// Tells when partitions are added.
async fn watch(plan: Arc<Plan>, topic: String, told: UnboundedSender<u32>) {
    loop {
        tokio::select! {
            () = told.closed() => return,
            () = tokio::time::sleep(GROWTH) => {}
        }
        if let Ok(partitions) = count(&plan, &topic).await {
            told.send(partitions).unwrap_or_default(); // it fails when the reader is gone
        }
    }
}
