//! The operator is cut off, or killed, at any of its requests.

use crate::cluster::{Cluster, Servers, in_own_namespace};
use crate::samples::whole;
use futures_util::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::client::{Body, ClientBuilder};
use rankwright_crds::RankingService;
use rankwright_operator::reconcile::reconcile;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tower::{BoxError, Layer, Service as Requests};

/// Cuts the connection at the nth request: before it reaches the API server, or before its answer comes back.
#[derive(Clone)]
struct Cut {
    count: Arc<AtomicUsize>,
    at: usize,
    after: bool,
}

#[derive(Clone)]
struct CutRequests<S> {
    inner: S,
    cut: Cut,
}

impl<S> Layer<S> for Cut {
    type Service = CutRequests<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CutRequests { inner, cut: self.clone() }
    }
}

impl<S, B> Requests<http::Request<Body>> for CutRequests<S>
where
    S: Requests<http::Request<Body>, Response = http::Response<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let number = self.cut.count.fetch_add(1, Ordering::SeqCst) + 1;
        // what is cut once stays cut: the operator is dead from here on
        if number > self.cut.at || (number == self.cut.at && !self.cut.after) {
            return Box::pin(async { Err("the connection was cut".into()) });
        }
        let lost = number == self.cut.at;
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            if lost { Err("the answer was lost".into()) } else { Ok(answer) }
        })
    }
}

/// What an operator that starts now makes of a service before its nth request is cut; how many requests it has made.
async fn cut_at(cluster: &Cluster, at: usize, after: bool) -> (usize, bool) {
    let cut = Cut { count: Arc::default(), at, after };
    let client = ClientBuilder::try_from(cluster.operator_config()).unwrap().with_layer(&cut).build();
    let ctx = cluster.context(client, &Servers::answering());
    let service = Arc::new(cluster.get::<RankingService>("shop").await);
    let succeeded = reconcile(service, ctx).await.is_ok();
    (cut.count.load(Ordering::SeqCst), succeeded)
}

/// Whether the next operator completes it; like any, it tries again where the API server was busy.
async fn completed(cluster: &Cluster) -> bool {
    for _ in 0..5 {
        if cut_at(cluster, usize::MAX, false).await.1 {
            return true;
        }
    }
    false
}

/// Everything there is of a service, without what differs between two equal ones.
async fn objects(cluster: &Cluster) -> Vec<Value> {
    let mut all = Vec::new();
    macro_rules! collect {
        ($($kind:ty),*) => {$(
            for object in cluster.list::<$kind>("app.kubernetes.io/instance=shop").await {
                let mut object = serde_json::to_value(&object).unwrap();
                object["metadata"] = json!({
                    "name": object["metadata"]["name"],
                    "labels": object["metadata"]["labels"],
                    "owner": object["metadata"]["ownerReferences"][0]["name"],
                });
                object.as_object_mut().unwrap().remove("status");
                for address in ["clusterIP", "clusterIPs"] {
                    object["spec"].as_object_mut().map(|spec| spec.remove(address));
                }
                all.push(object);
            }
        )*};
    }
    collect!(ConfigMap, ServiceAccount, Deployment, CronJob, PodDisruptionBudget, Service, Ingress, NetworkPolicy);
    all
}

#[tokio::test]
async fn an_operator_that_is_killed_at_any_request_leaves_what_the_next_one_completes() {
    let Some(undisturbed) = in_own_namespace().await else { return };
    undisturbed.apply::<RankingService>("shop", named()).await;
    let (requests, succeeded) = cut_at(&undisturbed, usize::MAX, false).await;
    assert!(succeeded && requests > 20, "{requests} requests");
    let wanted = objects(&undisturbed).await;

    for after in [false, true] {
        let Some(cluster) = in_own_namespace().await else { return };
        let mut at = 0;
        loop {
            at += 1;
            cluster.apply::<RankingService>("shop", named()).await;
            let (_, succeeded) = cut_at(&cluster, at, after).await;
            assert!(completed(&cluster).await, "not completed after request {at}");
            let found = objects(&cluster).await;
            assert_eq!(found, wanted, "after a cut at request {at}");
            if succeeded {
                break;
            }
            cluster.delete::<RankingService>("shop").await;
            cluster.until_gone::<RankingService>("shop").await;
            cluster.all_gone().await;
        }
        assert!(at > 20, "only {at} requests were cut");
    }
}

impl Cluster {
    /// Waits until the last object of a deleted service has followed it.
    async fn all_gone(&self) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !objects(self).await.is_empty() {
            assert!(std::time::Instant::now() < end, "objects stay");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// A service whose data have the same name in every namespace.
fn named() -> Value {
    crate::samples::with(whole(), json!({"spec": {"stateStore": {"service": "shop"}}}))
}
