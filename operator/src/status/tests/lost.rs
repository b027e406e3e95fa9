//! What is told when Redis has lost the state, or the models, and when a new server or version does not do.

use super::*;
use crate::ask::Refused;

/// What a ready server says of this state, its generation, and the versions that there are of the model that it serves.
fn server(id: &str, generation: u32, version: Option<&str>, versions: &[&str]) -> Observed {
    let store = Store { answers: true, id: Some(id.to_owned()), generation, ..Store::default() };
    let model = Model {
        version: version.map(str::to_owned),
        versions: Some(versions.iter().map(|version| (*version).to_owned()).collect()),
        ..Model::default()
    };
    let said = Said { store, models: [("shop".to_owned(), model)].into(), ..Said::default() };
    Observed { heard: Heard::one(said), ..Observed::default() }
}

fn imported() -> Value {
    json!({"import": {"from": {"s3": {"bucket": "events", "prefix": "2026"}}}})
}

#[test]
fn a_state_that_another_one_has_taken_the_place_of_is_lost_until_an_import_fills_that() {
    let before = told(json!({}), &working(), &server("s1", 1, Some("v1"), &["v1"]));
    assert_eq!(verdict(&before, "StateIntact"), "True Intact");
    assert_eq!(verdict(&before, "Ready"), "True AllPartsWork");
    // all servers were restarted as well: none of them knows that there was another state
    let lost = told_of(json!({}), before.clone(), &server("s2", 1, None, &[]));
    assert_eq!(verdict(&lost, "StateIntact"), "False StateLost");
    assert_eq!(verdict(&lost, "Ready"), "False StateLost");
    assert_eq!(verdict(&lost, "Stalled"), "True StateLost");
    assert_eq!(verdict(&lost, "Available"), "True RequestsAnswered");
    assert!(condition(&lost, "Ready").message.contains("rankwright.dev/accepted-state=s2"));
    let again = told_of(json!({}), lost.clone(), &server("s2", 1, None, &[]));
    assert_eq!(verdict(&again, "StateIntact"), "False StateLost", "it stays so");
    let silent = told_of(json!({}), lost.clone(), &Observed::default());
    assert_eq!(verdict(&silent, "StateIntact"), "False StateLost", "no server says anything else");
    let restored = told_of(json!({}), lost.clone(), &server("s1", 1, None, &["v1"]));
    assert_eq!(verdict(&restored, "StateIntact"), "True Intact", "Redis got its data back");
    let filled = told_of(json!({}), lost, &server("s2", 2, None, &[]));
    assert_eq!(verdict(&filled, "StateIntact"), "True Intact");
    assert_eq!(filled.state.unwrap().id, "s2");
    let moved = told_of(json!({"stateStore": {"redis": {"port": 6380}}}), before, &server("s3", 1, None, &[]));
    assert_eq!(verdict(&moved, "StateIntact"), "True Intact", "its author has moved it");
}

#[test]
fn a_state_lies_in_another_place_once_all_servers_work_there() {
    let before = told(json!({}), &working(), &server("s1", 1, None, &[]));
    let elsewhere = || json!({"stateStore": {"redis": {"port": 6380}}});
    let rolling = Workloads { rank: Some(deployment(2, 1, 3, 2)), ..working() };
    let begun = told_from(elsewhere(), Some(before.clone()), &rolling, &server("s1", 1, None, &[]));
    assert_eq!(begun.state, before.state, "these are servers of before");
    let moved = told_of(elsewhere(), begun, &server("s2", 1, None, &[]));
    assert_eq!(verdict(&moved, "StateIntact"), "True Intact");
    assert_eq!(moved.state.unwrap().place, "redis:6380/0");
    let mut refused = service(elsewhere());
    refused.status = Some(before.clone());
    let failure = Error::Refused(Refusal::unfit("spec", "is wrong"));
    assert_eq!(not_carried_out(&refused, &failure, &server("s1", 1, None, &[])).state, before.state);
    let first = told_from(json!({}), None, &rolling, &server("s1", 1, None, &[]));
    assert_eq!(first.state, before.state, "the first server tells of a new service's state");
}

#[test]
fn servers_that_were_left_with_the_configuration_of_before_tell_of_the_former_place() {
    let before = told(json!({}), &working(), &server("s1", 1, None, &[]));
    let elsewhere = json!({"stateStore": {"redis": {"port": 6380}}});
    // the ConfigMap of the new one has another owner
    let kept = told_from(elsewhere, Some(before.clone()), &running(json!({})), &server("s1", 1, None, &[]));
    assert_eq!(kept.state, before.state);
}

