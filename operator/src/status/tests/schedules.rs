//! Trainings of several schedules, which go on at the same time.

use super::*;
use serde_json::json;

#[test]
fn each_model_has_the_last_training_of_its_schedule() {
    let own = json!([{"model": "popular", "schedule": "*/10 * * * *"}]);
    let models = json!({"popular": {"type": "trending", "weights": [{"interaction": "click"}]}});
    let over = json!({
        "training": {"schedule": "0 3 * * *", "modelSchedules": own},
        "configuration": {"inline": {"models": models}},
    });
    let trained = |model: &str, minute: u32, outcome: &str| {
        let model = json!({"model": model, "outcome": outcome, "message": "because", "version": format!("v{minute}")});
        let began = format!("2026-11-22T03:{minute:02}:00Z");
        let report = json!({"outcome": outcome, "message": "", "startedAt": began, "models": [model]});
        crate::observe::Trained {
            pod: format!("pod-{minute}"),
            finished_at: Some(Time(began.parse::<Timestamp>().unwrap())),
            report: Some(serde_json::from_value(report).unwrap()),
            end: "it ended with exit code 137".to_owned(),
        }
    };
    let key = crate::schedules::key_of(
        "shop",
        crate::testing::service(over.clone()).spec.training.as_ref().unwrap(),
        "popular",
    );
    assert!(!key.is_empty());
    let observed = |shared: crate::observe::Trained, popular: crate::observe::Trained| {
        let last =
            std::cmp::max_by_key(shared.clone(), popular.clone(), |one| one.finished_at.as_ref().map(|time| time.0));
        let trainings = [(String::new(), shared), (key.clone(), popular)].into();
        Observed { training: Some(last), trainings, ..saying("v1") }
    };
    let last = |status: &RankingServiceStatus, name: &str| {
        let model = status.models.iter().find(|model| model.name == name).unwrap();
        let last = model.last_training.clone().unwrap();
        format!("{} {}", last.outcome, last.version.unwrap_or(last.message))
    };
    let first = told_of(
        over.clone(),
        RankingServiceStatus::default(),
        &observed(trained("shop", 10, "published"), trained("popular", 20, "kept")),
    );
    assert_eq!((last(&first, "shop").as_str(), last(&first, "popular").as_str()), ("Published v10", "Kept v20"));
    let failed = observed(trained("shop", 15, "failed"), trained("popular", 30, "published"));
    let second = told_of(over.clone(), first.clone(), &failed);
    assert_eq!((last(&second, "shop").as_str(), last(&second, "popular").as_str()), ("Failed v15", "Published v30"));
    assert_eq!(verdict(&second, "ModelTrained"), "False TrainingFailed", "though another model was trained since");
    assert!(condition(&second, "ModelTrained").message.starts_with("the last training of shop failed: because"));
    let silent = crate::observe::Trained { report: None, ..trained("shop", 40, "") };
    let third = told_of(over.clone(), first.clone(), &observed(silent, trained("popular", 50, "published")));
    assert_eq!(last(&third, "shop"), "Failed it did not report: it ended with exit code 137");
    assert_eq!(last(&third, "popular"), "Published v50");
    let gone = Observed { training: None, ..saying("v1") };
    assert_eq!(told_of(over.clone(), second.clone(), &gone).models, second.models, "the pods are gone");
    let mended = told_of(over, third, &observed(trained("shop", 59, "published"), trained("popular", 50, "published")));
    assert_eq!(last(&mended, "shop"), "Published v59");
}
