//! The definition: what the API server accepts, what it refuses, and with which words.

mod cases;
mod columns;
mod defaults;
mod managers;
mod rank_cases;

use crate::cluster::{Cluster, Servers, in_own_namespace};
use crate::samples::{minimal, whole, with};
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What is laid over a sample, and a part of the words by which it is refused; none where it is accepted.
type Case = (&'static str, Value, Option<&'static str>);

/// What the API server takes, and what it refuses, of resources that are new.
fn cases() -> Vec<Case> {
    [cases::cases(), rank_cases::cases()].concat()
}

/// The place and the words of a rule.
type Rule = (String, String);

/// What became of cases.
#[derive(Default)]
struct Checked {
    /// What was refused, and where.
    refused: BTreeSet<Rule>,
    /// What was said of resources that were accepted, and what the API server has made of it.
    accepted: Vec<(Value, Value)>,
}

/// Applies each case.
async fn check(cluster: &Cluster, base: &Value, cases: Vec<Case>) -> Checked {
    let Checked { mut refused, mut accepted } = Checked::default();
    for (number, (what, over, refusal)) in cases.into_iter().enumerate() {
        let name = format!("case-{number}");
        let said = with(base.clone(), over.clone());
        match (cluster.try_apply::<RankingService>(&name, &said).await, refusal) {
            (Ok(taken), None) => accepted.push((said, serde_json::to_value(&taken).unwrap())),
            (Err(kube::Error::Api(status)), Some(words)) => {
                assert!(status.message.contains(words), "{what}: refused with other words: {}", status.message);
                let causes = status.details.into_iter().flat_map(|details| details.causes);
                refused.extend(causes.map(|cause| (place(&cause.field), cause.message)));
            }
            (answer, _) => panic!("{what}: {over}: {answer:#?}"),
        }
    }
    Checked { refused, accepted }
}

/// The schema of the definition.
fn schema() -> Value {
    let mut definition = serde_json::to_value(rankwright_crds::definition()).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take()
}

/// The same for each of a list, and each of a map.
fn place(field: &str) -> String {
    let parts = field.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
    parts.collect()
}

#[tokio::test]
async fn each_rule_accepts_what_is_right_and_refuses_the_rest_with_its_message() {
    let Some(cluster) = in_own_namespace().await else { return };
    let Checked { refused, accepted } = check(&cluster, &minimal(), everywhere(cases())).await;
    // rules on changes have their own test, and the one on names
    let (schema, mut rules) = (schema(), BTreeSet::new());
    rules_of(&schema, "", None, false, &mut rules);
    assert!(rules.len() > 70, "{rules:#?}");
    let by_no_case =
        |(place, message): &&Rule| !refused.iter().any(|(at, words)| at == place && words.contains(message.as_str()));
    let untried: Vec<_> = rules.iter().filter(by_no_case).collect();
    assert!(untried.is_empty(), "no case is refused by: {untried:#?}\nof {refused:#?}");
    let mut passed = BTreeSet::new();
    for (_, taken) in &accepted {
        rules_of(&schema, "", Some(taken), false, &mut passed);
    }
    let unpassed: Vec<_> = rules.difference(&passed).collect();
    assert!(unpassed.is_empty(), "no case is accepted that is looked at by: {unpassed:#?}");
}

/// Cases of the pods of one part are cases of those of all, and those of one list of peers of the other.
fn everywhere(cases: Vec<Case>) -> Vec<Case> {
    let mut all = Vec::new();
    for (what, over, refusal) in cases {
        let pods = &over["spec"]["rank"]["pod"];
        if over["spec"]["rank"].as_object().is_some_and(|rank| rank.len() == 1) && !pods.is_null() {
            // some name the part
            let refusal = refusal.map(|words| words.strip_prefix("rank.").unwrap_or(words));
            all.push((what, json!({"spec": {"ingest": {"pod": pods}}}), refusal));
            all.push((what, json!({"spec": {"training": {"schedule": "@daily", "pod": pods}}}), refusal));
            let from = json!({"s3": {"bucket": "events", "prefix": "2026"}});
            all.push((what, json!({"spec": {"import": {"from": from, "pod": pods}}}), refusal));
        }
        let peers = &over["spec"]["networkPolicy"]["rankFrom"];
        if !peers.is_null() {
            all.push((what, json!({"spec": {"networkPolicy": {"metricsFrom": peers}}}), refusal));
        }
        all.push((what, over, refusal));
    }
    all
}

