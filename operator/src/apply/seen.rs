//! What was applied last, and how the object looked then.

use crate::apis::Apis;
use crate::build::Child;
use crate::cache::{REVISION, Sight};
use kube::ResourceExt;
use kube::api::DynamicObject;
use rankwright_crds::RankingService;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What this process has done. Lost with it; the next one then applies everything once.
#[derive(Default)]
pub struct Seen {
    /// By service and name: what was wanted, and what was there afterwards.
    objects: Mutex<HashMap<(String, String), Print>>,
    /// By service: the objects that were wanted when what was left over was deleted.
    cleared: Mutex<HashMap<String, u64>>,
    /// By service and name: objects of other owners in the place of ours.
    taken: Mutex<HashSet<(String, String)>>,
}

#[derive(Clone, PartialEq, Eq)]
struct Print {
    uid: String,
    wanted: u64,
    there: u64,
    /// As a watch would show it.
    mark: u64,
}

impl Seen {
    /// Whether neither what is wanted nor what is there has changed since it was applied.
    pub fn is_settled(&self, child: &Child, live: &DynamicObject) -> bool {
        let now = Print::of(child, live);
        let mut objects = lock(&self.objects);
        let Some(known) = objects.get_mut(&place(child)) else { return false };
        let settled = known.uid == now.uid && known.wanted == now.wanted && known.there == now.there;
        if settled {
            known.mark = now.mark; // something has changed that does not matter
        }
        settled
    }

    /// The same, by what a watch has shown of it.
    pub fn is_settled_at(&self, child: &Child, sight: &Sight) -> bool {
        let objects = lock(&self.objects);
        let known = objects.get(&place(child)).filter(|known| known.uid == sight.uid && known.mark == sight.mark);
        let wanted = known.map(|known| known.wanted);
        drop(objects);
        wanted.is_some_and(|wanted| wanted == digest(&child.object))
    }

    /// Notes an object as the API server has it after it was applied.
    pub fn settle(&self, child: &Child, applied: &DynamicObject) {
        lock(&self.objects).insert(place(child), Print::of(child, applied));
    }

    /// Whether another owner's object was in this one's place when it was looked at last.
    pub fn is_taken(&self, service: &RankingService, child: &Child) -> bool {
        lock(&self.taken).contains(&(service.uid().unwrap_or_default(), child.name()))
    }

    /// Notes whether it is.
    pub fn note_taken(&self, service: &RankingService, child: &Child, taken: bool) {
        let (mut known, place) = (lock(&self.taken), (service.uid().unwrap_or_default(), child.name()));
        if taken {
            known.insert(place);
        } else {
            known.remove(&place);
        }
    }

    /// Whether everything was deleted that is not among these objects.
    pub fn is_cleared(&self, service: &RankingService, wanted: &[Child], optional: &Apis) -> bool {
        service.uid().is_some_and(|uid| lock(&self.cleared).get(&uid) == Some(&names(service, wanted, optional)))
    }

    /// Notes that everything was.
    pub fn clear(&self, service: &RankingService, wanted: &[Child], optional: &Apis) {
        if let Some(uid) = service.uid() {
            lock(&self.cleared).insert(uid, names(service, wanted, optional));
        }
    }

    /// Forgets all services but these, by their uids.
    pub fn keep_only(&self, there: &HashSet<String>) {
        lock(&self.objects).retain(|(service, _), _| there.contains(service));
        lock(&self.cleared).retain(|service, _| there.contains(service));
        lock(&self.taken).retain(|(service, _)| there.contains(service));
    }
}

impl Print {
    fn of(child: &Child, live: &DynamicObject) -> Self {
        let mark = Sight::of_metadata(&live.metadata).mark;
        let uid = live.uid().unwrap_or_default();
        Self { uid, wanted: digest(&child.object), there: digest(&without_bookkeeping(live)), mark }
    }
}

/// Whose an object is, and what it is called.
fn place(child: &Child) -> (String, String) {
    let owner = child.object.owner_references().first().map(|owner| owner.uid.clone());
    (owner.unwrap_or_default(), child.name())
}

