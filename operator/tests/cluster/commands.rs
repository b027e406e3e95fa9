//! The commands of pages about a cluster, as they stand. Those that need no pods are run here, the others by [`crate::node`].

use crate::cluster::{Servers, in_own_namespace};
use crate::pods::labels;
use crate::samples::{whole, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use rankwright_crds::RankingService;
use rankwright_e2e::Ended;
use rankwright_e2e::folder::{folder, write};
use rankwright_e2e::page::{self, Block};
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// Blocks that are left out: the page, how they begin, and what runs them or why nothing does.
const ELSEWHERE: [(&str, &str, &str); 5] = [
    ("first-ranking-service", "", "node::story"),
    ("kubernetes-install", "helm", "charts/node.sh"),
    ("kubernetes-install", "kubectl apply", "charts/check.sh"),
    ("kubernetes-install", "kubectl delete", "ends all services of a cluster; charts/check.sh uninstalls both charts"),
    ("kubernetes-plugin", "manifests/krew/pack.py", "needs krew; manifests/krew/test.py tests the plugin"),
];

/// Which commands of kubectl are run; all other commands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// All of them.
    All,
    /// Those that need no pods. The API server checks what they would write, and does not keep it.
    WithoutPods,
    /// Those that need pods that run.
    WithPods,
}

/// Runs commands in a folder that [`furnish`] has prepared; what they print.
pub(crate) fn run(folder: &Path, which: Which, commands: &str) -> String {
    let which = match which {
        Which::All => "all",
        Which::WithoutPods => "objects",
        Which::WithPods => "pods",
    };
    let ended = Ended::of(
        Command::new("bash")
            .args(["-c", &format!("{}{commands}", include_str!("commands.sh"))])
            .current_dir(folder)
            .env("KUBECONFIG", std::env::var_os("RANKWRIGHT_TEST_KUBECONFIG").unwrap())
            .env("HOME", folder)
            .env("WHICH", which)
            .stdin(Stdio::null()),
    );
    assert_eq!(ended.code, Some(0), "{commands}\n{}{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// Gives a folder what commands take from the repository and from a user's home.
pub(crate) fn furnish(folder: &Path) {
    symlink(Path::new("../manifests").canonicalize().unwrap(), folder.join("manifests")).unwrap();
    std::fs::create_dir_all(folder.join(".local/bin")).unwrap();
}

/// Runs the blocks of all pages, each once. `named` has what pages show, and what takes its place here.
pub(crate) fn run_pages(folder: &Path, which: Which, named: &[(&str, String)]) {
    let (mut blocks, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    for page in page::all() {
        for block in page::blocks(&page::read(&page)).into_iter().filter(Block::is_of_cluster) {
            let is = |(of, begin, _): &(&str, &str, &str)| *of == page && block.text.trim_start().starts_with(begin);
            let place = ELSEWHERE.iter().position(is);
            match place {
                Some(place) => _ = left_out.insert(place),
                None => _ = blocks.insert(block.text),
            }
        }
    }
    assert_eq!(left_out.len(), ELSEWHERE.len(), "each of {ELSEWHERE:?} is on its page");
    assert!(blocks.len() > 40, "{blocks:?}");
    for commands in blocks {
        if commands.contains("jq ") && !page::has_jq() {
            println!("SKIPPED: jq is missing");
            continue;
        }
        run(folder, which, &named.iter().fold(commands, |commands, (shown, name)| commands.replace(shown, name)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_pages_that_need_no_pods_are_right() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    // what pages name
    cluster.apply::<Secret>("redis", json!({"stringData": {"password": "secret"}})).await;
    cluster.apply::<ConfigMap>("argocd-cm", json!({"data": {}})).await;
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "purge", "image": "cluster.test/none:1"}]});
    cluster.apply::<Job>("shop-purge", json!({"spec": {"suspend": true, "template": {"spec": pod}}})).await;
    let shop = with(
        whole(),
        json!({
            "apiVersion": "rankwright.dev/v1alpha1",
            "kind": "RankingService",
            "metadata": {"name": "shop"},
            "spec": {
                "import": {"from": {"stream": {}}},
                "rank": {"replicas": null, "autoscaling": {"minReplicas": 2, "maxReplicas": 4, "cpuUtilization": 70}},
            },
        }),
    );
    cluster.apply::<RankingService>("shop", shop.clone()).await;
    cluster.until("shop-ingest", "was made", |_: &Deployment| true).await;
    cluster.until("shop-rank", "was made", |_: &HorizontalPodAutoscaler| true).await;
    cluster.until("shop-training", "was made", |_: &CronJob| true).await;
    let pod = cluster.pods(&labels("shop", "import"), 1).await[0].name_any();

    let folder = folder();
    furnish(folder.path());
    write(folder.path(), "shop.yaml", shop.to_string()); // JSON is YAML
    let namespace = &cluster.namespace;
    let named = [
        ("-n shop ", format!("-n {namespace} ")),
        ("-n argocd ", format!("-n {namespace} ")),
        ("job JOB", "job shop-purge".to_owned()),
        ("pod POD", format!("pod {pod}")),
    ];
    run_pages(folder.path(), Which::WithoutPods, &named);
    operator.end().await;
}
