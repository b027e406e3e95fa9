//! Events while the API server takes none.

use crate::cluster::{Servers, in_own_namespace};
use crate::samples::minimal;
use futures_util::future::BoxFuture;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams};
use kube::client::{Body, ClientBuilder};
use rankwright_crds::RankingService;
use rankwright_operator::reconcile::reconcile;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tower::{BoxError, Layer, Service as Requests};

/// Loses what is asked about events, while that is wanted.
#[derive(Clone, Default)]
struct Deaf(Arc<AtomicBool>);

#[derive(Clone)]
struct DeafRequests<S> {
    inner: S,
    deaf: Deaf,
}

impl<S> Layer<S> for Deaf {
    type Service = DeafRequests<S>;

    fn layer(&self, inner: S) -> Self::Service {
        DeafRequests { inner, deaf: self.clone() }
    }
}

impl<S, B> Requests<http::Request<Body>> for DeafRequests<S>
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
        if self.deaf.0.load(Ordering::SeqCst) && request.uri().path().ends_with("/events") {
            return Box::pin(async { Err("nobody takes events".into()) });
        }
        let answer = self.inner.call(request);
        Box::pin(async move { answer.await.map_err(Into::into) })
    }
}

#[tokio::test]
async fn events_that_nobody_takes_hold_no_status_back_and_come_later() {
    let Some(cluster) = in_own_namespace().await else { return };
    let deaf = Deaf(Arc::new(AtomicBool::new(true)));
    let client = ClientBuilder::try_from(cluster.operator_config()).unwrap().with_layer(&deaf).build();
    let ctx = cluster.context(client, &Servers::answering());
    let mut refused = minimal();
    refused["spec"]["configuration"]["inline"]["features"][0]["type"] = "nonsense".into();
    cluster.apply::<RankingService>("shop", refused).await;
    let reconciled = || async { reconcile(Arc::new(cluster.get::<RankingService>("shop").await), ctx.clone()).await };
    for _ in 0..2 {
        let error = reconciled().await.unwrap_err();
        assert_eq!(error.reason(), "EventFailed", "it is tried again soon: {}", error.chain());
        cluster.told("shop", "ConfigurationValid", "False", "ConfigurationInvalid").await;
    }
    assert_eq!(cluster.told_of("shop").await.len(), 0);
    deaf.0.store(false, Ordering::SeqCst);
    assert_eq!(reconciled().await.unwrap_err().reason(), "ConfigurationInvalid");
    assert!(cluster.told_of("shop").await.contains("ConfigurationInvalid"), "though nothing has changed since");
}

#[tokio::test]
async fn events_of_one_reason_that_say_different_things_are_different_ones() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    for mistake in ["nonsense", "rubbish"] {
        let mut refused = minimal();
        refused["spec"]["configuration"]["inline"]["features"][0]["type"] = mistake.into();
        cluster.apply::<RankingService>("shop", refused).await;
        let message = cluster.told("shop", "ConfigurationValid", "False", "ConfigurationInvalid").await;
        assert!(message.contains(mistake), "{message}");
        cluster.apply::<RankingService>("shop", minimal()).await;
        cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    }
    let events = cluster.api::<Event>().list(&ListParams::default()).await.unwrap();
    let told =
        |mistake: &str| events.iter().any(|event| event.note.as_ref().is_some_and(|note| note.contains(mistake)));
    assert!(told("nonsense") && told("rubbish"), "{events:#?}");
    operator.end().await;
}

#[tokio::test]
async fn what_comes_again_after_somebody_has_deleted_its_event_is_told_once_more() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let events = cluster.api::<Event>();
    for _ in 0..3 {
        let mut refused = minimal();
        refused["spec"]["configuration"]["inline"]["features"][0]["type"] = "nonsense".into();
        cluster.apply::<RankingService>("shop", refused).await;
        cluster.told("shop", "ConfigurationValid", "False", "ConfigurationInvalid").await;
        cluster.event("ConfigurationInvalid").await;
        cluster.apply::<RankingService>("shop", minimal()).await;
        cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
        events.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    }
    operator.end().await;
}