#[test]
fn a_state_lies_in_another_place_also_while_an_object_without_a_part_in_it_is_refused() {
    let over = || json!({"stateStore": {"redis": {"port": 6380}}});
    let (mut service, plan) = (service(over()), planned(over()).unwrap());
    service.status = Some(told(json!({}), &working(), &server("s1", 1, None, &[])));
    let refused = Box::new(kube::Error::LinesCodecMaxLineLengthExceeded);
    let failure = Error::Apply { child: "PodMonitor shop".to_owned(), source: refused };
    let (observed, workloads) = (server("s2", 1, None, &[]), running(over()));
    let state = with_failure(&service, Some(&plan), &failure, &observed, &workloads).state.unwrap();
    assert_eq!((state.id.as_str(), state.place.as_str()), ("s2", "redis:6380/0"));
}

#[test]
fn an_import_that_ends_during_a_move_has_not_filled_the_state_of_the_former_place() {
    let done = || Some(crate::testing::job("import", json!({"conditions": [{"type": "Complete", "status": "True"}]})));
    let importing = |workloads: Workloads| Workloads { import: done(), ..workloads };
    let before = told_from(imported(), None, &importing(working()), &server("s1", 2, None, &[]));
    assert_eq!(before.import.as_ref().unwrap().state.as_deref(), Some("s1"));
    let moved = || {
        let mut over = imported();
        over["import"]["attempt"] = json!(2);
        over["stateStore"] = json!({"redis": {"port": 6380}});
        over
    };
    let rolling = Workloads { rank: Some(deployment(2, 1, 3, 2)), ..working() };
    let ended = told_from(moved(), Some(before), &importing(rolling), &server("s1", 2, None, &[]));
    assert_eq!((phase(&ended), ended.import.as_ref().unwrap().state.as_deref()), (ImportPhase::Complete, None));
    let there = told_from(moved(), Some(ended), &importing(running(moved())), &server("s2", 2, None, &[]));
    assert_eq!(verdict(&there, "StateIntact"), "True Intact");
    assert_eq!((phase(&there), there.import.unwrap().state.as_deref()), (ImportPhase::Complete, Some("s2")));
}

#[test]
fn the_state_of_another_master_of_the_same_sentinels_is_another_one() {
    let at = |master: &str| {
        let redis = json!({"host": null, "mode": "Sentinel", "nodes": ["a:26379"], "masterName": master});
        json!({"stateStore": {"redis": redis}})
    };
    let before = told(at("one"), &working(), &server("s1", 1, None, &[]));
    assert_eq!(before.state.as_ref().unwrap().place, "a:26379 of one/0");
    let moved = told_of(at("two"), before, &server("s2", 1, None, &[]));
    assert_eq!(verdict(&moved, "StateIntact"), "True Intact");
}

#[test]
fn an_empty_state_is_the_services_own_when_its_author_says_so() {
    let before = told(json!({}), &working(), &server("s1", 1, None, &[]));
    let (mut service, plan, workloads) = (service(json!({})), planned(json!({})).unwrap(), working());
    service.metadata.annotations = Some([("rankwright.dev/accepted-state".to_owned(), "s2".to_owned())].into());
    service.status = Some(before);
    let told = |id: &str| {
        let (applied, observed) = (Applied::default(), server(id, 1, None, &[]));
        let facts = Facts {
            service: &service,
            plan: Some(&plan),
            applied: Some(&applied),
            failure: None,
            cleaning: None,
            observed: &observed,
            workloads: &workloads,
        };
        verdict(&of(&facts, Timestamp::UNIX_EPOCH), "StateIntact")
    };
    assert_eq!((told("s2").as_str(), told("s3").as_str()), ("True Intact", "False StateLost"));
}

/// The status of a service whose import has ended, with its Job or after that was cleared away.
fn of_import(
    with_job: bool,
    accepted: Option<&str>,
    before: RankingServiceStatus,
    id: &str,
    generation: u32,
) -> RankingServiceStatus {
    let (mut service, plan, mut workloads) = (service(imported()), planned(imported()).unwrap(), working());
    workloads.import = with_job
        .then(|| crate::testing::job("import", json!({"conditions": [{"type": "Complete", "status": "True"}]})));
    service.metadata.annotations =
        accepted.map(|id| [("rankwright.dev/accepted-state".to_owned(), id.to_owned())].into());
    service.status = Some(before);
    let (applied, observed) = (Applied::default(), server(id, generation, None, &[]));
    let facts = Facts {
        service: &service,
        plan: Some(&plan),
        applied: Some(&applied),
        failure: None,
        cleaning: None,
        observed: &observed,
        workloads: &workloads,
    };
    of(&facts, Timestamp::UNIX_EPOCH)
}

fn phase(status: &RankingServiceStatus) -> ImportPhase {
    status.import.as_ref().unwrap().phase
}

