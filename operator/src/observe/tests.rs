#![allow(clippy::unwrap_used)]

use super::servers::Servers;
use super::*;
use crate::ask::{Ask, Said, Store};
use futures_util::StreamExt;
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
    of_pods(&[seen(pod("rank", state, last))], Timestamp::UNIX_EPOCH).troubles.pop().map(|trouble| trouble.text)
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
fn a_rank_server_has_started_with_its_configuration_when_it_answers_ready_or_not() {
    let with = |part: &str, started: bool, ready: &str| {
        let mut pod = pod(part, json!({"running": {}}), json!({}));
        let annotations = [(CONFIGURATION_DIGEST, "c-1"), ("other", "x")];
        pod.metadata.annotations = Some(annotations.map(|(key, text)| (key.to_owned(), text.to_owned())).into());
        let status = pod.status.as_mut().unwrap();
        status.container_statuses.as_mut().unwrap()[0].started = Some(started);
        status.conditions = serde_json::from_value(json!([{"type": "Ready", "status": ready}])).unwrap();
        started_with(&seen(pod)).map(str::to_owned)
    };
    assert_eq!(with("rank", false, "False"), None);
    assert_eq!(with("rank", true, "False").as_deref(), Some("c-1"));
    assert_eq!(with("rank", false, "True").as_deref(), Some("c-1"));
    assert_eq!(with("ingest", true, "True"), None);
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
    assert_eq!(found[0].part, Component::Ingest);
    assert!(found[0].text.contains("Insufficient memory"));
}

/// A rank server's pod on a node since 03:00:00, with an init container and a sidecar in these states, and its trouble at that time.
fn trouble_beside(first: Value, program: Value, beside: Value, set_up: &str, now: &str) -> Option<String> {
    let container = |name: &str, image: &str, state: Value| json!({"name": name, "image": image, "imageID": "", "ready": false, "restartCount": 0, "state": state});
    let at = "2026-11-22T03:00:00Z";
    let conditions = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": at},
        {"type": "PodReadyToStartContainers", "status": set_up, "lastTransitionTime": at},
    ]);
    let status = json!({
        "conditions": conditions,
        "initContainerStatuses": [container("fetch", "fetch:1", first)],
        "containerStatuses": [container("mesh", "mesh:1", beside), container("rank", "rankwright:1", program)],
    });
    let pod =
        json!({"metadata": {"name": "pod-1", "labels": {"app.kubernetes.io/component": "rank"}}, "status": status});
    let pods = [seen(serde_json::from_value(pod).unwrap())];
    of_pods(&pods, now.parse().unwrap()).troubles.pop().map(|trouble| trouble.text)
}

#[test]
fn containers_beside_the_program_that_do_not_run_are_told_by_name() {
    let (waits, now) = (|reason: &str| json!({"waiting": {"reason": reason}}), "2026-11-22T03:00:05Z");
    let (turn, done) = (|| waits("PodInitializing"), || json!({"terminated": {"exitCode": 0}}));
    let running = || json!({"running": {}});
    let told = trouble_beside(waits("ErrImagePull"), turn(), turn(), "True", now);
    assert_eq!(told.unwrap(), "container fetch of pod pod-1 has no image: fetch:1 cannot be pulled");
    let told = trouble_beside(json!({"terminated": {"exitCode": 1, "message": "no"}}), turn(), turn(), "True", now);
    assert_eq!(told.unwrap(), "container fetch of pod pod-1 ended with exit code 1: no");
    let told = trouble_beside(done(), running(), waits("ImagePullBackOff"), "True", now);
    assert_eq!(told.unwrap(), "container mesh of pod pod-1 has no image: mesh:1 cannot be pulled");
    assert_eq!(trouble_beside(done(), running(), running(), "True", now), None);
}

#[test]
fn a_pod_whose_node_does_not_set_it_up_is_told_after_half_a_minute() {
    let told = |first: &str, set_up: &str, second: u32| {
        let state = |what: &str| match what {
            "running" => json!({"running": {}}),
            reason => json!({"waiting": {"reason": reason}}),
        };
        let (turn, now) = (|| state("PodInitializing"), format!("2026-11-22T03:00:{second}Z"));
        trouble_beside(state(first), turn(), turn(), set_up, &now)
    };
    assert_eq!(told("PodInitializing", "False", 29), None);
    let text = told("PodInitializing", "False", 30).unwrap();
    assert!(text.starts_with("pod pod-1 does not begin: ") && text.contains("kubectl describe pod pod-1"), "{text}");
    assert_eq!(told("PodInitializing", "True", 59), None, "an image is fetched");
    assert_eq!(told("running", "False", 59), None, "it has begun");
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
    assert!(!trouble("rank", "2026-11-22T03:00:10Z"), "it gets one, most likely");
}

