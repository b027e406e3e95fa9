//! How many services are replaced at once because of the operator itself, as after its upgrade.
//!
//! A new operator may build other pods of the same resource. Were all services replaced at the same time, a mistake would reach all
//! of them. What the author of a resource changes is never held.

use crate::build::Child;
use crate::labels::PODS_DIGEST;
use crate::reconcile::locked;
use crate::resolve::Rollout;
use kube::ResourceExt;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// Services that this process replaces, and those that it has done with.
#[derive(Debug)]
pub struct Rolling {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Names of services that are being replaced, by uid.
    now: HashMap<String, String>,
    /// Services whose pods were once what this process builds: later changes have other causes.
    settled: HashSet<String>,
}

/// A service that may have to be replaced.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its uid.
    pub uid: &'a str,
    /// Its namespace and name.
    pub name: &'a str,
    /// Whether the status is of the resource as it is now.
    pub known: bool,
    /// Whether its pods are not what they should be.
    pub differs: bool,
    /// Whether no pod of an earlier revision is left.
    pub complete: bool,
}

impl Rolling {
    /// At most this many services at once.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), state: Mutex::default() }
    }

    /// Names of the services that one has to wait for; none where it may be replaced now, or need not be.
    pub fn awaited(&self, service: Candidate<'_>) -> Vec<String> {
        let mut state = locked(&self.state);
        let Candidate { uid, name, known, differs, complete } = service;
        if !differs {
            if complete {
                state.now.remove(uid);
                state.settled.insert(uid.to_owned());
            } else if !state.settled.contains(uid) {
                // an operator before this one has begun with it
                state.now.insert(uid.to_owned(), name.to_owned());
            }
            return Vec::new();
        }
        if !known {
            state.settled.insert(uid.to_owned()); // with what its author changed, its pods become what this process builds
        }
        if state.settled.contains(uid) || state.now.contains_key(uid) {
            return Vec::new();
        }
        if state.now.len() < self.most {
            state.now.insert(uid.to_owned(), name.to_owned());
            return Vec::new();
        }
        let mut names: Vec<String> = state.now.values().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Nothing of a service is replaced for now.
    pub fn end(&self, uid: &str) {
        locked(&self.state).now.remove(uid);
    }

    /// Forgets a service: nothing of it is replaced any more.
    pub fn forget(&self, uid: &str) {
        let mut state = locked(&self.state);
        state.now.remove(uid);
        state.settled.remove(uid);
    }

    /// Forgets all services but these, by their uids.
    pub fn keep_only(&self, there: &HashSet<String>) {
        let mut state = locked(&self.state);
        state.now.retain(|uid, _| there.contains(uid));
        state.settled.retain(|uid| there.contains(uid));
    }
}

/// Whether a Deployment that is there has other pods than the wanted one.
pub fn differs(desired: &[Child], present: [Option<&Rollout>; 2]) -> bool {
    let present: Vec<&Rollout> = present.into_iter().flatten().collect();
    let other = |child: &Child| {
        let name = child.object.name_any();
        let wanted = child.object.annotations().get(PODS_DIGEST);
        present.iter().any(|rollout| rollout.name == name && rollout.pods.as_ref() != wanted)
    };
    desired.iter().filter(|child| is_deployment(child)).any(other)
}

/// The same objects, with Deployments and trainings left as they are, and so the configurations that they name.
pub fn held(desired: Vec<Child>) -> Vec<Child> {
    let as_it_is = |child: Child| match child.resource.kind.as_str() {
        "Deployment" | "CronJob" => child.kept(),
        _ => child,
    };
    desired.into_iter().map(as_it_is).collect()
}

fn is_deployment(child: &Child) -> bool {
    child.resource.kind == "Deployment"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::build::{self, Mode};
    use crate::testing::planned;
    use serde_json::json;

    fn candidate(uid: &str) -> Candidate<'_> {
        Candidate { uid, name: uid, known: true, differs: true, complete: true }
    }

    #[test]
    fn one_service_after_the_other_is_replaced_by_a_new_operator() {
        let rolling = Rolling::new(1);
        assert_eq!(rolling.awaited(candidate("a")), Vec::<String>::new());
        assert_eq!(rolling.awaited(candidate("b")), ["a"]);
        assert_eq!(rolling.awaited(candidate("a")), Vec::<String>::new(), "it goes on");
        let replaced = Candidate { differs: false, complete: false, ..candidate("a") };
        rolling.awaited(replaced);
        assert_eq!(rolling.awaited(candidate("b")), ["a"], "former pods are left, or it is stuck");
        rolling.awaited(Candidate { complete: true, ..replaced });
        assert_eq!(rolling.awaited(candidate("b")), Vec::<String>::new());
        assert_eq!(rolling.awaited(candidate("c")), ["b"]);
        let restarted = Rolling::new(1);
        restarted.awaited(replaced);
        assert_eq!(restarted.awaited(candidate("b")), ["a"], "it was begun with before this process");
        rolling.keep_only(&["c".to_owned()].into());
        assert_eq!(rolling.awaited(candidate("c")), Vec::<String>::new(), "that one was deleted");
    }

    #[test]
    fn what_authors_change_is_not_held() {
        let rolling = Rolling::new(1);
        rolling.awaited(candidate("a"));
        let changed = Candidate { known: false, ..candidate("b") };
        assert_eq!(rolling.awaited(changed), Vec::<String>::new());
        rolling.awaited(Candidate { differs: false, ..candidate("c") });
        assert_eq!(rolling.awaited(candidate("c")), Vec::<String>::new(), "a Secret of it was changed");
        // its new pods never work, which is no reason for others to wait
        rolling.awaited(Candidate { differs: false, complete: false, ..candidate("b") });
        rolling.awaited(Candidate { differs: false, ..candidate("a") });
        assert_eq!(rolling.awaited(candidate("d")), Vec::<String>::new());
    }

    #[test]
    fn a_deployment_differs_when_its_pods_do_and_is_left_where_it_is_held() {
        let desired = build::desired(&planned(json!({})).unwrap());
        let rank = desired.iter().find(|child| child.object.name_any() == "shop-rank" && is_deployment(child)).unwrap();
        let digest = rank.object.annotations().get(PODS_DIGEST).cloned();
        let there = |pods: Option<String>| Rollout { name: "shop-rank".to_owned(), pods, ..Rollout::default() };
        assert!(!differs(&desired, [Some(&there(digest)), None]), "the other one is to be made");
        assert!(differs(&desired, [Some(&there(Some("0".to_owned()))), None]));
        assert!(differs(&desired, [Some(&there(None)), None]), "an earlier operator has made it");
        let held = held(desired);
        let mode = |kind: &str| held.iter().find(|child| child.resource.kind == kind).unwrap().mode;
        assert_eq!((mode("Deployment"), mode("ConfigMap"), mode("Service")), (Mode::Keep, Mode::Apply, Mode::Apply));
    }
}