/// Which objects these are, and whether those of an earlier resource belong to them.
fn names(service: &RankingService, wanted: &[Child], optional: &Apis) -> u64 {
    let names: Vec<String> = wanted.iter().map(Child::name).collect();
    digest(&(names, format!("{optional:?}"), service.spec.adopt_orphans))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An object without its status, and without what the API server counts.
fn without_bookkeeping(live: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(live).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for counted in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(counted);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(REVISION);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    value
}

fn digest(object: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(object).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::build::Mode;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::ApiResource;
    use serde_json::json;

    fn live(text: &str) -> DynamicObject {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "1"}, "data": {"a": text}});
        serde_json::from_value(map).unwrap()
    }

    fn child(text: &str) -> Child {
        Child { resource: ApiResource::erase::<ConfigMap>(&()), object: live(text), mode: Mode::Apply }
    }

    #[test]
    fn an_object_is_settled_until_it_or_what_is_wanted_changes() {
        let seen = Seen::default();
        assert!(!seen.is_settled(&child("a"), &live("a")), "nothing is known of it");
        seen.settle(&child("a"), &live("a"));
        assert!(seen.is_settled(&child("a"), &live("a")));
        assert!(!seen.is_settled(&child("a"), &live("b")), "somebody has changed it");
        assert!(!seen.is_settled(&child("b"), &live("a")), "something else is wanted");
    }

    #[test]
    fn an_object_that_was_replaced_is_not_the_one_that_was_applied() {
        let (seen, mut other) = (Seen::default(), live("a"));
        seen.settle(&child("a"), &live("a"));
        other.metadata.uid = Some("2".to_owned());
        assert!(!seen.is_settled(&child("a"), &other));
        assert!(!seen.is_settled_at(&child("a"), &Sight::of_metadata(&other.metadata)));
    }

    #[test]
    fn what_the_api_server_counts_is_no_change() {
        let seen = Seen::default();
        seen.settle(&child("a"), &live("a"));
        let mut counted = live("a");
        counted.metadata.resource_version = Some("17".to_owned());
        counted.data["status"] = json!({"ready": true});
        assert!(seen.is_settled(&child("a"), &counted));
    }

    #[test]
    fn what_a_watch_shows_is_settled_until_its_mark_changes() {
        let (seen, mut shown) = (Seen::default(), live("a"));
        shown.metadata.resource_version = Some("17".to_owned());
        seen.settle(&child("a"), &shown);
        assert!(seen.is_settled_at(&child("a"), &Sight::of_metadata(&shown.metadata)));
        assert!(!seen.is_settled_at(&child("b"), &Sight::of_metadata(&shown.metadata)), "something else is wanted");
        shown.metadata.resource_version = Some("18".to_owned());
        assert!(!seen.is_settled_at(&child("a"), &Sight::of_metadata(&shown.metadata)), "it has to be looked at");
        assert!(seen.is_settled(&child("a"), &shown), "nothing has changed");
        assert!(
            seen.is_settled_at(&child("a"), &Sight::of_metadata(&shown.metadata)),
            "and that is known from then on"
        );
    }

    #[test]
    fn objects_of_a_service_that_is_gone_are_forgotten() {
        let of = |service: &str| {
            let mut child = child("a");
            let owner = json!([{"apiVersion": "rankwright.dev/v1alpha1", "kind": "RankingService", "name": "shop", "uid": service}]);
            child.object.metadata.owner_references = serde_json::from_value(owner).unwrap();
            child
        };
        let (seen, one, other) = (Seen::default(), of("s1"), of("s2"));
        seen.settle(&one, &one.object);
        seen.settle(&other, &other.object);
        seen.keep_only(&["s2".to_owned()].into());
        assert!(!seen.is_settled(&one, &one.object) && seen.is_settled(&other, &other.object));
    }

    #[test]
    fn the_number_of_a_revision_is_no_change() {
        let seen = Seen::default();
        seen.settle(&child("a"), &live("a"));
        let mut counted = live("a");
        counted.metadata.annotations = Some([(REVISION.to_owned(), "1".to_owned())].into());
        assert!(seen.is_settled(&child("a"), &counted));
    }
}