/// The rules of a schema that are about changes, or not, with the places at which they stand; of a value, those that look at it.
fn rules_of(schema: &Value, at: &str, value: Option<&Value>, of_changes: bool, rules: &mut BTreeSet<Rule>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        if !at.is_empty() && rule["rule"].as_str().unwrap().contains("oldSelf") == of_changes {
            rules.insert((at.to_owned(), rule["message"].as_str().unwrap().to_owned()));
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}{}{name}", if at.is_empty() { "" } else { "." });
        match value {
            None => rules_of(field, &place, None, of_changes, rules),
            Some(value) if value[name].is_null() => {}
            Some(value) => rules_of(field, &place, Some(&value[name]), of_changes, rules),
        }
    }
    for part in ["items", "additionalProperties"].into_iter().filter_map(|part| schema.get(part)) {
        match value {
            None => rules_of(part, at, None, of_changes, rules),
            Some(Value::Array(list)) => list.iter().for_each(|each| rules_of(part, at, Some(each), of_changes, rules)),
            Some(Value::Object(map)) => map.values().for_each(|each| rules_of(part, at, Some(each), of_changes, rules)),
            Some(_) => {}
        }
    }
}

/// What a name that is too long, or has other signs, is refused with.
const NAMES: &str = "at most 40 lower case letters";

#[tokio::test]
async fn names_are_refused_that_services_and_jobs_cannot_have() {
    let Some(cluster) = in_own_namespace().await else { return };
    for name in ["a.b", "1st", "a-name-of-more-than-forty-letters-is-too-long"] {
        let answer = cluster.try_apply::<RankingService>(name, &minimal()).await;
        assert!(answer.unwrap_err().to_string().contains(NAMES), "{name}");
    }
}

