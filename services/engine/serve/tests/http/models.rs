//! Versions: loaded, warmed, swapped.

use crate::service::{ByPrice, CONFIG, Service, ranking};
use rankwright_event::json::decode_ranking_request;

#[tokio::test]
async fn a_version_replays_its_samples_before_it_serves() {
    let service = Service::cold(CONFIG, |builder| builder).await;
    let ranker = ByPrice::falling();
    let samples =
        ["w1", "w2", "w3"].map(|id| decode_ranking_request(ranking(&["a"]).replace("r1", id).as_bytes()).unwrap());
    service.loader.publish_with("shop", "1", ranker.clone(), samples.to_vec());
    service.app.prepare().await;
    assert_eq!(*ranker.seen().lock(), ["w1", "w2", "w3"]);
    let metrics = service.get("/metrics").await;
    assert!(metrics.text().contains("service_rank_requests_total{model=\"shop\"} 0"), "rehearsals are not counted");
}

#[tokio::test]
async fn without_warm_up_time_one_sample_is_replayed() {
    let service = Service::cold(CONFIG, |builder| builder).await;
    let ranker = ByPrice::falling();
    let samples = ["w1", "w2"].map(|id| decode_ranking_request(ranking(&["a"]).replace("r1", id).as_bytes()).unwrap());
    service.loader.publish_with("new", "1", ranker.clone(), samples.to_vec());
    service.app.prepare().await;
    assert_eq!(*ranker.seen().lock(), ["w1"]);
    assert_eq!(service.post("/rank/new", ranking(&["a"])).await.json().get("fallback"), None);
}

#[tokio::test]
async fn a_newer_version_takes_over_and_the_same_one_is_not_loaded_again() {
    let service = Service::start().await;
    service.price(&[("a", 1.0), ("b", 2.0)]).await;
    service.loader.publish("shop", "2", ByPrice::rising());
    assert_eq!(service.post("/rank/shop", ranking(&["a", "b"])).await.items(), ["b", "a"], "not looked for yet");
    service.app.refresh("shop").await;
    assert_eq!(service.post("/rank/shop", ranking(&["a", "b"])).await.items(), ["a", "b"]);
    service.loader.publish("shop", "2", ByPrice::falling());
    service.app.refresh("shop").await;
    assert_eq!(service.post("/rank/shop", ranking(&["a", "b"])).await.items(), ["a", "b"], "2 is 2");
}

#[tokio::test]
async fn a_store_that_is_away_during_warm_up_does_not_stop_a_swap() {
    let service = Service::start().await;
    let sample = decode_ranking_request(ranking(&["a"]).as_bytes()).unwrap();
    service.loader.publish_with("shop", "2", ByPrice::rising(), vec![sample]);
    service.break_state(true);
    service.app.refresh("shop").await;
    assert_eq!(service.get("/status").await.json()["models"]["shop"]["version"], "2");
}

#[tokio::test]
async fn a_version_whose_scores_are_no_numbers_is_left() {
    let service = Service::start().await;
    service.price(&[("a", f64::INFINITY)]).await;
    let sample = rankwright_event::json::decode_ranking_request(ranking(&["a"]).as_bytes()).unwrap();
    service.loader.publish_with("shop", "2", ByPrice::rising(), vec![sample]);
    service.app.refresh("shop").await;
    let shop = service.get("/status").await.json()["models"]["shop"].clone();
    assert_eq!(shop["version"], "1");
    assert_eq!(shop["refused"]["version"], "2");
    let reason = "it gives items of ranking r1 of its warm-up scores that are no numbers";
    assert_eq!(shop["refused"]["reason"], reason);
}
