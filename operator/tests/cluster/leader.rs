//! Two operators.

use crate::cluster::in_own_namespace;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::PostParams;
use kube::{Client, ResourceExt};
use rankwright_operator::lease::{Candidate, LEASE, Timing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const QUICK: Timing = Timing { duration: Duration::from_secs(5), period: Duration::from_millis(500) };

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

#[tokio::test]
async fn of_two_operators_one_leads_and_the_other_follows_when_it_dies() {
    let Some(cluster) = in_own_namespace().await else { return };
    let client = || Client::try_from(cluster.operator_config()).unwrap();
    let leading = Arc::new(AtomicUsize::new(0));
    let together = Arc::new(AtomicBool::new(false));
    let candidate = |name: &str| {
        let together = together.clone();
        let candidate = Candidate::new(client(), &cluster.namespace, name.to_owned(), QUICK);
        let leading = leading.clone();
        tokio::spawn(async move {
            let acquired = candidate.acquire().await;
            together.fetch_or(leading.fetch_add(1, Ordering::SeqCst) > 0, Ordering::SeqCst);
            candidate.keep(acquired).await;
        })
    };
    let first = candidate("first");
    cluster.until(LEASE, "is the first one's", |lease: &Lease| holder(lease) == "first").await;
    let second = candidate("second");
    // it has renewed twice while the other one waits
    let seen: Lease = cluster.get(LEASE).await;
    let renewed = |lease: &Lease| lease.spec.as_ref().unwrap().renew_time.clone();
    let again = cluster.until(LEASE, "is renewed", |lease| renewed(lease) > renewed(&seen)).await;
    let again = cluster.until(LEASE, "is renewed", |lease| renewed(lease) > renewed(&again)).await;
    assert_eq!(holder(&again), "first");

    first.abort(); // without a word
    leading.store(0, Ordering::SeqCst);
    cluster.until(LEASE, "is the second one's", |lease: &Lease| holder(lease) == "second").await;
    assert!(!together.load(Ordering::SeqCst), "two lead at a time");
    second.abort();
}

#[tokio::test]
async fn an_operator_that_ends_gives_its_lease_up_at_once() {
    let Some(cluster) = in_own_namespace().await else { return };
    let client = || Client::try_from(cluster.operator_config()).unwrap();
    let slow = Timing { duration: Duration::from_secs(3600), period: Duration::from_millis(100) };
    let candidate = |name: &str| Candidate::new(client(), &cluster.namespace, name.to_owned(), slow);
    let first = candidate("first");
    first.acquire().await;
    first.release().await;
    tokio::time::timeout(Duration::from_secs(30), candidate("second").acquire()).await.unwrap();
}

#[tokio::test]
async fn an_operator_whose_lease_was_taken_stops() {
    let Some(cluster) = in_own_namespace().await else { return };
    let client = Client::try_from(cluster.operator_config()).unwrap();
    let first = Candidate::new(client, &cluster.namespace, "first".to_owned(), QUICK);
    let acquired = first.acquire().await;
    let keeping = first.keep(acquired);
    let taken = serde_json::json!({"spec": {"holderIdentity": "somebody"}});
    cluster.apply::<Lease>(LEASE, taken).await;
    tokio::time::timeout(Duration::from_secs(30), keeping).await.unwrap();
}

#[tokio::test]
async fn the_lease_goes_with_the_account_of_the_operator() {
    let Some(cluster) = in_own_namespace().await else { return };
    let account: ServiceAccount = cluster.apply("operator", serde_json::json!({})).await;
    let verbs = ["get", "create", "update"];
    let rules = serde_json::json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs}]);
    cluster.apply::<Role>("leader", serde_json::json!({ "rules": rules })).await;
    let bound = serde_json::json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "leader"},
        "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": cluster.namespace}],
    });
    cluster.apply::<RoleBinding>("leader", bound).await;
    let request: TokenRequest = serde_json::from_value(serde_json::json!({"spec": {"audiences": []}})).unwrap();
    let accounts = cluster.api::<ServiceAccount>();
    let answer = accounts.create_token_request("operator", &PostParams::default(), &request).await.unwrap();
    let mut config = cluster.operator_config();
    config.auth_info = serde_json::from_value(serde_json::json!({"token": answer.status.unwrap().token})).unwrap();
    let client = Client::try_from(config).unwrap();
    let candidate = Candidate::new(client.clone(), &cluster.namespace, "first".to_owned(), QUICK);
    let candidate = candidate.owned_by_account(client, &cluster.namespace).await;
    tokio::time::timeout(Duration::from_secs(30), candidate.acquire()).await.unwrap();
    let lease: Lease = cluster.get(LEASE).await;
    assert_eq!(lease.owner_references().first().map(|owner| owner.uid.clone()), account.uid());
    cluster.delete::<ServiceAccount>("operator").await;
    cluster.until_gone::<Lease>(LEASE).await;
}
