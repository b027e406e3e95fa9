//! The operator is cut off, or killed, at any of its requests.

use crate::between::{Between, Meddles, Then};
use crate::cluster::{Cluster, PATIENCE, Servers, in_own_namespace};
use crate::optional::asking;
use crate::pods::labels;
use crate::samples::{whole, with};
use futures_util::stream::{self, StreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use kube::client::{Body, ClientBuilder};
use rankwright_crds::RankingService;
use rankwright_operator::apis::OptionalApi;
use rankwright_operator::controller;
use rankwright_operator::reconcile::reconcile;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tower::BoxError;

/// Services that are worked on beside each other: most of the time is other controllers'.
const AT_ONCE: usize = 4;

/// Cuts the connection at the nth request: before it reaches the API server, or before its answer comes back.
#[derive(Clone)]
struct Cut {
    count: Arc<AtomicUsize>,
    at: usize,
    after: bool,
    /// Whether watches go on, and do not count.
    watches: bool,
}

impl Meddles for Cut {
    fn meddle(&self, request: &http::Request<Body>) -> Result<Then, BoxError> {
        if self.watches && is_of_watch(request.uri()) {
            return Ok(Box::pin(async { Ok(()) }));
        }
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        // what is cut once stays cut: the operator is dead from here on
        if number > self.at || (number == self.at && !self.after) {
            return Err("the connection was cut".into());
        }
        let lost = number == self.at;
        Ok(Box::pin(async move { if lost { Err("the answer was lost".into()) } else { Ok(()) } }))
    }
}

/// Whether a watch makes the request, or what comes before it: the list, and which APIs there are.
fn is_of_watch(uri: &http::Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.contains("watch=") || query.contains("limit=") || uri.path() == "/apis"
}

/// What an operator that starts now makes of a service before its nth request is cut; how many requests it has made.
async fn cut_at(cluster: &Cluster, name: &str, at: usize, after: bool) -> (usize, bool) {
    let Some(service) = cluster.api::<RankingService>().get_opt(name).await.unwrap() else { return (0, true) };
    let cut = Cut { count: Arc::default(), at, after, watches: false };
    let client = ClientBuilder::try_from(cluster.operator_config()).unwrap().with_layer(&Between(cut.clone())).build();
    let ctx = cluster.context(client, &Servers::answering());
    let succeeded = reconcile(Arc::new(service), ctx).await.is_ok();
    (cut.count.load(Ordering::SeqCst), succeeded)
}

/// Whether the next operator completes it; like any, it tries again where the API server was busy.
async fn completed(cluster: &Cluster, name: &str) -> bool {
    for _ in 0..5 {
        if cut_at(cluster, name, usize::MAX, false).await.1 {
            return true;
        }
    }
    false
}

/// An object of a service without what differs between two equal ones.
fn comparable(object: &impl Serialize, kind: &str, name: &str) -> Value {
    let mut object = serde_json::to_value(object).unwrap();
    // pods know whose their state is, and where
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("none").to_owned();
    object["metadata"] = json!({
        "name": object["metadata"]["name"],
        "labels": object["metadata"]["labels"],
        "owner": object["metadata"]["ownerReferences"][0]["name"],
    });
    object.as_object_mut().unwrap().remove("status");
    for own in ["clusterIP", "clusterIPs"] {
        object["spec"].as_object_mut().map(|spec| spec.remove(own));
    }
    if kind == "Job" {
        // the API server selects its pods by its identity
        object["spec"].as_object_mut().map(|spec| spec.remove("selector"));
        object["spec"]["template"]["metadata"].as_object_mut().map(|pod| pod.remove("labels"));
    }
    let text = object.to_string().replace(&namespace, "NAMESPACE").replace(name, "NAME");
    let mut object: Value = serde_json::from_str(&text).unwrap();
    // a dashboard is told from others by a digest of the name
    for text in object["data"].as_object_mut().into_iter().flat_map(|data| data.values_mut()) {
        if let Ok(Value::Object(mut dashboard)) = serde_json::from_str(text.as_str().unwrap()) {
            dashboard.remove("uid");
            *text = dashboard.into();
        }
    }
    object
}

/// Objects, and reasons.
type Outcome = (Vec<Value>, BTreeSet<String>);

/// Everything there is of a service, as far as it can be compared, and the reasons of all that was told.
async fn outcome(cluster: &Cluster, name: &str) -> Outcome {
    let (mut all, label) = (Vec::new(), format!("app.kubernetes.io/instance={name}"));
    macro_rules! collect {
        ($($kind:ty),*) => {$(
            let found = cluster.list::<$kind>(&label).await;
            all.extend(found.iter().map(|object| comparable(object, &<$kind as Resource>::kind(&()), name)));
        )*};
    }
    collect!(ConfigMap, ServiceAccount, Deployment, HorizontalPodAutoscaler, CronJob, Job);
    collect!(PodDisruptionBudget, Service, Ingress, NetworkPolicy);
    // what holds a service until its data are removed
    let service = cluster.api::<RankingService>().get_opt(name).await.unwrap();
    all.extend(service.map(|service| json!({ "finalizers": service.metadata.finalizers })));
    for api in OptionalApi::ALL {
        let found = cluster.list_optional(api, &label).await;
        all.extend(found.iter().map(|object| comparable(object, &api.resource().kind, name)));
    }
    (all, cluster.told_of(name).await)
}

/// Shows what differs, and nothing else.
fn assert_same(found: &Outcome, wanted: &Outcome, at: usize) {
    let beside = |all: &Outcome, others: &Outcome| -> Vec<String> {
        let differ = all.0.iter().filter(|object| !others.0.contains(object));
        differ.map(Value::to_string).collect()
    };
    let (more, missing) = (beside(found, wanted), beside(wanted, found));
    assert_eq!((more, found.0.len()), (missing, wanted.0.len()), "after a cut at request {at}");
    assert_eq!(found.1, wanted.1, "told of after a cut at request {at}");
}

/// Every service's data have the same name, and its configuration so the same digest. Pods would only make work.
fn sample() -> Value {
    let import = json!({"from": {"s3": {"bucket": "events", "prefix": "past", "region": "us-east-1"}}});
    let over = json!({
        "stateStore": {"service": "data"}, "rank": {"replicas": 0}, "ingest": {"replicas": 0}, "import": import,
        "deletionPolicy": "Delete",
    });
    with(whole(), json!({ "spec": over }))
}

/// What an operator finds that is about to be cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A new service.
    New,
    /// One whose number of rank servers is left to an autoscaler from now on.
    Autoscaled,
    /// One that asks for objects of APIs that not every cluster has.
    Optional,
    /// One whose servers are as many as it says again, and which imports nothing any more.
    Fixed,
    /// One that was deleted, with its data.
    Deleted,
    /// One whose data were removed.
    Purged,
}

