//! What is told while something is on its way, and when it does not get on.

use super::*;
use crate::events;

/// The same with a word about its rollout.
fn progressing(deployment: Deployment, reason: &str) -> Deployment {
    let condition = json!({"type": "Progressing", "status": "True", "reason": reason});
    let mut deployment = deployment;
    deployment.status.as_mut().unwrap().conditions = Some(vec![serde_json::from_value(condition).unwrap()]);
    deployment
}

fn with_rank(rank: Deployment) -> Workloads {
    Workloads { rank: Some(rank), ..working() }
}

/// `Reconciling` or `Stalled`, as kstatus looks for them, with its reason.
fn course(status: &RankingServiceStatus) -> Option<String> {
    let mut conditions =
        status.conditions.iter().filter(|told| ["Reconciling", "Stalled"].contains(&told.type_.as_str()));
    let told = conditions.next().map(|told| format!("{} {} {}", told.type_, told.status, told.reason));
    assert!(conditions.next().is_none(), "kstatus takes the first of them");
    told
}

#[test]
fn a_service_is_ready_when_all_wanted_pods_run_what_they_should_and_no_others_are_left() {
    for (wanted, updated, there, ready, verdict_of_ready) in [
        (2, 1, 3, 2, "False RollingOut"),
        (2, 1, 3, 3, "False RollingOut"),
        (2, 2, 3, 3, "False RollingOut"),
        (2, 2, 2, 1, "False Degraded"),
        (2, 2, 2, 2, "True AllPartsWork"),
    ] {
        let status = told(json!({}), &with_rank(deployment(wanted, updated, there, ready)), &saying("v1"));
        assert_eq!(verdict(&status, "Ready"), verdict_of_ready, "{wanted} {updated} {there} {ready}");
        assert_eq!(verdict(&status, "Available"), "True RequestsAnswered");
        assert_eq!(course(&status).is_some(), verdict_of_ready == "False RollingOut");
    }
    let mut unseen = deployment(2, 2, 2, 2);
    unseen.metadata.generation = Some(2);
    assert_eq!(verdict(&told(json!({}), &with_rank(unseen), &saying("v1")), "Ready"), "False RollingOut");
    let mut young = deployment(2, 2, 2, 2);
    young.status.as_mut().unwrap().available_replicas = Some(1);
    assert_eq!(verdict(&told(json!({}), &with_rank(young), &saying("v1")), "Ready"), "False RollingOut");
}

#[test]
fn a_pod_counts_that_is_updated_and_ready() {
    let message = |deployment| {
        let status = told(json!({}), &with_rank(deployment), &saying("v1"));
        condition(&status, "RankServerReady").message.clone()
    };
    assert_eq!(message(deployment(2, 1, 3, 2)), "0 of 2 rank servers run what they should", "the new one is not ready");
    assert_eq!(message(deployment(2, 1, 3, 3)), "1 of 2 rank servers run what they should");
    assert_eq!(message(deployment(3, 1, 4, 1)), "0 of 3 rank servers run what they should");
}

#[test]
fn a_pod_that_cannot_start_is_the_reason_and_one_warning() {
    let trouble = no_image(Component::Rank, "pod shop-rank-1 has no image: rankwright:2 cannot be pulled");
    let observed = Observed { troubles: vec![trouble], ..saying("v1") };
    let before = told(json!({}), &working(), &saying("v1"));
    let begun = told_from(json!({}), Some(before.clone()), &with_rank(deployment(2, 1, 3, 2)), &saying("v1"));
    let status = told_from(json!({}), Some(begun.clone()), &with_rank(deployment(2, 1, 3, 2)), &observed);
    assert_eq!(verdict(&status, "Ready"), "False PodWithoutImage");
    assert_eq!(verdict(&status, "Available"), "True RequestsAnswered");
    assert_eq!(course(&status).as_deref(), Some("Reconciling True PodWithoutImage"));
    let warnings = |before: &RankingServiceStatus, now: &RankingServiceStatus| {
        events::between(before, now).into_iter().filter(|news| news.warning).map(|news| news.reason).collect::<Vec<_>>()
    };
    assert_eq!(warnings(&before, &begun), [""; 0], "a rollout is nothing to look at");
    assert_eq!(warnings(&begun, &status), ["PodWithoutImage"]);
    assert_eq!(warnings(&status, &status), [""; 0]);
}

#[test]
fn a_part_of_which_all_pods_end_is_one_warning() {
    let text = "pod shop-ingest-1 ended with exit code 1".to_owned();
    let trouble = Trouble { part: Component::Ingest, reason: Reason::PodEnds, text };
    let observed = Observed { troubles: vec![trouble], ..saying("v1") };
    let before = told(json!({}), &working(), &saying("v1"));
    let none = Workloads { ingest: Some(deployment(1, 1, 1, 0)), ..working() };
    let status = told_from(json!({}), Some(before.clone()), &none, &observed);
    assert_eq!(verdict(&status, "IngestReady"), "False NoneReady");
    let news = events::between(&before, &status);
    let warnings: Vec<&str> = news.iter().filter(|news| news.warning).map(|news| news.reason.as_str()).collect();
    assert_eq!(warnings, ["PodEnds"], "{news:#?}");
}

#[test]
fn a_rollout_beyond_its_deadline_is_stalled() {
    let stuck = progressing(deployment(2, 1, 3, 2), "ProgressDeadlineExceeded");
    let status = told(json!({}), &with_rank(stuck), &saying("v1"));
    assert_eq!(verdict(&status, "Ready"), "False RolloutStuck");
    assert_eq!(condition(&status, "Ready").message, "0 of 2 rank servers run what they should, 2 answer");
    assert_eq!(course(&status).as_deref(), Some("Stalled True RolloutStuck"));
    let never = progressing(deployment(2, 2, 2, 0), "ProgressDeadlineExceeded");
    assert_eq!(verdict(&told(json!({}), &with_rank(never), &saying("v1")), "Ready"), "False RolloutStuck");
}