/// Changes of a resource that collects click-throughs in S3, and what they are refused with.
fn changes() -> [(Value, &'static str); 8] {
    [
        (json!({"stateStore": {"service": "other"}}), "stateStore.service is immutable"),
        (json!({"stateStore": {"service": null}}), "stateStore.service is immutable"),
        (json!({"stateStore": {"redis": {"databases": {"state": 5}}}}), "databases are immutable"),
        (
            json!({"stateStore": {"redis": {"host": null, "mode": "Cluster", "nodes": ["redis-0:6379"]}}}),
            "mode cannot change to or from Cluster",
        ),
        (json!({"clickThroughStore": {"s3": {"bucket": "others"}}}), "bucket is immutable"),
        (json!({"clickThroughStore": {"s3": {"prefix": "others"}}}), "prefix is immutable"),
        (json!({"clickThroughStore": {"s3": null, "redis": {}}}), "cannot move between s3 and redis"),
        (json!({"clickThroughStore": null}), "cannot be added or removed"),
    ]
}

/// Changes of the same that leave no data behind.
fn harmless() -> [Value; 4] {
    [
        json!({"stateStore": {"redis": {"host": "redis-2"}}}), // the server may move with its data
        json!({"stateStore": {"redis": {"host": null, "mode": "Sentinel", "nodes": ["a:26379"], "masterName": "m"}}}),
        json!({"clickThroughStore": {"s3": {"endpoint": "http://s3:9000", "credentialsSecretRef": {"name": "key"}}}}),
        json!({"rank": {"replicas": 5}, "training": null}),
    ]
}

#[tokio::test]
async fn what_would_leave_data_behind_cannot_be_changed() {
    let Some(cluster) = in_own_namespace().await else { return };
    let base = with(whole(), json!({"spec": {"stateStore": {"service": "shop"}}}));
    for (number, (change, words)) in changes().into_iter().enumerate() {
        let name = format!("case-{number}");
        cluster.apply::<RankingService>(&name, base.clone()).await;
        let changed = with(base.clone(), json!({ "spec": change }));
        let answer = cluster.try_apply::<RankingService>(&name, &changed).await.unwrap_err().to_string();
        assert!(answer.contains(words), "{words}: {answer}");
    }
    // what leaves nothing behind can, and every rule on changes has looked at one of these
    let (schema, mut rules, mut passed) = (schema(), BTreeSet::new(), BTreeSet::new());
    rules_of(&schema, "", None, true, &mut rules);
    assert!(rules.len() > 5, "{rules:#?}");
    for (number, change) in harmless().into_iter().enumerate() {
        let name = format!("harmless-{number}");
        cluster.apply::<RankingService>(&name, base.clone()).await;
        let changed = with(base.clone(), json!({ "spec": change }));
        let taken: RankingService = cluster.apply(&name, changed).await;
        rules_of(&schema, "", Some(&serde_json::to_value(&taken).unwrap()), true, &mut passed);
    }
    let unpassed: Vec<_> = rules.difference(&passed).collect();
    assert!(unpassed.is_empty(), "no change is accepted that is looked at by: {unpassed:#?}");
    // nor added: what was collected in the state's Redis would be left behind
    cluster.apply::<RankingService>("without", minimal()).await;
    let added = with(minimal(), json!({"spec": {"clickThroughStore": {"redis": {}}}}));
    let answer = cluster.try_apply::<RankingService>("without", &added).await.unwrap_err().to_string();
    assert!(answer.contains("cannot be added or removed"), "{answer}");
}

#[test]
fn every_rule_of_the_definition_has_a_case_that_it_refuses() {
    let definition = schema();
    let mut messages = BTreeSet::new();
    messages_of(&definition, &mut messages);
    assert!(messages.len() > 30, "{messages:#?}");
    let refusals = cases().into_iter().filter_map(|(_, _, words)| words);
    let words: Vec<&str> = refusals.chain(changes().map(|(_, words)| words)).chain([NAMES]).collect();
    for words in &words {
        let meant = messages.iter().filter(|message| message.contains(words)).count();
        assert!(meant <= 1, "{words}: which rule is meant?");
    }
    messages.retain(|message| !words.iter().any(|words| message.contains(words)));
    assert!(messages.is_empty(), "no case is refused by: {messages:#?}");
}

/// The messages of all rules, wherever they stand.
fn messages_of(value: &Value, messages: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array);
            messages.extend(rules.into_iter().flatten().map(|rule| rule["message"].as_str().unwrap().to_owned()));
            fields.values().for_each(|value| messages_of(value, messages));
        }
        Value::Array(values) => values.iter().for_each(|value| messages_of(value, messages)),
        _ => {}
    }
}

#[tokio::test]
async fn resources_of_earlier_releases_are_taken_as_they_were() {
    let Some(cluster) = in_own_namespace().await else { return };
    let operator = cluster.operator(&Servers::answering());
    let folder = "tests/kept";
    for (number, file) in std::fs::read_dir(folder).unwrap().enumerate() {
        let path = file.unwrap().path();
        let object: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = format!("kept-{number}");
        let service: RankingService = cluster.apply(&name, object.clone()).await;
        let taken = serde_json::to_value(&service).unwrap();
        assert!(holds(&taken["spec"], &object["spec"]), "{} is not taken as it was: {taken:#}", path.display());
        cluster.told(&name, "ConfigurationValid", "True", "Valid").await;
    }
    operator.end().await;
}

/// Whether a value holds all of another one.
fn holds(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(key, part)| value.get(key).is_some_and(|value| holds(value, part)))
        }
        (Value::Array(value), Value::Array(part)) => {
            value.len() == part.len() && value.iter().zip(part).all(|(value, part)| holds(value, part))
        }
        (value, part) => value == part,
    }
}
