//! Events while the API server takes none.

use crate::between::{Between, Meddles, Then};
use crate::cluster::{Servers, in_own_namespace};
use crate::samples::minimal;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams};
use kube::client::{Body, ClientBuilder};
use rankwright_crds::RankingService;
use rankwright_operator::reconcile::reconcile;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tower::BoxError;

/// Loses what is asked about events, while that is wanted.
#[derive(Clone, Default)]
struct Deaf(Arc<AtomicBool>);

impl Meddles for Deaf {
    fn meddle(&self, request: &http::Request<Body>) -> Result<Then, BoxError> {
        match self.0.load(Ordering::SeqCst) && request.uri().path().ends_with("/events") {
            true => Err("nobody takes events".into()),
            false => Ok(Box::pin(async { Ok(()) })),
        }
    }
}

#[tokio::test]
async fn events_that_nobody_takes_hold_no_status_back_and_come_later() {
    let Some(cluster) = in_own_namespace().await else { return };
    let deaf = Deaf(Arc::new(AtomicBool::new(true)));
    let client = ClientBuilder::try_from(cluster.operator_config()).unwrap().with_layer(&Between(deaf.clone())).build();
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
