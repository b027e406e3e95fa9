#![allow(clippy::unwrap_used)]

mod health;
mod lost;
mod progress;
mod schedules;
mod trainings;

use super::*;
use crate::ask::{Model, Said, Store};
use crate::labels::{CONFIGURATION_DIGEST, Component, REFERENCES_DIGEST};
use crate::observe::{Heard, Trouble};
use crate::testing::{planned, service};
use crate::validate::Refusal;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use rankwright_crds::ranking_service::Training;
use rankwright_crds::status::ImportPhase;

/// A Deployment with these numbers of pods wanted, updated, there and ready.
fn deployment(wanted: i32, updated: i32, there: i32, ready: i32) -> Deployment {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "a:1"}]}});
    let status = json!({"observedGeneration": 1, "replicas": there, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": ready});
    let spec = json!({"replicas": wanted, "selector": {}, "template": template});
    serde_json::from_value(json!({"metadata": {"generation": 1}, "spec": spec, "status": status})).unwrap()
}

fn no_image(part: Component, text: &str) -> Trouble {
    Trouble { part, reason: Reason::PodWithoutImage, text: text.to_owned() }
}

fn working() -> Workloads {
    Workloads { rank: Some(deployment(2, 2, 2, 2)), ingest: Some(deployment(1, 1, 1, 1)), ..Workloads::default() }
}

fn saying(version: &str) -> Observed {
    let model = Model { state: "loaded".to_owned(), version: Some(version.to_owned()), ..Model::default() };
    let said = Said {
        store: Store { answers: true, ..Store::default() },
        models: [("shop".to_owned(), model)].into(),
        ..Said::default()
    };
    Observed { heard: Heard::one(said), ..Observed::default() }
}

/// The status of a service with this in its spec, and with these parts.
fn told(over: Value, workloads: &Workloads, observed: &Observed) -> RankingServiceStatus {
    told_from(over, None, workloads, observed)
}

/// The same of one with a status from before.
fn told_from(
    over: Value,
    before: Option<RankingServiceStatus>,
    workloads: &Workloads,
    observed: &Observed,
) -> RankingServiceStatus {
    let (mut service, plan, applied) = (service(over.clone()), planned(over).unwrap(), Applied::default());
    service.status = before;
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
fn each_condition_has_a_section_on_the_page_about_trouble() {
    let page = std::fs::read_to_string("../docs/kubernetes-troubleshooting.md").unwrap();
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let rolling = Workloads { rank: Some(deployment(2, 1, 3, 2)), ..working() };
    let refused =
        not_carried_out(&service(json!({})), &Error::Refused(Refusal::unfit("spec", "is wrong")), &saying("v1"));
    let all = [told(json!({}), &rolling, &saying("v1")), refused];
    let kinds: Vec<&str> = all.iter().flat_map(|status| &status.conditions).map(|told| told.type_.as_str()).collect();
    assert!(kinds.contains(&"Reconciling") && kinds.contains(&"Stalled"), "{kinds:?}");
    for kind in kinds {
        assert!(headings.iter().any(|heading| heading.split(' ').any(|word| word == kind)), "{kind}");
    }
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
fn an_autoscaler_that_has_had_no_figures_for_a_while_is_warned_of() {
    let warnings = |status: &str, reason: &str, since: &str| {
        let why = "unable to get metrics for resource cpu";
        let condition = json!({"type": "ScalingActive", "status": status, "reason": reason, "message": why, "lastTransitionTime": since});
        let scaler = json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "shop-rank"}}, "status": {"conditions": [condition], "currentMetrics": [], "desiredReplicas": 2}});
        let workloads = Workloads { scaler: Some(serde_json::from_value(scaler).unwrap()), ..working() };
        told(json!({}), &workloads, &saying("v1")).warnings.into_iter().filter(|text| text.contains(why)).count()
    };
    let (long, short) = ("1969-12-31T23:50:00Z", "1969-12-31T23:58:00Z");
    assert_eq!(warnings("False", "FailedGetResourceMetric", long), 1);
    assert_eq!(warnings("False", "FailedGetResourceMetric", short), 0, "it has only begun");
    assert_eq!(warnings("True", "ValidMetricFound", long), 0);
    assert_eq!(warnings("False", "ScalingDisabled", long), 0, "none are wanted");
}

#[test]
fn why_a_pod_does_not_run_stands_behind_what_follows_from_it() {
    let workloads = Workloads { rank: Some(deployment(2, 2, 2, 0)), ..working() };
    let trouble = "pod shop-rank-1 has no image: rankwright:1 cannot be pulled".to_owned();
    let observed = Observed { troubles: vec![no_image(Component::Rank, &trouble)], ..Observed::default() };
    let status = told(json!({}), &workloads, &observed);
    assert!(condition(&status, "Ready").message.ends_with(&trouble));
}

