//! What the watches show of the objects that the operator makes, so that it need not ask for each of them.
//!
//! The cache may be behind the API server. It knows what this process has written, except while a watch lists everything
//! again. So the cache alone decides two things: that nothing is to be done, until news comes; and that an object is to be
//! made, which fails where there is one (see `apply`). Before a change the object is read, and a deletion names its identity.
//!
//! Without watches nothing is known, and everything is asked for.

mod shelf;
mod sight;

pub use sight::Sight;
pub(crate) use sight::{REVISION, version};

use crate::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use shelf::Shelf;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Watches that have not shown everything after this time are done without.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is known of an object.
#[derive(Debug, Clone)]
pub enum Known {
    /// No watch tells.
    Unsure,
    /// There is none that the operator has made.
    Absent,
    /// It was last seen so.
    There(Sight),
}

/// What the watches show.
pub struct Cache {
    shelves: Mutex<Shelves>,
    /// Counts the shelves that are complete.
    news: watch::Sender<usize>,
}

#[derive(Default)]
struct Shelves {
    /// By kind; by the identity of their owner.
    objects: HashMap<String, Shelf<Sight>>,
    /// By the service that they say they belong to.
    pods: Option<Shelf<Arc<Pod>>>,
    since: Option<Instant>,
}

/// The moment before an object is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Moment(usize);

impl Default for Cache {
    fn default() -> Self {
        Self { shelves: Mutex::default(), news: watch::Sender::new(0) }
    }
}

impl Cache {
    /// Watches of these kinds, and of pods, begin.
    pub fn begin(&self, kinds: impl IntoIterator<Item = String>) {
        let objects = kinds.into_iter().map(|kind| (kind, Shelf::default())).collect();
        *self.lock() = Shelves { objects, pods: Some(Shelf::default()), since: Some(Instant::now()) };
    }

    /// They have ended: nothing is known any more.
    pub fn end(&self) {
        *self.lock() = Shelves::default();
        self.news.send_modify(|news| *news += 1);
    }

    /// Waits until the watches have shown everything once.
    pub async fn filled(&self) {
        let mut news = self.news.subscribe();
        loop {
            news.borrow_and_update();
            let Some(end) = self.awaited_until() else { return };
            if tokio::time::timeout_at(end, news.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Until when watches are waited for, where any is.
    fn awaited_until(&self) -> Option<Instant> {
        let shelves = self.lock();
        let filled = shelves.objects.values().all(Shelf::is_filled) && shelves.pods.iter().all(Shelf::is_filled);
        let end = shelves.since? + PATIENCE;
        (!filled && end > Instant::now()).then_some(end)
    }

    /// Takes in what a watch of a kind tells.
    pub fn saw(&self, kind: &str, event: Event<(String, String, Sight)>) {
        let mut shelves = self.lock();
        let Some(shelf) = shelves.objects.get_mut(kind) else { return };
        match event {
            Event::Init => shelf.refill(),
            Event::InitApply((namespace, name, sight)) => shelf.found(place(&namespace, &name), sight),
            Event::InitDone => shelf.filled(),
            Event::Apply((namespace, name, sight)) => shelf.put(place(&namespace, &name), sight),
            Event::Delete((namespace, name, sight)) => shelf.take(&place(&namespace, &name), &sight),
        }
        drop(shelves);
        self.news.send_modify(|news| *news += 1);
    }

    /// Takes in what the watch of pods tells.
    pub fn saw_pod(&self, event: Event<Pod>) {
        let mut shelves = self.lock();
        let Some(shelf) = &mut shelves.pods else { return };
        let placed = |pod: Pod| (place(&pod.namespace().unwrap_or_default(), &pod.name_any()), Arc::new(pod));
        match event {
            Event::Init => shelf.refill(),
            Event::InitApply(pod) => {
                let (place, pod) = placed(pod);
                shelf.found(place, pod);
            }
            Event::InitDone => shelf.filled(),
            Event::Apply(pod) => {
                let (place, pod) = placed(pod);
                shelf.put(place, pod);
            }
            Event::Delete(pod) => {
                let (place, pod) = placed(pod);
                shelf.take(&place, &pod);
            }
        }
        drop(shelves);
        self.news.send_modify(|news| *news += 1);
    }

    /// The moment before something of a kind is read or written.
    pub fn moment(&self, kind: &str) -> Moment {
        Moment(self.lock().objects.get(kind).map_or(0, Shelf::fillings))
    }

    /// Takes in an object as the API server has answered it to us, which the watch shows later.
    pub fn answered(&self, kind: &str, before: Moment, object: &DynamicObject) {
        let mut shelves = self.lock();
        // what was listed since then may know of its end
        let Some(shelf) = shelves.objects.get_mut(kind).filter(|shelf| shelf.fillings() == before.0) else { return };
        let place = place(&object.namespace().unwrap_or_default(), &object.name_any());
        shelf.answered(place, Sight::of(kind, object));
    }

    /// What is known of an object.
    pub fn object(&self, kind: &str, namespace: &str, name: &str) -> Known {
        let shelves = self.lock();
        let Some(shelf) = shelves.objects.get(kind).filter(|shelf| shelf.is_filled()) else { return Known::Unsure };
        shelf.get(&place(namespace, name)).cloned().map_or(Known::Absent, Known::There)
    }

    /// The objects of a kind with this owner, by name; nothing where no watch tells.
    pub fn owned(&self, kind: &str, namespace: &str, owner: &str) -> Option<Vec<(String, Sight)>> {
        let shelves = self.lock();
        let shelf = shelves.objects.get(kind).filter(|shelf| shelf.is_filled())?;
        let named = |(place, sight): (&str, &Sight)| {
            Some((place.strip_prefix(namespace)?.strip_prefix('/')?.to_owned(), sight.clone()))
        };
        Some(shelf.group(owner).filter_map(named).collect())
    }

    /// The pods of a service; nothing where no watch tells.
    pub fn pods(&self, namespace: &str, service: &str) -> Option<Vec<Arc<Pod>>> {
        let shelves = self.lock();
        let shelf = shelves.pods.as_ref().filter(|shelf| shelf.is_filled())?;
        Some(shelf.group(&place(namespace, service)).map(|(_, pod)| pod.clone()).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl shelf::Thing for Sight {
    fn group(&self) -> Option<String> {
        self.owner.clone()
    }

    fn version(&self) -> Option<u64> {
        self.version
    }
}

impl shelf::Thing for Arc<Pod> {
    fn group(&self) -> Option<String> {
        Some(place(&self.namespace()?, &labels::service_of(&**self)?))
    }

    fn version(&self) -> Option<u64> {
        sight::version(&self.metadata)
    }
}

fn place(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

#[cfg(test)]
mod tests;