#[test]
fn a_lost_state_is_stalled_until_the_service_moves_away_from_it() {
    let before =
        || serde_json::from_value(json!({"state": {"id": "s1", "place": "redis:6379/0", "replacedBy": "s2"}})).ok();
    let rolling = with_rank(deployment(2, 1, 3, 2));
    let here = told_from(json!({}), before(), &rolling, &saying("v1"));
    assert_eq!(course(&here).as_deref(), Some("Stalled True StateLost"));
    let elsewhere = json!({"stateStore": {"redis": {"port": 6380}}});
    let moves = told_from(elsewhere, before(), &rolling, &saying("v1"));
    assert_eq!(course(&moves).as_deref(), Some("Reconciling True StateLost"));
}

#[test]
fn a_normal_first_start_is_no_news() {
    let first = |deployment: Deployment| {
        let begins = progressing(deployment, "ReplicaSetUpdated");
        let workloads = Workloads { rank: Some(begins.clone()), ingest: Some(begins), ..Workloads::default() };
        told(json!({"training": {"schedule": "@daily"}}), &workloads, &Observed::default())
    };
    let status = first(deployment(2, 2, 2, 0));
    assert_eq!(verdict(&status, "Ready"), "False NoneReady");
    assert_eq!(verdict(&status, "Available"), "False NoneReady");
    assert_eq!(course(&status).as_deref(), Some("Reconciling True NoneReady"));
    let news = events::between(&RankingServiceStatus::default(), &status);
    assert!(news.is_empty(), "{news:#?}");
    // the same of servers that were there is one
    let before = told(json!({}), &working(), &saying("v1"));
    let lost = told(json!({}), &with_rank(deployment(2, 2, 2, 0)), &Observed::default());
    assert_eq!(course(&lost), None, "nobody works on it");
    assert!(events::between(&before, &lost).iter().any(|news| news.warning && news.reason == "NoneReady"));
}

#[test]
fn what_its_author_has_to_change_is_stalled_and_what_may_come_is_not() {
    let refused = |refusal: Refusal| {
        let (service, failure) = (service(json!({})), Error::Refused(refusal));
        let (observed, workloads) = (saying("v1"), working());
        let facts = Facts {
            service: &service,
            plan: None,
            applied: None,
            failure: Some(&failure),
            cleaning: None,
            observed: &observed,
            workloads: &workloads,
        };
        of(&facts, Timestamp::UNIX_EPOCH)
    };
    let wrong = refused(Refusal::Configuration("features[0]: no".to_owned()));
    assert_eq!(course(&wrong).as_deref(), Some("Stalled True ConfigurationInvalid"));
    assert_eq!(verdict(&wrong, "Available"), "True RequestsAnswered", "what ran before runs on");
    let missing = refused(Refusal::Missing {
        kind: crate::resolve::Kind::Secret,
        object: "Secret redis".to_owned(),
        namespace: "search".to_owned(),
        field: "spec".to_owned(),
    });
    assert_eq!(course(&missing).as_deref(), Some("Reconciling True SecretMissing"));
}

#[test]
fn a_version_is_served_when_all_ready_servers_serve_it() {
    let saying = |versions: &[Option<&str>], ready: usize| {
        let said = |version: &Option<&str>| {
            let model = Model { state: "loaded".to_owned(), version: version.map(str::to_owned), ..Model::default() };
            Said {
                store: Store { answers: true, ..Store::default() },
                models: [("shop".to_owned(), model)].into(),
                ..Said::default()
            }
        };
        Observed {
            heard: Heard { said: versions.iter().map(said).collect(), ready, ..Heard::default() },
            ..Observed::default()
        }
    };
    let told_of = |versions: &[Option<&str>], ready| told(json!({}), &working(), &saying(versions, ready));
    assert_eq!(verdict(&told_of(&[Some("v2"), Some("v2")], 2), "ModelTrained"), "True Served");
    let fallback = told_of(&[Some("v2"), None], 2);
    assert_eq!(verdict(&fallback, "ModelTrained"), "False NotServedByAll");
    assert!(condition(&fallback, "ModelTrained").message.starts_with("shop: 1 of 2 rank servers serve v2"));
    assert_eq!(fallback.model, None);
    let taken_up = told_of(&[Some("v1"), Some("v2")], 2);
    assert_eq!(taken_up.models[1].problem.as_deref(), Some("1 of 2 rank servers serve v2"), "the newest is told");
    assert_eq!(verdict(&told_of(&[Some("v2")], 2), "ModelTrained"), "False NotServedByAll", "one has not answered");
    let before = told_of(&[Some("v2"), Some("v2")], 2);
    let silent = told_from(json!({}), Some(before), &working(), &saying(&[Some("v2")], 2));
    assert_eq!(verdict(&silent, "ModelTrained"), "True Served", "it has served it, and is busy");
    let pinned = told(json!({"modelVersion": {"shop": "v1"}}), &working(), &saying(&[Some("v1"), Some("v2")], 2));
    assert_eq!(verdict(&pinned, "ModelTrained"), "False PinNotServed");
}

#[test]
fn a_failed_training_is_one_warning() {
    let before = told(json!({}), &working(), &saying("v1"));
    let observed = Observed { training: Some(ended("third", 30, "failed")), ..saying("v1") };
    let failed = told_after(before.clone(), &observed);
    let news = events::between(&before, &failed);
    let warnings: Vec<&str> = news.iter().filter(|news| news.warning).map(|news| news.note.as_str()).collect();
    assert_eq!(warnings, ["training third ended as Failed: shop: because"]);
}
