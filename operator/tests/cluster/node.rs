//! The same with nodes (`e2e/cluster/up.sh node`): pods run, of the image of the programs, and the operator is one that
//! Helm has installed (`charts/node.sh`), with manifests/development beside it.

mod autoscaling;
mod deletion;
mod http;
mod learning;
mod outages;
mod page;
mod rollout;
mod samples;
mod story;
mod stream;
mod texts;
mod training;

use crate::cluster::{Cluster, in_own_namespace};
use crate::pods::labels;
use crate::samples::with;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Secret, Service};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::process::Command;

/// Longer than anything takes on a busy machine that runs the pods as well.
const PATIENCE: Duration = Duration::from_secs(240);

/// A namespace on a cluster whose pods run; nothing, and a line that says so, where there is none.
async fn in_own_namespace_with_pods() -> Option<Cluster> {
    let required =
        ["RANKWRIGHT_REQUIRE_ALL", "REQUIRE_CLUSTER"].iter().any(|name| std::env::var(name).as_deref() == Ok("1"));
    if std::env::var("RANKWRIGHT_TEST_NODE").as_deref() != Ok("1") {
        assert!(!required, "RANKWRIGHT_TEST_NODE is not 1");
        println!("SKIPPED: RANKWRIGHT_TEST_NODE is not 1, there are no nodes");
        return None;
    }
    let mut cluster = in_own_namespace().await?;
    cluster.patience = PATIENCE;
    Some(cluster)
}

/// Runs kubectl, and gives what it has printed.
async fn kubectl(arguments: &[&str]) -> String {
    let kubeconfig = std::env::var_os("RANKWRIGHT_TEST_KUBECONFIG").unwrap();
    let ended = Command::new("kubectl").args(arguments).env("KUBECONFIG", kubeconfig).output().await.unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "kubectl {arguments:?}: {errors}");
    String::from_utf8(ended.stdout).unwrap()
}

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new("..").join(path)
}

/// A service that finds the Redis of manifests/development, with requests that let several run on a small machine.
fn service(over: Value) -> Value {
    let small = json!({"resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}});
    let base = json!({
        "spec": {
            "configuration": {
                "inline": {
                    "core": {"clickthrough": {"maxSessionLength": "1s"}},
                    "features": [
                        {"name": "price", "type": "number", "field": "item.price"},
                        {"name": "clicks", "type": "interaction_count", "interaction": "click", "scope": "item"},
                    ],
                    "models": {
                        "shop": {
                            "type": "lambdamart", "weights": {"click": 1}, "features": ["price", "clicks"],
                            "backend": {"type": "lightgbm", "iterations": 5, "seed": 0},
                        },
                    },
                },
            },
            "stateStore": {"redis": {"host": "redis.rankwright-development"}},
            "rank": {"replicas": 1, "pod": small},
            "ingest": {"replicas": 1, "pod": small},
        },
    });
    with(base, over)
}

/// The bucket of manifests/development as a store of click-throughs, under the namespace's name.
fn bucket(cluster: &Cluster) -> Value {
    json!({"s3": {
        "bucket": "rankwright", "prefix": cluster.namespace, "region": "us-east-1",
        "endpoint": "http://s3.rankwright-development:9000", "credentialsSecretRef": {"name": "s3"},
    }})
}

/// Gives the key to it, the right one or another.
async fn access_key(cluster: &Cluster, secret: &str) {
    let key = json!({"stringData": {"AWS_ACCESS_KEY_ID": "development", "AWS_SECRET_ACCESS_KEY": secret}});
    cluster.apply::<Secret>("s3", key).await;
}

/// What a rank request asks for.
fn request(items: &[&str]) -> Value {
    let items: Vec<Value> = items.iter().map(|id| json!({ "id": id })).collect();
    json!({"id": "list-1", "timestamp": "1741600000000", "user": "u1", "session": "visit-1", "items": items})
}

impl Cluster {
    /// Where the rank servers of a service are reached.
    async fn address(&self, service: &str) -> String {
        let found: Service = self.get(&format!("{service}-rank")).await;
        format!("{}:8080", found.spec.unwrap().cluster_ip.unwrap())
    }

    /// Starts the training of a service's schedule now.
    async fn train(&self, service: &str, job: &str) {
        self.train_by(&format!("{service}-training"), job).await;
    }

    async fn train_by(&self, schedule: &str, job: &str) {
        let from = format!("--from=cronjob/{schedule}");
        kubectl(&["-n", &self.namespace, "create", "job", &from, job]).await;
    }

    /// The CronJobs of a service: that of several models, and those of single ones.
    async fn schedules(&self, service: &str) -> Vec<String> {
        let selected = labels(service, "training");
        let get = ["-n", &self.namespace, "get", "cronjobs", "--selector", &selected, "--output", "name"];
        let named = kubectl(&get).await;
        named.lines().filter_map(|line| Some(line.split_once('/')?.1.to_owned())).collect()
    }

    /// The same under a name that no other one has.
    async fn train_once(&self, schedule: &str) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let job = format!("training-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.train_by(schedule, &job).await;
        job
    }

    /// Waits until a Job has ended; whether it is complete.
    async fn is_done(&self, job: &str) -> bool {
        let has = |job: &Job, kind: &str| {
            let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions.into_iter().any(|condition| condition.type_ == kind && condition.status == "True")
        };
        let ended: Job = self.until(job, "ended", |job| has(job, "Complete") || has(job, "Failed")).await;
        has(&ended, "Complete")
    }
}
