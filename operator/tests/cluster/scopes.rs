//! Operators that look at some namespaces, and two of them.

use crate::cluster::{Cluster, PAUSE, Servers, in_own_namespace};
use crate::program::Process;
use crate::samples::minimal;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use rankwright_crds::RankingService;
use rankwright_operator::claims::{CLAIM, Claims};
use rankwright_operator::labels::OPERATOR;
use rankwright_operator::lease::{Candidate, LEASE, Timing};
use rankwright_operator::scope::Scope;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

impl Cluster {
    /// The namespaces in which this test's operator has asked for anything; nothing where there is no log of that.
    fn asked_in(&self) -> Option<Vec<String>> {
        self.writes()?; // says why there is no log
        let log = std::fs::read_to_string(std::env::var("RANKWRIGHT_TEST_AUDIT_LOG").unwrap()).unwrap();
        let user = self.operator_user();
        let lines = log.lines().filter(|line| line.contains(&user));
        let events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let objects = events.filter(|event| event["impersonatedUser"]["username"] == user.as_str());
        let places = objects.filter(|event| event["objectRef"]["resource"].is_string());
        let mut places: Vec<String> =
            places.map(|event| event["objectRef"]["namespace"].as_str().unwrap_or("all").to_owned()).collect();
        places.sort();
        places.dedup();
        Some(places)
    }

    /// Waits until a warning of another operator in this namespace says this.
    async fn warned(&self, text: &str) -> String {
        let end = Instant::now() + self.patience;
        loop {
            let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
            let of_lease = |event: &&Event| event.reason.as_deref() == Some("AnotherOperator");
            let notes: Vec<String> = events.iter().filter(of_lease).filter_map(|event| event.note.clone()).collect();
            if let Some(note) = notes.iter().find(|note| note.contains(text)) {
                return note.clone();
            }
            assert!(Instant::now() < end, "nobody says {text}: {notes:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn looks(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref()
}

fn is_free(lease: &Lease) -> bool {
    looks(lease).is_none() && !lease.labels().contains_key(OPERATOR)
}

#[tokio::test]
async fn an_operator_of_two_namespaces_works_in_both_and_asks_for_nothing_elsewhere() {
    let (Some(one), Some(two), Some(other)) =
        (in_own_namespace().await, in_own_namespace().await, in_own_namespace().await)
    else {
        return;
    };
    for cluster in [&one, &two, &other] {
        cluster.apply::<RankingService>("shop", minimal()).await;
    }
    let operator = one.operator_over(&[&one.namespace, &two.namespace], &Servers::answering());
    for cluster in [&one, &two] {
        cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
        cluster.unready("shop").await;
        cluster.delete::<Deployment>("shop-rank").await;
        cluster.until("shop-rank", "came back", |_: &Deployment| true).await;
    }
    let metrics = operator.ctx.metrics.render().unwrap();
    for (cluster, counts) in [(&one, true), (&two, true), (&other, false)] {
        let series = format!("rankingservice_namespace=\"{}\"", cluster.namespace);
        assert_eq!(metrics.contains(&series), counts, "{series} in {metrics}");
    }
    // what both have made is not taken for what is left over of one of them
    one.delete::<RankingService>("shop").await;
    one.until_gone::<Deployment>("shop-rank").await;
    two.get::<Deployment>("shop-rank").await;
    operator.end().await;
    let Some(asked) = one.asked_in() else { return };
    let mut own = [one.namespace.clone(), two.namespace.clone()];
    own.sort();
    assert_eq!(asked, own);
}

#[tokio::test]
async fn a_second_operator_of_a_namespace_is_told_of_at_its_start() {
    let (Some(one), Some(shared), Some(two)) =
        (in_own_namespace().await, in_own_namespace().await, in_own_namespace().await)
    else {
        return;
    };
    let over = |cluster: &Cluster| format!("{},{}", cluster.namespace, shared.namespace);
    let first = Process::of(&one.namespace, &over(&one), "first");
    let is_first = |lease: &Lease| looks(lease) == Some(one.namespace.as_str());
    for cluster in [&one, &shared] {
        cluster.until(CLAIM, "is the first one's", is_first).await;
    }
    let second = Process::of(&two.namespace, &over(&two), "second");
    let text = format!(
        "the operator of namespace {} looks at namespace {}, and this one of namespace {}",
        one.namespace, shared.namespace, two.namespace
    );
    shared.warned(&text).await;
    two.until(CLAIM, "is the second one's", |lease: &Lease| looks(lease) == Some(two.namespace.as_str())).await;
    assert!(is_first(&shared.get(CLAIM).await), "it is left to the first one");
    let log = second.end().await;
    assert_eq!(log.matches(&text).count(), 1, "{log}");
    two.until(CLAIM, "is nobody's", is_free).await;
    let log = first.end().await;
    assert!(!log.contains("looks at namespace"), "the first one has nothing to say: {log}");
    one.until(CLAIM, "is nobody's", is_free).await;
    shared.until(CLAIM, "is nobody's", is_free).await;
}

#[tokio::test]
async fn an_operator_of_all_namespaces_sees_those_of_some_and_another_one_of_all() {
    let (Some(one), Some(two)) = (in_own_namespace().await, in_own_namespace().await) else { return };
    let client = || Client::try_from(one.operator_config()).unwrap();
    let of_all = |own: &str| Arc::new(Claims::new(client(), own, &Scope::of(&[])));
    let some = Arc::new(Claims::new(client(), &one.namespace, &Scope::of(std::slice::from_ref(&one.namespace))));
    let keeping = tokio::spawn(some.clone().keep());
    one.until(CLAIM, "was made", |_: &Lease| true).await;
    let leader = Candidate::new(client(), &two.namespace, "leader".to_owned(), Timing::default());
    let leader = leader.labelled(of_all(&two.namespace).of_leader());
    leader.acquire().await;
    assert!(some.of_leader().is_empty(), "what it looks at is said elsewhere");

    let looking = tokio::spawn(of_all("the-third").keep());
    let of_some = format!(
        "the operator of namespace {0} looks at namespace {0}, and this one of namespace the-third looks at all",
        one.namespace
    );
    one.warned(&of_some).await;
    two.warned(&format!("the operator of namespace {} looks at all namespaces", two.namespace)).await;
    keeping.abort();
    looking.abort();
    let lease: Lease = two.get(LEASE).await;
    assert_eq!(looks(&lease), Some("leader"));
}
