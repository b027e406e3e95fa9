#![allow(clippy::unwrap_used)]

use super::*;
use crate::ask::{Model, Said, Store};
use crate::labels::Component;
use crate::testing::{planned, service};
use crate::validate::Refusal;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use rankwright_crds::ranking_service::Training;
use serde_json::Value;

/// A Deployment with so many pods wanted, updated, there and ready.
fn deployment(wanted: i32, updated: i32, there: i32, ready: i32) -> Deployment {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "a:1"}]}});
    let status =
        json!({"observedGeneration": 1, "replicas": there, "updatedReplicas": updated, "readyReplicas": ready});
    let spec = json!({"replicas": wanted, "selector": {}, "template": template});
    serde_json::from_value(json!({"metadata": {"generation": 1}, "spec": spec, "status": status})).unwrap()
}

fn working() -> Workloads {
    Workloads { rank: Some(deployment(2, 2, 2, 2)), ingest: Some(deployment(1, 1, 1, 1)), import: None }
}

fn saying(version: &str) -> Observed {
    let model = Model { state: "loaded".to_owned(), version: Some(version.to_owned()), ..Model::default() };
    let said = Said { store: Store { answers: true, problem: None }, models: [("shop".to_owned(), model)].into() };
    Observed { said: Some(said), ..Observed::default() }
}

/// The status of a service with this in its spec, and with these parts.
fn told(over: Value, workloads: &Workloads, observed: &Observed) -> RankingServiceStatus {
    let (service, plan, applied) = (service(over.clone()), planned(over).unwrap(), Applied::default());
    let facts = Facts {
        service: &service,
        plan: Some(&plan),
        applied: Some(&applied),
        failure: None,
        cleaning: None,
        observed,
        workloads,
    };
    of(&facts, Timestamp::UNIX_EPOCH)
}

fn condition<'a>(status: &'a RankingServiceStatus, kind: &str) -> &'a Condition {
    status.conditions.iter().find(|condition| condition.type_ == kind).unwrap()
}

fn verdict(status: &RankingServiceStatus, kind: &str) -> String {
    let condition = condition(status, kind);
    format!("{} {}", condition.status, condition.reason)
}

#[test]
fn a_service_whose_parts_work_is_ready() {
    let status = told(json!({}), &working(), &saying("v1"));
    assert_eq!(verdict(&status, "Ready"), "True AllPartsWork");
    assert_eq!(verdict(&status, "ModelTrained"), "True Served");
    assert_eq!(status.model.as_deref(), Some("shop@v1"));
    assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(3)));
}

#[test]
fn each_way_of_a_deployment_has_a_reason() {
    let rank = |deployment| {
        let workloads = Workloads { rank: deployment, ..working() };
        verdict(&told(json!({}), &workloads, &Observed::default()), "RankServerReady")
    };
    assert_eq!(rank(None), "False NotCreated");
    assert_eq!(rank(Some(deployment(0, 0, 0, 0))), "False ScaledToZero");
    assert_eq!(rank(Some(deployment(2, 2, 2, 0))), "False NoneReady");
    assert_eq!(rank(Some(deployment(2, 1, 3, 2))), "True RollingOut");
    assert_eq!(rank(Some(deployment(2, 2, 2, 1))), "True Degraded");
    assert_eq!(rank(Some(deployment(2, 2, 2, 2))), "True Available");
    let mut stuck = deployment(2, 1, 3, 2);
    let condition = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"});
    stuck.status.as_mut().unwrap().conditions = Some(vec![serde_json::from_value(condition).unwrap()]);
    assert_eq!(rank(Some(stuck)), "False RolloutStuck");
}

#[test]
fn why_a_pod_does_not_run_stands_behind_what_follows_from_it() {
    let workloads = Workloads { rank: Some(deployment(2, 2, 2, 0)), ..working() };
    let trouble = "pod shop-rank-1 has no image: rankwright:1 cannot be pulled".to_owned();
    let observed = Observed { troubles: vec![(Component::Rank, trouble.clone())], ..Observed::default() };
    let status = told(json!({}), &workloads, &observed);
    assert!(condition(&status, "Ready").message.ends_with(&trouble));
}