#[test]
fn a_pod_that_waits_for_its_place_or_is_being_set_up_is_looked_at_again_soon() {
    let begins = |part: &str, conditions: Value, now: &str| {
        let pod = json!({"metadata": {"name": "pod-1", "labels": {"app.kubernetes.io/component": part}}, "status": {"conditions": conditions}});
        of_pods(&[seen(serde_json::from_value(pod).unwrap())], now.parse().unwrap()).begins
    };
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": "2026-11-22T03:00:00Z"});
    let unplaced = || json!([condition("PodScheduled", "False")]);
    assert!(begins("rank", unplaced(), "2026-11-22T03:00:14Z"));
    assert!(!begins("rank", unplaced(), "2026-11-22T03:00:15Z"), "it is told");
    assert!(!begins("import", unplaced(), "2026-11-22T03:00:01Z"), "it was told at once");
    let placed =
        |set_up: &str| json!([condition("PodScheduled", "True"), condition("PodReadyToStartContainers", set_up)]);
    assert!(begins("rank", placed("False"), "2026-11-22T03:00:29Z"));
    assert!(!begins("rank", placed("False"), "2026-11-22T03:00:30Z"), "it is told");
    assert!(!begins("rank", placed("True"), "2026-11-22T03:00:01Z"), "it runs");
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
fn a_pod_that_has_begun_anew_and_is_not_ready_ends_again_most_likely() {
    let ended = |code: i32| json!({"terminated": {"exitCode": code, "message": "error: no"}});
    assert_eq!(
        trouble_of(json!({"running": {}}), ended(1)).unwrap(),
        "pod pod-1 ends again and again, with exit code 1: error: no"
    );
    assert_eq!(trouble_of(json!({"running": {}}), ended(0)), None);
}

#[test]
fn the_last_error_is_why_a_program_ended_and_nothing_is_where_it_was_killed_for_its_memory() {
    let told = |reason: &str, message: &str| {
        end(&serde_json::from_value(json!({"exitCode": 1, "reason": reason, "message": message})).unwrap())
    };
    assert_eq!(told("Error", "error: no such host\nINFO closed"), "exit code 1: error: no such host");
    assert_eq!(told("Error", "out of luck\n"), "exit code 1: out of luck");
    assert_eq!(told("OOMKilled", "INFO reading click-throughs"), "OOMKilled, exit code 1");
}

fn server(ip: &str, phase: &str, ready: &str) -> Arc<Pod> {
    let labels = json!({"app.kubernetes.io/component": "rank"});
    let status = json!({"phase": phase, "podIP": ip, "conditions": [{"type": "Ready", "status": ready}]});
    Arc::new(serde_json::from_value(json!({"metadata": {"name": ip, "labels": labels}, "status": status})).unwrap())
}

/// Servers that answer with their address when enough are asked at the same time, except one that never does.
struct Together(tokio::sync::Barrier);

impl Ask for Together {
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async move {
            self.0.wait().await;
            let answers =
                |problem: &str| Store { answers: false, problem: Some(problem.to_owned()), ..Store::default() };
            (address != "silent").then(|| Said { store: answers(address), ..Said::default() })
        })
    }
}

/// Which of these servers have answered, and how many ready ones were asked.
async fn heard_of(pods: &[Arc<Pod>], asked: usize) -> (Vec<String>, usize) {
    let servers = Together(tokio::sync::Barrier::new(asked));
    let all = Servers::of(pods);
    let heard = tokio::time::timeout(std::time::Duration::from_secs(60), all.heard(&servers)).await.unwrap();
    (heard.said.into_iter().filter_map(|said| said.store.problem).collect(), heard.ready)
}

#[tokio::test]
async fn all_ready_servers_are_asked_at_the_same_time() {
    let mut going = Pod::clone(&server("10.0.0.9", "Running", "True"));
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-25T03:00:00Z")).unwrap();
    let pods = [
        server("10.0.0.1", "Running", "False"),
        server("10.0.0.2", "Running", "True"),
        server("silent", "Running", "True"),
        server("10.0.0.3", "Running", "True"),
        Arc::new(going),
    ];
    assert_eq!(heard_of(&pods, 4).await, (vec!["10.0.0.2".to_owned(), "10.0.0.3".to_owned()], 3));
    let many: Vec<_> = (0..20).map(|number| server(&format!("10.0.1.{number}"), "Running", "True")).collect();
    assert_eq!(heard_of(&many, 16).await.1, 16, "not all of very many");
}

