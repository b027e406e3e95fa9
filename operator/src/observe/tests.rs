#![allow(clippy::unwrap_used)]

use super::*;
use crate::ask::Store;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

fn pod(part: &str, state: Value, last: Value) -> Pod {
    let labels = json!({"app.kubernetes.io/component": part});
    let container = json!({"name": part, "image": "rankwright:1", "imageID": "", "ready": false, "restartCount": 1, "state": state, "lastState": last});
    serde_json::from_value(
        json!({"metadata": {"name": "pod-1", "labels": labels}, "status": {"containerStatuses": [container]}}),
    )
    .unwrap()
}

/// A pod as the cache has it.
fn seen(mut pod: Pod) -> Arc<Pod> {
    prune(&mut pod);
    Arc::new(pod)
}

fn trouble_of(state: Value, last: Value) -> Option<String> {
    of_pods(&[seen(pod("rank", state, last))], Timestamp::UNIX_EPOCH).troubles.pop().map(|(_, trouble)| trouble)
}

#[test]
fn a_pod_that_ends_again_and_again_is_told_with_its_last_line() {
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}});
    let ended = json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "INFO started\nerror: state: no such host\n"}});
    assert_eq!(
        trouble_of(waiting, ended).unwrap(),
        "pod pod-1 ends again and again, with exit code 1: error: state: no such host"
    );
}

#[test]
fn the_ways_in_which_an_image_is_missing_are_one() {
    for reason in ["ErrImagePull", "ImagePullBackOff"] {
        let waiting = json!({"waiting": {"reason": reason, "message": "changes all the time"}});
        assert_eq!(trouble_of(waiting, json!({})).unwrap(), "pod pod-1 has no image: rankwright:1 cannot be pulled");
    }
    let cause = "rpc error: code = Unknown desc = failed to pull and unpack image \"shop.example/rankwright:1\": failed to do request: dial tcp: lookup shop.example on 10.96.0.10:53: no such host";
    let backing_off = format!("Back-off pulling image \"shop.example/rankwright:1\": ErrImagePull: {cause}");
    for (reason, message) in [("ErrImagePull", cause), ("ImagePullBackOff", backing_off.as_str())] {
        let waiting = json!({"waiting": {"reason": reason, "message": message}});
        let told = trouble_of(waiting, json!({})).unwrap();
        assert_eq!(told, "pod pod-1 has no image: rankwright:1 cannot be pulled: no such host");
    }
}

#[test]
fn a_pod_that_starts_is_no_trouble() {
    assert_eq!(trouble_of(json!({"waiting": {"reason": "ContainerCreating"}}), json!({})), None);
    assert_eq!(trouble_of(json!({"running": {}}), json!({})), None);
}

#[test]
fn a_pod_without_a_node_says_why() {
    let condition = json!({"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient memory."});
    let pod = json!({"metadata": {"name": "pod-1", "labels": {"app.kubernetes.io/component": "ingest"}}, "status": {"conditions": [condition]}});
    let found = of_pods(&[seen(serde_json::from_value(pod).unwrap())], Timestamp::UNIX_EPOCH).troubles;
    assert_eq!(found[0].0, Component::Ingest);
    assert!(found[0].1.contains("Insufficient memory"));
}

#[test]
fn a_training_without_a_node_is_no_trouble_while_one_may_be_made() {
    let trouble = |part: &str, now: &str| {
        let condition = json!({"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available", "lastTransitionTime": "2026-11-22T03:00:00Z"});
        let pod = json!({"metadata": {"name": "pod-1", "labels": {"app.kubernetes.io/component": part}}, "status": {"conditions": [condition]}});
        !of_pods(&[seen(serde_json::from_value(pod).unwrap())], now.parse().unwrap()).troubles.is_empty()
    };
    assert!(!trouble("training", "2026-11-22T03:01:00Z"));
    assert!(trouble("training", "2026-11-22T03:06:00Z"));
    assert!(trouble("rank", "2026-11-22T03:01:00Z"), "it says why the others wait");
}