impl Stage {
    /// Makes a service that is there.
    async fn reached(self, cluster: &Cluster, name: &str) {
        let autoscaling = json!({"minReplicas": 1, "maxReplicas": 4, "cpuUtilization": 50});
        let autoscaled = with(sample(), json!({"spec": {"rank": {"replicas": null, "autoscaling": autoscaling}}}));
        cluster.apply::<RankingService>(name, sample()).await;
        match self {
            Self::New => return,
            Self::Optional => {
                cluster.apply::<RankingService>(name, with(sample(), asking())).await;
                return;
            }
            Self::Autoscaled => {
                let some = with(sample(), json!({"spec": {"rank": {"replicas": 2}}}));
                cluster.apply::<RankingService>(name, some).await;
                assert!(completed(cluster, name).await);
                cluster.apply::<RankingService>(name, autoscaled).await;
                return;
            }
            Self::Fixed => {
                cluster.apply::<RankingService>(name, autoscaled).await;
                assert!(completed(cluster, name).await);
                let alone = json!({"spec": {"import": null, "networkPolicy": null, "rank": {"ingress": null}}});
                cluster.apply::<RankingService>(name, with(sample(), alone)).await;
                return;
            }
            Self::Deleted | Self::Purged => assert!(completed(cluster, name).await),
        }
        // an import is one of its programs, and would have to end
        cluster.apply::<RankingService>(name, with(sample(), json!({"spec": {"import": null}}))).await;
        assert!(completed(cluster, name).await);
        cluster.none_left::<Pod>(&format!("app.kubernetes.io/instance={name}")).await;
        cluster.delete::<RankingService>(name).await;
        if self == Self::Purged {
            assert!(Self::Deleted.is_over(cluster, name).await);
            let pods = cluster.pods(&labels(name, "purge"), 1).await;
            cluster.end(&pods[0], 0, "").await;
            cluster.until(&format!("{name}-purge"), "is complete", is_complete).await;
        }
    }

    /// Does what is left to do. Data are removed after another look than that which stops what might still write some.
    async fn is_over(self, cluster: &Cluster, name: &str) -> bool {
        completed(cluster, name).await && (self != Self::Deleted || completed(cluster, name).await)
    }

    /// What has become of a service, once it is complete.
    async fn left(self, cluster: &Cluster, name: &str) -> Outcome {
        if self == Self::Purged {
            cluster.until_gone::<RankingService>(name).await;
            cluster.until_gone::<Job>(&format!("{name}-purge")).await;
            cluster.none_left::<ConfigMap>(&format!("app.kubernetes.io/instance={name}")).await;
            cluster.until_gone::<ServiceAccount>(name).await;
        }
        if self == Self::Fixed {
            cluster.none_left::<Job>(&format!("app.kubernetes.io/instance={name}")).await; // its pod goes first
        }
        let (objects, mut told) = outcome(cluster, name).await;
        if self == Self::Deleted {
            told.remove("Deleting"); // it is over when an operator that was cut off comes back
        }
        (objects, told)
    }
}

