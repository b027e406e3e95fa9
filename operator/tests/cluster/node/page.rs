//! The page of rank servers, opened as docs/page-access.md says.

use super::http::{get, status_once_there};
use super::{in_own_namespace_with_pods, service};
use crate::cluster::{Cluster, PATIENCE};
use k8s_openapi::api::core::v1::Secret;
use rankwright_crds::RankingService;
use serde_json::json;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const BROWSER: &str = "accept: text/html,*/*;q=0.8\r\n";

/// A port of this machine that leads to a rank server, until the value goes.
struct Forwarded {
    address: String,
    _kubectl: Child,
    /// Kubectl ends when it cannot write.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Forwarded {
    async fn to(cluster: &Cluster, name: &str) -> Self {
        let kubeconfig = std::env::var_os("RANKWRIGHT_TEST_KUBECONFIG").unwrap();
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["-n", &cluster.namespace, "port-forward", &format!("service/{name}-rank"), ":8080"]);
        let running = kubectl.env("KUBECONFIG", kubeconfig).stdout(Stdio::piped()).kill_on_drop(true).spawn();
        let mut running = running.unwrap();
        let mut said = BufReader::new(running.stdout.take().unwrap()).lines();
        // Forwarding from 127.0.0.1:40123 -> 8080
        let line = tokio::time::timeout(PATIENCE, said.next_line()).await.unwrap().unwrap().unwrap();
        let address = line.split(' ').find(|word| word.starts_with("127.0.0.1:"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { address, _kubectl: running, _said: said }
    }
}

async fn status(address: &str, path: &str, headers: &str) -> u16 {
    get(address, path, headers).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_shows_requests_through_port_forward_and_with_a_token_to_those_who_have_it() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    cluster.apply::<Secret>("admin", json!({"stringData": {"token": "open-sesame"}})).await;
    let token = json!({"name": "admin", "key": "token"});
    cluster.apply::<RankingService>("open", service(json!({"spec": {"rank": {"page": {}}}}))).await;
    let shut = json!({"spec": {"rank": {"page": {}, "tokenSecretRef": token}}});
    cluster.apply::<RankingService>("shut", service(shut)).await;

    cluster.told("open", "RankServerReady", "True", "Available").await;
    let (address, forwarded) = (cluster.address("open").await, Forwarded::to(&cluster, "open").await);
    let (code, text) = get(&forwarded.address, "/", BROWSER).await.unwrap();
    assert!(code == 200 && text.contains("<div id=\"page\">"), "{code} {text}");
    assert_eq!(status(&forwarded.address, "/requests", "").await, 200);
    assert_eq!(status_once_there(&address, "/page").await, 200);
    assert_eq!(status(&address, "/requests", "").await, 403, "it comes from elsewhere");

    cluster.told("shut", "RankServerReady", "True", "Available").await;
    let (address, forwarded) = (cluster.address("shut").await, Forwarded::to(&cluster, "shut").await);
    assert_eq!(status_once_there(&address, "/page").await, 200);
    for address in [&address, &forwarded.address] {
        assert_eq!(status(address, "/requests", "").await, 401, "{address}");
        assert_eq!(status(address, "/requests", "authorization: Bearer open-sesame\r\n").await, 200, "{address}");
    }
}
