//! What the operator has asked the API server for, by the log of that.

use crate::cluster::Cluster;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The log, as far as it was read.
pub(crate) struct Audit {
    path: PathBuf,
    user: String,
    at: u64,
    counts: BTreeMap<(String, String), usize>,
}

impl Audit {
    /// The requests of a cluster's operator.
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let path = std::env::var_os("RANKWRIGHT_TEST_AUDIT_LOG").expect("RANKWRIGHT_TEST_AUDIT_LOG names a log").into();
        let mut audit = Self { path, user: cluster.user.clone(), at: 0, counts: BTreeMap::new() };
        audit.read();
        audit
    }

    /// Takes in what was logged since.
    pub(crate) fn read(&mut self) {
        let mut log = BufReader::new(File::open(&self.path).unwrap());
        log.seek(SeekFrom::Start(self.at)).unwrap();
        let mut line = String::new();
        while log.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
            self.at += line.len() as u64;
            if line.contains(&self.user) {
                self.count_in(&serde_json::from_str(&line).unwrap());
            }
            line.clear();
        }
    }

    fn count_in(&mut self, event: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let place = &event["objectRef"];
        // its Lease is renewed whatever happens
        if event["impersonatedUser"]["username"] != self.user.as_str() || place["resource"] == "leases" {
            return;
        }
        let part = place["subresource"].as_str().map(|part| format!("/{part}")).unwrap_or_default();
        let resource = format!("{}{part}", text(&place["resource"]));
        let code = event["responseStatus"]["code"].as_u64().unwrap_or(0);
        let failed = if code >= 400 { format!(" ({code})") } else { String::new() };
        *self.counts.entry((format!("{}{failed}", text(&event["verb"])), resource)).or_default() += 1;
    }

    /// All requests, and those that write.
    pub(crate) fn count(&self) -> (usize, usize) {
        let writes = self.counts.iter().filter(|((verb, _), _)| writes(verb));
        (self.counts.values().sum(), writes.map(|(_, count)| count).sum())
    }

    /// Waits until nothing is written for a while, and says for how long.
    pub(crate) async fn until_quiet(&mut self, quiet: Duration, patience: Duration) -> Duration {
        let began = Instant::now();
        let (mut writes, mut since) = (self.count().1, Instant::now());
        while since.elapsed() < quiet {
            assert!(began.elapsed() < patience, "written all the time");
            tokio::time::sleep(Duration::from_millis(200)).await;
            self.read();
            if self.count().1 != writes {
                (writes, since) = (self.count().1, Instant::now());
            }
        }
        since.elapsed()
    }

    /// Prints how many requests there were of each kind.
    pub(crate) fn table(&self, title: &str) {
        let (all, writing) = self.count();
        println!("{title}: {all}, of which {writing} write");
        let mut by_verb: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((verb, resource), count) in &self.counts {
            by_verb.entry(verb).or_default().push(format!("{resource} {count}"));
        }
        for (verb, resources) in by_verb {
            println!("  {verb}: {}", resources.join(", "));
        }
    }
}

fn writes(verb: &str) -> bool {
    !["get", "list", "watch"].contains(&verb.split(' ').next().unwrap_or_default())
}
