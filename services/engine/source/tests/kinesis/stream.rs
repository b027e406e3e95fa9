//! A stream to write to, and readers of it.

use crate::seen::{LONG, event, settings};
use crate::table::Table;
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::config::timeout::TimeoutConfig;
use aws_sdk_kinesis::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::{PutRecordsRequestEntry, Shard, StreamStatus};
use rankwright_config::{EventFormat, Offset, SourceConfig, SourceKind};
use rankwright_event::Timestamp;
use rankwright_source::{Kinesis, StreamSettings};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// A stream of its own.
pub(crate) struct Stream {
    pub(crate) name: String,
    endpoint: String,
    client: Client,
    pub(crate) table: Table,
}

/// Where the server is; `None`, after a line that says so, without one.
pub(crate) fn server() -> Option<String> {
    let address = std::env::var("RANKWRIGHT_TEST_KINESIS").ok().filter(|address| !address.is_empty());
    if address.is_none() {
        let required = std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "RANKWRIGHT_TEST_KINESIS is not set");
        println!("SKIPPED: RANKWRIGHT_TEST_KINESIS is not set");
    }
    address
}

/// Now, by the wall clock.
pub(crate) fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    Timestamp::from_millis(i64::try_from(now.as_millis()).expect("not that late"))
}

/// Where a stream is configured to be.
pub(crate) fn source(endpoint: &str, stream: &str, offset: Offset) -> SourceConfig {
    let (region, topic, endpoint) = ("us-east-1".to_owned(), stream.to_owned(), Some(endpoint.to_owned()));
    SourceConfig {
        offset,
        format: EventFormat::Json,
        kind: SourceKind::Kinesis { region, topic, endpoint },
        dead_letter: None,
    }
}

impl Stream {
    /// A new one with this number of shards.
    pub(crate) async fn make(endpoint: &str, shards: i32) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let config = aws_sdk_kinesis::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .endpoint_url(endpoint)
            .timeout_config(TimeoutConfig::builder().operation_timeout(LONG).build())
            .build();
        let client = Client::from_conf(config);
        client.create_stream().stream_name(&name).shard_count(shards).send().await.expect("makes a stream");
        let stream = Self { name, endpoint: endpoint.to_owned(), client, table: Table::default() };
        stream.active().await;
        stream
    }

    /// Waits until changes are done.
    pub(crate) async fn active(&self) {
        let ready = async {
            loop {
                let found = self.client.describe_stream_summary().stream_name(&self.name).send().await;
                let status = found.expect("describes").stream_description_summary.map(|found| found.stream_status);
                if status == Some(StreamStatus::Active) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LONG, ready).await.expect("a stream becomes active");
    }

    pub(crate) async fn shards(&self) -> Vec<Shard> {
        let listed = self.client.list_shards().stream_name(&self.name).send().await;
        listed.expect("lists shards").shards.unwrap_or_default()
    }

    /// What readers call a shard.
    pub(crate) fn partition(&self, shard: &Shard) -> String {
        format!("kinesis:{}/{}", self.name, shard.shard_id)
    }

    /// Puts messages into a shard, in their order.
    pub(crate) async fn put(&self, shard: &Shard, messages: &[String]) {
        let hash = shard.hash_key_range.as_ref().map(|range| range.starting_hash_key.clone());
        for messages in messages.chunks(400) {
            let entries = messages.iter().map(|message| {
                let entry = PutRecordsRequestEntry::builder().data(Blob::new(message.as_bytes())).partition_key("key");
                entry.set_explicit_hash_key(hash.clone()).build().expect("an entry")
            });
            let put = self.client.put_records().stream_name(&self.name).set_records(Some(entries.collect()));
            let put = put.send().await.expect("puts records");
            assert_eq!(put.failed_record_count.unwrap_or(0), 0);
        }
    }

    /// Puts the events of these numbers into a shard.
    pub(crate) async fn fill(&self, shard: &Shard, numbers: Range<u64>) {
        self.put(shard, &numbers.map(|number| event(number, 1000)).collect::<Vec<_>>()).await;
    }

    /// Splits a shard in the middle.
    pub(crate) async fn split(&self, shard: &Shard) {
        let range = shard.hash_key_range.as_ref().expect("a range");
        let bound = |text: &str| text.parse::<u128>().expect("a number");
        let (start, end) = (bound(&range.starting_hash_key), bound(&range.ending_hash_key));
        let middle = (start + (end - start) / 2 + 1).to_string();
        let split = self.client.split_shard().stream_name(&self.name).shard_to_split(&shard.shard_id);
        split.new_starting_hash_key(middle).send().await.expect("splits");
        self.active().await;
    }

    pub(crate) async fn merge(&self, one: &Shard, other: &Shard) {
        let merge = self.client.merge_shards().stream_name(&self.name).shard_to_merge(&one.shard_id);
        merge.adjacent_shard_to_merge(&other.shard_id).send().await.expect("merges");
        self.active().await;
    }

    fn settings() -> StreamSettings {
        StreamSettings { clock: Arc::new(now), ..settings() }
    }

    /// A reader by this name, who shares with others.
    pub(crate) fn open_as(&self, name: &str, offset: Offset) -> Kinesis {
        let source = source(&self.endpoint, &self.name, offset);
        let opened = Kinesis::open(&source, Self::settings(), self.table.holder(name)).expect("opens a reader");
        opened.with_credentials("test", "test")
    }

    pub(crate) fn open(&self) -> Kinesis {
        self.open_as("one", Offset::Earliest)
    }

    /// A reader of messages in another format.
    pub(crate) fn open_in(&self, format: EventFormat) -> Kinesis {
        let source = SourceConfig { format, ..source(&self.endpoint, &self.name, Offset::Earliest) };
        let opened = Kinesis::open(&source, Self::settings(), self.table.holder("one")).expect("opens a reader");
        opened.with_credentials("test", "test")
    }

    pub(crate) fn bounded(&self, offset: Offset) -> Kinesis {
        let opened = Kinesis::bounded(&source(&self.endpoint, &self.name, offset), Self::settings());
        opened.expect("opens a reader").with_credentials("test", "test")
    }
}
