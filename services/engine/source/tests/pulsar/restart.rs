//! A broker of its own that is killed and comes back.

use crate::seen::Seen;
use crate::topic::{Broker, broker};
use rankwright_source::Stream;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A broker that ends with the test.
struct Own {
    folder: TempDir,
    port: u16,
}

impl Own {
    /// Starts the broker; a port whose last owner was killed may not be free at once.
    fn start(&self) -> String {
        let began = Instant::now();
        loop {
            match self.attempt("start") {
                Ok(address) => return address,
                Err(error) if began.elapsed() < PATIENCE && error.contains("is taken") => {
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => panic!("start: {error}"),
            }
        }
    }

    /// Runs the script of the servers.
    fn run(&self, what: &str) -> String {
        self.attempt(what).unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    fn attempt(&self, what: &str) -> Result<String, String> {
        let mut command = Command::new("../../../e2e/servers/pulsar.sh");
        let command =
            command.arg(what).env("SERVERS_RUN", self.folder.path()).env("PULSAR_PORT", self.port.to_string());
        let done = command.output().expect("runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder.path().join("pulsar.log")).unwrap_or_default();
            eprintln!("the broker said:\n{log}");
        }
        self.run("wipe");
    }
}

/// A port with three free ones behind it.
fn free() -> u16 {
    let taken = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_err();
    // below those that the system gives out, one of which could take its place while it is away
    let start = 20_000 + u16::try_from(std::process::id() % 2000).expect("is small") * 4;
    (start..32_000).step_by(4).find(|first| !(*first..first + 4).any(taken)).expect("a port is free")
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_of_the_broker_reading_goes_on_and_nothing_is_read_twice() {
    if broker().is_none() {
        return;
    }
    let own = Own { folder: tempfile::tempdir().expect("makes a folder"), port: free() };
    let broker = Broker::at(&own.start());
    let topic = broker.topic(0).await;
    topic.fill(None, 0..300).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    seen.read(&mut reader, |seen| seen.count() >= 150).await;
    own.run("kill");
    own.start();
    let topic = broker.named(&topic.name).await; // with a connection that works
    topic.fill(None, 300..400).await;
    seen.read(&mut reader, |seen| seen.count() >= 400).await;
    seen.read_up(&mut reader, 1).await;
    assert_eq!(seen.events[&topic.partition(None)], (0..400).collect::<Vec<_>>());
    Box::new(reader).close().await;
}
