#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

const KIND: &str = "ConfigMap";

/// A ConfigMap of the service `owner`.
fn map(name: &str, version: u64) -> DynamicObject {
    let owner = json!({"apiVersion": "v1", "kind": "a", "name": "a", "uid": "owner", "controller": true});
    let metadata = json!({
        "namespace": "search", "name": name, "uid": name, "resourceVersion": version.to_string(), "ownerReferences": [owner],
    });
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

fn seen(name: &str, version: u64) -> (String, String, Sight) {
    ("search".to_owned(), name.to_owned(), Sight::of(KIND, &map(name, version)))
}

/// A cache whose watch has listed these.
fn filled(names: &[&str]) -> Cache {
    let cache = Cache::default();
    cache.begin([KIND.to_owned()]);
    list(&cache, names);
    cache
}

fn list(cache: &Cache, names: &[&str]) {
    cache.saw(KIND, Event::Init);
    names.iter().for_each(|name| cache.saw(KIND, Event::InitApply(seen(name, 10))));
    cache.saw(KIND, Event::InitDone);
}

/// The version that is known.
fn known(cache: &Cache, name: &str) -> Option<u64> {
    match cache.object(KIND, "search", name) {
        Known::There(sight) => sight.version,
        Known::Absent => None,
        Known::Unsure => panic!("nothing is known"),
    }
}

#[test]
fn nothing_is_known_without_watches_or_before_they_have_shown_everything() {
    let unsure = |cache: &Cache| {
        matches!(cache.object(KIND, "search", "a"), Known::Unsure) && cache.owned(KIND, "search", "owner").is_none()
    };
    let cache = Cache::default();
    assert!(unsure(&cache));
    cache.begin([KIND.to_owned()]);
    cache.saw(KIND, Event::Init);
    cache.saw(KIND, Event::InitApply(seen("a", 1)));
    assert!(unsure(&cache));
    cache.saw(KIND, Event::InitDone);
    assert!(!unsure(&cache));
    cache.end();
    assert!(unsure(&cache));
}

#[test]
fn what_is_listed_anew_takes_the_place_of_all_that_was_known() {
    let cache = filled(&["a", "b"]);
    list(&cache, &["b", "c"]);
    assert_eq!([known(&cache, "a"), known(&cache, "b"), known(&cache, "c")], [None, Some(10), Some(10)]);
    let owned = cache.owned(KIND, "search", "owner").unwrap();
    let mut owned: Vec<&str> = owned.iter().map(|(name, _)| name.as_str()).collect();
    owned.sort_unstable();
    assert_eq!(owned, ["b", "c"]);
}

#[test]
fn what_a_later_listing_shows_counts_before_it_is_complete() {
    let cache = filled(&["a"]);
    cache.saw(KIND, Event::Init);
    cache.saw(KIND, Event::InitApply(seen("a", 12)));
    assert_eq!(known(&cache, "a"), Some(12));
}

#[test]
fn a_watch_that_is_behind_does_not_hide_what_was_written_since() {
    let cache = filled(&["a"]);
    let before = cache.moment(KIND);
    cache.answered(KIND, before, &map("a", 20));
    cache.saw(KIND, Event::Apply(seen("a", 15)));
    assert_eq!(known(&cache, "a"), Some(20));
    cache.saw(KIND, Event::Delete(seen("a", 16)));
    assert_eq!(known(&cache, "a"), Some(20), "one before it was deleted");
    cache.saw(KIND, Event::Delete(seen("a", 21)));
    assert_eq!(known(&cache, "a"), None);
}

#[test]
fn an_answer_that_comes_late_does_not_bring_back_what_is_gone() {
    let cache = filled(&[]);
    let before = cache.moment(KIND);
    cache.saw(KIND, Event::Apply(seen("a", 20)));
    cache.saw(KIND, Event::Delete(seen("a", 21)));
    cache.answered(KIND, before, &map("a", 20));
    assert_eq!(known(&cache, "a"), None);
    let before = cache.moment(KIND);
    list(&cache, &[]);
    cache.answered(KIND, before, &map("a", 30));
    assert_eq!(known(&cache, "a"), None, "it may have gone before the listing");
}

#[test]
fn an_object_is_found_with_its_present_owner_alone() {
    let cache = filled(&["a"]);
    let mut orphan = map("a", 11);
    orphan.metadata.owner_references = None;
    cache.saw(KIND, Event::Apply(("search".to_owned(), "a".to_owned(), Sight::of(KIND, &orphan))));
    assert!(cache.owned(KIND, "search", "owner").unwrap().is_empty());
    assert_eq!(known(&cache, "a"), Some(11));
}

#[test]
fn a_status_leaves_the_mark_and_a_label_changes_it() {
    let of = |object: &DynamicObject| Sight::of("Deployment", object).mark;
    let mut deployment = map("a", 1);
    deployment.metadata.generation = Some(3);
    let before = of(&deployment);
    deployment.metadata.resource_version = Some("2".to_owned());
    deployment.data = json!({"status": {"replicas": 2}});
    deployment.metadata.annotations = Some([(REVISION.to_owned(), "1".to_owned())].into());
    assert_eq!(of(&deployment), before);
    deployment.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    assert_ne!(of(&deployment), before);
}

#[test]
fn a_sight_of_a_deployment_tells_how_far_its_rollout_is() {
    let plan = crate::testing::planned(json!({})).unwrap();
    for child in crate::build::desired(&plan).iter().filter(|child| child.resource.kind == "Deployment") {
        let rollout = |object: &DynamicObject| {
            let deployment = serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap();
            crate::resolve::rolled_out(&deployment).unwrap()
        };
        let seen = rollout(&Sight::of("Deployment", &child.object).content.unwrap());
        assert_eq!((&seen, &seen.config_map), (&rollout(&child.object), &Some(plan.config_map())), "{}", child.name());
    }
}
