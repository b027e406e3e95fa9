//! A topic of a real broker to write to, and readers of it.

use crate::seen::{LONG, event, settings};
use pulsar::{Producer, ProducerOptions, Pulsar as Client, TokioExecutor};
use rankwright_config::{EventFormat, Offset, SourceConfig, SourceKind, Subscription};
use rankwright_source::{Error, Pulsar};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Where a broker is: its service URL and its admin URL.
#[derive(Debug, Clone)]
pub(crate) struct Broker {
    pub(crate) service: String,
    pub(crate) admin: String,
}

/// A topic of its own, without messages.
pub(crate) struct Topic {
    pub(crate) broker: Broker,
    pub(crate) name: String,
    client: Client<TokioExecutor>,
}

/// The value of a variable that names a server; `None`, after a line that says so, without one.
pub(crate) fn server(variable: &str) -> Option<String> {
    let address = std::env::var(variable).ok().filter(|address| !address.is_empty());
    if address.is_none() {
        let required = std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "{variable} is not set");
        println!("SKIPPED: {variable} is not set");
    }
    address
}

/// The broker at the addresses in `RANKWRIGHT_TEST_PULSAR`.
pub(crate) fn broker() -> Option<Broker> {
    server("RANKWRIGHT_TEST_PULSAR").map(|addresses| Broker::at(&addresses))
}

impl Broker {
    pub(crate) fn at(addresses: &str) -> Self {
        let (service, admin) = addresses.trim().split_once(',').expect("service URL and admin URL");
        Self { service: service.to_owned(), admin: admin.to_owned() }
    }

    /// Asks the admin interface; the body of its answer.
    pub(crate) async fn admin(&self, method: &str, path: &str, body: &str) -> String {
        let host = self.admin.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.expect("connects");
        let request = format!(
            "{method} /admin/v2/{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("asks");
        let mut answer = String::new();
        timeout(LONG, stream.read_to_string(&mut answer)).await.expect("answers in time").expect("answers");
        let status = answer.split_whitespace().nth(1).unwrap_or_default().to_owned();
        assert!(status.starts_with('2'), "{method} {path}: {answer}");
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }

    /// A topic with this number of partitions; 0 makes a plain one.
    pub(crate) async fn topic(&self, partitions: u32) -> Topic {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = format!("persistent/public/default/{name}");
        match partitions {
            0 => self.admin("PUT", &path, "").await,
            _ => self.admin("PUT", &format!("{path}/partitions"), &partitions.to_string()).await,
        };
        self.named(&name).await
    }

    pub(crate) async fn named(&self, name: &str) -> Topic {
        let client = Client::builder(&self.service, TokioExecutor).build().await.expect("connects");
        Topic { broker: self.clone(), name: name.to_owned(), client }
    }
}

/// So long for one of several attempts.
const ONE_ANSWER: std::time::Duration = std::time::Duration::from_secs(10);

impl Topic {
    /// The name of the topic that is a partition.
    fn part(&self, partition: Option<u32>) -> String {
        partition.map_or(self.name.clone(), |number| format!("{}-partition-{number}", self.name))
    }

    /// What readers call a partition, or the plain topic.
    pub(crate) fn partition(&self, partition: Option<u32>) -> String {
        format!("pulsar:public/default/{}", self.part(partition))
    }

    pub(crate) async fn producer(&self, partition: Option<u32>, batch: Option<u32>) -> Producer<TokioExecutor> {
        let options = ProducerOptions { batch_size: batch, ..ProducerOptions::default() };
        let name = format!("persistent://public/default/{}", self.part(partition));
        let began = std::time::Instant::now();
        loop {
            let made = self.client.producer().with_topic(&name).with_options(options.clone()).build();
            match timeout(ONE_ANSWER, made).await {
                Ok(Ok(made)) => return made,
                // a broker that has just come back may not have found its storage yet
                Ok(Err(error)) if began.elapsed() >= LONG => panic!("no producer: {error}"),
                Ok(Err(_)) => tokio::time::sleep(std::time::Duration::from_millis(200)).await,
                // or leave a question of before without an answer
                Err(_) => assert!(began.elapsed() < LONG, "no answer"),
            }
        }
    }

    /// Sends messages to a partition, or the plain topic.
    pub(crate) async fn send(&self, partition: Option<u32>, messages: &[String]) {
        let mut producer = self.producer(partition, None).await;
        for message in messages {
            let sent = producer.send_non_blocking(message.as_str()).await.expect("sends");
            timeout(LONG, sent).await.expect("answers").expect("is stored");
        }
    }

    /// Sends the events of these numbers.
    pub(crate) async fn fill(&self, partition: Option<u32>, numbers: Range<u64>) {
        let events: Vec<_> = numbers.map(|number| event(number, 1000)).collect();
        self.send(partition, &events).await;
    }

    /// Sends the events of these numbers in batches of this size.
    pub(crate) async fn fill_batched(&self, numbers: Range<u64>, batch: u32) {
        let mut producer = self.producer(None, Some(batch)).await;
        let mut sent = Vec::new();
        for number in numbers {
            sent.push(producer.send_non_blocking(event(number, 1000)).await.expect("sends"));
        }
        producer.send_batch().await.expect("sends");
        for sent in sent {
            timeout(LONG, sent).await.expect("answers").expect("is stored");
        }
    }

    pub(crate) fn config(&self, kind: Subscription, offset: Offset, options: &[(&str, &str)]) -> SourceConfig {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let kind = SourceKind::Pulsar {
            service_url: self.broker.service.clone(),
            admin_url: self.broker.admin.clone(),
            topic: self.name.clone(),
            subscription_name: "readers".to_owned(),
            subscription_type: kind,
            options: options.collect(),
        };
        SourceConfig { offset, format: EventFormat::Json, kind, dead_letter: None }
    }

    pub(crate) fn open_with(&self, kind: Subscription, offset: Offset) -> Pulsar {
        Pulsar::open(&self.config(kind, offset, &[]), settings()).expect("opens a reader")
    }

    pub(crate) fn open(&self) -> Pulsar {
        self.open_with(Subscription::Exclusive, Offset::Earliest)
    }

    pub(crate) fn try_open(&self, options: &[(&str, &str)]) -> Result<Pulsar, Error> {
        Pulsar::open(&self.config(Subscription::Exclusive, Offset::Earliest, options), settings())
    }

    pub(crate) fn bounded(&self, offset: Offset) -> Pulsar {
        Pulsar::bounded(&self.config(Subscription::Exclusive, offset, &[]), settings()).expect("opens a reader")
    }

    /// How many messages the subscription has not acknowledged, as the broker tells.
    pub(crate) async fn backlog(&self) -> u64 {
        let path = format!("persistent/public/default/{}/stats", self.name);
        let stats = self.broker.admin("GET", &path, "").await;
        let start = stats.find('{').expect("an object");
        let end = stats.rfind('}').expect("an object");
        let stats: serde_json::Value = serde_json::from_str(&stats[start..=end]).expect("stats are JSON");
        stats["subscriptions"]["readers"]["msgBacklog"].as_u64().expect("a backlog")
    }
}
