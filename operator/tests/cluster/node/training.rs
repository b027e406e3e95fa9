//! Trainings that have nothing to learn from, until they have.

use super::http::post_once_there;
use super::{in_own_namespace_with_pods, service};
use rankwright_crds::RankingService;
use serde_json::{Value, json};

/// Ten visitors who click the cheapest item, ten seconds apart: each has the sessions before end.
fn events() -> Value {
    let begin = k8s_openapi::jiff::Timestamp::now().as_millisecond() - 600_000;
    let item = |number: i64| {
        let fields = json!([{"name": "price", "value": number}]);
        json!({"event": "item", "id": format!("e{number}"), "timestamp": begin.to_string(), "item": format!("p{number}"), "fields": fields})
    };
    let mut events: Vec<Value> = (1..=3).map(item).collect();
    for visitor in 0..10 {
        let (user, list, at) = (format!("u{visitor}"), format!("list-{visitor}"), begin + 10_000 * visitor);
        events.push(json!({
            "event": "ranking", "id": list, "timestamp": at.to_string(), "user": user, "session": user,
            "items": [{"id": "p3"}, {"id": "p2"}, {"id": "p1"}],
        }));
        events.push(json!({
            "event": "interaction", "id": format!("click-{visitor}"), "timestamp": (at + 100).to_string(),
            "ranking": list, "user": user, "session": user, "type": "click", "item": "p1",
        }));
    }
    Value::Array(events)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_training_without_events_is_told_and_one_with_them_is_served() {
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    cluster.apply::<RankingService>("shop", service(json!({"spec": {"training": {"schedule": "0 3 * * *"}}}))).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;
    cluster.told("shop", "ModelTrained", "False", "NotTrainedYet").await;
    cluster.train("shop", "too-early").await;
    assert!(!cluster.is_done("too-early").await);
    cluster.told("shop", "ModelTrained", "False", "NothingToLearnFrom").await;
    let address = cluster.address("shop").await;
    let (status, answer) = post_once_there(&address, "/feedback", &events()).await;
    assert_eq!(status, 200, "{answer}");
    // the closer needs no more than its next look
    let mut attempt = 0;
    loop {
        attempt += 1;
        let job = format!("attempt-{attempt}");
        cluster.train("shop", &job).await;
        if cluster.is_done(&job).await {
            break;
        }
        assert!(attempt < 10, "there is nothing to learn from");
    }
    cluster.told("shop", "ModelTrained", "True", "Served").await;
}
