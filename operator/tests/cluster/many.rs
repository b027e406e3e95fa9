//! Many services at once. Without pods: it is the operator that is looked at, not the scheduler.

use crate::cluster::{Servers, in_own_namespace};
use crate::samples::{minimal, with};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use rankwright_crds::RankingService;
use rankwright_operator::reconcile::RESYNC;
use serde_json::json;
use std::time::{Duration, Instant};

const SERVICES: usize = 1000;

/// Nothing happens for this time: then it is quiet.
const QUIET: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_services_converge_and_then_nothing_is_written() {
    let Some(cluster) = in_own_namespace().await else { return };
    let empty = with(minimal(), json!({"spec": {"rank": {"replicas": 0}, "ingest": {"replicas": 0}}}));
    let (ours, sample) = (&cluster, &empty);
    let applied = |number: usize| async move {
        ours.apply::<RankingService>(&format!("shop-{number}"), sample.clone()).await;
    };
    stream::iter(0..SERVICES).for_each_concurrent(16, applied).await;
    let began = Instant::now();
    let operator = cluster.operator(&Servers::answering());
    let end = began + Duration::from_secs(900);
    // the operator counts them itself: a test that lists them all takes more time than that takes
    let all = format!("rankwright_operator_resources{{condition=\"RankServerReady\",status=\"False\"}} {SERVICES}\n");
    loop {
        let told = operator.ctx.metrics.render().unwrap();
        if told.contains(&all) {
            break;
        }
        let line = told.lines().find(|line| line.starts_with(all.split('}').next().unwrap()));
        assert!(Instant::now() < end, "{line:?} of {SERVICES}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    println!("{SERVICES} services took {:.1} s", began.elapsed().as_secs_f64());
    macro_rules! as_many_of_each_service {
        ($($kind:ty: $count:literal),*) => {$(
            let of_one = cluster.list::<$kind>("app.kubernetes.io/instance=shop-7").await.len();
            let of_all = cluster.list::<$kind>("app.kubernetes.io/instance").await.len();
            assert_eq!((of_one, of_all), ($count, $count * SERVICES), "{}", <$kind as Resource>::kind(&()));
        )*};
    }
    as_many_of_each_service!(Deployment: 2, ConfigMap: 1, Service: 1, ServiceAccount: 1, PodDisruptionBudget: 1);

    // what the cluster's controllers have said of their objects is taken in, and then it is quiet
    let Some(mut before) = cluster.writes() else { return };
    let end = Instant::now() + Duration::from_secs(300);
    loop {
        tokio::time::sleep(QUIET).await;
        let now = cluster.writes().unwrap();
        if now.len() == before.len() {
            break;
        }
        assert!(Instant::now() < end, "written all the time: {:?}", now.last());
        before = now;
    }
    // by then each of them was looked at again
    tokio::time::sleep(RESYNC + QUIET).await;
    let after = cluster.writes().unwrap();
    assert_eq!(after[before.len()..], [""; 0], "written when nothing has changed");
    operator.end().await;
}
