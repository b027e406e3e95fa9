//! What the resource says of single models: their schedules, and what workers keep for them.

use super::{planned, refusal};
use serde_json::{Value, json};

#[test]
fn a_schedule_of_its_own_is_that_of_a_model_that_learns_and_has_no_other() {
    let with = |training: Value, models: Value| {
        let mut all = json!({"schedule": "@daily"});
        all.as_object_mut().unwrap().extend(training.as_object().unwrap().clone());
        json!({"training": all, "configuration": {"inline": {"models": models}}})
    };
    let own = |model: &str| json!({"modelSchedules": [{"model": model, "schedule": "@hourly"}]});
    let trending = json!({"type": "trending", "weights": [{"interaction": "click"}]});
    let popular = json!({"popular": trending});
    assert_eq!(planned(with(own("popular"), popular.clone())).unwrap().warnings, Vec::<String>::new());
    for nobody in ["nobody", "as-is"] {
        let told = refusal(with(own(nobody), popular.clone()));
        let problem = format!(
            "spec.training.modelSchedules[{nobody}]: the configuration has no model {nobody} that is trained; it has: popular, shop"
        );
        assert!(told.ends_with(&problem), "{told}");
    }
    let mut twice = own("popular");
    twice["models"] = json!(["shop", "popular"]);
    let told = refusal(with(twice, popular));
    assert!(told.contains("modelSchedules[popular]: spec.training.models lists this model as well"), "{told}");
    let warnings = planned(with(own("shop"), json!({}))).unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].starts_with("spec.training.schedule: trains nothing"), "{warnings:?}");
    let long = "x".repeat(38);
    let pair = [format!("{long}46891"), format!("{long}98761")];
    let models = pair.clone().map(|name| (name, trending.clone()));
    let schedules = pair.map(|model| json!({"model": model, "schedule": "@hourly"}));
    let told = refusal(with(json!({ "modelSchedules": schedules }), models.into_iter().collect()));
    assert!(told.contains("would have the name of that of"), "{told}");
}

#[test]
fn workers_are_rolled_when_a_model_has_them_keep_more_of_visitors() {
    let digests = |model: Value| {
        let plan = planned(json!({"configuration": {"inline": {"models": {"similar": model}}}})).unwrap();
        [plan.configuration.digest, plan.configuration.ingest_digest]
    };
    let als = |more: Value| {
        let mut model = json!({"type": "als", "interactions": ["click"]});
        model.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        digests(model)
    };
    let [all, workers] = als(json!({}));
    assert_eq!(als(json!({"factors": 8}))[1], workers, "what they keep is the same");
    let [all_seen, workers_seen] = als(json!({"excludeSeen": true}));
    assert!(all_seen != all && workers_seen != workers);
    assert_eq!(als(json!({"excludeSeen": ["click"]}))[1], workers_seen);
    assert_ne!(als(json!({"excludeSeen": ["buy"]}))[1], workers_seen);
}