#[tokio::test]
async fn those_that_run_are_asked_where_none_is_ready() {
    let pods = [server("10.0.0.1", "Running", "False"), server("10.0.0.2", "Pending", "False")];
    assert_eq!(heard_of(&pods, 1).await, (vec!["10.0.0.1".to_owned()], 0));
}

/// Servers of which one says why it is not ready.
struct OneWaits;

impl Ask for OneWaits {
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Said>> {
        let unready = (address == "10.0.0.2").then(|| "model shop is served by 1 other servers".to_owned());
        Box::pin(async { Some(Said { unready, ..Said::default() }) })
    }
}

#[tokio::test]
async fn a_new_server_that_is_not_ready_is_told_with_what_it_says_beside_those_that_are() {
    let pods = [server("10.0.0.1", "Running", "True"), server("10.0.0.2", "Running", "False")];
    let mut observed = of_pods(&pods, Timestamp::UNIX_EPOCH);
    observed.heard = Servers::of(&pods).heard(&OneWaits).await;
    assert_eq!((observed.heard.said.len(), observed.heard.ready), (1, 1));
    observed.tell_waiting();
    let trouble = observed.trouble(Component::Rank).unwrap();
    assert_eq!(trouble.reason, Reason::WouldServeLess);
    assert_eq!(trouble.text, "pod 10.0.0.2 is not ready: model shop is served by 1 other servers");
    assert!(!observed.is_stuck(Component::Rank));
}

#[test]
fn a_server_is_asked_over_tls_where_its_own_pod_has_a_certificate() {
    let at = |labels: Value| {
        let pod = json!({"metadata": {"name": "a", "labels": labels}, "status": {"podIP": "10.0.0.1"}});
        address(&seen(serde_json::from_value(pod).unwrap()))
    };
    assert_eq!(at(json!({})).as_deref(), Some("10.0.0.1"));
    assert_eq!(at(json!({"rankwright.dev/encrypted": "true"})).as_deref(), Some("https://10.0.0.1"));
}

/// A service with a rank server of its own, and the pod of that.
fn one_of_many(number: usize) -> (RankingService, Vec<Arc<Pod>>) {
    let mut service = crate::testing::service(json!({}));
    (service.metadata.name, service.metadata.uid) = (Some(format!("shop-{number}")), Some(number.to_string()));
    (service, vec![server(&format!("10.1.{}.{}", number / 250, number % 250), "Running", "True")])
}

fn listening(ask: Arc<dyn Ask>) -> Arc<Context> {
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<std::result::Result<http::Response<kube::client::Body>, std::convert::Infallible>>()
    });
    let metrics = Arc::new(crate::metrics::Metrics::new().unwrap());
    Arc::new(Context::new(kube::Client::new(silent, "default"), ask, metrics, crate::testing::defaults()))
}

#[tokio::test]
async fn what_servers_of_a_thousand_services_say_is_asked_at_the_same_time() {
    let ctx = listening(Arc::new(Together(tokio::sync::Barrier::new(1000))));
    let services: Vec<_> = (0..1000).map(one_of_many).collect();
    let begin = services.iter().map(|(service, pods)| servers::ask(&ctx, service, pods));
    futures_util::future::join_all(begin).await;
    let round = servers::changed(&ctx, None).count();
    let changed = tokio::time::timeout(std::time::Duration::from_secs(60), round).await.unwrap();
    assert_eq!(changed, 0, "they say what they have said before");
}

/// A server that counts how often it is asked, and says so.
#[derive(Default)]
struct Counting(std::sync::atomic::AtomicU32);

impl Ask for Counting {
    fn ask<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Said>> {
        let times = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        Box::pin(
            async move { Some(Said { store: Store { generation: times, ..Store::default() }, ..Said::default() }) },
        )
    }
}

#[tokio::test]
async fn what_was_just_heard_is_not_asked_again() {
    let ctx = listening(Arc::new(Counting::default()));
    let (service, pods) = one_of_many(1);
    let told = async || servers::ask(&ctx, &service, &pods).await.said[0].store.generation;
    assert_eq!(told().await, 1);
    let changed: Vec<_> = servers::changed(&ctx, Some("search")).collect().await;
    assert_eq!(changed, [("search".to_owned(), "shop-1".to_owned())]);
    assert_eq!(told().await, 2, "the server said so while it was listened to");
    assert_eq!(told().await, 3, "that was once");
}
