//! What a status says about trainings.

use super::*;

#[test]
fn a_training_that_is_suspended_says_so() {
    let training: Training = serde_json::from_value(json!({"schedule": "@daily", "suspend": true})).unwrap();
    let status = told(json!({ "training": training }), &working(), &Observed::default());
    assert!(condition(&status, "ModelTrained").message.contains("training is suspended"));
}

#[test]
fn servers_are_looked_at_soon_while_a_version_is_new_and_not_served() {
    let (now, minutes) = (Timestamp::UNIX_EPOCH, k8s_openapi::jiff::SignedDuration::from_mins);
    let ended = now - minutes(1);
    let with = |version: &str, served: &str, pinned: Value, ended: Timestamp| -> RankingServiceStatus {
        let last = json!({"outcome": "Published", "message": "", "version": version});
        let model = json!({"name": "shop", "version": served, "pinned": pinned, "lastTraining": last});
        let training = json!({"pod": "one", "outcome": "Published", "finishedAt": ended.to_string()});
        serde_json::from_value(json!({"models": [model], "training": training})).unwrap()
    };
    assert!(awaits_servers(&with("v2", "v1", Value::Null, ended), now));
    assert!(!awaits_servers(&with("v2", "v2", Value::Null, ended), now), "it is served");
    assert!(!awaits_servers(&with("v2", "v1", json!("v1"), ended), now), "another one is pinned");
    assert!(
        !awaits_servers(&with("v2", "v1", Value::Null, now - minutes(3)), now),
        "another one was made current meanwhile"
    );
}

#[test]
fn a_training_whose_pod_is_gone_stays_the_last_one() {
    let seen = |training| Observed { training, ..saying("v1") };
    let good = told(json!({}), &working(), &seen(Some(ended("second", 20, "published"))));
    assert_eq!(verdict(&good, "ModelTrained"), "True Served");
    for left in [None, Some(ended("first", 10, "failed"))] {
        let after = told_after(good.clone(), &seen(left));
        assert_eq!(after.training, good.training);
        assert_eq!(after.models, good.models);
        assert_eq!(verdict(&after, "ModelTrained"), "True Served");
    }
    let failed = told_after(good, &seen(Some(ended("third", 30, "failed"))));
    assert_eq!(verdict(&failed, "ModelTrained"), "False TrainingFailed");
    let after = told_after(failed.clone(), &seen(Some(ended("second", 20, "published"))));
    assert_eq!(verdict(&after, "ModelTrained"), "False TrainingFailed", "its pod is gone, and it was the last");
    assert_eq!(condition(&after, "ModelTrained").message, condition(&failed, "ModelTrained").message);
    let unwanted = told_of(json!({}), failed, &seen(None));
    assert_eq!(verdict(&unwanted, "ModelTrained"), "True Served", "no training takes place any more");
}

#[test]
fn a_training_that_does_not_begin_is_told() {
    let trouble = "pod shop-training-1 has no image: rankwright:2 cannot be pulled".to_owned();
    let observed = Observed { troubles: vec![no_image(Component::Training, &trouble)], ..saying("v1") };
    let status = told(json!({}), &working(), &observed);
    assert_eq!(verdict(&status, "ModelTrained"), "False TrainingStuck");
    assert!(condition(&status, "ModelTrained").message.ends_with(&trouble));
    assert_eq!(verdict(&status, "Ready"), "True AllPartsWork", "what there is works on");
}
