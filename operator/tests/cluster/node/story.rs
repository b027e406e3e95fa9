//! docs/first-ranking-service.md, command by command; then what docs/kubernetes-imports.md and docs/kubernetes-training.md tell, and the
//! commands of all pages that need pods.

use super::deletion::{keys, until_nothing_is_left};
use super::http::{Visitors, post};
use super::{in_own_namespace_with_pods, kubectl, request};
use crate::cluster::Cluster;
use crate::commands::{Which, furnish, run, run_pages};
use crate::pods::labels;
use kube::ResourceExt;
use rankwright_crds::RankingService;
use rankwright_crds::status::{ImportPhase, ModelStatus};
use rankwright_e2e::folder::folder;
use rankwright_e2e::page::{self, Block};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE: &str = "first-ranking-service";

/// What the commands of the page have otherwise here.
const REPLACED: [(&str, &str); 2] = [
    (" --watch", ""),                                   // it has no end
    ("kubectl delete -f manifests/development/\n", ""), // other tests need these
];

/// The blocks of commands of the page that are left, in their order.
struct Steps<'f> {
    folder: &'f Path,
    left: VecDeque<String>,
    /// The command that leads to the rank servers: it runs on in the reader's shell.
    forward: String,
}

impl<'f> Steps<'f> {
    fn of_page(folder: &'f Path) -> Self {
        furnish(folder);
        let page = page::read(PAGE);
        REPLACED.iter().for_each(|(shown, _)| assert!(page.contains(shown), "docs/{PAGE}.md has no {shown}"));
        let here = |block: Block| REPLACED.iter().fold(block.text, |text, (shown, other)| text.replace(shown, other));
        let left: VecDeque<String> = page::blocks(&page).into_iter().filter(Block::is_shell).map(here).collect();
        let forward = left.iter().flat_map(|commands| commands.lines()).find(|line| line.contains("port-forward "));
        let forward = format!("{}\n", forward.unwrap());
        Self { folder, left, forward }
    }

    /// Runs the next block, which has this in it; what it prints.
    fn next(&mut self, part: &str) -> String {
        let commands = self.left.pop_front().unwrap_or_default();
        assert!(commands.contains(part), "the next commands of docs/{PAGE}.md have {part}:\n{commands}");
        let asks = commands.contains("curl ") && !commands.contains(&self.forward);
        let forward = if asks { self.forward.as_str() } else { "" };
        run(self.folder, Which::All, &format!("{forward}{commands}"))
    }
}

/// What the resource says of its only model.
fn model(service: &RankingService) -> Option<&ModelStatus> {
    service.status.as_ref()?.models.first()
}

fn version(service: &RankingService) -> Option<String> {
    model(service)?.version.clone()
}

/// Changes the resource.
async fn patch(cluster: &Cluster, change: Value) {
    let change = json!({ "spec": change }).to_string();
    kubectl(&["-n", &cluster.namespace, "patch", "rankingservice", "shop", "--type", "merge", "-p", &change]).await;
}

/// How often an item was clicked, as the servers see it.
async fn clicks(address: &str, item: &str) -> f64 {
    let (status, answer) = post(address, "/rank/default?explain=true", &request(&[item, "p3"])).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let items = answer["items"].as_array().unwrap();
    let features = &items.iter().find(|ranked| ranked["item"] == item).unwrap()["features"];
    let clicks = features.as_array().unwrap().iter().find(|feature| feature["name"] == "clicks").unwrap();
    clicks["value"].as_f64().unwrap_or(0.0)
}