#[test]
fn a_store_that_does_not_answer_is_no_fault_of_the_servers() {
    let observed = Observed { heard: Heard::one(Said::default()), ..Observed::default() };
    let status = told(json!({}), &working(), &observed);
    assert_eq!(verdict(&status, "StateStoreReachable"), "False DoesNotAnswer");
    assert_eq!(verdict(&status, "RankServerReady"), "True Available");
    assert_eq!(verdict(&status, "Ready"), "False DoesNotAnswer");
}

#[test]
fn servers_that_wait_for_the_store_say_why_and_that_is_told_before_all_else() {
    let problem = "failed to open the state store at redis:6379/0: no connection: refused".to_owned();
    let said =
        Said { store: Store { answers: false, problem: Some(problem.clone()), ..Store::default() }, ..Said::default() };
    let workloads = Workloads { rank: Some(deployment(2, 2, 2, 0)), ..working() };
    let status = told(json!({}), &workloads, &Observed { heard: Heard::one(said), ..Observed::default() });
    assert_eq!(verdict(&status, "StateStoreReachable"), "False DoesNotAnswer");
    assert_eq!(verdict(&status, "RankServerReady"), "False NoneReady");
    assert_eq!(verdict(&status, "Ready"), "False DoesNotAnswer");
    assert!(condition(&status, "Ready").message.ends_with(&problem));
}

#[test]
fn a_service_without_versions_is_ready_and_says_when_it_will_be_trained() {
    let schedule = json!({"training": {"schedule": "0 3 * * *"}});
    let said = Observed {
        heard: Heard::one(Said { store: Store { answers: true, ..Store::default() }, ..Said::default() }),
        ..Observed::default()
    };
    let status = told(schedule, &working(), &said);
    assert_eq!(verdict(&status, "Ready"), "True AllPartsWork");
    assert_eq!(verdict(&status, "ModelTrained"), "False NotTrainedYet");
    assert!(condition(&status, "ModelTrained").message.contains("0 3 * * * in Etc/UTC"));
}

