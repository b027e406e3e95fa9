//! A training that has nothing to learn from.

use super::{in_own_namespace_with_pods, service};
use rankwright_crds::RankingService;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_training_without_events_is_told_and_disturbs_nobody() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    cluster.apply::<RankingService>("shop", service(json!({"spec": {"training": {"schedule": "0 3 * * *"}}}))).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.told("shop", "ModelTrained", "False", "NotTrainedYet").await;
    cluster.train("shop", "too-early").await;
    assert!(!cluster.is_done("too-early").await);
    cluster.told("shop", "ModelTrained", "False", "NothingToLearnFrom").await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
}
