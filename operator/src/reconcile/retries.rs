//! When a resource is tried again that could not be reconciled: later and later, until it succeeds or is changed.

use super::{RESYNC, locked};
use kube::api::ObjectMeta;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What the API server refused or did not answer is tried again after this time, then after twice as long each time; in the end
/// as often as a resource is looked at with which all is well.
const FIRST: Duration = Duration::from_secs(5);

/// The resources that could not be reconciled, by their uids.
#[derive(Debug, Default)]
pub(super) struct Retries(Mutex<HashMap<String, Failing>>);

/// Since when a resource waits, in the generation that it was of.
#[derive(Debug, Clone, Copy)]
struct Failing {
    generation: Option<i64>,
    since: Instant,
    pause: Duration,
}

impl Retries {
    /// How long a resource waits that has failed now. One that news has had tried before its time waits for the rest of it.
    pub(super) fn after(&self, resource: &ObjectMeta, now: Instant) -> Duration {
        let (mut failing, uid) = (locked(&self.0), resource.uid.clone().unwrap_or_default());
        let before = failing.get(&uid).filter(|before| before.generation == resource.generation).copied();
        if let Some(left) = before.and_then(|before| (before.since + before.pause).checked_duration_since(now))
            && !left.is_zero()
        {
            return left;
        }
        let pause = before.map_or(FIRST, |before| RESYNC.min(2 * before.pause));
        failing.insert(uid, Failing { generation: resource.generation, since: now, pause });
        pause
    }

    /// Forgets a resource that was reconciled.
    pub(super) fn succeeded(&self, uid: &str) {
        locked(&self.0).remove(uid);
    }

    /// Forgets all resources but these, by their uids.
    pub(super) fn keep_only(&self, there: &HashSet<String>) {
        locked(&self.0).retain(|uid, _| there.contains(uid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(uid: &str, generation: i64) -> ObjectMeta {
        ObjectMeta { uid: Some(uid.to_owned()), generation: Some(generation), ..ObjectMeta::default() }
    }

    #[test]
    fn what_fails_is_tried_again_later_and_later() {
        let (retries, mut now) = (Retries::default(), Instant::now());
        for pause in [5, 10, 20, 40, 60, 60].map(Duration::from_secs) {
            assert_eq!(retries.after(&resource("shop", 1), now), pause);
            now += pause;
        }
    }

    #[test]
    fn what_news_has_tried_before_its_time_does_not_wait_longer_for_that() {
        let (retries, began) = (Retries::default(), Instant::now());
        let left = |seconds: u64| retries.after(&resource("shop", 1), began + Duration::from_secs(seconds)).as_secs();
        assert_eq!([0, 1, 2, 4].map(left), [5, 4, 3, 1]);
        assert_eq!(left(5), 10);
    }

    #[test]
    fn what_was_changed_or_has_succeeded_is_tried_again_as_if_it_had_never_failed() {
        let (retries, began) = (Retries::default(), Instant::now());
        let pause = |uid: &str, generation: i64, seconds: u64| {
            retries.after(&resource(uid, generation), began + Duration::from_secs(seconds)).as_secs()
        };
        assert_eq!((pause("shop", 1, 0), pause("shop", 1, 5), pause("blog", 1, 5)), (5, 10, 5));
        assert_eq!(pause("shop", 2, 6), 5, "it was changed");
        retries.succeeded("shop");
        assert_eq!(pause("shop", 2, 60), 5);
        retries.keep_only(&["shop".to_owned()].into());
        assert_eq!(pause("blog", 1, 60), 5, "it was gone meanwhile");
    }
}