#[test]
fn an_import_is_lost_exactly_while_another_state_than_its_own_is_there() {
    for with_job in [true, false] {
        // servers have not taken up yet what it filled
        let begun = of_import(true, None, RankingServiceStatus::default(), "s1", 1);
        assert_eq!((phase(&begun), begun.import.as_ref().unwrap().state.as_deref()), (ImportPhase::Complete, None));
        let done = of_import(with_job, None, begun, "s1", 2);
        assert_eq!(done.import.as_ref().unwrap().state.as_deref(), Some("s1"));
        let lost = of_import(with_job, None, done, "s2", 1);
        assert_eq!(phase(&lost), ImportPhase::Lost);
        assert!(lost.import.as_ref().unwrap().message.as_ref().unwrap().contains("raise import.attempt"));
        assert!(condition(&lost, "Ready").message.contains("raise import.attempt"));
        let accepted = of_import(with_job, Some("s2"), lost.clone(), "s2", 1);
        assert_eq!(verdict(&accepted, "StateIntact"), "True Intact");
        assert_eq!(phase(&accepted), ImportPhase::Lost, "an accepted empty state was not imported");
        let restored = of_import(with_job, None, lost, "s1", 2);
        assert_eq!((phase(&restored), restored.import.unwrap().message), (ImportPhase::Complete, None));
    }
}

#[test]
fn an_import_into_an_empty_state_that_lies_in_the_place_of_another_one_fills_that() {
    let done = of_import(true, None, RankingServiceStatus::default(), "s1", 2);
    let mut lost = of_import(true, None, done, "s2", 1);
    lost.import = None; // another attempt
    let complete = of_import(true, None, lost, "s2", 1);
    assert_eq!(phase(&complete), ImportPhase::Complete, "its servers have not taken it up yet");
    let taken_up = of_import(true, None, complete, "s2", 2);
    assert_eq!(verdict(&taken_up, "StateIntact"), "True Intact");
    assert_eq!((phase(&taken_up), taken_up.import.unwrap().state.as_deref()), (ImportPhase::Complete, Some("s2")));
}

#[test]
fn a_model_that_was_served_and_has_no_version_left_is_lost_until_it_has_one() {
    let before = told(json!({}), &working(), &server("s1", 1, Some("v1"), &["v1"]));
    let memory = told_of(json!({}), before.clone(), &server("s1", 1, Some("v1"), &[]));
    assert_eq!(verdict(&memory, "ModelTrained"), "False ModelLost");
    assert!(condition(&memory, "ModelTrained").message.contains("serve it from memory until they restart"));
    let restarted = told_of(json!({}), memory, &server("s1", 1, None, &[]));
    assert_eq!(verdict(&restarted, "ModelTrained"), "False ModelLost");
    assert_eq!(restarted.models[1].lost.as_deref(), Some("v1"));
    assert!(condition(&restarted, "ModelTrained").message.contains("requests get the incoming order"));
    let trained = told_of(json!({}), restarted, &server("s1", 1, Some("v2"), &["v2"]));
    assert_eq!((verdict(&trained, "ModelTrained").as_str(), trained.models[1].lost.as_deref()), ("True Served", None));
    let never = told(json!({}), &working(), &server("s1", 1, None, &[]));
    assert_eq!(verdict(&never, "ModelTrained"), "False NotTrainedYet", "it had none");
    let silent = told_of(json!({}), before, &Observed::default());
    assert_eq!(verdict(&silent, "ModelTrained"), "True Served", "no server says so");
}

#[test]
fn a_version_that_did_not_work_is_told_beside_the_one_that_is_served() {
    let mut observed = server("s1", 1, Some("v1"), &["v1", "v2"]);
    let refused = Refused { version: "v2".to_owned(), reason: "its scores are no numbers".to_owned() };
    observed.heard.said[0].models.get_mut("shop").unwrap().refused = Some(refused);
    let status = told(json!({}), &working(), &observed);
    assert_eq!(verdict(&status, "ModelTrained"), "False VersionRefused");
    let message = &condition(&status, "ModelTrained").message;
    assert!(message.contains("version v2 did not work") && message.contains("v1 is served on"), "{message}");
    assert_eq!(verdict(&status, "Ready"), "True AllPartsWork");
}

#[test]
fn a_pin_that_is_refused_is_not_told_as_pinned() {
    let before = told(json!({}), &working(), &saying("v1"));
    let refusal = Error::Refused(Refusal::no_such_version("spec.modelVersion.shop", "v7", &["v1".to_owned()]));
    let mut service = service(json!({"modelVersion": {"shop": "v7"}}));
    service.status = Some(before);
    let status = not_carried_out(&service, &refusal, &saying("v1"));
    assert_eq!(verdict(&status, "Ready"), "False NoSuchVersion");
    assert_eq!(status.models[1].version.as_deref(), Some("v1"));
    assert_eq!(status.models[1].pinned, None, "it is checked again until it is there");
}