#[test]
fn a_store_that_does_not_answer_is_no_fault_of_the_servers() {
    let observed = Observed { said: Some(Said::default()), ..Observed::default() };
    let status = told(json!({}), &working(), &observed);
    assert_eq!(verdict(&status, "StateStoreReachable"), "False DoesNotAnswer");
    assert_eq!(verdict(&status, "RankServerReady"), "True Available");
    assert_eq!(verdict(&status, "Ready"), "False DoesNotAnswer");
}

#[test]
fn servers_that_wait_for_the_store_say_why_and_that_is_told_before_all_else() {
    let problem = "failed to open the state store at redis:6379/0: no connection: refused".to_owned();
    let said = Said { store: Store { answers: false, problem: Some(problem.clone()) }, ..Said::default() };
    let workloads = Workloads { rank: Some(deployment(2, 2, 2, 0)), ..working() };
    let status = told(json!({}), &workloads, &Observed { said: Some(said), ..Observed::default() });
    assert_eq!(verdict(&status, "StateStoreReachable"), "False DoesNotAnswer");
    assert_eq!(verdict(&status, "RankServerReady"), "False NoneReady");
    assert_eq!(verdict(&status, "Ready"), "False DoesNotAnswer");
    assert!(condition(&status, "Ready").message.ends_with(&problem));
}

#[test]
fn a_service_without_versions_is_ready_and_says_when_it_will_be_trained() {
    let schedule = json!({"training": {"schedule": "0 3 * * *"}});
    let said = Observed {
        said: Some(Said { store: Store { answers: true, problem: None }, ..Said::default() }),
        ..Observed::default()
    };
    let status = told(schedule, &working(), &said);
    assert_eq!(verdict(&status, "Ready"), "True AllPartsWork");
    assert_eq!(verdict(&status, "ModelTrained"), "False NotTrainedYet");
    assert!(condition(&status, "ModelTrained").message.contains("0 3 * * * in Etc/UTC"));
}

#[test]
fn what_nobody_tells_now_stays_as_it_was_told() {
    let (mut service, plan) = (service(json!({})), planned(json!({})).unwrap());
    service.status = Some(told(json!({}), &working(), &saying("v1")));
    let (observed, workloads, applied) = (Observed::default(), working(), Applied::default());
    let facts = Facts {
        service: &service,
        plan: Some(&plan),
        applied: Some(&applied),
        failure: None,
        cleaning: None,
        observed: &observed,
        workloads: &workloads,
    };
    assert_eq!(of(&facts, Timestamp::UNIX_EPOCH).models[1].version.as_deref(), Some("v1"));
}

#[test]
fn a_condition_keeps_its_time_until_it_changes() {
    let mut service = service(json!({}));
    let refusal = || Error::Refused(Refusal::Configuration("features[0]: no".to_owned()));
    let (observed, workloads) = (Observed::default(), working());
    let status = |service: &RankingService, failure: Option<&Error>, second: i64| {
        let plan = failure.is_none().then(|| planned(json!({})).unwrap());
        let facts = Facts {
            service,
            plan: plan.as_ref(),
            applied: None,
            failure,
            cleaning: None,
            observed: &observed,
            workloads: &workloads,
        };
        of(&facts, Timestamp::from_second(second).unwrap())
    };
    let time =
        |status: &RankingServiceStatus| condition(status, "ConfigurationValid").last_transition_time.0.as_second();
    let first = status(&service, None, 10);
    service.status = Some(first);
    assert_eq!(time(&status(&service, None, 20)), 10);
    let refused = status(&service, Some(&refusal()), 30);
    assert_eq!((verdict(&refused, "ConfigurationValid").as_str(), time(&refused)), ("False ConfigurationInvalid", 30));
    assert_eq!(verdict(&refused, "RankServerReady"), "True Available", "what runs is told all the same");
}

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
        "somebody went back to another one"
    );
}
