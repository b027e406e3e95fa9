//! Trainings that do not succeed, and the next one.

use super::learning::{learns, ranked, trained};
use super::{access_key, bucket, in_own_namespace_with_pods, service};
use rankwright_crds::RankingService;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_training_without_events_is_told_disturbs_nobody_and_one_with_events_mends_it() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    cluster.apply::<RankingService>("shop", service(json!({"spec": {"training": {"schedule": "0 3 * * *"}}}))).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.told("shop", "ModelTrained", "False", "NotTrainedYet").await;
    cluster.train("shop", "too-early").await;
    assert!(!cluster.is_done("too-early").await);
    cluster.told("shop", "ModelTrained", "False", "NothingToLearnFrom").await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    learns(&cluster, "shop", &["shop"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_training_that_fails_is_told_with_its_cause_leaves_what_is_served_and_is_forgotten_when_one_succeeds() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    access_key(&cluster, "development").await;
    let training = json!({"schedule": "0 3 * * *", "backoffLimit": 0});
    let over = json!({"spec": {"training": training, "clickThroughStore": bucket(&cluster)}});
    cluster.apply::<RankingService>("shop", service(over)).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    learns(&cluster, "shop", &["shop"]).await;

    access_key(&cluster, "not-the-key").await;
    cluster.train("shop", "locked-out").await;
    assert!(!cluster.is_done("locked-out").await);
    let message = cluster.told("shop", "ModelTrained", "False", "TrainingFailed").await;
    assert!(message.contains("rankwright") && message.contains("access key"), "{message}");
    assert!(cluster.event("TrainingFailed").await.contains("access key"));
    ranked(&cluster, "shop", &["shop"]).await;

    access_key(&cluster, "development").await;
    trained(&cluster, "shop").await;
    cluster.told("shop", "ModelTrained", "True", "Served").await;
    ranked(&cluster, "shop", &["shop"]).await;
}