fn is_complete(job: &Job) -> bool {
    let mut conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Complete" && condition.status == "True")
}

/// The same where the cluster has the APIs that a service asks for; objects of all of them are made.
pub(crate) async fn cut_at_any_with_optional_apis() {
    for after in [false, true] {
        cut_at_any(Stage::Optional, after, 20).await;
    }
}

/// Cuts the nth request of a service of its own, for all n, of which there are at least `least`.
async fn cut_at_any(stage: Stage, after: bool, least: usize) {
    let Some(cluster) = in_own_namespace().await else { return };
    stage.reached(&cluster, "undisturbed").await;
    let (requests, succeeded) = cut_at(&cluster, "undisturbed", usize::MAX, after).await;
    assert!(succeeded && requests > least, "{requests} requests");
    assert!(stage.is_over(&cluster, "undisturbed").await);
    let wanted = stage.left(&cluster, "undisturbed").await;
    for api in OptionalApi::ALL.into_iter().filter(|_| stage == Stage::Optional) {
        assert!(wanted.0.iter().any(|object| object["kind"] == api.resource().kind), "{api:?} is not among them");
    }
    let cut = async |at: usize| {
        let name = format!("cut-{at}-x");
        stage.reached(&cluster, &name).await;
        cut_at(&cluster, &name, at, after).await;
        assert!(stage.is_over(&cluster, &name).await, "not completed after request {at}");
        assert_same(&stage.left(&cluster, &name).await, &wanted, at);
    };
    stream::iter(1..=requests).for_each_concurrent(AT_ONCE, cut).await;
}

/// Cuts the nth request of an operator that watches, in a namespace of its own, for all n.
async fn watching_cut_at_any(after: bool) {
    let mut wanted = None;
    // the first one is not cut
    for at in std::iter::once(usize::MAX).chain(1..) {
        let Some(cluster) = in_own_namespace().await else { return };
        cluster.apply::<RankingService>("shop", sample()).await;
        let cut = Cut { count: Arc::default(), at, after, watches: true };
        let client =
            ClientBuilder::try_from(cluster.operator_config()).unwrap().with_layer(&Between(cut.clone())).build();
        let ctx = cluster.context(client, &Servers::answering());
        let task = tokio::spawn(controller::run(ctx, Arc::default()));
        // the status comes last
        let told = async || cluster.get::<RankingService>("shop").await.status.is_some();
        let done = async || cut.count.load(Ordering::SeqCst) >= at || told().await;
        let end = Instant::now() + PATIENCE;
        while !done().await {
            assert!(Instant::now() < end, "neither cut at {at} nor done");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await; // what it does when it is cut
        task.abort();
        let requests = cut.count.load(Ordering::SeqCst);
        assert!(completed(&cluster, "shop").await, "not completed after request {at}");
        let made = outcome(&cluster, "shop").await;
        let Some(wanted) = &wanted else {
            assert!(requests > 10, "{requests} requests");
            wanted = Some(made);
            continue;
        };
        assert_same(&made, wanted, at);
        if requests < at {
            assert!(at > 10, "only {at} requests were cut");
            return;
        }
    }
}

#[tokio::test]
async fn an_operator_that_watches_and_is_killed_before_any_request_leaves_what_the_next_one_completes() {
    watching_cut_at_any(false).await;
}

#[tokio::test]
async fn an_operator_that_watches_and_is_killed_before_any_answer_leaves_what_the_next_one_completes() {
    watching_cut_at_any(true).await;
}

#[tokio::test]
async fn an_operator_that_is_killed_before_any_request_leaves_what_the_next_one_completes() {
    cut_at_any(Stage::New, false, 20).await;
}

#[tokio::test]
async fn an_operator_that_is_killed_before_any_answer_leaves_what_the_next_one_completes() {
    cut_at_any(Stage::New, true, 20).await;
}

#[tokio::test]
async fn servers_are_as_many_as_before_whenever_the_operator_is_killed_that_hands_them_to_an_autoscaler() {
    for after in [false, true] {
        cut_at_any(Stage::Autoscaled, after, 10).await;
    }
}

#[tokio::test]
async fn what_is_not_wanted_any_more_goes_whenever_the_operator_is_killed_that_takes_it_away() {
    for after in [false, true] {
        cut_at_any(Stage::Fixed, after, 10).await;
    }
}

#[tokio::test]
async fn a_service_is_removed_with_its_data_whenever_the_operator_is_killed_that_removes_it() {
    for after in [false, true] {
        cut_at_any(Stage::Deleted, after, 5).await;
        cut_at_any(Stage::Purged, after, 3).await;
    }
}
