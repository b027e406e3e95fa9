//! An operator at rest.

use crate::cluster::{Cluster, Operator, PAUSE, Servers, in_own_namespace};
use crate::samples::{whole, with};
use kube::api::{Patch, PatchParams};
use rankwright_crds::RankingService;
use rankwright_operator::reconcile::reconcile;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

impl Cluster {
    /// What this test's operator has asked the API server to write so far; nothing where there is no log of that.
    pub(crate) fn writes(&self) -> Option<Vec<String>> {
        let Ok(path) = std::env::var("RANKWRIGHT_TEST_AUDIT_LOG") else {
            assert!(std::env::var("REQUIRE_CLUSTER").as_deref() != Ok("1"), "RANKWRIGHT_TEST_AUDIT_LOG is not set");
            println!("SKIPPED: RANKWRIGHT_TEST_AUDIT_LOG names no log of the API server");
            return None;
        };
        let log = std::fs::read_to_string(path).unwrap();
        let user = self.operator_user();
        let lines =
            log.lines().filter(|line| line.contains(&user)).map(|line| serde_json::from_str::<Value>(line).unwrap());
        let writes = lines.filter(|event| event["impersonatedUser"]["username"] == user.as_str());
        let writes = writes.filter(|event| !["get", "list", "watch"].contains(&event["verb"].as_str().unwrap()));
        Some(writes.map(|event| format!("{} {}", event["verb"], event["requestURI"])).collect())
    }

    /// Sees that what an operator does by what its watches show writes nothing.
    async fn writes_nothing_while_it_runs(&self, name: &str, operator: &Operator) {
        let count = || {
            let metrics = operator.ctx.metrics.render().unwrap();
            let line =
                metrics.lines().find(|line| line.starts_with("rankwright_operator_reconcile_duration_seconds_count"));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap()
        };
        let mut written = None;
        for look in 0..4 {
            let before = count();
            let noted = json!({"metadata": {"annotations": {"look": look.to_string()}}});
            self.api::<RankingService>().patch(name, &PatchParams::default(), &Patch::Merge(&noted)).await.unwrap();
            let end = Instant::now() + self.patience;
            while count() == before {
                assert!(Instant::now() < end, "nobody looks");
                tokio::time::sleep(PAUSE).await;
            }
            let Some(writes) = self.writes() else { return };
            // the first look may tell what came last
            if look > 1 {
                assert_eq!(writes[written.unwrap_or(0)..], [""; 0], "written while nothing has changed");
            }
            written = Some(writes.len());
        }
    }

    /// Ends an operator, and sees that what it does over and over again writes nothing.
    pub(crate) async fn writes_nothing_at_rest(&self, name: &str, operator: Operator) {
        let ctx = operator.ctx.clone();
        operator.end().await; // nothing else goes on in the namespace
        let service = || async { Arc::new(self.get::<RankingService>(name).await) };
        reconcile(service().await, ctx.clone()).await.unwrap(); // what came last
        let Some(before) = self.writes() else { return };
        assert!(!before.is_empty(), "the log knows the operator");
        for _ in 0..5 {
            reconcile(service().await, ctx.clone()).await.unwrap();
        }
        let after = self.writes().unwrap();
        assert_eq!(after[before.len()..], [""; 0], "written at rest");
    }
}

#[tokio::test]
async fn an_operator_at_rest_writes_nothing() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let everything = json!({"spec": {
        "rank": {"replicas": null, "autoscaling": {"minReplicas": 3, "maxReplicas": 4, "cpuUtilization": 50}},
        "import": {"from": {"s3": {"bucket": "events", "prefix": "past", "region": "us-east-1"}}},
        "monitoring": {"dashboard": {}},
    }});
    cluster.apply::<RankingService>("shop", with(whole(), everything)).await;
    cluster.all_ready("shop", "rank", 3).await;
    cluster.all_ready("shop", "ingest", 1).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.writes_nothing_while_it_runs("shop", &operator).await;
    cluster.writes_nothing_at_rest("shop", operator).await;
}

#[tokio::test]
async fn a_change_writes_what_it_concerns_alone() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", whole()).await;
    cluster.unready("shop").await;
    let ctx = operator.ctx.clone();
    operator.end().await;
    let reconciled = || async {
        reconcile(Arc::new(cluster.get::<RankingService>("shop").await), ctx.clone()).await.unwrap();
    };
    reconciled().await;
    let Some(before) = cluster.writes() else { return };
    let later = json!({"spec": {"training": {"schedule": "0 4 * * *"}}});
    cluster.apply::<RankingService>("shop", with(whole(), later)).await;
    reconciled().await;
    let written = cluster.writes().unwrap()[before.len()..].to_vec();
    let of_objects: Vec<&String> = written.iter().filter(|line| !line.contains("/rankingservices/")).collect();
    assert!(of_objects.len() == 1 && of_objects[0].contains("/cronjobs/shop-training"), "{written:#?}");
}