#[test]
fn a_report_that_was_cut_is_understood_and_one_that_is_none_is_told_by_its_end() {
    let ended = |message: &str, code: i32| json!({"terminated": {"exitCode": code, "message": message, "finishedAt": "2026-11-22T03:00:00Z"}});
    let report = json!({"outcome": "kept", "models": [{"model": "a", "outcome": "kept", "message": "worse…"}], "omittedModels": 3}).to_string();
    let training =
        of_pods(&[seen(pod("training", ended(&report, 0), json!({})))], Timestamp::UNIX_EPOCH).training.unwrap();
    assert_eq!(training.report.unwrap().models[0].message, "worse…");
    let training = of_pods(&[seen(pod("training", ended("error: out of luck", 1), json!({})))], Timestamp::UNIX_EPOCH)
        .training
        .unwrap();
    assert!(training.report.is_none());
    assert_eq!(training.end, "it ended with exit code 1: error: out of luck");
}

#[test]
fn of_each_schedule_the_last_training_is_told() {
    let trained = |name: &str, schedule: &str, begun: &str, ended: &str| {
        let report = json!({"outcome": "published", "models": []}).to_string();
        let state = json!({"terminated": {"exitCode": 0, "message": report, "finishedAt": ended}});
        let mut pod = pod("training", state, json!({}));
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.creation_timestamp = serde_json::from_value(json!(begun)).unwrap();
        if !schedule.is_empty() {
            let labels = pod.metadata.labels.as_mut().unwrap();
            labels.insert(labels::SCHEDULE.to_owned(), schedule.to_owned());
        }
        seen(pod)
    };
    let pods = [
        trained("nightly-1", "", "2026-11-21T03:00:00Z", "2026-11-21T03:30:00Z"),
        trained("nightly-2", "", "2026-11-22T03:00:00Z", "2026-11-22T03:30:05Z"),
        trained("often-1", "1a2b3c4d", "2026-11-22T03:20:00Z", "2026-11-22T03:20:04Z"),
        trained("often-2", "1a2b3c4d", "2026-11-22T03:30:00Z", "2026-11-22T03:30:04Z"),
    ];
    let observed = of_pods(&pods, Timestamp::UNIX_EPOCH);
    let last: Vec<_> = observed.trainings.iter().map(|(key, one)| (key.as_str(), one.pod.as_str())).collect();
    assert_eq!(last, [("", "nightly-2"), ("1a2b3c4d", "often-2")]);
    assert_eq!(observed.training.unwrap().pod, "nightly-2", "it ended last");
}

#[test]
fn servers_that_are_ready_are_asked_first_and_then_those_that_run() {
    let server = |ip: &str, phase: &str, ready: &str| -> Arc<Pod> {
        let labels = json!({"app.kubernetes.io/component": "rank"});
        let status = json!({"phase": phase, "podIP": ip, "conditions": [{"type": "Ready", "status": ready}]});
        Arc::new(serde_json::from_value(json!({"metadata": {"name": ip, "labels": labels}, "status": status})).unwrap())
    };
    let pods = [
        server("10.0.0.1", "Running", "False"),
        server("10.0.0.2", "Pending", "False"),
        server("10.0.0.3", "Running", "True"),
    ];
    assert_eq!(to_ask(&pods), ["10.0.0.3", "10.0.0.1"]);
}

/// Servers that answer when all of them are asked, but for those that never do.
struct Together(tokio::sync::Barrier);

impl Ask for Together {
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async move {
            self.0.wait().await;
            let answers = |problem: &str| Store { answers: false, problem: Some(problem.to_owned()) };
            (address != "silent").then(|| Said { store: answers(address), ..Said::default() })
        })
    }
}

#[tokio::test]
async fn servers_are_asked_at_the_same_time_and_the_first_that_answers_counts() {
    let servers = Together(tokio::sync::Barrier::new(2));
    for (addresses, counts) in [(["silent", "10.0.0.2"], "10.0.0.2"), (["10.0.0.1", "10.0.0.2"], "10.0.0.1")] {
        let addresses = addresses.map(str::to_owned);
        let asked = tokio::time::timeout(std::time::Duration::from_secs(60), said(&servers, &addresses));
        let told = asked.await.unwrap().unwrap();
        assert_eq!(told.store.problem.as_deref(), Some(counts));
    }
}
