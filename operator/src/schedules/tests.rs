#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::{Value, json};

fn training(over: Value) -> Training {
    let mut training = json!({"schedule": "0 3 * * *"});
    training.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
    serde_json::from_value(training).unwrap()
}

/// The schedules of a service `shop` with three models that learn: CronJob, models, line of cron, whether it waits.
fn schedules(over: Value) -> Vec<String> {
    let trained = ["default", "popular", "similar"].map(str::to_owned);
    let line = |schedule: Schedule<'_>| {
        let waits = if schedule.suspend { " suspended" } else { "" };
        format!("{} [{}] {}{waits}", schedule.name, schedule.models.join(" "), schedule.cron)
    };
    of("shop", &training(over), &trained).into_iter().map(line).collect()
}

#[test]
fn the_shared_schedule_trains_what_has_none_of_its_own() {
    assert_eq!(schedules(json!({})), ["shop-training [] 0 3 * * *"], "without a name it trains all");
    assert_eq!(schedules(json!({"models": ["similar"]})), ["shop-training [similar] 0 3 * * *"]);
    let popular = json!({"model": "popular", "schedule": "*/10 * * * *"});
    let own = "shop-popular-448a8698 [popular] */10 * * * *";
    assert_eq!(schedules(json!({"modelSchedules": [popular]})), ["shop-training [default similar] 0 3 * * *", own]);
    assert_eq!(
        schedules(json!({"models": ["similar"], "modelSchedules": [popular]})),
        ["shop-training [similar] 0 3 * * *", own]
    );
    let all = ["default", "popular", "similar"].map(|model| json!({"model": model, "schedule": "@hourly"}));
    assert_eq!(schedules(json!({ "modelSchedules": all })).len(), 3, "nothing is left for the shared one");
}

#[test]
fn one_switch_suspends_all_and_another_one_model() {
    let popular = |suspend: bool| json!([{"model": "popular", "schedule": "@hourly", "suspend": suspend}]);
    let waits = |over: Value| schedules(over).iter().map(|line| line.ends_with("suspended")).collect::<Vec<_>>();
    assert_eq!(waits(json!({"modelSchedules": popular(false)})), [false, false]);
    assert_eq!(waits(json!({"modelSchedules": popular(true)})), [false, true]);
    assert_eq!(waits(json!({"suspend": true, "modelSchedules": popular(false)})), [true, true]);
    let trained = |over: Value| ["default", "popular"].map(|model| trains(&training(over.clone()), model));
    assert_eq!(trained(json!({"modelSchedules": popular(false)})), [true, true]);
    assert_eq!(trained(json!({"modelSchedules": popular(true)})), [true, false]);
    assert_eq!(trained(json!({"models": ["similar"], "modelSchedules": popular(false)})), [false, true]);
    assert_eq!(trained(json!({"suspend": true, "modelSchedules": popular(false)})), [false, false]);
}

#[test]
fn names_are_those_of_objects_whatever_a_model_is_called() {
    let longest = "s".repeat(40);
    let models = ["popular", "Was läuft?", "---", "ü", &"x".repeat(80), "a.b", "a-b", "training", "-a"];
    for service in ["shop", longest.as_str()] {
        let mut names: Vec<String> = models.iter().map(|model| name(service, model)).collect();
        for name in &names {
            let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
            assert!(name.len() <= LONGEST_NAME && name.chars().all(fits), "{name}");
            assert!(name.starts_with(service) && !name.contains("--") && !name.ends_with("-training"), "{name}");
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), models.len(), "{names:?}");
    }
    assert_ne!(name("a", "b-c"), name("a-b", "c"), "they may lie in one namespace");
}

#[test]
fn two_models_whose_names_would_be_one_are_found() {
    let long = "x".repeat(38);
    let pair = [format!("{long}46891"), format!("{long}98761")];
    let schedules = |models: [&str; 2]| {
        let schedules = models.map(|model| json!({"model": model, "schedule": "@hourly"}));
        training(json!({ "modelSchedules": schedules }))
    };
    let training = schedules([&pair[0], &pair[1]]);
    assert_eq!(clash("shop", &training), Some([pair[0].as_str(), pair[1].as_str()]));
    assert_eq!(clash("shop", &schedules([&pair[0], "popular"])), None);
    assert_eq!(clash("store", &training), None);
}
