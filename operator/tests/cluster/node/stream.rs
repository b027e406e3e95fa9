//! Events of a topic: pods reach a broker of Kafka beside the cluster (`e2e/cluster/kafka.sh`) as the sample names it.

use super::learning::{over, ranked, trained, visits};
use super::samples::{Sample, ranks};
use super::{file, in_own_namespace_with_pods, kubectl};
use crate::cluster::{Cluster, PATIENCE};
use crate::pods::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A broker, by the address that this side knows it under.
struct Broker(String);

impl Broker {
    fn found() -> Option<Self> {
        let address = std::env::var("RANKWRIGHT_TEST_NODE_KAFKA").ok();
        let required =
            ["RANKWRIGHT_REQUIRE_ALL", "REQUIRE_CLUSTER"].iter().any(|name| std::env::var(name).as_deref() == Ok("1"));
        assert!(address.is_some() || !required, "RANKWRIGHT_TEST_NODE_KAFKA is not set");
        if address.is_none() {
            println!("SKIPPED: RANKWRIGHT_TEST_NODE_KAFKA names no broker that pods reach");
        }
        address.map(Self)
    }

    /// Runs a tool of Kafka's with this on its standard input.
    async fn tool(&self, class: &str, arguments: &[&str], input: &str) {
        let mut command = Command::new(file("e2e/servers/kafka.sh"));
        command.args(["tool", class, "--bootstrap-server", &self.0]).args(arguments).stdin(Stdio::piped());
        let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        running.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        let ended = running.wait_with_output().await.unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        assert!(ended.status.success(), "{class} {arguments:?}: {}", String::from_utf8_lossy(&said));
    }

    async fn create(&self, topic: &str, partitions: &str) {
        let arguments = ["--create", "--if-not-exists", "--topic", topic, "--partitions", partitions];
        self.tool("org.apache.kafka.tools.TopicCommand", &arguments, "").await;
    }

    /// Sends events, those of an item in order: the item is the key of its messages.
    async fn send(&self, topic: &str, events: &[(String, Value)]) {
        let lines: String = events.iter().map(|(key, event)| format!("{key}\t{event}\n")).collect();
        let arguments = ["--topic", topic, "--reader-property", "parse.key=true"];
        self.tool("org.apache.kafka.tools.ConsoleProducer", &arguments, &lines).await;
    }
}

/// Prices of items, each in an event of its own.
fn prices(items: std::ops::Range<u32>) -> Vec<(String, Value)> {
    let event = |number: u32| {
        let fields = json!([{"name": "price", "value": number}]);
        let item = format!("p{number}");
        let event = json!({"event": "item", "id": format!("e{number}"), "timestamp": "1741600000000", "item": item, "fields": fields});
        (item, event)
    };
    items.map(event).collect()
}

/// How many messages the state has the effects of: positions of all partitions, as the stores tell them.
async fn taken(cluster: &Cluster) -> u64 {
    let inside = ["-n", &cluster.namespace, "exec", "deployment/shop-rank", "--", "rankwright", "status", "--json"];
    let told: Value = serde_json::from_str(&kubectl(&inside).await).unwrap();
    let writers = told["state"]["found"]["writers"].as_object().unwrap_or_else(|| panic!("{told:#}"));
    let of_topic = writers.iter().filter(|(writer, _)| writer.starts_with("kafka:shop-events/"));
    let line = |writer: &Value| -> Option<u64> {
        let position: Value = serde_json::from_str(writer["position"].as_str()?).ok()?;
        position["line"].as_u64()
    };
    of_topic.filter_map(|(_, writer)| line(writer)).sum()
}

async fn until_taken(cluster: &Cluster, wanted: u64) {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = taken(cluster).await;
        if found == wanted {
            return;
        }
        assert!(Instant::now() < end, "{found} of {wanted} messages were taken in");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sample_of_a_stream_becomes_ready_reads_its_topic_goes_on_when_workers_go_and_learns() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    let Some(broker) = Broker::found() else { return };
    broker.create("shop-events", "4").await;
    let sample = Sample::applied(&cluster, "04-kafka", "sample-kafka").await;
    sample.cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    sample.cluster.told("shop", "StateStoreReachable", "True", "Answers").await;
    ranks(&sample.cluster, "shop", &["default"]).await;
    let before = taken(&sample.cluster).await; // of an earlier run over the same servers
    broker.send("shop-events", &prices(0..50)).await;
    until_taken(&sample.cluster, before + 50).await;

    // the other worker takes over at once, and then a new one shares the partitions
    let workers = sample.cluster.list::<Pod>(&labels("shop", "ingest")).await;
    assert_eq!(workers.len(), 2);
    sample.cluster.delete::<Pod>(&workers[0].name_any()).await;
    broker.send("shop-events", &prices(25..75)).await;
    until_taken(&sample.cluster, before + 100).await;
    sample.cluster.told("shop", "Ready", "True", "AllPartsWork").await;

    // visits come by the topic, and all partitions come to their end
    let by_visitor = |event: Value| (event["session"].as_str().unwrap_or("the catalogue").to_owned(), event);
    let last = over().into_iter().map(|event| (event["id"].to_string(), event));
    let events: Vec<(String, Value)> = visits().into_iter().map(by_visitor).chain(last).collect();
    broker.send("shop-events", &events).await;
    until_taken(&sample.cluster, before + 100 + events.len() as u64).await;
    trained(&sample.cluster, "shop").await;
    sample.cluster.told("shop", "ModelTrained", "True", "Served").await;
    ranked(&sample.cluster, "shop", &["default"]).await;
    sample.removed().await;
}