/// Waits until the server that answers sees this many clicks: one that did not take the event in hears of it from Redis.
async fn until_clicked(address: &str, item: &str, wanted: f64) {
    let began = Instant::now();
    loop {
        let seen = clicks(address, item).await;
        if seen == wanted {
            return;
        }
        assert!(seen < wanted && began.elapsed() < Duration::from_secs(60), "{seen} clicks in place of {wanted}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A number as pages write it.
fn thousands(number: &str) -> String {
    let (before, last) = number.split_at(number.len() - 3);
    format!("{before},{last}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_is_imported_trained_ranked_clicked_retrained_and_rolled_back() {
    let Some(own) = in_own_namespace_with_pods().await else { return };
    let (cluster, folder) = (own.at("sample-import"), folder());
    let mut steps = Steps::of_page(folder.path());
    let page = page::read(PAGE);
    steps.next("manifests/development/");
    steps.next("08-import.yaml");
    steps.next("wait rankingservice shop");
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    assert!(steps.next("get deployment,").contains("deployment.apps/shop-rank"));
    cluster.told("shop", "ModelTrained", "False", "NotTrainedYet").await;
    assert!(steps.next("describe").contains("NotTrainedYet"));

    // past events
    steps.next("component=import");
    cluster
        .until("shop", "was imported", |service: &RankingService| {
            let import = service.status.as_ref().and_then(|status| status.import.as_ref());
            import.is_some_and(|import| import.phase == ImportPhase::Complete)
        })
        .await;
    let log = kubectl(&["-n", "sample-import", "logs", "--selector", &labels("shop", "import"), "--tail=-1"]).await;
    let events: Vec<&str> = log.split("events=").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    let shown = |count: &&str| count.len() > 3 && page.contains(&format!("{} events take", thousands(count)));
    assert!(events.iter().any(shown), "docs/{PAGE}.md has another number of events: {log}");

    // a model of them, which running servers take up
    steps.next("create job");
    cluster.told("shop", "ModelTrained", "True", "Served").await;
    let trained: RankingService = cluster.get("shop").await;
    let first = version(&trained).unwrap();
    let training = model(&trained).unwrap().last_training.clone().unwrap();
    let rounded = |value: &str| format!("{:.3}", value.parse::<f64>().unwrap());
    let (_, shown) = training.message.rsplit_once("as shown ").unwrap();
    let reached = rounded(training.candidate.as_deref().unwrap());
    let told = format!("Its NDCG@10 is {reached}; the order that visitors were shown has {}.", rounded(shown));
    assert!(page.contains(&told), "docs/{PAGE}.md has not: {told}");

    // rankings by it
    let answer: Value = serde_json::from_str(&steps.next("/rank/default")).unwrap();
    assert!(answer.get("fallback").is_none(), "{answer}");
    let scores: Vec<f64> =
        answer["items"].as_array().unwrap().iter().map(|item| item["score"].as_f64().unwrap()).collect();
    assert!(scores.len() == 3 && scores.is_sorted_by(|a, b| a >= b), "{answer}");

    // what followed is known in a moment
    let address = cluster.address("shop").await;
    let before = clicks(&address, "p1").await;
    steps.next("/feedback");
    until_clicked(&address, "p1", before + 1.0).await;

    // the page changes it
    steps.next("scale rankingservice shop");
    let changed: RankingService = cluster.get("shop").await;
    let schedule = changed.spec.training.as_ref().map(|training| training.schedule.as_str());
    assert_eq!((changed.spec.rank.replicas, schedule), (3, Some("@hourly")));
    patch(&cluster, json!({"rank": {"replicas": 2}})).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;

    // the schedule trains the next version, the servers take it up, and visitors notice nothing
    let visitors = Visitors::start(2, Duration::from_millis(50), &address, "/rank/default", &request(&["p1", "p2"]));
    patch(&cluster, json!({"training": {"schedule": "* * * * *"}})).await;
    cluster
        .until("shop", "served another version", |service: &RankingService| {
            version(service).is_some_and(|served| served != first)
        })
        .await;
    patch(&cluster, json!({"training": {"suspend": true}})).await;

    // back by one field
    patch(&cluster, json!({"modelVersion": {"default": first}})).await;
    let pinned = cluster
        .until("shop", "went back", |service: &RankingService| {
            version(service).as_ref() == Some(&first)
                && model(service).is_some_and(|model| model.pinned.as_ref() == Some(&first))
        })
        .await;
    assert_eq!(pinned.spec.model_version.get("default"), Some(&first));
    cluster.told("shop", "RankServerReady", "True", "Available").await;

    // and on again
    patch(&cluster, json!({"modelVersion": {"default": null}})).await;
    cluster
        .until("shop", "went on", |service: &RankingService| version(service).is_some_and(|served| served != first))
        .await;
    visitors.end_with_none_failed().await;

    // what other pages show, while it runs; the last rollback among it is of no account
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    let import = pinned.status.unwrap().import.unwrap().job;
    let pod = cluster.pods(&labels("shop", "rank"), 2).await[0].name_any();
    let named = [
        ("-n shop ", "-n sample-import ".to_owned()),
        ("job/NAME", format!("job/{import}")),
        ("job/shop-purge", format!("job/{import}")),
        ("logs POD", format!("logs {pod}")),
    ];
    run_pages(folder.path(), Which::WithPods, &named);

    // away with it: the data stay
    steps.next("delete -f");
    assert!(steps.left.is_empty(), "{:?}", steps.left);
    until_nothing_is_left("sample-import", "shop").await;
    assert!(keys("sample-import", "shop").await > 0);
}