#[test]
fn what_nobody_tells_now_stays_as_it_was_told() {
    let before = told(json!({}), &working(), &saying("v1"));
    assert_eq!(told_after(before, &Observed::default()).models[1].version.as_deref(), Some("v1"));
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

/// A training that has ended in this second, in a pod of this name.
fn ended(pod: &str, second: i64, outcome: &str) -> crate::observe::Trained {
    let model = json!({"model": "shop", "outcome": outcome, "message": "because", "version": pod});
    let report = json!({"outcome": outcome, "message": "", "startedAt": "", "models": [model]});
    crate::observe::Trained {
        pod: pod.to_owned(),
        finished_at: Some(Time(Timestamp::from_second(second).unwrap())),
        report: Some(serde_json::from_value(report).unwrap()),
        end: String::new(),
    }
}

/// The status that follows upon another one.
fn told_after(before: RankingServiceStatus, observed: &Observed) -> RankingServiceStatus {
    told_of(json!({"training": {"schedule": "@daily"}}), before, observed)
}

fn told_of(over: Value, before: RankingServiceStatus, observed: &Observed) -> RankingServiceStatus {
    let workloads = running(over.clone());
    told_from(over, Some(before), &workloads, observed)
}

/// Parts that work, of which rank servers have the configuration of a service with this in its spec.
fn running(over: Value) -> Workloads {
    let mut rank = deployment(2, 2, 2, 2);
    let digests =
        [(CONFIGURATION_DIGEST, planned(over).unwrap().configuration.digest), (REFERENCES_DIGEST, "0".to_owned())];
    let annotations = Some(digests.map(|(key, digest)| (key.to_owned(), digest)).into());
    rank.spec.as_mut().unwrap().template.metadata = Some(ObjectMeta { annotations, ..ObjectMeta::default() });
    Workloads { rank: Some(rank), ..working() }
}

#[test]
fn a_pin_on_a_version_that_does_not_exist_is_told_once_servers_say_what_they_serve() {
    let pin = json!({"modelVersion": {"shop": "v7"}});
    let nothing = Said { store: Store { answers: true, ..Store::default() }, ..Said::default() };
    let said = Observed { heard: Heard::one(nothing), ..Observed::default() };
    let status = told(pin.clone(), &working(), &said);
    assert_eq!(verdict(&status, "ModelTrained"), "False PinNotServed");
    assert!(condition(&status, "ModelTrained").message.contains("v7 is pinned"));
    assert_eq!(verdict(&told(pin, &working(), &Observed::default()), "ModelTrained"), "False NotTrainedYet");
}

#[test]
fn the_image_that_all_servers_ran_last_is_told_while_they_are_replaced() {
    let of_image = |image: &str, updated: i32| {
        let mut rank = deployment(2, updated, 2, 2);
        let container = json!({"name": "rank", "image": image});
        rank.spec.as_mut().unwrap().template.spec = serde_json::from_value(json!({"containers": [container]})).unwrap();
        Workloads { rank: Some(rank), ..working() }
    };
    let mut before = None;
    let mut image = |workloads: Workloads| {
        before = Some(told_from(json!({}), before.take(), &workloads, &Observed::default()));
        before.clone().unwrap().rank.unwrap().image
    };
    assert_eq!(image(of_image("rankwright:1", 1)), None, "they come up for the first time");
    assert_eq!(image(of_image("rankwright:1", 2)).as_deref(), Some("rankwright:1"));
    assert_eq!(image(of_image("rankwright:2", 1)).as_deref(), Some("rankwright:1"));
    assert_eq!(image(of_image("rankwright:2", 2)).as_deref(), Some("rankwright:2"));
}

#[test]
fn while_a_resource_is_refused_its_parts_are_told_as_they_are() {
    let before = told(json!({}), &working(), &saying("v1"));
    let refusal = Error::Refused(Refusal::Configuration("features[0]: no".to_owned()));
    let workloads = Workloads { rank: Some(deployment(2, 2, 2, 0)), ..Workloads::default() };
    let (mut service, observed) = (service(json!({})), saying("v2"));
    service.status = Some(before.clone());
    let facts = Facts {
        service: &service,
        plan: None,
        applied: None,
        failure: Some(&refusal),
        cleaning: None,
        observed: &observed,
        workloads: &workloads,
    };
    let status = of(&facts, Timestamp::UNIX_EPOCH);
    let (rank, former) = (status.rank.unwrap(), before.rank.unwrap());
    assert_eq!(rank.ready, "0/2");
    assert_eq!((rank.selector, rank.endpoint), (former.selector, former.endpoint));
    assert_eq!(status.ingest.unwrap().ready, "0/0", "somebody has taken it away");
    assert_eq!(status.model.as_deref(), Some("shop@v2"));
}

#[test]
fn why_no_pod_can_be_made_stands_behind_what_follows_from_it() {
    let mut refused = deployment(2, 0, 0, 0);
    let why = "pods \"shop-rank-\" is forbidden: exceeded quota";
    let failure = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": why});
    refused.status.as_mut().unwrap().conditions = Some(vec![serde_json::from_value(failure).unwrap()]);
    let status = told(json!({}), &Workloads { rank: Some(refused), ..working() }, &Observed::default());
    assert!(condition(&status, "Ready").message.ends_with(why));
}

#[test]
fn an_import_that_was_not_looked_at_stays_as_it_was_told() {
    let import = json!({"import": {"from": {"s3": {"bucket": "events", "prefix": "2026"}}}});
    let plan = planned(import.clone()).unwrap();
    let mut service = service(import);
    let failed = json!({"digest": plan.import_digest(), "phase": "Failed", "job": "shop-import-1", "message": "no"});
    service.status = Some(serde_json::from_value(json!({ "import": failed })).unwrap());
    let failure = Error::Refused(Refusal::Configuration("no".to_owned()));
    let (observed, workloads) = (Observed::default(), Workloads::default());
    let status = with_failure(&service, Some(&plan), &failure, &observed, &workloads);
    assert_eq!(status.import, service.status.unwrap().import);
}

#[test]
fn an_import_is_told_as_it_is_while_something_else_is_refused() {
    let import = json!({"import": {"from": {"s3": {"bucket": "events", "prefix": "2026"}}}});
    let plan = planned(import.clone()).unwrap();
    let mut service = service(import);
    let job = plan.import_job().unwrap();
    let running = json!({"digest": plan.import_digest(), "phase": "Running", "job": job});
    service.status = Some(serde_json::from_value(json!({ "import": running })).unwrap());
    let complete = json!([{"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-23T09:00:00Z"}]);
    let done = json!({"metadata": {"name": job}, "status": {"conditions": complete}});
    let workloads = Workloads { import: Some(serde_json::from_value(done).unwrap()), ..Workloads::default() };
    let (observed, failure) = (Observed::default(), Error::Refused(Refusal::Configuration("no".to_owned())));
    for plan in [Some(&plan), None] {
        let status = with_failure(&service, plan, &failure, &observed, &workloads);
        assert_eq!(status.import.unwrap().phase, ImportPhase::Complete);
    }
}

/// The status of a service that was not carried out.
fn not_carried_out(service: &RankingService, failure: &Error, observed: &Observed) -> RankingServiceStatus {
    with_failure(service, None, failure, observed, &working())
}

/// The status of a service of which something failed.
fn with_failure(
    service: &RankingService,
    plan: Option<&Plan>,
    failure: &Error,
    observed: &Observed,
    workloads: &Workloads,
) -> RankingServiceStatus {
    let facts = Facts { service, plan, applied: None, failure: Some(failure), cleaning: None, observed, workloads };
    of(&facts, Timestamp::UNIX_EPOCH)
}

#[test]
fn a_configuration_that_could_not_be_looked_at_is_known_of_its_earlier_generation() {
    let known = told(json!({}), &working(), &saying("v1"));
    let mut service = service(json!({}));
    (service.metadata.generation, service.status) = (Some(4), Some(known));
    let failure = Error::Status(Box::new(kube::Error::TlsRequired));
    let status = not_carried_out(&service, &failure, &saying("v1"));
    assert_eq!(verdict(&status, "ConfigurationValid"), "True Valid");
    assert_eq!(condition(&status, "ConfigurationValid").observed_generation, Some(3));
    assert_eq!(condition(&status, "Ready").observed_generation, Some(4));
}

/// The status of a deleted service whose end is so far.
fn told_at_end(plan: &Plan, cleaning: &Cleaning, conflicts: &[&str]) -> RankingServiceStatus {
    let service = crate::testing::going(json!({"deletionPolicy": "Delete"}));
    let applied = Applied { conflicts: conflicts.iter().map(|&text| text.to_owned()).collect(), ..Applied::default() };
    let (observed, workloads) = (Observed::default(), Workloads::default());
    let facts = Facts {
        service: &service,
        plan: Some(plan),
        applied: Some(&applied),
        failure: None,
        cleaning: Some(cleaning),
        observed: &observed,
        workloads: &workloads,
    };
    of(&facts, Timestamp::UNIX_EPOCH)
}

#[test]
fn what_keeps_a_deleted_service_is_told() {
    let plan = planned(json!({})).unwrap();
    let ready = |pods: usize, job: Option<&str>, conflicts: &[&str]| {
        let cleaning = Cleaning::Stopping { pods, job: job.map(str::to_owned) };
        let status = told_at_end(&plan, &cleaning, conflicts);
        assert_eq!(verdict(&status, "Ready"), "False Deleting");
        condition(&status, "Ready").message.clone()
    };
    assert_eq!(ready(3, Some("shop-import-1"), &[]), "waiting for 3 pods to end before data are removed");
    assert_eq!(ready(0, Some("shop-import-1"), &[]), "waiting for Job shop-import-1 to end before data are removed");
    assert_eq!(ready(0, None, &[]), "what makes pods goes before data are removed");
    // as after `kubectl delete --cascade=orphan`
    let orphaned = ready(3, None, &["ConfigMap shop-config is theirs", "ServiceAccount shop is theirs"]);
    assert_eq!(
        orphaned,
        "waiting for 3 pods to end before data are removed: ConfigMap shop-config is theirs; ServiceAccount shop is theirs; \
         or set deletionPolicy to Retain to let the resource go, with its data left"
    );
}

#[test]
fn a_deleted_service_whose_configuration_is_gone_says_by_which_its_data_are_removed() {
    let configuration = |outdated: Option<Refusal>| {
        let plan = Plan { outdated, ..planned(json!({})).unwrap() };
        let status = told_at_end(&plan, &Cleaning::Purging, &[]);
        assert_eq!(verdict(&status, "Ready"), "False Purging");
        (verdict(&status, "ConfigurationValid"), condition(&status, "ConfigurationValid").message.clone())
    };
    let (valid, message) = configuration(None);
    assert!(valid == "True Valid" && message.ends_with("what the removal of data needs is there"), "{message}");
    let (invalid, message) = configuration(Some(Refusal::Configuration("features[0]: no".to_owned())));
    assert_eq!(invalid, "False ConfigurationInvalid");
    assert_eq!(message, "features[0]: no; data are removed by the configuration of before");
}

#[test]
fn what_somebody_has_written_into_a_status_is_taken_out_with_what_is_written() {
    let there = json!({"model": "mine", "import": {"job": "mine"}, "rank": {"image": "old", "ready": "1/2"}, "warnings": ["a"]});
    let wanted = json!({"rank": {"ready": "2/2"}, "models": [{"name": "shop"}]});
    let expected = json!({
        "model": null, "import": null, "warnings": null, "rank": {"image": null, "ready": "2/2"}, "models": [{"name": "shop"}],
    });
    assert_eq!(change(&there, &wanted), expected);
    assert_eq!(change(&Value::Null, &wanted), wanted);
}
